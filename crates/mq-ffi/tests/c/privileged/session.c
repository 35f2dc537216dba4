/* Opens a session that reads its environment, and uses an engine of it. ci/c.sh runs this with rights that its user has
 * not, and without them. */
#include "../check.h"
#include "mq.h"

int main(void)
{
    mq_session_options about = {.library = "privileged", .size = 1, .environment = 1};
    mq_session *session;
    CHECK(mq_session_open(&about, &session), MQ_NONE);
    mq_engine_options options = {.session = session};
    mq_engine *engine;
    CHECK(mq_engine_new(&options, &engine), MQ_NONE);
    CHECK(mq_context_create(engine, 0, NULL), MQ_NONE);
    mq_engine_free(engine);
    mq_session_close(session);
    return 0;
}
