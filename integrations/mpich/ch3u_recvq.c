/* The receive queues of MPICH's ch3 device (4.0) with libmq: replaces src/mpid/ch3/src/ch3u_recvq.c.
 *
 * One engine per process, with MPICH's context ids as contexts, used inside MPICH's critical section. It reads
 * MQ_STRUCTURE, MQ_TRACE, MQ_STATS and MQ_BUDGET_ENTRIES. */

#include "mpidimpl.h"
#include "mpidi_recvq_statistics.h"

#include "mq_contexts.h"

#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__POBJ
#error "ch3 searches its queues without their mutex when a synchronous or ready message or the cancel of a send comes: configure with --enable-thread-cs=global"
#endif

#ifndef MPIDI_POSTED_RECV_ENQUEUE_HOOK
#define MPIDI_POSTED_RECV_ENQUEUE_HOOK(request) do {} while (0)
#endif
/* Not 0 if the channel has matched the request itself. */
#ifndef MPIDI_POSTED_RECV_DEQUEUE_HOOK
#define MPIDI_POSTED_RECV_DEQUEUE_HOOK(request) 0
#endif

static struct queues queues;
static mq_session *session;

/* Performance variables. */

static unsigned PVAR_LEVEL_posted_recvq_length ATTRIBUTE((unused));
static unsigned PVAR_LEVEL_unexpected_recvq_length ATTRIBUTE((unused));
static unsigned long long PVAR_COUNTER_posted_recvq_match_attempts ATTRIBUTE((unused));
static unsigned long long PVAR_COUNTER_unexpected_recvq_match_attempts ATTRIBUTE((unused));
static MPIR_T_pvar_timer_t PVAR_TIMER_time_failed_matching_postedq ATTRIBUTE((unused));
static MPIR_T_pvar_timer_t PVAR_TIMER_time_matching_unexpectedq ATTRIBUTE((unused));
/* Raised in other files, where unexpected messages get their buffers. */
unsigned long long PVAR_LEVEL_unexpected_recvq_buffer_size ATTRIBUTE((unused));

#define FLAGS (MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS)

static void register_variables(void)
{
    MPIR_T_PVAR_LEVEL_REGISTER_STATIC(RECVQ, MPI_UNSIGNED, posted_recvq_length, 0,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH3",
                                      "posted receives queued");
    MPIR_T_PVAR_LEVEL_REGISTER_STATIC(RECVQ, MPI_UNSIGNED, unexpected_recvq_length, 0,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH3",
                                      "unexpected messages queued");
    MPIR_T_PVAR_COUNTER_REGISTER_STATIC(RECVQ, MPI_UNSIGNED_LONG_LONG, posted_recvq_match_attempts,
                                        MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS,
                                        "CH3", "posted receives that searches compared");
    MPIR_T_PVAR_COUNTER_REGISTER_STATIC(RECVQ, MPI_UNSIGNED_LONG_LONG, unexpected_recvq_match_attempts,
                                        MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS,
                                        "CH3", "unexpected messages that searches compared");
    MPIR_T_PVAR_TIMER_REGISTER_STATIC(RECVQ, MPI_DOUBLE, time_failed_matching_postedq,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH3",
                                      "time of searches of the posted receives that found none");
    MPIR_T_PVAR_TIMER_REGISTER_STATIC(RECVQ, MPI_DOUBLE, time_matching_unexpectedq,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH3",
                                      "time of searches of the unexpected messages");
    MPIR_T_PVAR_LEVEL_REGISTER_STATIC(RECVQ, MPI_UNSIGNED_LONG_LONG, unexpected_recvq_buffer_size, 0,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH3",
                                      "bytes in buffers of unexpected messages");
}

