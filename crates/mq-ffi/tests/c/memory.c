/* libmq on a caller's allocator that refuses now and then: each refusal is MQ_ERR_MEMORY, changes nothing,
 * and everything is given back in the end. ci/c.sh runs this under valgrind and with AddressSanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "mq.h"
#include "mq_inline.h"

static long live, calls, refuse_after = -1, limit = -1;
static __thread int refuse_this_thread;
static pthread_mutex_t counters = PTHREAD_MUTEX_INITIALIZER;

static void *allocate(void *user, size_t bytes, size_t align)
{
    void *memory = NULL;
    (void) user;
    pthread_mutex_lock(&counters);
    calls++;
    int refused = refuse_this_thread || (refuse_after >= 0 && calls > refuse_after) ||
                  (limit >= 0 && live + (long) bytes > limit);
    if (!refused && posix_memalign(&memory, align, bytes) != 0)
        memory = NULL;
    live += memory == NULL ? 0 : (long) bytes;
    pthread_mutex_unlock(&counters);
    return memory;
}

static void release(void *user, void *memory, size_t bytes, size_t align)
{
    (void) user;
    (void) align;
    pthread_mutex_lock(&counters);
    live -= (long) bytes;
    pthread_mutex_unlock(&counters);
    free(memory);
}

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                   \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

/* Fills both queues until memory has been refused many times, and drains them again. */
static void flood(const char *structure, uint32_t flags)
{
    mq_engine_options options = {.structure = structure, .flags = flags};
    mq_engine *engine;
    long before = live, refused = 0;
    int64_t queued = 0;
    static char marks[6000];
    refuse_after = -1;
    CHECK(mq_engine_new(&options, &engine) == MQ_NONE);
    CHECK(mq_context_create(engine, 0, NULL) == MQ_NONE);
    for (int i = 0; i < 6000; i++) {
        mq_envelope envelope = {.context = 0, .source = i % 40, .tag = i};
        /* Every few operations nothing is to be had. */
        refuse_after = i % 2 == 0 ? calls : -1;
        int status = mq_inline_arrive(engine, &envelope, 8, &marks[i], NULL);
        CHECK(status == MQ_NONE || status == MQ_ERR_MEMORY);
        marks[i] = status == MQ_NONE;
        queued += status == MQ_NONE;
        refused += status == MQ_ERR_MEMORY;
    }
    CHECK(refused > 0 && queued > 0);
    uint64_t unexpected;
    CHECK(mq_lengths(engine, NULL, &unexpected) == MQ_NONE);
    CHECK((int64_t) unexpected == queued);
    for (int i = 5999; i >= 0; i--) {
        mq_pattern pattern = {.context = 0, .source = i % 40, .tag = i};
        void *message = NULL;
        refuse_after = i % 5 == 0 ? calls : -1;
        int status = mq_inline_extract(engine, &pattern, &message, NULL);
        CHECK(status == (marks[i] ? MQ_MATCHED : MQ_NONE));
        CHECK(!marks[i] || message == &marks[i]);
    }
    long posted = 0;
    for (int i = 0; i < 2000; i++) {
        mq_pattern pattern = {.context = 0, .source = i % 40, .tag = i};
        refuse_after = i % 4 ? calls : -1;
        int status = mq_inline_post(engine, &pattern, &marks[i], NULL, NULL, NULL);
        CHECK(status == MQ_NONE || status == MQ_ERR_MEMORY);
        posted += status == MQ_NONE;
    }
    uint64_t receives;
    CHECK(mq_lengths(engine, &receives, NULL) == MQ_NONE);
    CHECK((long) receives == posted);
    refuse_after = calls;
    mq_engine *other;
    CHECK(mq_engine_new(&options, &other) == MQ_ERR_MEMORY);
    CHECK(mq_engine_free(engine) == MQ_NONE);
    refuse_after = -1;
    /* The blocks of engines are kept for the next ones; all else is back. */
    CHECK(live - before < 4096);
}

