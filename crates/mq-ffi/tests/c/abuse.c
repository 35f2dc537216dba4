/* What a careless caller does: each call gives the error that mq.h names, and nothing else happens.
 * ci/c.sh runs this under valgrind and with AddressSanitizer. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "check.h"
#include "mq.h"
#include "mq_inline.h"

static const mq_pattern WANTED = {.context = 1, .source = 2, .tag = 3};
static const mq_envelope CARRIED = {.context = 1, .source = 2, .tag = 3};

static mq_engine *engine_with(uint32_t flags)
{
    mq_engine_options options = {.flags = flags};
    mq_context_options context = {.size = 8};
    mq_engine *engine = NULL;
    CHECK(mq_engine_new(&options, &engine), MQ_NONE);
    CHECK(mq_context_create(engine, 1, &context), MQ_NONE);
    return engine;
}

static void null_everything(void)
{
    mq_handle handle = {0};
    mq_message_handle message = {0};
    CHECK(mq_engine_new(NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_engine_free(NULL), MQ_NONE);
    CHECK(mq_session_open(NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_session_close(NULL), MQ_NONE);
    CHECK(mq_allocator_set(NULL), MQ_ERR_NULL);
    CHECK(mq_context_create(NULL, 0, NULL), MQ_ERR_NULL);
    CHECK(mq_context_free(NULL, 0, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_post(NULL, NULL, NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_arrive(NULL, NULL, 0, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_probe(NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_extract(NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_find(NULL, NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_take(NULL, message, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_deliver(NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_queue_receive(NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_queue_probe(NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_queue_message(NULL, NULL, 0, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_cancel(NULL, handle, NULL), MQ_ERR_NULL);
    CHECK(mq_announce(NULL, 0, 0, 0, 0), MQ_ERR_NULL);
    CHECK(mq_purge(NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_context_purge(NULL, 0, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_visit(NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_lengths(NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_context_lengths(NULL, 0, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_lengths_by_source(NULL, 0, 0, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_memory(NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_statistics_read(NULL, NULL, 0), MQ_ERR_NULL);
    CHECK(mq_inline_post(NULL, NULL, NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_arrive(NULL, NULL, 0, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_extract(NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_probe(NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_take(NULL, message, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_deliver(NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_queue_receive(NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_queue_message(NULL, NULL, 0, NULL, NULL), MQ_ERR_NULL);

    /* The engine is there, what it needs is not; and outputs that nobody wants. */
    mq_engine *engine = engine_with(0);
    CHECK(mq_post(engine, NULL, NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_arrive(engine, NULL, 0, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_post(engine, NULL, NULL, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_deliver(engine, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_purge(engine, NULL, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_visit(engine, NULL, NULL), MQ_ERR_NULL);
    CHECK(mq_inline_post(engine, &WANTED, NULL, NULL, NULL, NULL), MQ_NONE);
    CHECK(mq_inline_arrive(engine, &CARRIED, 0, NULL, NULL), MQ_MATCHED);
    CHECK(mq_inline_arrive(engine, &CARRIED, 0, NULL, NULL), MQ_NONE);
    CHECK(mq_inline_find(engine, &WANTED, NULL, NULL, NULL), MQ_MATCHED);
    CHECK(mq_inline_extract(engine, &WANTED, NULL, NULL), MQ_MATCHED);
    CHECK(mq_lengths(engine, NULL, NULL), MQ_NONE);
    CHECK(mq_context_lengths(engine, 1, NULL, NULL), MQ_NONE);
    CHECK(mq_lengths_by_source(engine, 1, 8, NULL, NULL), MQ_NONE);
    CHECK(mq_memory(engine, NULL), MQ_NONE);
    CHECK(mq_statistics_read(engine, NULL, 0), MQ_ERR_NO_STATISTICS);
    CHECK(mq_engine_free(engine), MQ_NONE);
}

static void use_after_free(uint32_t flags)
{
    mq_engine *engine = engine_with(flags);
    mq_handle handle;
    CHECK(mq_inline_post(engine, &WANTED, NULL, &handle, NULL, NULL), MQ_NONE);
    CHECK(mq_engine_free(engine), MQ_NONE);
    CHECK(mq_engine_free(engine), MQ_ERR_ENGINE);
    CHECK(mq_inline_post(engine, &WANTED, NULL, NULL, NULL, NULL), MQ_ERR_ENGINE);
    CHECK(mq_inline_arrive(engine, &CARRIED, 0, NULL, NULL), MQ_ERR_ENGINE);
    CHECK(mq_cancel(engine, handle, NULL), MQ_ERR_ENGINE);
    CHECK(mq_context_create(engine, 2, NULL), MQ_ERR_ENGINE);
    CHECK(mq_lengths(engine, NULL, NULL), MQ_ERR_ENGINE);
    /* The block serves the next engine, and the old handle names nothing in it. */
    mq_engine *next = engine_with(flags);
    CHECK(mq_cancel(next, handle, NULL), MQ_NONE);
    CHECK(mq_inline_post(next, &WANTED, NULL, NULL, NULL, NULL), MQ_NONE);
    CHECK(mq_cancel(next, handle, NULL), MQ_NONE);
    CHECK(mq_engine_free(next), MQ_NONE);

    mq_session_options options = {0};
    mq_session *session;
    CHECK(mq_session_open(&options, &session), MQ_NONE);
    CHECK(mq_session_close(session), MQ_NONE);
    CHECK(mq_session_close(session), MQ_ERR_ENGINE);
    mq_engine_options joins = {.session = session};
    CHECK(mq_engine_new(&joins, &engine), MQ_ERR_ENGINE);
}

static int take_nothing(void *user, const mq_entry *entry)
{
    (void)user;
    (void)entry;
    return 0;
}

/* Moves what is in the front to the queues, as a purge does. */
static void move(mq_engine *engine)
{
    CHECK(mq_purge(engine, take_nothing, NULL, NULL), MQ_NONE);
}

static void stale_handles(void)
{
    mq_engine *engine = engine_with(0);
    mq_handle handles[8];
    mq_message_handle found, again;
    void *cookie = NULL;
    int marks[8];
    /* The first six names are given in the front and then moved, the others in the queues. (Four would come back.) */
    for (int i = 0; i < 8; i++) {
        if (i == 6)
            move(engine);
        CHECK(mq_inline_post(engine, &WANTED, &marks[i], &handles[i], NULL, NULL), MQ_NONE);
        CHECK(handles[i].slot == MQ_FRONT_SLOT, i < 6);
    }
    CHECK(mq_cancel(engine, handles[2], &cookie), MQ_MATCHED);
    CHECK(cookie == &marks[2], 1);
    CHECK(mq_cancel(engine, handles[2], &cookie), MQ_NONE);
    CHECK(mq_inline_arrive(engine, &CARRIED, 0, NULL, &cookie), MQ_MATCHED);
    CHECK(cookie == &marks[0], 1);
    CHECK(mq_cancel(engine, handles[0], NULL), MQ_NONE);
    CHECK(mq_cancel(engine, handles[7], NULL), MQ_MATCHED);
    CHECK(mq_cancel(engine, handles[6], NULL), MQ_MATCHED);
    CHECK(mq_cancel(engine, handles[5], NULL), MQ_MATCHED);
    CHECK(mq_cancel(engine, handles[4], NULL), MQ_MATCHED);
    CHECK(mq_cancel(engine, handles[3], NULL), MQ_MATCHED);
    CHECK(mq_cancel(engine, handles[1], NULL), MQ_MATCHED);
    for (int i = 0; i < 8; i++)
        CHECK(mq_cancel(engine, handles[i], NULL), MQ_NONE);
    /* A message found in the front, moved, and taken by its name of before. */
    CHECK(mq_inline_arrive(engine, &CARRIED, 0, &marks[0], NULL), MQ_NONE);
    CHECK(mq_inline_find(engine, &WANTED, &found, NULL, NULL), MQ_MATCHED);
    CHECK(found.slot == MQ_FRONT_SLOT, 1);
    move(engine);
    CHECK(mq_probe(engine, &WANTED, NULL, NULL), MQ_MATCHED);
    CHECK(mq_find(engine, &WANTED, &again, NULL, NULL), MQ_MATCHED);
    CHECK(mq_inline_take(engine, found, &cookie, NULL), MQ_MATCHED);
    CHECK(cookie == &marks[0], 1);
    CHECK(mq_inline_take(engine, found, NULL, NULL), MQ_NONE);
    CHECK(mq_take(engine, again, NULL, NULL), MQ_NONE);
    /* Freed and made again: old names stay stale. */
    CHECK(mq_post(engine, &WANTED, NULL, &handles[0], NULL, NULL), MQ_NONE);
    CHECK(mq_context_free(engine, 1, NULL, NULL), MQ_NONE);
    CHECK(mq_cancel(engine, handles[0], NULL), MQ_NONE);
    CHECK(mq_context_create(engine, 1, NULL), MQ_NONE);
    CHECK(mq_post(engine, &WANTED, NULL, &handles[1], NULL, NULL), MQ_NONE);
    CHECK(mq_cancel(engine, handles[0], NULL), MQ_NONE);
    memset(&handles[2], 0xff, sizeof handles[2]);
    CHECK(mq_cancel(engine, handles[2], NULL), MQ_NONE);
    CHECK(mq_engine_free(engine), MQ_NONE);
}

/* Names of engines that follow each other in one block rise, so that those of the freed ones stay stale; but for
 * the bit that those of the front have. */
static void names_of_many_engines(void)
{
    const uint64_t number = UINT64_MAX >> 1;
    uint64_t last = 0;
    for (int i = 0; i < 200; i++) {
        mq_engine *engine = engine_with(i % 2 ? 0 : MQ_NO_FRONT);
        mq_handle handle = {last, 0, 1};
        CHECK(mq_cancel(engine, handle, NULL), MQ_NONE);
        CHECK(mq_post(engine, &WANTED, NULL, &handle, NULL, NULL), MQ_NONE);
        CHECK((handle.sequence & number) > (last & number), 1);
        last = handle.sequence;
        CHECK(mq_engine_free(engine), MQ_NONE);
    }
}

static mq_pattern shown;

static void show(void *user, const mq_entry *entry)
{
    (void) user;
    shown = entry->pattern;
}

/* What is shown of a receive asks for the same when it is posted. */
static void masks_are_shown_as_masks(void)
{
    const mq_pattern masked[] = {{.context = 1, .source = 0, .tag = -1, .ignore = 0x7fffffff},
                                 {.context = 1, .source = 0, .tag = -4096, .ignore = 0x7ffff000},
                                 {.context = 1, .source = 0, .tag = 5, .ignore = 0xf0}};
    const int32_t takes[] = {-77, -8192, 0xa5}, leaves[] = {77, -1, 0xa4};
    for (int i = 0; i < 3; i++) {
        mq_engine *engine = engine_with(0);
        CHECK(mq_post(engine, &masked[i], NULL, NULL, NULL, NULL), MQ_NONE);
        CHECK(mq_visit(engine, show, NULL), MQ_NONE);
        CHECK(shown.ignore == masked[i].ignore && shown.tag != MQ_ANY_TAG, 1);
        CHECK(mq_post(engine, &shown, NULL, NULL, NULL, NULL), MQ_NONE);
        for (int twice = 0; twice < 2; twice++) {
            mq_envelope envelope = {.context = 1, .source = 0, .tag = leaves[i]};
            CHECK(mq_deliver(engine, &envelope, NULL), MQ_NONE);
            envelope.tag = takes[i];
            CHECK(mq_deliver(engine, &envelope, NULL), MQ_MATCHED);
        }
        CHECK(mq_engine_free(engine), MQ_NONE);
    }
}

/* Searches in place for a source that is no wildcard find nothing where calls name what is wrong, and so does the step
 * that queues. */
static void wrong_searches(mq_engine *engine, const mq_pattern *pattern, const mq_envelope *envelope, int error)
{
    void *found;
    const int in_place = pattern->source < 0 ? error : MQ_NONE;
    CHECK(mq_inline_extract(engine, pattern, &found, NULL), in_place);
    CHECK(mq_inline_find(engine, pattern, NULL, &found, NULL), in_place);
    CHECK(mq_inline_probe(engine, pattern, &found, NULL), in_place);
    CHECK(mq_inline_deliver(engine, envelope, &found), MQ_NONE);
    CHECK(mq_extract(engine, pattern, &found, NULL), error);
    CHECK(mq_find(engine, pattern, NULL, &found, NULL), error);
    CHECK(mq_probe(engine, pattern, &found, NULL), error);
    CHECK(mq_deliver(engine, envelope, &found), error);
    CHECK(mq_inline_queue_receive(engine, pattern, NULL, NULL), error);
    CHECK(mq_inline_queue_message(engine, envelope, 0, NULL, NULL), error);
}

static void wrong_arguments(void)
{
    mq_engine *engine = engine_with(0);
    mq_pattern pattern = WANTED;
    mq_envelope envelope = CARRIED;
    pattern.context = envelope.context = 77;
    CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_ERR_UNKNOWN_CONTEXT);
    CHECK(mq_inline_arrive(engine, &envelope, 0, NULL, NULL), MQ_ERR_UNKNOWN_CONTEXT);
    CHECK(mq_context_free(engine, 77, NULL, NULL), MQ_ERR_UNKNOWN_CONTEXT);
    wrong_searches(engine, &pattern, &envelope, MQ_ERR_UNKNOWN_CONTEXT);
    CHECK(mq_context_create(engine, 1, NULL), MQ_ERR_CONTEXT_EXISTS);
    pattern.context = envelope.context = 1;
    const int32_t ranks[] = {8, -2, INT_MAX, INT_MIN};
    for (int i = 0; i < 4; i++) {
        pattern.source = envelope.source = ranks[i];
        CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_ERR_RANK);
        CHECK(mq_inline_arrive(engine, &envelope, 0, NULL, NULL), MQ_ERR_RANK);
        wrong_searches(engine, &pattern, &envelope, MQ_ERR_RANK);
    }
    /* Nor does a receive from any source take such a message. */
    mq_pattern any = {.context = 1, .source = MQ_ANY_SOURCE, .tag = CARRIED.tag};
    CHECK(mq_inline_post(engine, &any, NULL, NULL, NULL, NULL), MQ_NONE);
    CHECK(mq_inline_deliver(engine, &envelope, NULL), MQ_ERR_RANK);
    CHECK(mq_inline_deliver(engine, &CARRIED, NULL), MQ_MATCHED);
    pattern.source = envelope.source = 2;
    envelope.tag = MQ_ANY_TAG;
    CHECK(mq_inline_arrive(engine, &envelope, 0, NULL, NULL), MQ_ERR_ARGUMENT);
    CHECK(mq_queue_message(engine, &envelope, 0, NULL, NULL), MQ_ERR_ARGUMENT);
    envelope = CARRIED;
    envelope.traffic_class = MQ_CLASS_UNKNOWN;
    CHECK(mq_inline_arrive(engine, &envelope, 0, NULL, NULL), MQ_ERR_ARGUMENT);
    CHECK(mq_inline_deliver(engine, &envelope, NULL), MQ_NONE);
    CHECK(mq_deliver(engine, &envelope, NULL), MQ_ERR_ARGUMENT);
    /* Where there is something to be found, it is not by a wrong class. */
    pattern = WANTED;
    CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_NONE);
    CHECK(mq_inline_deliver(engine, &envelope, NULL), MQ_ERR_ARGUMENT);
    CHECK(mq_inline_deliver(engine, &CARRIED, NULL), MQ_MATCHED);
    CHECK(mq_inline_arrive(engine, &CARRIED, 0, NULL, NULL), MQ_NONE);
    pattern.traffic_class = 77;
    CHECK(mq_inline_extract(engine, &pattern, NULL, NULL), MQ_ERR_ARGUMENT);
    CHECK(mq_inline_find(engine, &pattern, NULL, NULL, NULL), MQ_ERR_ARGUMENT);
    pattern.traffic_class = 0;
    CHECK(mq_inline_extract(engine, &pattern, NULL, NULL), MQ_MATCHED);
    pattern.traffic_class = envelope.traffic_class = 99;
    CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_ERR_ARGUMENT);
    CHECK(mq_inline_arrive(engine, &envelope, 0, NULL, NULL), MQ_ERR_ARGUMENT);
    pattern.traffic_class = envelope.traffic_class = 0;
    pattern.tag = MQ_ANY_TAG;
    pattern.ignore = 1;
    CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_ERR_ARGUMENT);
    /* The largest tags are tags like others. */
    const int32_t tags[] = {INT_MAX, INT_MAX - 1, INT_MIN + 1, -1, 0};
    pattern.ignore = 0;
    for (int i = 0; i < 5; i++) {
        pattern.tag = envelope.tag = tags[i];
        CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_NONE);
        CHECK(mq_inline_arrive(engine, &envelope, 0, NULL, NULL), MQ_MATCHED);
    }
    CHECK(mq_engine_free(engine), MQ_NONE);

    mq_engine_options options = {.flags = 1u << 20};
    CHECK(mq_engine_new(&options, &engine), MQ_ERR_ARGUMENT);
    options.flags = 0;
    options.structure = "5d";
    CHECK(mq_engine_new(&options, &engine), MQ_ERR_STRUCTURE);
    options.structure = "\xff\xfe";
    CHECK(mq_engine_new(&options, &engine), MQ_ERR_STRUCTURE);
    options.structure = "bins:bins=";
    CHECK(mq_engine_new(&options, &engine), MQ_ERR_STRUCTURE);
    /* A communicator of size 0 is one of unknown size. */
    mq_context_options context = {.size = 0};
    engine = engine_with(0);
    CHECK(mq_context_create(engine, 2, &context), MQ_NONE);
    pattern = (mq_pattern){.context = 2, .source = INT_MAX, .tag = 1};
    CHECK(mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL), MQ_NONE);
    context.promises = 64;
    CHECK(mq_context_create(engine, 3, &context), MQ_ERR_ARGUMENT);
    CHECK(mq_engine_free(engine), MQ_NONE);
    for (int status = -200; status < 200; status++)
        CHECK(mq_strerror(status) != NULL, 1);
}

