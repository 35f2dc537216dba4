/* Threads that are cancelled while they match and a trace is written: a call is no place for that. */
#include <pthread.h>
#include <unistd.h>

#include "../check.h"
#include "../traces.h"

#include <mq.h>

static char folder[] = "/tmp/mq-cancelled-XXXXXX";
static mq_engine *engine;
static volatile int begun;

static void *match(void *unused)
{
    mq_envelope envelope = {.source = 1, .tag = 5};
    mq_pattern pattern = {.source = 1, .tag = 5};
    (void) unused;
    for (;;) {
        CHECK(mq_arrive(engine, &envelope, 4, NULL, NULL), MQ_NONE);
        CHECK(mq_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_MATCHED);
        begun = 1;
        pthread_testcancel();
    }
    return NULL;
}

int main(void)
{
    CHECK(mkdtemp(folder) == NULL, 0);
    mq_session_options about = {.library = "cancelled", .trace = folder};
    mq_session *session;
    CHECK(mq_session_open(&about, &session), MQ_NONE);
    mq_engine_options options = {.session = session};
    CHECK(mq_engine_new(&options, &engine), MQ_NONE);
    CHECK(mq_context_create(engine, 0, NULL), MQ_NONE);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *end;
        begun = 0;
        CHECK(pthread_create(&thread, NULL, match, NULL), 0);
        while (!begun)
            usleep(1000);
        CHECK(pthread_cancel(thread), 0);
        CHECK(pthread_join(thread, &end), 0);
        CHECK(end == PTHREAD_CANCELED, 1);
    }
    CHECK(mq_engine_free(engine), MQ_NONE);
    CHECK(mq_session_close(session), MQ_NONE);
    CHECK(remove_traces(folder), 1);
    CHECK(rmdir(folder), 0);
    puts("threads ended between calls only");
    return 0;
}
