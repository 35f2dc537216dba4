/* How much of a thread's stack libmq takes, by what it leaves of one that was painted before: the threads of a runtime
 * often have 16 KiB. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "../traces.h"

#include <mq_inline.h>

/* What docs/abi.md says: for the calls on an engine, for those that sort its entries, and for sessions. */
enum { OF_CALLS = 8192, OF_SORTING = 20480, OF_SESSIONS = 16384 };
enum { STACK = 256 * 1024, PAINT = 0xA5, ENTRIES = 70000 };

static const char *structure;
static int sorts;
static char folder[] = "/tmp/mq-stack-XXXXXX";

static int32_t every_third(void *user, const mq_entry *entry)
{
    (void) entry;
    return ++*(int *) user % 3 == 0;
}

static void count(void *user, const mq_entry *entry)
{
    (void) entry;
    ++*(int *) user;
}

static void *calls(void *result)
{
    mq_engine *engine;
    int number = 0;
    for (uint32_t flags = 0; flags < 8; flags++) {
        mq_engine_options options = {.structure = structure, .flags = flags};
        const int entries = strcmp(structure, "indexed") == 0 ? ENTRIES : 3000;
        CHECK(mq_engine_new(&options, &engine), MQ_NONE);
        CHECK(mq_context_create(engine, 0, NULL), MQ_NONE);
        CHECK(mq_context_create(engine, 7, NULL), MQ_NONE);
        for (int i = 0; i < entries; i++) {
            mq_envelope envelope = {.source = i % 100, .tag = i};
            CHECK(mq_inline_arrive(engine, &envelope, 8, NULL, NULL), MQ_NONE);
        }
        for (int i = entries - 1; i >= 0; i -= 7) {
            mq_pattern any = {.source = i % 2 ? MQ_ANY_SOURCE : i % 100, .tag = i % 3 ? i : MQ_ANY_TAG};
            mq_pattern masked = {.source = i % 100, .tag = i, .ignore = i % 70 ? 0 : 3};
            (void) mq_inline_probe(engine, &any, NULL, NULL);
            (void) mq_inline_post(engine, i % 5 ? &any : &masked, NULL, NULL, NULL, NULL);
            if (i % 1001 == 0)
                break;
        }
        if (sorts) {
            CHECK(mq_visit(engine, count, &number), MQ_NONE);
            CHECK(mq_purge(engine, every_third, NULL, &number), MQ_NONE);
        }
        for (int i = 0; i < entries; i++) {
            mq_pattern pattern = {.source = i % 5 ? i % 100 : MQ_ANY_SOURCE, .tag = -2 - i};
            CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_NONE);
        }
        for (int i = entries - 1; i >= entries / 2; i--) {
            mq_envelope envelope = {.source = i % 100, .tag = -2 - i};
            CHECK(mq_inline_arrive(engine, &envelope, 8, NULL, NULL), MQ_MATCHED);
        }
        mq_statistics counts;
        (void) mq_statistics_read(engine, &counts, sizeof counts);
        if (sorts)
            CHECK(mq_context_free(engine, 0, NULL, NULL), MQ_NONE);
        CHECK(mq_engine_free(engine), MQ_NONE);
    }
    *(int *) result = 1;
    return NULL;
}

static void *sessions(void *result)
{
    mq_session_options about = {.library = "stack", .trace = folder, .statistics = 1, .size = 1};
    mq_session *session;
    mq_engine *engine;
    CHECK(mq_session_open(&about, &session), MQ_NONE);
    mq_engine_options options = {.structure = structure, .session = session};
    CHECK(mq_engine_new(&options, &engine), MQ_NONE);
    CHECK(mq_context_create(engine, 0, NULL), MQ_NONE);
    for (int i = 0; i < 20000; i++) {
        mq_envelope envelope = {.source = i % 100, .tag = i};
        mq_pattern pattern = {.source = MQ_ANY_SOURCE, .tag = i};
        CHECK(mq_arrive(engine, &envelope, 8, NULL, NULL), MQ_NONE);
        CHECK(mq_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_MATCHED);
    }
    CHECK(mq_engine_free(engine), MQ_NONE);
    CHECK(mq_session_close(session), MQ_NONE);
    *(int *) result = 1;
    return NULL;
}

/* The bytes of the stack that a thread has written to. */
static size_t taken_by(void *(*body)(void *))
{
    unsigned char *stack;
    pthread_attr_t attributes;
    pthread_t thread;
    size_t untouched = 0;
    int done = 0;
    CHECK(posix_memalign((void **) &stack, 4096, STACK), 0);
    memset(stack, PAINT, STACK);
    /* The first time, the dynamic linker takes more: it looks up what is called. */
    (void) body(&done);
    CHECK(pthread_attr_init(&attributes), 0);
    CHECK(pthread_attr_setstack(&attributes, stack, STACK), 0);
    CHECK(pthread_create(&thread, &attributes, body, &done), 0);
    CHECK(pthread_join(thread, NULL), 0);
    CHECK(done, 1);
    while (stack[untouched] == PAINT)
        untouched++;
    CHECK(pthread_attr_destroy(&attributes), 0);
    free(stack);
    return STACK - untouched;
}

static void *nothing(void *result)
{
    *(int *) result = 1;
    return NULL;
}

/* The most that calls take with any structure. */
static size_t most_taken_by_calls(void)
{
    size_t most = 0;
    for (uint32_t i = 0; (structure = mq_structure_name(i)) != NULL; i++) {
        const size_t taken = taken_by(calls);
        most = taken > most ? taken : most;
    }
    return most;
}

int main(void)
{
    const size_t own = taken_by(nothing), of_calls = most_taken_by_calls() - own;
    sorts = 1;
    const size_t of_sorting = most_taken_by_calls() - own;
    CHECK(mkdtemp(folder) == NULL, 0);
    const size_t of_sessions = taken_by(sessions) - own;
    /* Its first run was to link what it calls. */
    CHECK(remove_traces(folder), 2);
    CHECK(rmdir(folder), 0);
    printf("bytes of stack: calls %zu, sorting %zu, a session %zu\n", of_calls, of_sorting, of_sessions);
    CHECK(of_calls <= OF_CALLS, 1);
    CHECK(of_sorting <= OF_SORTING, 1);
    CHECK(of_sessions <= OF_SESSIONS, 1);
    return 0;
}