/* What is refused to one call is not another's: here to that which frees the first engine. */
static void one_engine_after_another(void)
{
    mq_engine_options options = {.flags = MQ_NO_FRONT};
    mq_engine *engines[64], *last;
    for (int i = 0; i < 64; i++)
        CHECK(mq_engine_new(&options, &engines[i]) == MQ_NONE);
    CHECK(mq_engine_new(&options, &last) == MQ_NONE);
    CHECK(mq_context_create(last, 0, NULL) == MQ_NONE);
    for (int i = 0; i < 64; i++) {
        mq_pattern pattern = {.context = 0, .source = i, .tag = 0};
        refuse_after = calls;
        CHECK(mq_engine_free(engines[i]) == MQ_NONE);
        refuse_after = -1;
        CHECK(mq_post(last, &pattern, NULL, NULL, NULL, NULL) == MQ_NONE);
    }
    CHECK(mq_engine_free(last) == MQ_NONE);
}

/* Nor is what is refused to a call that of one to another engine, made by a function of the caller's in its middle. */
static mq_engine *other;

static int32_t any(void *user, const mq_entry *entry)
{
    (void) user;
    (void) entry;
    return 1;
}

static void pass_on(void *user, const mq_entry *entry)
{
    mq_envelope envelope = {.context = 0, .source = entry->pattern.source, .tag = entry->pattern.tag};
    (void) user;
    refuse_after = -1;
    CHECK(mq_arrive(other, &envelope, 8, entry->cookie, NULL) == MQ_NONE);
    refuse_after = calls;
}

static void look(void *user, uint64_t entries, uint64_t bytes)
{
    uint64_t posted;
    (void) user;
    (void) entries;
    (void) bytes;
    CHECK(mq_lengths(other, &posted, NULL) == MQ_NONE);
}

static void callbacks(void)
{
    mq_engine_options options = {.flags = MQ_NO_FRONT};
    mq_engine *engine;
    CHECK(mq_engine_new(&options, &engine) == MQ_NONE && mq_engine_new(&options, &other) == MQ_NONE);
    CHECK(mq_context_create(engine, 0, NULL) == MQ_NONE && mq_context_create(other, 0, NULL) == MQ_NONE);
    for (int i = 0; i < 500; i++) {
        mq_envelope envelope = {.context = 0, .source = i, .tag = i};
        CHECK(mq_arrive(engine, &envelope, 8, NULL, NULL) == MQ_NONE);
    }
    refuse_after = calls;
    CHECK(mq_purge(engine, any, pass_on, NULL) == MQ_NONE);
    refuse_after = -1;
    uint64_t left, passed;
    CHECK(mq_lengths(engine, NULL, &left) == MQ_NONE && mq_lengths(other, NULL, &passed) == MQ_NONE);
    CHECK(left == 0 && passed == 500);
    CHECK(mq_engine_free(engine) == MQ_NONE);
    long refused = 0;
    for (int mark = 1; mark < 200; mark++) {
        mq_engine_options marked = {.high_unexpected = (uint64_t) mark, .high_water = look};
        CHECK(mq_engine_new(&marked, &engine) == MQ_NONE && mq_context_create(engine, 0, NULL) == MQ_NONE);
        for (int i = 1; i <= mark; i++) {
            mq_envelope envelope = {.context = 0, .source = i, .tag = i};
            long before = calls;
            refuse_after = i == mark ? calls : -1;
            int status = mq_arrive(engine, &envelope, 8, NULL, NULL);
            CHECK(status == (i == mark && calls > before ? MQ_ERR_MEMORY : MQ_NONE));
            refused += status == MQ_ERR_MEMORY;
        }
        refuse_after = -1;
        CHECK(mq_engine_free(engine) == MQ_NONE);
    }
    CHECK(refused > 0);
    CHECK(mq_engine_free(other) == MQ_NONE);
}

/* A limit holds, but for the piece of storage that had to be lent so that the queues stayed in order; and what was
 * queued is there when there is memory again. */
