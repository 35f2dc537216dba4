/* The receive queues of MPICH's ch4 device (4.0) with libmq: replaces src/mpid/ch4/src/mpidig_recvq.c. */

#include "mpidimpl.h"
#include "mpidig_recvq.h"
#include "mq_contexts.h"

mq_engine *MPIDIG_engines[MPIDI_CH4_MAX_VCIS];

/* Of each VCI, allocated when MPICH is initialized. */
static struct queues *queues[MPIDI_CH4_MAX_VCIS];
static mq_session *session;

int unexp_message_indices[2];

/* Where a debugger finds the queues. */
#ifdef HAVE_DEBUGGER_SUPPORT
MPICH_API_PUBLIC MPIR_Request **const MPID_Recvq_posted_head_ptr =
    &MPIDI_global.per_vci[0].posted_list;
MPICH_API_PUBLIC MPIR_Request **const MPID_Recvq_unexpected_head_ptr =
    &MPIDI_global.per_vci[0].unexp_list;
#endif

#define FLAGS (MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS)

static void register_variables(void)
{
    MPIR_T_PVAR_LEVEL_REGISTER_STATIC(RECVQ, MPI_UNSIGNED, posted_recvq_length, 0,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH4",
                                      "posted receives queued");
    MPIR_T_PVAR_LEVEL_REGISTER_STATIC(RECVQ, MPI_UNSIGNED, unexpected_recvq_length, 0,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH4",
                                      "unexpected messages queued");
    MPIR_T_PVAR_COUNTER_REGISTER_STATIC(RECVQ, MPI_UNSIGNED_LONG_LONG, posted_recvq_match_attempts,
                                        MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS,
                                        "CH4", "posted receives that searches compared");
    MPIR_T_PVAR_COUNTER_REGISTER_STATIC(RECVQ, MPI_UNSIGNED_LONG_LONG, unexpected_recvq_match_attempts,
                                        MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS,
                                        "CH4", "unexpected messages that searches compared");
    MPIR_T_PVAR_TIMER_REGISTER_STATIC(RECVQ, MPI_DOUBLE, time_failed_matching_postedq,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH4",
                                      "time of searches of the posted receives that found none");
    MPIR_T_PVAR_TIMER_REGISTER_STATIC(RECVQ, MPI_DOUBLE, time_matching_unexpectedq,
                                      MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT, FLAGS, "CH4",
                                      "time of searches of the unexpected messages");
}

/* MPI_T events, each with a message's source and context. */
static void register_events(void)
{
    MPI_Datatype types[2] = { MPI_INT, MPI_INT };
    MPI_Aint displacements[2] = { 0, 4 };
    int source;

    MPIR_T_register_source("RECVQ", "active message receive queue", MPI_T_SOURCE_ORDERED, NULL, -1, -1, &source);
    MPIR_T_register_event(source, "unexp_message_enqueued", MPI_T_VERBOSITY_USER_BASIC, types, displacements, 2,
                          "message added to unexpected queue", MPI_T_BIND_NO_OBJECT, "CH4",
                          &unexp_message_indices[0]);
    MPIR_T_register_event(source, "unexp_message_dequeued", MPI_T_VERBOSITY_USER_BASIC, types, displacements, 2,
                          "message removed from unexpected queue", MPI_T_BIND_NO_OBJECT, "CH4",
                          &unexp_message_indices[1]);
}

#if ENABLE_PVAR_RECVQ
/* What each VCI's engine had visited when that was last added to the variables. */
static struct {
    uint64_t posted, unexpected;
} counted[MPIDI_CH4_MAX_VCIS];

void MPIDIG_recvq_count_visited(int vci)
{
    mq_statistics counts;

    MPIDI_MQ_check(mq_statistics_read(MPIDIG_engines[vci], &counts, sizeof counts));
    PVAR_COUNTER_posted_recvq_match_attempts += counts.posted.visited - counted[vci].posted;
    PVAR_COUNTER_unexpected_recvq_match_attempts += counts.unexpected.visited - counted[vci].unexpected;
    counted[vci].posted = counts.posted.visited;
    counted[vci].unexpected = counts.unexpected.visited;
}
#endif

