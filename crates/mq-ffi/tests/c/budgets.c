/* A flood against budgets: one source is refused and the others are not, nothing is lost, the high-water call comes
 * once for each crossing and may not call the engine. ci/c.sh runs this under valgrind and with AddressSanitizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* How often a word is in a text. */
static long count(const char *text, const char *word)
{
    long found = 0;
    while ((text = strstr(text, word)) != NULL) {
        found++;
        text += strlen(word);
    }
    return found;
}

/* The user's budgets, given to an engine by a library that can refuse: what is over them is refused. */
static void taken_over(const mq_session *session)
{
    mq_engine_options limited = {0};
    const mq_envelope carried = {.source = 1};
    CHECK(mq_session_budgets(NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_session_budgets(session, NULL, NULL), MQ_NONE);
    CHECK(mq_session_budgets(session, &limited.max_unexpected, &limited.max_unexpected_bytes), MQ_NONE);
    CHECK(limited.max_unexpected, 2);
    CHECK(limited.max_unexpected_bytes, 40);
    CHECK(mq_engine_new(&limited, &engine), MQ_NONE);
    CHECK(mq_context_create(engine, 0, NULL), MQ_NONE);
    CHECK(mq_inline_arrive(engine, &carried, 10, NULL, NULL), MQ_NONE);
    CHECK(mq_inline_arrive(engine, &carried, 31, NULL, NULL), MQ_ERR_BYTE_BUDGET);
    CHECK(mq_inline_arrive(engine, &carried, 30, NULL, NULL), MQ_NONE);
    CHECK(mq_inline_arrive(engine, &carried, 0, NULL, NULL), MQ_ERR_ENTRY_BUDGET);
    CHECK(mq_engine_free(engine), MQ_NONE);
}

/* A session that does not read the variables, and one whose library knows no sizes. */
static void read_in_part(void)
{
    const mq_session_options options[] = {{0}, {.rank = 1, .environment = 1, .no_sizes = 1}};
    for (int i = 0; i < 2; i++) {
        uint64_t entries = 9, bytes = 9;
        mq_session *session;
        CHECK(mq_session_open(&options[i], &session), MQ_NONE);
        CHECK(mq_session_budgets(session, &entries, &bytes), MQ_NONE);
        CHECK(entries, i == 0 ? 0 : 2);
        CHECK(bytes, 0);
        CHECK(mq_session_close(session), MQ_NONE);
        CHECK(mq_session_budgets(session, &entries, &bytes), MQ_ERR_ENGINE);
    }
}

/* Budgets that are only watched, by a session: each is spoken of once. */
static void watched(void)
{
    const mq_session_options options = {.library = "budgets", .size = 1, .environment = 1};
    mq_session *session;
    mq_engine_options joined = {0};
    char said[2000] = "";
    FILE *file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    CHECK(file != NULL && kept >= 0 && setenv("MQ_BUDGET_ENTRIES", "2", 1) == 0
              && setenv("MQ_BUDGET_BYTES", "40", 1) == 0, 1);
    CHECK(mq_session_open(&options, &session), MQ_NONE);
    joined.session = session;
    CHECK(mq_engine_new(&joined, &engine), MQ_NONE);
    CHECK(mq_context_create(engine, 0, NULL), MQ_NONE);
    CHECK(dup2(fileno(file), STDERR_FILENO) >= 0, 1);
    for (int i = 0; i < 10; i++) {
        const mq_envelope carried = {.source = 1, .tag = i};
        CHECK(mq_inline_arrive(engine, &carried, 10, NULL, NULL), MQ_NONE);
    }
    CHECK(dup2(kept, STDERR_FILENO) >= 0, 1);
    rewind(file);
    CHECK(fread(said, 1, sizeof(said) - 1, file) > 0, 1);
    CHECK(count(said, "3 unexpected messages, over MQ_BUDGET_ENTRIES"), 1);
    CHECK(count(said, "50 bytes in unexpected messages, over MQ_BUDGET_BYTES"), 1);
    CHECK(count(said, "once"), 2);
    CHECK(mq_engine_free(engine), MQ_NONE);
    taken_over(session);
    CHECK(mq_session_close(session), MQ_NONE);
    read_in_part();
    fclose(file);
    close(kept);
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
    watched();
    puts("every flood was refused at its source, and told once");
    return 0;
}