/* Copies the engine's counters. */
static inline void update_variables(void)
{
#if ENABLE_PVAR_RECVQ
    mq_statistics counts;
    MPIDI_MQ_check(mq_statistics_read(queues.engine, &counts, sizeof counts));
    PVAR_LEVEL_posted_recvq_length = (unsigned) counts.posted.length;
    PVAR_LEVEL_unexpected_recvq_length = (unsigned) counts.unexpected.length;
    PVAR_COUNTER_posted_recvq_match_attempts = counts.posted.visited;
    PVAR_COUNTER_unexpected_recvq_match_attempts = counts.unexpected.visited;
#endif
}

/* The chains that a debugger walks (src/mpi/debugger/dll_mpich.c): both queues in order, by `next`. The way
 * back is in a field that only one-sided operations use. */

#ifdef HAVE_DEBUGGER_SUPPORT

struct chain {
    MPIR_Request *first;
    MPIR_Request *last;
};

static struct chain posted_chain, unexpected_chain;
MPIR_Request **const MPID_Recvq_posted_head_ptr = &posted_chain.first;
MPIR_Request **const MPID_Recvq_unexpected_head_ptr = &unexpected_chain.first;

#define BEFORE(request) ((request)->dev.real_user_buf)

static void chain_add(struct chain *chain, MPIR_Request * request)
{
    request->next = NULL;
    BEFORE(request) = chain->last;
    if (chain->last != NULL)
        chain->last->next = request;
    else
        chain->first = request;
    chain->last = request;
}

static void chain_remove(struct chain *chain, MPIR_Request * request)
{
    MPIR_Request *before = BEFORE(request), *after = request->next;
    if (before != NULL)
        before->next = after;
    else
        chain->first = after;
    if (after != NULL)
        BEFORE(after) = before;
    else
        chain->last = before;
    request->next = NULL;
    BEFORE(request) = NULL;
}

#define CHAIN_ADD(queue, request) chain_add(&queue ## _chain, request)
#define CHAIN_REMOVE(queue, request) chain_remove(&queue ## _chain, request)

#else

#define CHAIN_ADD(queue, request) ((request)->next = NULL)
#define CHAIN_REMOVE(queue, request) ((request)->next = NULL)

#endif

/* The handle of a posted request's queue entry, for a cancel in constant time: in the field that held the mask of
 * the list that libmq replaces, and in one that is set only when a request is matched. Afterwards the remaining
 * half could be part of another entry's handle, and MPI_Cancel may still be called: so a request that is not posted
 * has a number that no entry has. */

static void keep_name(MPIR_Request * request, mq_handle name)
{
    MPL_static_assert(sizeof(request->dev.mask.whole) >= sizeof(name.sequence),
                      "a name needs pointers of 64 bits");
    request->dev.mask.whole = name.sequence;
    request->dev.sender_req_id = (MPI_Request) name.slot;
}

static void forget_name(MPIR_Request * request)
{
    request->dev.mask.whole = 0;
}

static mq_handle name_of(const MPIR_Request * request)
{
    mq_handle name = {
        .sequence = request->dev.mask.whole,
        .slot = (uint32_t) request->dev.sender_req_id,
        .context = request->dev.match.parts.context_id,
    };
    return name;
}

/* The hooks that MPICH calls when it makes and releases a communicator. */

static int comm_made(MPIR_Comm * comm, void *unused)
{
    (void) unused;
    MPID_THREAD_CS_ENTER(POBJ, MPIR_THREAD_POBJ_MSGQ_MUTEX);
    communicator_made(&queues, comm);
    MPID_THREAD_CS_EXIT(POBJ, MPIR_THREAD_POBJ_MSGQ_MUTEX);
    return MPI_SUCCESS;
}

static int comm_gone(MPIR_Comm * comm, void *unused)
{
    (void) unused;
    communicator_gone(&queues, comm);
    return MPI_SUCCESS;
}

/* Whether to repeat the call that returned `status`, because what prevented it has been fixed. */
static MPIDI_MQ_ALWAYS_INLINE int again(int status, uint32_t context)
{
    return unlikely(status < 0) && put_right(&queues, status, context);
}