static void stays_within_a_limit(const char *structure, uint32_t flags)
{
    enum { ENTRIES = 40000, BYTES = 200000 };
    static char queued[ENTRIES];
    mq_engine_options options = {.structure = structure, .flags = flags};
    mq_engine *engine;
    CHECK(mq_engine_new(&options, &engine) == MQ_NONE && mq_context_create(engine, 0, NULL) == MQ_NONE);
    limit = live + BYTES;
    long accepted = 0, last = 0;
    for (int i = 0; i < ENTRIES; i++) {
        mq_envelope envelope = {.context = 0, .source = i % 40, .tag = i};
        int status = mq_arrive(engine, &envelope, 8, &queued[i], NULL);
        CHECK(status == MQ_NONE || status == MQ_ERR_MEMORY);
        queued[i] = status == MQ_NONE;
        accepted += queued[i];
        last = queued[i] ? i : last;
    }
    /* An entry is 64 bytes; the last piece may be twice as large as what there was. */
    CHECK(accepted > 0 && accepted * 64 < 4 * BYTES && last < ENTRIES - 1000);
    limit = -1;
    mq_envelope more = {.context = 0, .source = 1, .tag = ENTRIES};
    CHECK(mq_arrive(engine, &more, 8, NULL, NULL) == MQ_NONE);
    for (int i = 0; i < ENTRIES; i++) {
        mq_pattern pattern = {.context = 0, .source = i % 40, .tag = i};
        void *message = NULL;
        int status = queued[i] ? mq_extract(engine, &pattern, &message, NULL) : MQ_NONE;
        CHECK(!queued[i] || (status == MQ_MATCHED && message == &queued[i]));
    }
    CHECK(mq_engine_free(engine) == MQ_NONE);
}

/* Refusals end when what was queued is taken, however little the pool would give at once by then: queues in which
 * nothing is queued give back what was lent. */
static void goes_on_when_empty(const char *structure, uint32_t flags)
{
    enum { BYTES = 200000 };
    mq_engine_options options = {.structure = structure, .flags = flags};
    mq_engine *engine;
    CHECK(mq_engine_new(&options, &engine) == MQ_NONE);
    for (uint32_t context = 0; context < 3; context++) {
        mq_context_options about = {.size = context * 1000, .promises = context == 1 ? MQ_NO_ANY_TAG : 0};
        CHECK(mq_context_create(engine, context, &about) == MQ_NONE);
    }
    mq_pattern stale = {.context = 1, .source = 5, .tag = 5};
    mq_handle handle;
    CHECK(mq_post(engine, &stale, NULL, &handle, NULL, NULL) == MQ_NONE);
    CHECK(mq_cancel(engine, handle, NULL) == MQ_MATCHED);
    limit = live + BYTES;
    for (int round = 0; round < 6; round++) {
        int queued = 0, status;
        for (;; queued++) {
            mq_envelope envelope = {.context = queued % 3, .source = queued % 40, .tag = queued};
            mq_pattern pattern = {.context = queued % 3, .source = queued % 40, .tag = queued};
            status = round % 2 ? mq_post(engine, &pattern, NULL, NULL, NULL, NULL)
                               : mq_arrive(engine, &envelope, 8, NULL, NULL);
            if (status != MQ_NONE)
                break;
        }
        CHECK(status == MQ_ERR_MEMORY && queued > 100);
        for (int i = queued - 1; i >= 0; i--) {
            mq_envelope envelope = {.context = i % 3, .source = i % 40, .tag = i};
            mq_pattern pattern = {.context = i % 3, .source = i % 40, .tag = i};
            CHECK((round % 2 ? mq_deliver(engine, &envelope, NULL) : mq_extract(engine, &pattern, NULL, NULL)) ==
                  MQ_MATCHED);
        }
        /* In turns that which looks first, and that which does not. */
        mq_pattern one = {.context = 1, .source = 5, .tag = 5};
        mq_envelope its = {.context = 1, .source = 5, .tag = 5};
        CHECK((round < 3 ? mq_post(engine, &one, NULL, NULL, NULL, NULL)
                         : mq_queue_receive(engine, &one, NULL, NULL)) == MQ_NONE);
        CHECK(mq_cancel(engine, handle, NULL) == MQ_NONE);
        CHECK(mq_arrive(engine, &its, 8, NULL, NULL) == MQ_MATCHED);
    }
    /* As before: what the contexts were made with. */
    mq_pattern any_tag = {.context = 1, .source = 5, .tag = MQ_ANY_TAG};
    mq_envelope no_rank = {.context = 2, .source = 2000, .tag = 5};
    CHECK(mq_post(engine, &any_tag, NULL, NULL, NULL, NULL) == MQ_ERR_ANY_TAG);
    CHECK(mq_arrive(engine, &no_rank, 8, NULL, NULL) == MQ_ERR_RANK);
    limit = -1;
    CHECK(mq_engine_free(engine) == MQ_NONE);
}

