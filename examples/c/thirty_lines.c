/* Matching in thirty lines of C: a receive waits for its message, then a message for its receive.
 * ci/c.sh compiles and runs it. */
#include <stdio.h>
#include <stdlib.h>

#include "mq.h"

static void expect(int wanted, int status) {
    if (status != wanted) {
        fprintf(stderr, "mq: %s\n", mq_strerror(status));
        exit(1);
    }
}

int main(void) {
    mq_engine *engine;
    expect(MQ_NONE, mq_engine_new(NULL, &engine));
    expect(MQ_NONE, mq_context_create(engine, 0, NULL));

    char buffer[] = "buffer", hello[] = "hello", early[] = "early";
    void *taken;
    mq_handle handle;
    mq_envelope envelope;

    mq_pattern anyone = {.context = 0, .source = MQ_ANY_SOURCE, .tag = 7};
    mq_envelope from_3 = {.context = 0, .source = 3, .tag = 7};
    expect(MQ_NONE, mq_post(engine, &anyone, buffer, &handle, NULL, NULL));
    expect(MQ_MATCHED, mq_arrive(engine, &from_3, sizeof hello, hello, &taken));
    printf("the message from rank 3 took the receive `%s`\n", (char *)taken);

    mq_envelope from_5 = {.context = 0, .source = 5, .tag = 7};
    expect(MQ_NONE, mq_arrive(engine, &from_5, sizeof early, early, NULL));
    expect(MQ_MATCHED, mq_post(engine, &anyone, buffer, NULL, &taken, &envelope));
    printf("the receive took the message `%s` from rank %d\n", (char *)taken, envelope.source);

    expect(MQ_NONE, mq_cancel(engine, handle, NULL)); /* it left long ago */
    mq_engine_free(engine);
    return 0;
}