static int reenter_select(void *user, const mq_entry *entry)
{
    mq_engine *engine = user;
    (void) entry;
    CHECK(mq_inline_post(engine, &WANTED, NULL, NULL, NULL, NULL), MQ_ERR_REENTRANT);
    CHECK(mq_purge(engine, reenter_select, NULL, user), MQ_ERR_REENTRANT);
    CHECK(mq_context_purge(engine, 0, reenter_select, NULL, user), MQ_ERR_REENTRANT);
    CHECK(mq_context_create(engine, 5, NULL), MQ_ERR_REENTRANT);
    CHECK(mq_engine_free(engine), MQ_ERR_REENTRANT);
    return 1;
}

static void reenter(void *user, const mq_entry *entry)
{
    CHECK(entry != NULL, 1);
    reenter_select(user, entry);
    /* Another engine is nobody's business. */
    mq_engine *other = engine_with(0);
    CHECK(mq_inline_post(other, &WANTED, NULL, NULL, NULL, NULL), MQ_NONE);
    CHECK(mq_engine_free(other), MQ_NONE);
}

static void reentrancy(uint32_t flags)
{
    mq_engine *engine = engine_with(flags);
    mq_pattern other = {.context = 1, .source = 3, .tag = 9};
    CHECK(mq_inline_post(engine, &other, NULL, NULL, NULL, NULL), MQ_NONE);
    CHECK(mq_inline_arrive(engine, &CARRIED, 0, NULL, NULL), MQ_NONE);
    CHECK(mq_visit(engine, reenter, engine), MQ_NONE);
    CHECK(mq_purge(engine, reenter_select, reenter, engine), MQ_NONE);
    CHECK(mq_inline_post(engine, &other, NULL, NULL, NULL, NULL), MQ_NONE);
    CHECK(mq_context_free(engine, 1, reenter, engine), MQ_NONE);
    CHECK(mq_engine_free(engine), MQ_NONE);
}

