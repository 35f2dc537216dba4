/* What a session may not do to its application: change errno, or lose its trace to a long name. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "traces.h"

#include <mq.h>

static char folder[] = "/tmp/mq-session-XXXXXX";

int main(void)
{
    static char name[5001], job[1026];
    memset(name, 'n', sizeof name - 1);
    memset(job, 'j', sizeof job - 1);
    CHECK(mkdtemp(folder) == NULL, 0);
    /* Empty strings are none. */
    mq_session_options about = {.library = name, .job = job, .trace = folder, .structure = ""};
    mq_session *session;
    mq_engine *engine;
    CHECK(mq_session_open(&about, &session), MQ_ERR_ARGUMENT);
    job[sizeof job - 2] = '\0';
    errno = ELOOP;
    CHECK(mq_session_open(&about, &session), MQ_NONE);
    CHECK(errno, ELOOP);
    mq_engine_options options = {.session = session, .structure = ""};
    CHECK(mq_engine_new(&options, &engine), MQ_NONE);
    mq_context_options its = {.structure = ""};
    CHECK(mq_context_create(engine, 0, &its), MQ_NONE);
    /* Enough for some writes. */
    for (int i = 0; i < 20000; i++) {
        mq_envelope envelope = {.source = 1, .tag = i};
        mq_pattern pattern = {.source = 1, .tag = i};
        CHECK(mq_arrive(engine, &envelope, 4, NULL, NULL), MQ_NONE);
        CHECK(mq_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_MATCHED);
        CHECK(errno, ELOOP);
    }
    CHECK(mq_engine_free(engine), MQ_NONE);
    CHECK(mq_session_close(session), MQ_NONE);
    CHECK(errno, ELOOP);
    CHECK(remove_traces(folder), 1);
    CHECK(rmdir(folder), 0);
    CHECK(mq_version() == MQ_VERSION, 1);
    puts("a session disturbs nothing");
    return 0;
}