static MPIDI_MQ_ALWAYS_INLINE mq_envelope envelope_of(const MPIDI_Message_match * match)
{
    return MPIDI_MQ_envelope(match->parts.rank, match->parts.tag, match->parts.context_id);
}

/* A later MPI_Session_init starts again, with another trace. */
static int close_session(void *unused)
{
    (void) unused;
    /* Before the session: what it still holds leaves the trace. */
    mq_engine_free(queues.engine);
    mq_session_close(session);
    session = NULL;
    queues.engine = NULL;
    /* Most of the table has never been in memory. */
    for (uint32_t context = 0; context < MPIDI_MQ_CONTEXTS; context++)
        if (queues.ranks[context].size != 0)
            queues.ranks[context].size = 0;
#ifdef HAVE_DEBUGGER_SUPPORT
    posted_chain = unexpected_chain = (struct chain) { NULL, NULL };
#endif
    return 0;
}

int MPIDI_CH3U_Recvq_init(void)
{
    mq_session_options about = {
        .library = "mpich-" MPICH_VERSION "-ch3",
        .rank = (uint32_t) MPIR_Process.rank,
        .size = (uint32_t) MPIR_Process.size,
        .environment = 1,
        .no_sizes = 1,
        /* The ranks of processes that others spawn begin with 0 again. */
        .job = MPIDI_Process.my_pg->id,
    };
    mq_engine_options options = {.flags = ENABLE_PVAR_RECVQ ? MQ_STATISTICS : 0 };
    int mpi_errno = MPI_SUCCESS;

    register_variables();
    if (queues.engine == NULL) {
        MPIDI_MQ_check(mq_session_open(&about, &session));
        options.session = session;
        MPIDI_MQ_check(mq_engine_new(&options, &queues.engine));
        /* Last of all callbacks: the others may still communicate. */
        MPIR_Add_finalize(close_session, NULL, 0);
    }
    /* Each time, since MPICH forgets them when it is finalized. */
    mpi_errno = MPIDI_CH3U_Comm_register_create_hook(comm_made, NULL);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_CH3U_Comm_register_destroy_hook(comm_gone, NULL);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* An unexpected message is leaving. */
static void message_left(MPIR_Request * request)
{
    CHAIN_REMOVE(unexpected, request);
    update_variables();
}

/* The calls of libmq for what it does not do in place. Each gets what MPICH knows, in registers, instead of a pattern
 * or an envelope: with the address of one handed to a call, compilers keep it in memory in place too. */

static ATTRIBUTE((noinline)) MPIR_Request *extract_by_call(int source, int tag, int context_id)
{
    mq_pattern pattern = MPIDI_MQ_pattern(source, tag, context_id);
    void *message = NULL;
    int status;
    do {
        status = mq_extract(queues.engine, &pattern, &message, NULL);
    } while (again(status, pattern.context));
    return status == MQ_MATCHED ? message : NULL;
}

static ATTRIBUTE((noinline)) mq_handle queue_receive_by_call(MPIR_Request * rreq, int source, int tag, int context_id)
{
    mq_pattern pattern = MPIDI_MQ_pattern(source, tag, context_id);
    mq_handle name;
    int status;
    do {
        status = mq_queue_receive(queues.engine, &pattern, rreq, &name);
    } while (again(status, pattern.context));
    return name;
}

static ATTRIBUTE((noinline)) MPIR_Request *deliver_by_call(const MPIDI_Message_match * match)
{
    mq_envelope envelope = envelope_of(match);
    void *receive = NULL;
    int status;
    do {
        status = mq_deliver(queues.engine, &envelope, &receive);
    } while (again(status, envelope.context));
    return status == MQ_MATCHED ? receive : NULL;
}

static ATTRIBUTE((noinline)) void queue_message_by_call(MPIR_Request * rreq, const MPIDI_Message_match * match)
{
    mq_envelope envelope = envelope_of(match);
    int status;
    do {
        status = mq_queue_message(queues.engine, &envelope, 0, rreq, NULL);
    } while (again(status, envelope.context));
}

/* Takes the first message that a receive matches; null if there is none. */
static MPIDI_MQ_ALWAYS_INLINE MPIR_Request *extract(int source, int tag, int context_id)
{
    mq_pattern pattern = MPIDI_MQ_pattern(source, tag, context_id);
    void *message = NULL;
    int status;
    MPIR_T_PVAR_TIMER_START(RECVQ, time_matching_unexpectedq);
    status = mq_try_extract(queues.engine, &pattern, &message, NULL);
    if (unlikely(status == MQ_NOT_IN_PLACE))
        message = extract_by_call(source, tag, context_id);
    MPIR_T_PVAR_TIMER_END(RECVQ, time_matching_unexpectedq);
    if (message == NULL) {
        update_variables();
        return NULL;
    }
    message_left(message);
    return message;
}

/* Probe: find an unexpected message and report it. */
int MPIDI_CH3U_Recvq_FU(int source, int tag, int context_id, MPI_Status * s)
{
    mq_pattern pattern = MPIDI_MQ_pattern(source, tag, context_id);
    void *message = NULL;
    MPIR_Request *rreq;
    int status;

    MPIR_T_PVAR_TIMER_START(RECVQ, time_matching_unexpectedq);
    do {
        status = mq_inline_probe(queues.engine, &pattern, &message, NULL);
    } while (again(status, pattern.context));
    MPIR_T_PVAR_TIMER_END(RECVQ, time_matching_unexpectedq);
    update_variables();
    if (status != MQ_MATCHED)
        return FALSE;
    rreq = message;
    if (s != MPI_STATUS_IGNORE) {
        /* Not MPI_ERROR: a probe leaves that unchanged. */
        s->MPI_SOURCE = rreq->status.MPI_SOURCE;
        s->MPI_TAG = rreq->status.MPI_TAG;
        MPIR_STATUS_SET_COUNT(*s, MPIR_STATUS_GET_COUNT(rreq->status));
        MPIR_STATUS_SET_CANCEL_BIT(*s, MPIR_STATUS_GET_CANCEL_BIT(rreq->status));
    }
    return TRUE;
}

/* A message that its sender cancels: the search for it and its result. */
struct withdrawal {
    MPI_Request sender;
    mq_envelope envelope;
    MPIR_Request *found;
    mq_message_handle name;
};

static int look_for(void *user, const mq_entry * entry)
{
    struct withdrawal *withdrawal = user;
    const mq_envelope *wanted = &withdrawal->envelope;
    MPIR_Request *request = entry->cookie;
    if (!entry->posted && request->dev.sender_req_id == withdrawal->sender
        && entry->pattern.source == wanted->source && entry->pattern.tag == wanted->tag) {
        /* The last one: earlier messages with the same handle are complete, or it could not have been
         * reused. */
        withdrawal->found = request;
        withdrawal->name = entry->message;
    }
    return FALSE;
}

/* A sender cancels: take its message out, by its request and envelope. */
MPIR_Request *MPIDI_CH3U_Recvq_FDU(MPI_Request sreq_id, MPIDI_Message_match * match)
{
    struct withdrawal withdrawal = {.sender = sreq_id, .envelope = envelope_of(match) };
    int status;

    MPIR_T_PVAR_TIMER_START(RECVQ, time_matching_unexpectedq);
    status = mq_context_visit(queues.engine, withdrawal.envelope.context, look_for, &withdrawal);
    MPIR_T_PVAR_TIMER_END(RECVQ, time_matching_unexpectedq);
    if (status != MQ_ERR_UNKNOWN_CONTEXT)
        MPIDI_MQ_check(status);
    if (withdrawal.found != NULL) {
        MPIDI_MQ_check(mq_take(queues.engine, withdrawal.name, NULL, NULL));
        message_left(withdrawal.found);
        MPIR_T_PVAR_LEVEL_DEC(RECVQ, unexpected_recvq_buffer_size, withdrawal.found->dev.tmpbuf_sz);
    }
    return withdrawal.found;
}

/* Gives a message the communicator that took it, with a reference. */
static void give_to(MPIR_Request * rreq, MPIR_Comm * comm)
{
    rreq->comm = comm;
    MPIR_Comm_add_ref(comm);
}

/* Matched probe: take an unexpected message. */
MPIR_Request *MPIDI_CH3U_Recvq_FDU_matchonly(int source, int tag, int context_id, MPIR_Comm * comm,
                                             int *foundp)
{
    MPIR_Request *rreq = extract(source, tag, context_id);

    *foundp = rreq != NULL;
    if (rreq != NULL) {
        MPIR_T_PVAR_LEVEL_DEC(RECVQ, unexpected_recvq_buffer_size, rreq->dev.tmpbuf_sz);
        give_to(rreq, comm);
    }
    return rreq;
}

static void set_buffer(MPIR_Request * rreq, void *buffer, MPI_Aint count, MPI_Datatype datatype)
{
    rreq->dev.user_buf = buffer;
    rreq->dev.user_count = count;
    rreq->dev.datatype = datatype;
}

/* Queues a receive that found no message. */
static MPIDI_MQ_ALWAYS_INLINE void queue_receive(MPIR_Request * rreq, int source, int tag, int context_id)
{
    mq_pattern pattern = MPIDI_MQ_pattern(source, tag, context_id);
    mq_handle name;
    if (likely(mq_try_queue_receive(queues.engine, &pattern, rreq, &name) != MQ_NOT_IN_PLACE))
        keep_name(rreq, name);
    else
        keep_name(rreq, queue_receive_by_call(rreq, source, tag, context_id));
    CHAIN_ADD(posted, rreq);
    update_variables();
    MPIDI_POSTED_RECV_ENQUEUE_HOOK(rreq);
}

/* A receive is posted: take an unexpected message, or make a request and queue it. */
MPIR_Request *MPIDI_CH3U_Recvq_FDU_or_AEP(int source, int tag, int context_id, MPIR_Comm * comm,
                                          void *user_buf, MPI_Aint user_count, MPI_Datatype datatype,
                                          int *foundp)
{
    MPIR_Request *rreq = extract(source, tag, context_id);
    int mpi_errno = MPI_SUCCESS;

    *foundp = rreq != NULL;
    if (rreq != NULL) {
        if (MPIDI_Request_get_msg_type(rreq) == MPIDI_REQUEST_EAGER_MSG)
            MPIR_T_PVAR_LEVEL_DEC(RECVQ, unexpected_recvq_buffer_size, rreq->dev.tmpbuf_sz);
        give_to(rreq, comm);
        set_buffer(rreq, user_buf, user_count, datatype);
        return rreq;
    }

    MPIDI_Request_create_rreq(rreq, mpi_errno, return rreq);
    rreq->dev.match.parts.tag = tag;
    rreq->dev.match.parts.rank = source;
    rreq->dev.match.parts.context_id = context_id;
    give_to(rreq, comm);
    set_buffer(rreq, user_buf, user_count, datatype);
    if (source != MPI_ANY_SOURCE) {
        MPIDI_VC_t *vc;
        MPIDI_Comm_get_vc(comm, source, &vc);
        if (vc->state == MPIDI_VC_STATE_MORIBUND) {
            forget_name(rreq);
            MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d",
                          vc->pg_rank);
            rreq->status.MPI_ERROR = mpi_errno;
            MPID_Request_complete(rreq);
            return rreq;
        }
    }
    queue_receive(rreq, source, tag, context_id);
    return rreq;
}

