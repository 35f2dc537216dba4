/* What an MPI library does with libmq, under its one lock: a session and an engine, a context for each communicator, what
 * is posted and what arrives in halves, cancels by a handle that was kept, and what a revoked communicator gives back.
 * ci/c.sh compiles it and runs it under valgrind; it fails if anything is not as MPI has it. */
#include <stdio.h>
#include <stdlib.h>

#include "mq.h"
#include "mq_inline.h"

enum { WORLD = 0, OTHER = 7, TAG = 5, PENDING = -1, REVOKED = -2 };

/* A receive. While it waits, the handle of its entry is in it, but for the context, which it has anyway. */
typedef struct request {
    uint32_t context, slot;
    uint64_t sequence;
    int payload;
    struct request *next;
} request;

static mq_session *session;
static mq_engine *engine;

static int check(int status) {
    if (status < 0) {
        fprintf(stderr, "libmq: %s\n", mq_strerror(status));
        exit(1);
    }
    return status;
}

static void init(uint32_t rank, uint32_t size) {
    mq_session_options about = {.library = "example", .rank = rank, .size = size, .environment = 1};
    mq_engine_options options = {.flags = 0};
    check(mq_session_open(&about, &session));
    options.session = session;
    check(mq_engine_new(&options, &engine));
}

/* With its size, by which structures plan. One of its messages may have made the context before. */
static void make_communicator(uint32_t context, uint32_t size, uint32_t rank) {
    mq_context_options options = {.size = size, .rank = rank};
    int status = mq_context_create(engine, context, &options);
    if (status == MQ_ERR_CONTEXT_EXISTS)
        status = mq_context_update(engine, context, &options);
    /* Messages of an earlier, larger communicator of this number are left: it goes on as it is. */
    if (status != MQ_ERR_RANK)
        check(status);
}

static void complete(request *receive, int *message) {
    receive->payload = *message;
    free(message);
}

static void post(request *receive, uint32_t context, int32_t source, int32_t tag) {
    mq_pattern wanted = {.context = context, .source = source, .tag = tag};
    mq_handle handle;
    void *message;
    receive->payload = PENDING;
    receive->context = context;
    receive->sequence = 0; /* which names nothing */
    if (check(mq_inline_extract(engine, &wanted, &message, NULL)) == MQ_MATCHED) {
        complete(receive, message); /* whose owner may post it again, or free it, at once */
        return;
    }
    check(mq_inline_queue_receive(engine, &wanted, receive, &handle));
    receive->sequence = handle.sequence;
    receive->slot = handle.slot;
}

static int cancel(const request *receive) {
    mq_handle handle = {.sequence = receive->sequence, .slot = receive->slot, .context = receive->context};
    return check(mq_cancel(engine, handle, NULL)) == MQ_MATCHED;
}

static void arrive(uint32_t context, int32_t source, int32_t tag, int payload) {
    mq_envelope carried = {.context = context, .source = source, .tag = tag};
    int *message = malloc(sizeof *message), status;
    void *receive;
    if (!message)
        exit(1);
    *message = payload;
    for (;;) {
        status = mq_inline_deliver(engine, &carried, &receive);
        if (status == MQ_NONE)
            status = mq_inline_queue_message(engine, &carried, sizeof *message, message, NULL);
        if (status != MQ_ERR_UNKNOWN_CONTEXT)
            break;
        /* It is here before its communicator, which will say its size. */
        check(mq_context_create(engine, context, NULL));
    }
    if (check(status) == MQ_MATCHED)
        complete(receive, message);
}

/* What a communicator gives back. It is gathered: the function that is shown it may not call the engine. */
static void gather(void *user, const mq_entry *entry) {
    request **leaving = user;
    request *receive = entry->cookie;
    if (!entry->posted) {
        free(entry->cookie);
        return;
    }
    receive->next = *leaving;
    *leaving = receive;
}

/* Revoked, or freed: how many receives have failed by it. */
static int give_back(uint32_t context, int freed) {
    request *leaving = NULL;
    int failed = 0;
    if (freed)
        check(mq_context_free(engine, context, gather, &leaving));
    else
        check(mq_context_purge(engine, context, NULL, gather, &leaving));
    for (request *receive = leaving; receive; receive = receive->next, failed++)
        receive->payload = REVOKED;
    return failed;
}

#define EXPECT(what) \
    if (!(what)) { \
        fprintf(stderr, "line %d: not so: %s\n", __LINE__, #what); \
        return 1; \
    }

int main(void) {
    request a, b, c;
    init(0, 4);
    make_communicator(WORLD, 4, 0);

    post(&a, WORLD, 3, TAG);
    arrive(WORLD, 3, TAG, 30);
    EXPECT(a.payload == 30);
    arrive(WORLD, 2, TAG, 20);
    arrive(WORLD, 1, TAG, 10);
    post(&a, WORLD, MQ_ANY_SOURCE, MQ_ANY_TAG);
    post(&b, WORLD, MQ_ANY_SOURCE, TAG);
    EXPECT(a.payload == 20 && b.payload == 10);

    arrive(OTHER, 1, TAG, 71);
    make_communicator(OTHER, 2, 0);
    post(&a, OTHER, 1, TAG);
    EXPECT(a.payload == 71 && !cancel(&a));

    post(&a, WORLD, 1, TAG);
    post(&b, WORLD, 1, TAG);
    EXPECT(cancel(&a) && !cancel(&a));
    arrive(WORLD, 1, TAG, 11);
    EXPECT(a.payload == PENDING && b.payload == 11 && !cancel(&b));

    post(&a, OTHER, 1, TAG);
    post(&b, WORLD, 1, TAG);
    post(&c, OTHER, MQ_ANY_SOURCE, TAG);
    arrive(OTHER, 0, TAG + 1, 72);
    EXPECT(give_back(OTHER, 0) == 2 && a.payload == REVOKED && c.payload == REVOKED);
    EXPECT(give_back(OTHER, 1) == 0 && b.payload == PENDING);
    EXPECT(give_back(WORLD, 1) == 1 && b.payload == REVOKED);

    check(mq_engine_free(engine));
    check(mq_session_close(session));
    puts("matched, cancelled and given back as MPI has it");
    return 0;
}
