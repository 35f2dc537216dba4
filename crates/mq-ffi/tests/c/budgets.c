/* A flood against budgets: one source is refused and the others are not, nothing is lost, the high-water call comes
 * once for each crossing and may not call the engine. ci/c.sh runs this under valgrind and with AddressSanitizer. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "mq.h"
#include "mq_inline.h"

enum { SOURCES = 8, EACH = 10, HIGH = 60, LOW = 20 };

static mq_engine *engine;
static long told;

static void high_water(void *user, uint64_t entries, uint64_t bytes)
{
    const mq_pattern wanted = {.context = 1, .source = 0, .tag = 0};
    const mq_envelope carried = {.context = 1, .source = 0, .tag = 0};
    CHECK(user == &told, 1);
    CHECK(entries, HIGH);
    CHECK(bytes, 0);
    told++;
    CHECK(mq_arrive(engine, &carried, 0, NULL, NULL), MQ_ERR_REENTRANT);
    CHECK(mq_inline_post(engine, &wanted, NULL, NULL, NULL, NULL), MQ_ERR_REENTRANT);
    CHECK(mq_context_free(engine, 1, NULL, NULL), MQ_ERR_REENTRANT);
    CHECK(mq_engine_free(engine), MQ_ERR_REENTRANT);
}

/* Sends EACH messages and as many again from every source; the second half is refused. */
static void flood(char *messages)
{
    for (int i = 0; i < 2 * EACH; i++) {
        for (int source = 0; source < SOURCES; source++) {
            mq_envelope carried = {.context = 1, .source = source, .tag = i};
            int status = mq_inline_arrive(engine, &carried, 0, &messages[source * EACH + i % EACH], NULL);
            CHECK(status, i < EACH ? MQ_NONE : MQ_ERR_SOURCE_ENTRY_BUDGET);
        }
    }
}

static void drain(const char *messages)
{
    for (int source = 0; source < SOURCES; source++) {
        for (int i = 0; i < EACH; i++) {
            mq_pattern wanted = {.context = 1, .source = source, .tag = MQ_ANY_TAG};
            void *message = NULL;
            CHECK(mq_inline_extract(engine, &wanted, &message, NULL), MQ_MATCHED);
            CHECK((const char *) message == &messages[source * EACH + i], 1);
        }
    }
}

int main(void)
{
    static char messages[SOURCES * EACH];
    const uint32_t flags[] = {0, MQ_LOCKED, MQ_STATISTICS};
    const char *name;
    for (uint32_t i = 0; (name = mq_structure_name(i)) != NULL; i++) {
        mq_engine_options options = {
            .structure = name,
            .flags = flags[i % 3],
            .max_unexpected = SOURCES * EACH + 1,
            .max_unexpected_per_source = EACH,
            .high_water = high_water,
            .high_water_user = &told,
            .high_unexpected = HIGH,
            .low_unexpected = LOW,
        };
        uint64_t halfway = 0, now;
        CHECK(mq_engine_new(&options, &engine), MQ_NONE);
        CHECK(mq_context_create(engine, 1, NULL), MQ_NONE);
        told = 0;
        for (int round = 1; round <= 20; round++) {
            flood(messages);
            CHECK(told, round);
            CHECK(mq_memory(engine, &now), MQ_NONE);
            if (round == 10)
                halfway = now;
            drain(messages);
        }
        /* Further floods take no more memory. */
        CHECK(now, halfway);
        CHECK(mq_engine_free(engine), MQ_NONE);
    }
    puts("every flood was refused at its source, and told once");
    return 0;
}