/* A posted receive is leaving. Returns whether the channel has matched it itself. */
static int receive_left(MPIR_Request * request)
{
    forget_name(request);
    CHAIN_REMOVE(posted, request);
    update_variables();
    return MPIDI_POSTED_RECV_DEQUEUE_HOOK(request);
}

/* Cancel: take a posted receive out. */
int MPIDI_CH3U_Recvq_DP(MPIR_Request * rreq)
{
    int found = FALSE;

    MPID_THREAD_CS_ENTER(POBJ, MPIR_THREAD_POBJ_MSGQ_MUTEX);
    MPIR_T_PVAR_TIMER_START(RECVQ, time_failed_matching_postedq);
    if (MPIDI_MQ_check(mq_cancel(queues.engine, name_of(rreq), NULL)) == MQ_MATCHED)
        found = !receive_left(rreq);
    if (!found)
        MPIR_T_PVAR_TIMER_END(RECVQ, time_failed_matching_postedq);
    MPID_THREAD_CS_EXIT(POBJ, MPIR_THREAD_POBJ_MSGQ_MUTEX);
    return found;
}

/* Whether a message or receive is one of agreement or shrinking, which go on in a revoked communicator. */
static int is_of_survivors(int tag)
{
    tag = MPIR_TAG_MASK_ERROR_BITS(tag & ~MPIR_TAG_COLL_BIT);
    return tag == MPIR_AGREE_TAG || tag == MPIR_SHRINK_TAG;
}

