/* The receive queues of MPICH's ch4 device (4.0) with libmq: replaces src/mpid/ch4/src/mpidig_recvq.h.
 *
 * These are the queues of messages in shared memory, and of those that a network delivers as active messages; what a
 * network matches itself (libfabric) is not in them. One engine for each VCI, with MPICH's context ids as contexts, used
 * under the lock of the VCI, or MPICH's only lock. */

#ifndef MPIDIG_RECVQ_H_INCLUDED
#define MPIDIG_RECVQ_H_INCLUDED

#include <mpidimpl.h>
#include "utlist.h"
#include "ch4_impl.h"
#include "mq_envelopes.h"

extern unsigned PVAR_LEVEL_posted_recvq_length ATTRIBUTE((unused));
extern unsigned PVAR_LEVEL_unexpected_recvq_length ATTRIBUTE((unused));
extern unsigned long long PVAR_COUNTER_posted_recvq_match_attempts ATTRIBUTE((unused));
extern unsigned long long PVAR_COUNTER_unexpected_recvq_match_attempts ATTRIBUTE((unused));
extern MPIR_T_pvar_timer_t PVAR_TIMER_time_failed_matching_postedq ATTRIBUTE((unused));
extern MPIR_T_pvar_timer_t PVAR_TIMER_time_matching_unexpectedq ATTRIBUTE((unused));

/* MPI_T events: an unexpected message is queued, and leaves. */
extern int unexp_message_indices[2];

enum MPIDIG_queue_type {
    MPIDIG_PT2PT_POSTED,
    MPIDIG_PT2PT_UNEXP,
    MPIDIG_PART,
};

int MPIDIG_recvq_init(void);

/* A communicator is made; it is released. (Called by MPID_Comm_commit_pre_hook and MPID_Comm_free_hook.) */
void MPIDIG_recvq_comm_made(const MPIR_Comm * comm);
void MPIDIG_recvq_comm_gone(const MPIR_Comm * comm);

/* The engine of each VCI. */
extern mq_engine *MPIDIG_engines[MPIDI_CH4_MAX_VCIS];

/* Adds what a VCI's engine has visited since the last call to the performance variables. */
#if ENABLE_PVAR_RECVQ
void MPIDIG_recvq_count_visited(int vci);
#else
#define MPIDIG_recvq_count_visited(vci) do {} while (0)
#endif

/* The VCI whose list this is. With libmq, a list has entries for debuggers only; its address names the queue. */
MPL_STATIC_INLINE_PREFIX int MPIDIG_recvq_vci(MPIR_Request ** list)
{
    return (int) (((char *) list - (char *) MPIDI_global.per_vci) / sizeof(MPIDI_global.per_vci[0]));
}

/* The calls of libmq for what it does not do in place. Each gets what MPICH knows, in registers, instead of a pattern or
 * an envelope: with the address of one handed to a call, compilers keep it in memory in place too. */

MPIR_Request *MPIDIG_recvq_deliver_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id);
MPIR_Request *MPIDIG_recvq_extract_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id);
MPIR_Request *MPIDIG_recvq_probe_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id);
mq_handle MPIDIG_recvq_queue_receive_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id,
                                             MPIR_Request * req);
void MPIDIG_recvq_queue_message_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id,
                                        MPIR_Request * req);

/* The size of a queued message: its request's count, until it is received. */
MPL_STATIC_INLINE_PREFIX uint64_t MPIDIG_recvq_bytes(MPIR_Request * req)
{
    return (uint64_t) MPIDIG_REQUEST(req, count);
}

/* The handle of a posted receive, for a cancel in constant time, is in fields that are otherwise used for the message of
 * a matched probe, from MPI_Imrecv on. A receive that has been matched keeps its handle, which is stale then. Nothing
 * else is cancelled: MPIDIG_mpi_cancel_recv leaves requests alone whose message has arrived, as that of a matched probe
 * has. */

MPL_STATIC_INLINE_PREFIX void MPIDIG_recvq_keep_name(MPIR_Request * req, mq_handle name)
{
    MPIDIG_REQUEST(req, req->rreq.mrcv_count) = name.sequence;
    MPIDIG_REQUEST(req, req->rreq.mrcv_datatype) = (MPI_Datatype) name.slot;
}