/* Memory that is refused while entries move out of the front is owed for too: nothing more is queued behind it. */
static void refused_on_the_way(int count)
{
    mq_engine *engine;
    CHECK(mq_engine_new(NULL, &engine) == MQ_NONE && mq_context_create(engine, 0, NULL) == MQ_NONE);
    for (int i = 0; i < count; i++) {
        mq_pattern pattern = {.source = 1, .tag = 2 * i};
        CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL) == MQ_NONE);
    }
    refuse_after = calls;
    /* The front cannot hold a masked tag. */
    mq_pattern masked = {.source = 2, .tag = 0, .ignore = 1};
    for (int i = 0; i < 3; i++)
        CHECK(mq_post(engine, &masked, NULL, NULL, NULL, NULL) == MQ_ERR_MEMORY);
    uint64_t posted;
    CHECK(mq_lengths(engine, &posted, NULL) == MQ_NONE && posted == (uint64_t) count);
    refuse_after = -1;
    CHECK(mq_post(engine, &masked, NULL, NULL, NULL, NULL) == MQ_NONE);
    for (int i = 0; i < count; i++) {
        mq_envelope envelope = {.source = 1, .tag = 2 * i};
        CHECK(mq_inline_arrive(engine, &envelope, 8, NULL, NULL) == MQ_MATCHED);
    }
    CHECK(mq_engine_free(engine) == MQ_NONE);
}

/* Posts and takes back on an engine of its own, which gets no memory in every other thread. */
static void *one_of_many(void *refused)
{
    mq_engine_options options = {.flags = MQ_NO_FRONT};
    mq_engine *engine;
    CHECK(mq_engine_new(&options, &engine) == MQ_NONE);
    CHECK(mq_context_create(engine, 0, NULL) == MQ_NONE);
    long queued = 0, out = 0;
    for (int i = 0; i < 3000; i++) {
        mq_envelope envelope = {.context = 0, .source = i, .tag = i};
        refuse_this_thread = refused != NULL && i % 3 == 0;
        int status = mq_arrive(engine, &envelope, 8, NULL, NULL);
        refuse_this_thread = 0;
        CHECK(status == MQ_NONE || (refused != NULL && i % 3 == 0 && status == MQ_ERR_MEMORY));
        queued += status == MQ_NONE;
        out += status == MQ_ERR_MEMORY;
    }
    uint64_t unexpected;
    CHECK(mq_lengths(engine, NULL, &unexpected) == MQ_NONE);
    CHECK((long) unexpected == queued && (refused == NULL) == (out == 0));
    CHECK(mq_engine_free(engine) == MQ_NONE);
    return NULL;
}

static void threads(void)
{
    pthread_t all[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&all[i], NULL, one_of_many, i % 2 ? &all : NULL) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(all[i], NULL) == 0);
}

int main(void)
{
    mq_allocator allocator = {allocate, release, NULL};
    CHECK(mq_allocator_set(&allocator) == MQ_NONE);
    CHECK(mq_allocator_set(&allocator) == MQ_ERR_TOO_LATE);
    const char *name;
    for (uint32_t i = 0; (name = mq_structure_name(i)) != NULL; i++) {
        flood(name, 0);
        flood(name, MQ_STATISTICS);
        stays_within_a_limit(name, 0);
        stays_within_a_limit(name, MQ_STATISTICS);
        goes_on_when_empty(name, 0);
        goes_on_when_empty(name, MQ_STATISTICS);
        goes_on_when_empty(name, MQ_NO_FRONT | MQ_LOCKED);
    }
    CHECK(calls > 0);
    one_engine_after_another();
    callbacks();
    for (int count = 1; count < 400; count += 7)
        refused_on_the_way(count);
    threads();
    puts("every refusal was MQ_ERR_MEMORY, and the memory is back");
    return 0;
}