/* Whether messages for the communicator of a context are dropped. */
static int is_revoked(int context_id, int tag)
{
    MPIR_Comm *comm;
    int mpi_errno ATTRIBUTE((unused)) = MPI_SUCCESS;

    MPIDI_CH3I_Comm_find(context_id, &comm);
    return comm != NULL && comm->revoked && !is_of_survivors(tag);
}

/* The channel has matched the receive that a message found: the message is for the next one. */
static ATTRIBUTE((noinline)) MPIR_Request *deliver_to_next(const MPIDI_Message_match * match)
{
    MPIR_Request *receive;
    do {
        receive = deliver_by_call(match);
    } while (receive != NULL && receive_left(receive));
    return receive;
}

/* Takes the first receive that a message matches; null if there is none. */
static MPIDI_MQ_ALWAYS_INLINE MPIR_Request *deliver(const MPIDI_Message_match * match)
{
    mq_envelope envelope = envelope_of(match);
    void *receive = NULL;
    if (unlikely(mq_try_deliver(queues.engine, &envelope, &receive) == MQ_NOT_IN_PLACE))
        receive = deliver_by_call(match);
    if (receive == NULL)
        return NULL;
    return unlikely(receive_left(receive)) ? deliver_to_next(match) : receive;
}

/* Makes a request for a message that found no receive, and queues it. Not inline: a message that finds a receive
 * needs few registers. */
