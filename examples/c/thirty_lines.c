/* Matching in thirty lines of C: a receive waits for its message, then a message for its receive.
 * ci/c.sh compiles and runs it. */
#include <assert.h>
#include <stdio.h>

#include "mq.h"

int main(void) {
    mq_engine *engine;
    assert(mq_engine_new(NULL, &engine) == MQ_NONE);
    assert(mq_context_create(engine, 0, NULL) == MQ_NONE);

    char buffer[] = "buffer", hello[] = "hello", early[] = "early";
    void *taken;
    mq_handle handle;
    mq_envelope envelope;

    mq_pattern anyone = {.context = 0, .source = MQ_ANY_SOURCE, .tag = 7};
    mq_envelope from_3 = {.context = 0, .source = 3, .tag = 7};
    assert(mq_post(engine, &anyone, buffer, &handle, NULL, NULL) == MQ_NONE);
    assert(mq_arrive(engine, &from_3, sizeof hello, hello, &taken) == MQ_MATCHED);
    printf("the message from rank 3 took the receive `%s`\n", (char *)taken);

    mq_envelope from_5 = {.context = 0, .source = 5, .tag = 7};
    assert(mq_arrive(engine, &from_5, sizeof early, early, NULL) == MQ_NONE);
    assert(mq_post(engine, &anyone, buffer, NULL, &taken, &envelope) == MQ_MATCHED);
    printf("the receive took the message `%s` from rank %d\n", (char *)taken, envelope.source);

    assert(mq_cancel(engine, handle, NULL) == MQ_NONE); /* it left long ago */
    mq_engine_free(engine);
    return 0;
}
