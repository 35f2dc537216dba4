/* What inline calls know of a context follows when it gets another size and other promises. ci/c.sh runs this. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "mq.h"
#include "mq_inline.h"

static const mq_pattern ANY = {.context = 1, .source = MQ_ANY_SOURCE, .tag = MQ_ANY_TAG};
static const mq_envelope OF_9 = {.context = 1, .source = 9, .tag = 5};

static int update(mq_engine *engine, uint32_t size, uint32_t promises)
{
    mq_context_options options = {.size = size, .promises = promises};
    return mq_context_update(engine, 1, &options);
}

static void refuse_from_a_callback(void *user, const mq_entry *entry)
{
    (void) entry;
    CHECK(update(user, 0, 0), MQ_ERR_REENTRANT);
}

int main(void)
{
    mq_engine *engine;
    CHECK(mq_context_update(NULL, 1, NULL), MQ_ERR_NULL);
    CHECK(mq_engine_new(NULL, &engine), MQ_NONE);
    CHECK(update(engine, 4, 0), MQ_ERR_UNKNOWN_CONTEXT);
    CHECK(mq_context_create(engine, 1, NULL), MQ_NONE);
    /* In the front, which refuses nothing yet. */
    CHECK(mq_inline_post(engine, &ANY, NULL, NULL, NULL, NULL), MQ_NONE);
    CHECK(update(engine, 10, MQ_NO_ANY_SOURCE), MQ_ERR_ANY_SOURCE);
    CHECK(mq_visit(engine, refuse_from_a_callback, engine), MQ_NONE);
    CHECK(mq_inline_arrive(engine, &OF_9, 0, NULL, NULL), MQ_MATCHED);
    CHECK(mq_inline_arrive(engine, &OF_9, 0, NULL, NULL), MQ_NONE);
    CHECK(update(engine, 9, 0), MQ_ERR_RANK);
    CHECK(mq_inline_extract(engine, &ANY, NULL, NULL), MQ_MATCHED);
    /* The front is empty and open again. */
    CHECK(update(engine, 9, MQ_NO_ANY_SOURCE), MQ_NONE);
    CHECK(mq_inline_post(engine, &ANY, NULL, NULL, NULL, NULL), MQ_ERR_ANY_SOURCE);
    CHECK(mq_inline_arrive(engine, &OF_9, 0, NULL, NULL), MQ_ERR_RANK);
    CHECK(update(engine, 10, 0), MQ_NONE);
    CHECK(mq_inline_arrive(engine, &OF_9, 0, NULL, NULL), MQ_NONE);
    CHECK(mq_inline_post(engine, &ANY, NULL, NULL, NULL, NULL), MQ_MATCHED);
    CHECK(mq_engine_free(engine), MQ_NONE);
    CHECK(update(engine, 10, 0), MQ_ERR_ENGINE);
    puts("every context kept to what it was told last");
    return 0;
}