static ATTRIBUTE((noinline)) MPIR_Request *queue_message(const MPIDI_Message_match * match)
{
    mq_envelope envelope = envelope_of(match);
    int mpi_errno ATTRIBUTE((unused)) = MPI_SUCCESS;
    MPIR_Request *rreq;

    if (is_revoked(envelope.context, envelope.tag))
        return MPIR_Request_create_null_recv();

    MPIDI_Request_create_rreq(rreq, mpi_errno, return rreq);
    forget_name(rreq);
    rreq->dev.recv_pending_count = 1;
    /* With the bits that report an error. */
    rreq->dev.match = *match;
    if (unlikely(mq_try_queue_message(queues.engine, &envelope, 0, rreq, NULL) == MQ_NOT_IN_PLACE))
        queue_message_by_call(rreq, match);
    CHAIN_ADD(unexpected, rreq);
    update_variables();
    return rreq;
}

/* A message arrives: take a posted receive, or make a request and queue it. */
MPIR_Request *MPIDI_CH3U_Recvq_FDP_or_AEU(MPIDI_Message_match * match, int *foundp)
{
    MPIR_Request *rreq;

    MPIR_T_PVAR_TIMER_START(RECVQ, time_failed_matching_postedq);
    rreq = deliver(match);
    *foundp = rreq != NULL;
    if (rreq != NULL)
        return rreq;
    MPIR_T_PVAR_TIMER_END(RECVQ, time_failed_matching_postedq);
    return queue_message(match);
}

