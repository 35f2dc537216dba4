/* MPICH's context ids as libmq's contexts, for the files of its devices ch3 and ch4 that own the queues.
 *
 * Contexts are created by their first use, which may be a message that arrives before its communicator exists. When
 * MPICH makes a communicator, it tells how many ranks can send on it, which a structure that plans by the size needs
 * when it is made. A communicator has two contexts, each communicator inside it two of its own, and all may be reused
 * by another communicator afterwards. */

#ifndef MQ_CONTEXTS_H_INCLUDED
#define MQ_CONTEXTS_H_INCLUDED

#include "mq_envelopes.h"

#define MPIDI_MQ_CONTEXTS (1 << MPIR_CONTEXT_ID_BITS)

/* For a context: the number of ranks that can send on it, 0 while unknown, and this process's rank. */
struct ranks {
    uint32_t size;
    uint32_t rank;
};

/* The queues that one lock protects. */
struct queues {
    mq_engine *engine;
    struct ranks ranks[MPIDI_MQ_CONTEXTS];
};

/* A communicator's contexts for receiving: from its context id on. */
static uint32_t context_of(const MPIR_Comm * comm, uint32_t suffix)
{
    return comm->recvcontext_id + suffix;
}

static const uint32_t suffixes[] = { MPIR_CONTEXT_INTRA_PT2PT, MPIR_CONTEXT_INTRA_COLL };

/* Makes a context that a call did not find. */
static void add_context(struct queues *queues, uint32_t context)
{
    mq_context_options options = {
        .size = queues->ranks[context].size,
        .rank = queues->ranks[context].rank,
    };
    MPIDI_MQ_check(mq_context_create(queues->engine, context, &options));
}

/* Lets all ranks send on a context; returns whether the context exists. */
static int forget_size(struct queues *queues, uint32_t context)
{
    int status = mq_context_update(queues->engine, context, NULL);

    queues->ranks[context].size = 0;
    if (status == MQ_ERR_UNKNOWN_CONTEXT)
        return FALSE;
    MPIDI_MQ_check(status);
    return TRUE;
}

/* A communicator is made. */
static void communicator_made(struct queues *queues, const MPIR_Comm * comm)
{
    /* Messages come from the remote group, and a trace's line has the local one: an intercommunicator has none. */
    struct ranks ranks = {
        .size = (uint32_t) comm->remote_size,
        .rank = comm->comm_kind == MPIR_COMM_KIND__INTERCOMM ? UINT32_MAX : (uint32_t) comm->rank,
    };
    mq_context_options options = {.size = ranks.size,.rank = ranks.rank };

    for (int i = 0; i < 2; i++) {
        uint32_t context = context_of(comm, suffixes[i]);
        /* The context exists only if messages arrived before their communicator, or an earlier one left it behind. It
         * loses its size first, which makes an empty one another communicator in a trace: to be given the same
         * size again would not. */
        if (forget_size(queues, context)) {
            int status = mq_context_update(queues->engine, context, &options);
            /* Messages of an earlier, larger communicator are left: all ranks may still send. */
            if (status == MQ_ERR_RANK)
                continue;
            MPIDI_MQ_check(status);
        }
        queues->ranks[context] = ranks;
    }
}

/* A communicator is released. The next one with its id may have another size, and its messages may arrive before it:
 * so an empty context is removed, and on one with messages that nobody has received all ranks may send. */
static void communicator_gone(struct queues *queues, const MPIR_Comm * comm)
{
    for (int i = 0; i < 2; i++) {
        uint32_t context = context_of(comm, suffixes[i]);
        uint64_t posted, unexpected;
        if (!forget_size(queues, context))
            continue;
        MPIDI_MQ_check(mq_context_lengths(queues->engine, context, &posted, &unexpected));
        if (posted + unexpected == 0)
            MPIDI_MQ_check(mq_context_free(queues->engine, context, NULL, NULL));
    }
}

/* Fixes what prevents a call, if possible; returns whether it did. */
static ATTRIBUTE((noinline)) int put_right(struct queues *queues, int status, uint32_t context)
{
    if (status == MQ_ERR_UNKNOWN_CONTEXT) {
        add_context(queues, context);
        return 1;
    }
    if (status == MQ_ERR_RANK && queues->ranks[context].size != 0) {
        /* Sent on an earlier, larger communicator with this id: nobody will receive it, and it is no reason to
         * abort. */
        forget_size(queues, context);
        return 1;
    }
    MPIDI_MQ_check(status);
    return 0;
}

#endif /* MQ_CONTEXTS_H_INCLUDED */