MPL_STATIC_INLINE_PREFIX mq_handle MPIDIG_recvq_name_of(MPIR_Request * req)
{
    mq_handle name = {
        .sequence = MPIDIG_REQUEST(req, req->rreq.mrcv_count),
        .slot = (uint32_t) MPIDIG_REQUEST(req, req->rreq.mrcv_datatype),
        .context = MPIDIG_REQUEST(req, u.recv.context_id),
    };
    return name;
}

/* An entry has been queued; it has left. A debugger walks the lists (src/mpi/debugger/dll_mpich.c). */

MPL_STATIC_INLINE_PREFIX void MPIDIG_recvq_entered(MPIR_Request * req, MPIR_Request ** list,
                                                   enum MPIDIG_queue_type qtype)
{
#ifdef HAVE_DEBUGGER_SUPPORT
    DL_APPEND(*list, req);
#endif
    if (qtype == MPIDIG_PT2PT_POSTED) {
        MPIR_T_PVAR_LEVEL_INC(RECVQ, posted_recvq_length, 1);
    } else {
        MPIR_T_DO_EVENT(unexp_message_indices[0], MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                        &MPIDIG_REQUEST(req, u.recv.source));
        MPIR_T_PVAR_LEVEL_INC(RECVQ, unexpected_recvq_length, 1);
    }
}

MPL_STATIC_INLINE_PREFIX void MPIDIG_recvq_left(MPIR_Request * req, MPIR_Request ** list,
                                                enum MPIDIG_queue_type qtype)
{
#ifdef HAVE_DEBUGGER_SUPPORT
    DL_DELETE(*list, req);
#endif
    if (qtype == MPIDIG_PT2PT_POSTED) {
        MPIR_T_PVAR_LEVEL_DEC(RECVQ, posted_recvq_length, 1);
    } else {
        MPIR_T_DO_EVENT(unexp_message_indices[1], MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                        &MPIDIG_REQUEST(req, u.recv.source));
        MPIR_T_PVAR_LEVEL_DEC(RECVQ, unexpected_recvq_length, 1);
    }
}

/* A message arrives: takes the first receive that it matches, or returns NULL. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDIG_recvq_deliver(int rank, int tag,
                                                            MPIR_Context_id_t context_id,
                                                            MPIR_Request ** list)
{
    mq_envelope envelope = MPIDI_MQ_envelope(rank, tag, context_id);
    int vci = MPIDIG_recvq_vci(list);
    void *receive = NULL;

    MPIR_T_PVAR_TIMER_START(RECVQ, time_failed_matching_postedq);
    if (unlikely(mq_try_deliver(MPIDIG_engines[vci], &envelope, &receive) == MQ_NOT_IN_PLACE))
        receive = MPIDIG_recvq_deliver_by_call(vci, rank, tag, context_id);
    MPIDIG_recvq_count_visited(vci);
    if (receive == NULL) {
        MPIR_T_PVAR_TIMER_END(RECVQ, time_failed_matching_postedq);
        return NULL;
    }
    MPIDIG_recvq_left(receive, list, MPIDIG_PT2PT_POSTED);
    return receive;
}

/* A receive or a probe: the first message that it matches, or NULL. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDIG_recvq_extract(int rank, int tag,
                                                            MPIR_Context_id_t context_id,
                                                            MPIR_Request ** list, bool dequeue)
{
    mq_pattern pattern = MPIDI_MQ_pattern(rank, tag, context_id);
    int status, vci = MPIDIG_recvq_vci(list);
    void *message = NULL;

    MPIR_T_PVAR_TIMER_START(RECVQ, time_matching_unexpectedq);
    status = dequeue ? mq_try_extract(MPIDIG_engines[vci], &pattern, &message, NULL)
        : mq_try_probe(MPIDIG_engines[vci], &pattern, &message, NULL);
    if (unlikely(status == MQ_NOT_IN_PLACE))
        message = dequeue ? MPIDIG_recvq_extract_by_call(vci, rank, tag, context_id)
            : MPIDIG_recvq_probe_by_call(vci, rank, tag, context_id);
    MPIR_T_PVAR_TIMER_END(RECVQ, time_matching_unexpectedq);
    MPIDIG_recvq_count_visited(vci);
    if (message == NULL)
        return NULL;
    if (dequeue)
        MPIDIG_recvq_left(message, list, MPIDIG_PT2PT_UNEXP);
    return message;
}

/* Partitioned receives and the sends that asked for them meet once for each pair of requests, however often they are
 * started: they stay in lists, and have no wildcards. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDIG_part_find(int rank, int tag,
                                                        MPIR_Context_id_t context_id,
                                                        MPIR_Request * list)
{
    MPIR_Request *req;
    DL_FOREACH(list, req) {
        if (rank == MPIDI_PART_REQUEST(req, u.recv.source)
            && tag == MPIR_TAG_MASK_ERROR_BITS(MPIDI_PART_REQUEST(req, u.recv.tag))
            && context_id == MPIDI_PART_REQUEST(req, u.recv.context_id))
            break;
    }
    return req;
}

/* Queues a receive that found no message, or a message that found no receive: nothing else may be done with the queues
 * of its VCI in between. */