static void after_a_fork(void)
{
    mq_engine *engine = engine_with(MQ_STATISTICS);
    CHECK(mq_post(engine, &WANTED, NULL, NULL, NULL, NULL), MQ_NONE);
    pid_t child = fork();
    if (child == 0) {
        CHECK(mq_arrive(engine, &CARRIED, 0, NULL, NULL), MQ_MATCHED);
        CHECK(mq_engine_free(engine), MQ_NONE);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0), child);
    CHECK(status, 0);
    CHECK(mq_arrive(engine, &CARRIED, 0, NULL, NULL), MQ_MATCHED);
    CHECK(mq_engine_free(engine), MQ_NONE);
}

/* How many bytes the end of the engine and its session prints on stderr, here or in a child. */
static long printed_at_the_end(mq_engine *engine, mq_session *session, int in_a_child)
{
    int ends[2], stderr_before = dup(STDERR_FILENO), status = 1;
    static char text[1 << 14];
    CHECK(pipe(ends), 0);
    pid_t child = in_a_child ? fork() : 0;
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        status = mq_session_close(session) | mq_engine_free(engine);
        dup2(stderr_before, STDERR_FILENO);
        if (in_a_child)
            _exit(status);
    } else {
        CHECK(waitpid(child, &status, 0), child);
    }
    CHECK(status, 0);
    close(ends[1]);
    close(stderr_before);
    long bytes = read(ends[0], text, sizeof text);
    close(ends[0]);
    return bytes;
}