/* Requests that are removed with an error, collected while the engine must not be called. */
struct cleaning {
    MPIR_Comm *comm;
    MPIDI_VC_t *vc;
    MPIR_Request **posted, **unexpected;
    size_t posted_count, unexpected_count;
};

static void cleaning_begin(struct cleaning *cleaning)
{
    uint64_t posted, unexpected;
    MPIDI_MQ_check(mq_lengths(queues.engine, &posted, &unexpected));
    cleaning->posted = MPL_malloc((posted + 1) * sizeof(MPIR_Request *), MPL_MEM_OTHER);
    cleaning->unexpected = MPL_malloc((unexpected + 1) * sizeof(MPIR_Request *), MPL_MEM_OTHER);
    if (cleaning->posted == NULL || cleaning->unexpected == NULL)
        MPIDI_MQ_check(MQ_ERR_MEMORY);
}

static void gather(void *user, const mq_entry * entry)
{
    struct cleaning *cleaning = user;
    if (entry->posted)
        cleaning->posted[cleaning->posted_count++] = entry->cookie;
    else
        cleaning->unexpected[cleaning->unexpected_count++] = entry->cookie;
}

static void fail(MPIR_Request * request, int error)
{
    request->status.MPI_ERROR = error;
    MPID_Request_complete(request);
}

/* A message that has left the queue and that nobody will receive: releases its request. (Stock completes it, twice if
 * it has arrived completely, which violates one of its own assertions.) */
static void discard(MPIR_Request * request, int error)
{
    MPIR_Request *sending;

    switch (MPIDI_Request_get_msg_type(request)) {
        case MPIDI_REQUEST_EAGER_MSG:
            if (request->dev.recv_data_sz == 0)
                break;
            MPIR_T_PVAR_LEVEL_DEC(RECVQ, unexpected_recvq_buffer_size, request->dev.tmpbuf_sz);
            if (MPIR_cc_get(request->cc) != 0) {
                /* The rest arrives in the buffer, and then the channel completes the request, unpacking nothing. */
                request->dev.user_buf = NULL;
                request->dev.user_count = 0;
                request->dev.datatype = MPI_BYTE;
                request->dev.recv_pending_count--;
            } else if (!MPIDI_Request_get_srbuf_flag(request)) {
                MPL_free(request->dev.tmpbuf);
            }
            break;
        case MPIDI_REQUEST_SELF_MSG:
            sending = request->dev.partner_request;
            if (sending != NULL)
                fail(sending, error);
            MPIR_Request_free(request);
            break;
        default:
            /* Its bytes have not been requested. */
            MPIR_Request_free(request);
            break;
    }
    /* No user would release it. */
    MPIR_Request_free(request);
}

/* Completes the collected requests. */
static void cleaning_end(struct cleaning *cleaning, int error)
{
    for (size_t i = 0; i < cleaning->unexpected_count; i++) {
        message_left(cleaning->unexpected[i]);
        discard(cleaning->unexpected[i], error);
    }
    for (size_t i = 0; i < cleaning->posted_count; i++) {
        /* The channel completes a request that it has matched. */
        if (!receive_left(cleaning->posted[i]))
            fail(cleaning->posted[i], error);
    }
    MPL_free(cleaning->posted);
    MPL_free(cleaning->unexpected);
}

/* Whether an entry belongs to a revoked communicator or to the communicators inside it. Entries that agreement and
 * shrinking need on a revoked communicator stay. */