MPL_STATIC_INLINE_PREFIX void MPIDIG_enqueue_request(MPIR_Request * req, MPIR_Request ** list,
                                                     enum MPIDIG_queue_type qtype)
{
    int vci, rank, tag;
    MPIR_Context_id_t context_id;

    if (qtype == MPIDIG_PART) {
        DL_APPEND(*list, req);
        return;
    }
    vci = MPIDIG_recvq_vci(list);
    rank = MPIDIG_REQUEST(req, u.recv.source);
    tag = MPIDIG_REQUEST(req, u.recv.tag);
    context_id = MPIDIG_REQUEST(req, u.recv.context_id);
    if (qtype == MPIDIG_PT2PT_POSTED) {
        mq_pattern pattern = MPIDI_MQ_pattern(rank, tag, context_id);
        mq_handle name;
        if (likely(mq_try_queue_receive(MPIDIG_engines[vci], &pattern, req, &name) != MQ_NOT_IN_PLACE))
            MPIDIG_recvq_keep_name(req, name);
        else
            MPIDIG_recvq_keep_name(req, MPIDIG_recvq_queue_receive_by_call(vci, rank, tag, context_id, req));
    } else {
        mq_envelope envelope = MPIDI_MQ_envelope(rank, tag, context_id);
        if (unlikely(mq_try_queue_message(MPIDIG_engines[vci], &envelope, MPIDIG_recvq_bytes(req), req, NULL)
                     == MQ_NOT_IN_PLACE))
            MPIDIG_recvq_queue_message_by_call(vci, rank, tag, context_id, req);
    }
    MPIDIG_recvq_entered(req, list, qtype);
}

/* A probe: the first message that matches, which stays. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDIG_rreq_find(int rank, int tag,
                                                        MPIR_Context_id_t context_id,
                                                        MPIR_Request ** list,
                                                        enum MPIDIG_queue_type qtype)
{
    MPIR_Assert(qtype == MPIDIG_PT2PT_UNEXP);
    return MPIDIG_recvq_extract(rank, tag, context_id, list, false);
}

/* Takes the first entry that matches. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDIG_rreq_dequeue(int rank, int tag,
                                                           MPIR_Context_id_t context_id,
                                                           MPIR_Request ** list,
                                                           enum MPIDIG_queue_type qtype)
{
    MPIR_Request *req;

    if (qtype == MPIDIG_PT2PT_POSTED)
        return MPIDIG_recvq_deliver(rank, tag, context_id, list);
    if (qtype == MPIDIG_PT2PT_UNEXP)
        return MPIDIG_recvq_extract(rank, tag, context_id, list, true);
    req = MPIDIG_part_find(rank, tag, context_id, *list);
    if (req != NULL)
        DL_DELETE(*list, req);
    return req;
}

/* A cancel: takes a given receive out; returns whether it was queued. */
MPL_STATIC_INLINE_PREFIX int MPIDIG_delete_posted(MPIR_Request * req, MPIR_Request ** list)
{
    int vci = MPIDIG_recvq_vci(list);
    int found;

    MPIR_T_PVAR_TIMER_START(RECVQ, time_failed_matching_postedq);
    found = MPIDI_MQ_check(mq_cancel(MPIDIG_engines[vci], MPIDIG_recvq_name_of(req), NULL)) == MQ_MATCHED;
    if (found)
        MPIDIG_recvq_left(req, list, MPIDIG_PT2PT_POSTED);
    else
        MPIR_T_PVAR_TIMER_END(RECVQ, time_failed_matching_postedq);
    return found;
}

#endif /* MPIDIG_RECVQ_H_INCLUDED */