/* Whether a trace says that its process has not closed its session. */
static int is_unfinished(const char *trace)
{
    char header[512] = "";
    FILE *file = fopen(trace, "r");
    CHECK(file != NULL, 1);
    CHECK(fgets(header, sizeof header, file) == header, 1);
    fclose(file);
    return strstr(header, " seconds=unfinished\n") != NULL;
}

static void the_session_of_a_forked_process_is_the_parents(void)
{
    char folder[] = "/tmp/mq-fork-XXXXXX", trace[64];
    CHECK(mkdtemp(folder) == folder, 1);
    mq_session_options options = {.statistics = 1, .trace = folder};
    mq_session *session;
    mq_engine *engine;
    CHECK(mq_session_open(&options, &session), MQ_NONE);
    mq_engine_options joins = {.session = session};
    CHECK(mq_engine_new(&joins, &engine), MQ_NONE);
    CHECK(mq_context_create(engine, 1, NULL), MQ_NONE);
    CHECK(mq_post(engine, &WANTED, NULL, NULL, NULL, NULL), MQ_NONE);
    snprintf(trace, sizeof trace, "%s/libmq-r0-%ld.mqt", folder, (long) getpid());
    CHECK(printed_at_the_end(engine, session, 1), 0);
    CHECK(is_unfinished(trace), 1);
    CHECK(printed_at_the_end(engine, session, 0) > 0, 1);
    CHECK(is_unfinished(trace), 0);
    CHECK(unlink(trace), 0);
    CHECK(rmdir(folder), 0);
}

int main(void)
{
    const uint32_t flags[] = {0, MQ_NO_FRONT, MQ_LOCKED, MQ_STATISTICS, MQ_LOCKED | MQ_STATISTICS};
    null_everything();
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        use_after_free(flags[i]);
        reentrancy(flags[i]);
    }
    stale_handles();
    names_of_many_engines();
    masks_are_shown_as_masks();
    wrong_arguments();
    after_a_fork();
    the_session_of_a_forked_process_is_the_parents();
    puts("every misuse gave the error that it should");
    return 0;
}