static int is_of_revoked(void *user, const mq_entry * entry)
{
    const MPIR_Comm *comm = ((const struct cleaning *) user)->comm;
    int context = (int) entry->pattern.context, tag = entry->pattern.tag;
    int suffix = context & MPIR_CONTEXT_SUFFIX_MASK;
    int offset = context - suffix - comm->recvcontext_id;

    if (offset == 0 && suffix == MPIR_CONTEXT_INTRA_PT2PT)
        return TRUE;
    if (offset != 0
        && !(MPIR_Comm_is_parent_comm((MPIR_Comm *) comm)
             && (offset == MPIR_CONTEXT_INTRANODE_OFFSET || offset == MPIR_CONTEXT_INTERNODE_OFFSET)))
        return FALSE;
    return !is_of_survivors(tag);
}

/* A communicator is revoked: what is queued for it fails. */
int MPIDI_CH3U_Clean_recvq(MPIR_Comm * comm_ptr)
{
    struct cleaning cleaning = {.comm = comm_ptr };
    int error = MPI_SUCCESS;

    MPIR_ERR_SETSIMPLE(error, MPIX_ERR_REVOKED, "**revoked");
    cleaning_begin(&cleaning);
    MPIDI_MQ_check(mq_purge(queues.engine, is_of_revoked, gather, &cleaning));
    cleaning_end(&cleaning, error);
    return MPI_SUCCESS;
}

static int is_from_failed(void *user, const mq_entry * entry)
{
    const struct cleaning *cleaning = user;
    MPIR_Request *request = entry->cookie;
    MPIDI_VC_t *vc;

    if (!entry->posted || request->dev.match.parts.rank == MPI_ANY_SOURCE)
        return FALSE;
    MPIDI_Comm_get_vc(request->comm, request->dev.match.parts.rank, &vc);
    return vc == cleaning->vc;
}

/* A peer has failed: receives from it fail. */
int MPIDI_CH3U_Complete_posted_with_error(MPIDI_VC_t * vc)
{
    struct cleaning cleaning = {.vc = vc };
    int error = MPI_SUCCESS;

    MPIR_ERR_SETSIMPLE(error, MPIX_ERR_PROC_FAILED, "**proc_failed");
    MPID_THREAD_CS_ENTER(POBJ, MPIR_THREAD_POBJ_MSGQ_MUTEX);
    cleaning_begin(&cleaning);
    MPIDI_MQ_check(mq_purge(queues.engine, is_from_failed, gather, &cleaning));
    cleaning_end(&cleaning, error);
    MPID_THREAD_CS_EXIT(POBJ, MPIR_THREAD_POBJ_MSGQ_MUTEX);
    return MPI_SUCCESS;
}

/* To be called from a debugger. */

static void print(void *user, const mq_entry * entry)
{
    FILE *stream = user;
    const mq_pattern *pattern = &entry->pattern;
    char rank[16] = "ANY_SOURCE", tag[16] = "ANY_TAG";

    if (pattern->source != MQ_ANY_SOURCE)
        MPL_snprintf(rank, sizeof(rank), "%d", (int) pattern->source);
    if (pattern->tag != MQ_ANY_TAG)
        MPL_snprintf(tag, sizeof(tag), "%d", (int) pattern->tag);
    fprintf(stream, "  %s %p: context %#x, rank %s, tag %s\n",
            entry->posted ? "posted receive" : "unexpected message", entry->cookie,
            (unsigned) pattern->context, rank, tag);
}

void MPIDI_CH3U_Dbg_print_recvq(FILE * stream);

void MPIDI_CH3U_Dbg_print_recvq(FILE * stream)
{
    int status;

    fprintf(stream, "receive queues of rank %d of MPI_COMM_WORLD, in order:\n", MPIR_Process.rank);
    status = mq_visit(queues.engine, print, stream);
    if (status < 0)
        fprintf(stream, "  %s\n", mq_strerror(status));
}

/* The number of unexpected messages. */
int MPIDI_CH3U_Recvq_count_unexp(void)
{
    uint64_t unexpected;
    MPIDI_MQ_check(mq_lengths(queues.engine, NULL, &unexpected));
    return (int) unexpected;
}