/* A later MPI_Session_init starts again, with another trace. */
static int close_session(void *unused)
{
    (void) unused;
    for (int vci = 0; vci < MPIDI_CH4_MAX_VCIS && queues[vci] != NULL; vci++) {
        mq_engine_free(MPIDIG_engines[vci]);
        MPIDIG_engines[vci] = NULL;
        MPL_free(queues[vci]);
        queues[vci] = NULL;
    }
    /* After its engines: what they still hold leaves the trace. */
    mq_session_close(session);
    session = NULL;
#if ENABLE_PVAR_RECVQ
    memset(counted, 0, sizeof(counted));
#endif
    return 0;
}

int MPIDIG_recvq_init(void)
{
    mq_session_options about = {
        .library = "mpich-" MPICH_VERSION "-ch4",
        .rank = (uint32_t) MPIR_Process.rank,
        .size = (uint32_t) MPIR_Process.size,
        .environment = 1,
        /* The ranks of processes that others spawn begin with 0 again. */
        .job = MPIR_pmi_job_id(),
    };
    mq_engine_options options = {.flags = ENABLE_PVAR_RECVQ ? MQ_STATISTICS : 0 };
    int mpi_errno = MPI_SUCCESS;

    register_variables();
    register_events();
    MPIDI_MQ_check(mq_session_open(&about, &session));
    options.session = session;
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++) {
        /* Memory of the system's pages, of which a process touches those of the contexts that it has. */
        queues[vci] = MPL_calloc(1, sizeof(struct queues), MPL_MEM_OTHER);
        MPIR_ERR_CHKANDJUMP(queues[vci] == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
        MPIDI_MQ_check(mq_engine_new(&options, &MPIDIG_engines[vci]));
        queues[vci]->engine = MPIDIG_engines[vci];
    }
    /* Last of all callbacks: the others may still communicate. */
    MPIR_Add_finalize(close_session, NULL, 0);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether to repeat the call that returned `status`, because what prevented it has been fixed. */
static bool again(int vci, int status, uint32_t context)
{
    return status < 0 && put_right(queues[vci], status, context);
}

MPIR_Request *MPIDIG_recvq_deliver_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id)
{
    mq_envelope envelope = MPIDI_MQ_envelope(rank, tag, context_id);
    void *receive = NULL;
    int status;
    do {
        status = mq_deliver(MPIDIG_engines[vci], &envelope, &receive);
    } while (again(vci, status, envelope.context));
    return status == MQ_MATCHED ? receive : NULL;
}

MPIR_Request *MPIDIG_recvq_extract_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id)
{
    mq_pattern pattern = MPIDI_MQ_pattern(rank, tag, context_id);
    void *message = NULL;
    int status;
    do {
        status = mq_extract(MPIDIG_engines[vci], &pattern, &message, NULL);
    } while (again(vci, status, pattern.context));
    return status == MQ_MATCHED ? message : NULL;
}

MPIR_Request *MPIDIG_recvq_probe_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id)
{
    mq_pattern pattern = MPIDI_MQ_pattern(rank, tag, context_id);
    void *message = NULL;
    int status;
    do {
        status = mq_probe(MPIDIG_engines[vci], &pattern, &message, NULL);
    } while (again(vci, status, pattern.context));
    return status == MQ_MATCHED ? message : NULL;
}

mq_handle MPIDIG_recvq_queue_receive_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id,
                                             MPIR_Request * req)
{
    mq_pattern pattern = MPIDI_MQ_pattern(rank, tag, context_id);
    mq_handle name;
    int status;
    do {
        status = mq_queue_receive(MPIDIG_engines[vci], &pattern, req, &name);
    } while (again(vci, status, pattern.context));
    return name;
}

void MPIDIG_recvq_queue_message_by_call(int vci, int rank, int tag, MPIR_Context_id_t context_id,
                                        MPIR_Request * req)
{
    mq_envelope envelope = MPIDI_MQ_envelope(rank, tag, context_id);
    int status;
    do {
        status = mq_queue_message(MPIDIG_engines[vci], &envelope, MPIDIG_recvq_bytes(req), req, NULL);
    } while (again(vci, status, envelope.context));
}

void MPIDIG_recvq_comm_made(const MPIR_Comm * comm)
{
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
        communicator_made(queues[vci], comm);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    }
}

void MPIDIG_recvq_comm_gone(const MPIR_Comm * comm)
{
    /* The last reference may be a request's, which is completed with the lock of its VCI held, and to take those of
     * others would be in no order. What is recorded is corrected when the next communicator with this id is made, and
     * when a message is refused. */
    if (MPIDI_global.n_vcis > 1)
        return;
    MPID_THREAD_CS_ENTER_REC_VCI(MPIDI_VCI(0).lock);
    communicator_gone(queues[0], comm);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
}
