/* Matching in pml/ob1 of Open MPI 5.0 with libmq: the custom-match interface of
 * ompi/mca/pml/ob1/custommatch, chosen by --with-pml-ob1-matching=mq.
 *
 * One engine per communicator, used under its matching_lock. The engines of a process share a session, which
 * reads MQ_STRUCTURE, MQ_TRACE, MQ_STATS and MQ_BUDGET_*. */

#ifndef PML_OB1_CUSTOM_MATCH_MQ_H
#define PML_OB1_CUSTOM_MATCH_MQ_H

#include <mq_inline.h>

#include "../pml_ob1_recvreq.h"
#include "../pml_ob1_recvfrag.h"
#include "ompi/runtime/ompi_rte.h"

#ifndef MCA_PML_OB1_CUSTOM_MATCHING_STAYS
#error "this file needs the openmpi-5.0.patch that came with it: an older one takes messages that a probe has found"
#endif

/* The communicator's number in its engine. */
#define CUSTOM_MATCH_MQ_CONTEXT 0

typedef struct custom_match_prq {
    mq_engine *engine;
} custom_match_prq;

/* ob1 passes these back to remove what it has found; here the entry has already left the queue. */
typedef void custom_match_umq_node;

typedef struct custom_match_umq {
    mq_engine *engine;
} custom_match_umq;

/* One per process. Weak, because every file of the component that includes this defines it. */
__attribute__((weak)) mq_session *mca_pml_ob1_mq_session = NULL;

/* A status that no caller here can handle: a fault, or out of memory. */
static inline int custom_match_mq_check(int status)
{
    if (OPAL_UNLIKELY(status < 0)) {
        ompi_rte_abort(-1, "PML OB1: libmq: %s", mq_strerror(status));
    }
    return status;
}

/* The operation of one of Open MPI's own tags (ompi/mca/coll/base/coll_tags.h). */
static inline uint32_t custom_match_mq_class(int tag)
{
    static const uint8_t classes[] = {
        MQ_CLASS_ALLGATHER, MQ_CLASS_ALLGATHERV,     MQ_CLASS_ALLREDUCE,
        MQ_CLASS_ALLTOALL,  MQ_CLASS_ALLTOALLV,      MQ_CLASS_ALLTOALLW,
        MQ_CLASS_BARRIER,   MQ_CLASS_BROADCAST,      MQ_CLASS_EXSCAN,
        MQ_CLASS_GATHER,    MQ_CLASS_GATHERV,        MQ_CLASS_REDUCE,
        MQ_CLASS_REDUCE_SCATTER, MQ_CLASS_REDUCE_SCATTER_BLOCK, MQ_CLASS_SCAN,
        MQ_CLASS_SCATTER,   MQ_CLASS_SCATTERV,
    };
    if (OPAL_LIKELY(tag >= 0 || OMPI_ANY_TAG == tag)) {
        return MQ_CLASS_POINT_TO_POINT;
    }
    return tag <= -10 && tag >= -26 ? classes[-10 - tag] : MQ_CLASS_OTHER_COLLECTIVE;
}

/* ANY_TAG is -1 in Open MPI, which could also be one of its own tags; libmq distinguishes the two. */
static inline mq_pattern custom_match_mq_pattern(int tag, int peer)
{
    mq_pattern pattern = {
        .context = CUSTOM_MATCH_MQ_CONTEXT,
        .source = OMPI_ANY_SOURCE == peer ? MQ_ANY_SOURCE : peer,
        .tag = OMPI_ANY_TAG == tag ? MQ_ANY_TAG : tag,
        .traffic_class = custom_match_mq_class(tag),
    };
    return pattern;
}

static inline mq_envelope custom_match_mq_envelope(int tag, int source)
{
    mq_envelope envelope = {
        .context = CUSTOM_MATCH_MQ_CONTEXT,
        .source = source,
        .tag = tag,
        .traffic_class = custom_match_mq_class(tag),
    };
    return envelope;
}

/* The calls of libmq for what it does not do in place, and a probe. Each gets a tag and a rank, in registers, instead of
 * a pattern or an envelope: with the address of one handed to a call, compilers keep it in memory in place too. */

#define CUSTOM_MATCH_MQ_BY_CALL static __attribute__((noinline, unused))

CUSTOM_MATCH_MQ_BY_CALL mq_handle custom_match_mq_queue_receive(mq_engine *engine, int tag, int peer,
                                                                void *request)
{
    mq_pattern pattern = custom_match_mq_pattern(tag, peer);
    mq_handle handle;
    custom_match_mq_check(mq_queue_receive(engine, &pattern, request, &handle));
    return handle;
}

CUSTOM_MATCH_MQ_BY_CALL mq_handle custom_match_mq_queue_probe(mq_engine *engine, int tag, int peer,
                                                              void *request)
{
    mq_pattern pattern = custom_match_mq_pattern(tag, peer);
    mq_handle handle;
    custom_match_mq_check(mq_queue_probe(engine, &pattern, request, &handle));
    return handle;
}

CUSTOM_MATCH_MQ_BY_CALL void *custom_match_mq_deliver(mq_engine *engine, int tag, int source)
{
    mq_envelope envelope = custom_match_mq_envelope(tag, source);
    void *request = NULL;
    custom_match_mq_check(mq_deliver(engine, &envelope, &request));
    return request;
}

CUSTOM_MATCH_MQ_BY_CALL void custom_match_mq_queue_message(mq_engine *engine, int tag, int source,
                                                           uint64_t bytes, void *frag)
{
    mq_envelope envelope = custom_match_mq_envelope(tag, source);
    custom_match_mq_check(mq_queue_message(engine, &envelope, bytes, frag, NULL));
}

CUSTOM_MATCH_MQ_BY_CALL void *custom_match_mq_extract(mq_engine *engine, int tag, int peer)
{
    mq_pattern pattern = custom_match_mq_pattern(tag, peer);
    void *frag = NULL;
    custom_match_mq_check(mq_extract(engine, &pattern, &frag, NULL));
    return frag;
}

CUSTOM_MATCH_MQ_BY_CALL void *custom_match_mq_probe(mq_engine *engine, int tag, int peer)
{
    mq_pattern pattern = custom_match_mq_pattern(tag, peer);
    void *frag = NULL;
    custom_match_mq_check(mq_inline_probe(engine, &pattern, &frag, NULL));
    return frag;
}

/* Posted receives. Null without memory: custom_match_attach then refuses the communicator. */

static inline custom_match_prq *custom_match_prq_init(void)
{
    return (custom_match_prq *) calloc(1, sizeof(custom_match_prq));
}

static inline void custom_match_prq_destroy(custom_match_prq *prq)
{
    if (NULL != prq) {
        mq_engine_free(prq->engine);
    }
    free(prq);
}

/* A posted request is on no list, so the links of its list item hold the handle of its queue entry, for a
 * cancel in constant time. */
_Static_assert(sizeof(opal_list_item_t *) >= sizeof(((mq_handle *) 0)->sequence),
               "a name needs pointers of 64 bits");

static inline void custom_match_mq_keep_name(opal_list_item_t *item, mq_handle handle)
{
    item->opal_list_next = (opal_list_item_t *) (uintptr_t) handle.sequence;
    item->opal_list_prev = (opal_list_item_t *) (uintptr_t) handle.slot;
}

static inline void custom_match_prq_append(custom_match_prq *prq, void *payload, int tag, int source)
{
    mca_pml_base_request_t *request = (mca_pml_base_request_t *) payload;
    opal_list_item_t *item = (opal_list_item_t *) payload;
    mq_pattern pattern = custom_match_mq_pattern(tag, source);
    mq_handle handle;
    if (OPAL_UNLIKELY(MCA_PML_REQUEST_PROBE == request->req_type)) {
        custom_match_mq_keep_name(item, custom_match_mq_queue_probe(prq->engine, tag, source, payload));
    } else if (OPAL_LIKELY(MQ_NOT_IN_PLACE
                           != mq_try_queue_receive(prq->engine, &pattern, payload, &handle))) {
        custom_match_mq_keep_name(item, handle);
    } else {
        custom_match_mq_keep_name(item, custom_match_mq_queue_receive(prq->engine, tag, source, payload));
    }
}

static inline int custom_match_prq_cancel(custom_match_prq *prq, void *payload)
{
    opal_list_item_t *item = (opal_list_item_t *) payload;
    mq_handle handle = {
        .sequence = (uintptr_t) item->opal_list_next,
        .slot = (uint32_t) (uintptr_t) item->opal_list_prev,
        .context = CUSTOM_MATCH_MQ_CONTEXT,
    };
    return MQ_MATCHED == custom_match_mq_check(mq_cancel(prq->engine, handle, NULL));
}

static inline void *custom_match_prq_find_dequeue_verify(custom_match_prq *prq, int tag, int peer)
{
    mq_envelope envelope = custom_match_mq_envelope(tag, peer);
    void *request = NULL;
    if (OPAL_UNLIKELY(MQ_NOT_IN_PLACE == mq_try_deliver(prq->engine, &envelope, &request))) {
        return custom_match_mq_deliver(prq->engine, tag, peer);
    }
    return request;
}

static inline int custom_match_prq_size(custom_match_prq *prq)
{
    uint64_t posted = 0;
    custom_match_mq_check(mq_lengths(prq->engine, &posted, NULL));
    return (int) posted;
}

/* Writes the posted receives that name each of the first `ranks` ranks. Under the matching lock. */
static inline void custom_match_prq_sizes(custom_match_prq *prq, unsigned *values, int ranks)
{
    uint64_t *posted = (uint64_t *) calloc(ranks, sizeof(uint64_t));
    custom_match_mq_check(mq_lengths_by_source(prq->engine, CUSTOM_MATCH_MQ_CONTEXT, (uint32_t) ranks,
                                               posted, NULL));
    for (int i = 0; i < ranks; ++i) {
        values[i] = NULL == posted ? 0 : (unsigned) posted[i];
    }
    free(posted);
}

/* Unexpected messages. Null without memory, as above. */

static inline custom_match_umq *custom_match_umq_init(void)
{
    return (custom_match_umq *) calloc(1, sizeof(custom_match_umq));
}

/* The engine is destroyed with the posted receives. */
static inline void custom_match_umq_destroy(custom_match_umq *umq)
{
    free(umq);
}

/* The bytes of the message that a fragment begins, as probes report them (mca_pml_ob1_recv_request_matched_probe),
 * whether they came with the fragment or wait at the sender. */
static inline uint64_t custom_match_mq_bytes(const mca_pml_ob1_recv_frag_t *frag)
{
    const mca_pml_ob1_hdr_t *hdr = (const mca_pml_ob1_hdr_t *) frag->segments[0].seg_addr.pval;
    if (MCA_PML_OB1_HDR_TYPE_MATCH == hdr->hdr_common.hdr_type) {
        return frag->segments[0].seg_len - OMPI_PML_OB1_MATCH_HDR_LEN;
    }
    return hdr->hdr_rndv.hdr_msg_length;
}

static inline void custom_match_umq_append(custom_match_umq *umq, int tag, int source, void *payload)
{
    mca_pml_ob1_recv_frag_t *frag = (mca_pml_ob1_recv_frag_t *) payload;
    mq_envelope envelope = custom_match_mq_envelope(tag, source);
    uint64_t bytes = custom_match_mq_bytes(frag);
    if (OPAL_UNLIKELY(MQ_NOT_IN_PLACE
                      == mq_try_queue_message(umq->engine, &envelope, bytes, payload, NULL))) {
        custom_match_mq_queue_message(umq->engine, tag, source, bytes, payload);
    }
}

/* Finds a message, and takes it: ob1 removes whatever it finds, under the same lock, except the message of a plain
 * probe. `stays` is not 0 for that one; mca_pml_ob1_recv_req_start sets it. */
static inline void *custom_match_umq_find_verify_hold(custom_match_umq *umq, int tag, int peer,
                                                      custom_match_umq_node **hold_prev,
                                                      custom_match_umq_node **hold_elem, int *stays)
{
    mq_pattern pattern = custom_match_mq_pattern(tag, peer);
    void *frag = NULL;
    *hold_prev = NULL;
    *hold_elem = NULL;
    if (OPAL_UNLIKELY(*stays)) {
        return custom_match_mq_probe(umq->engine, tag, peer);
    }
    if (OPAL_UNLIKELY(MQ_NOT_IN_PLACE == mq_try_extract(umq->engine, &pattern, &frag, NULL))) {
        return custom_match_mq_extract(umq->engine, tag, peer);
    }
    return frag;
}

static inline void custom_match_umq_remove_hold(custom_match_umq *umq, custom_match_umq_node *prev,
                                                custom_match_umq_node *elem, int stays)
{
    (void) umq;
    (void) prev;
    (void) elem;
    (void) stays;
}

static inline int custom_match_umq_size(custom_match_umq *umq)
{
    uint64_t unexpected = 0;
    custom_match_mq_check(mq_lengths(umq->engine, NULL, &unexpected));
    return (int) unexpected;
}

/* Writes the unexpected messages from each of the first `ranks` ranks. Under the matching lock. */
static inline void custom_match_umq_sizes(custom_match_umq *umq, unsigned *values, int ranks)
{
    uint64_t *unexpected = (uint64_t *) calloc(ranks, sizeof(uint64_t));
    custom_match_mq_check(mq_lengths_by_source(umq->engine, CUSTOM_MATCH_MQ_CONTEXT, (uint32_t) ranks,
                                               NULL, unexpected));
    for (int i = 0; i < ranks; ++i) {
        values[i] = NULL == unexpected ? 0 : (unsigned) unexpected[i];
    }
    free(unexpected);
}

/* Which messages a revoked communicator drops, and the list that takes them. */
struct custom_match_mq_revoke {
    ompi_communicator_t *comm;
    int (*is_revoked)(ompi_communicator_t *comm, mca_pml_ob1_recv_frag_t *frag);
    opal_list_t *dropped;
};

static inline int custom_match_mq_is_revoked(void *user, const mq_entry *entry)
{
    struct custom_match_mq_revoke *revoke = (struct custom_match_mq_revoke *) user;
    return !entry->posted
           && revoke->is_revoked(revoke->comm, (mca_pml_ob1_recv_frag_t *) entry->cookie);
}

static inline void custom_match_mq_drop(void *user, const mq_entry *entry)
{
    struct custom_match_mq_revoke *revoke = (struct custom_match_mq_revoke *) user;
    opal_list_append(revoke->dropped, (opal_list_item_t *) entry->cookie);
}

/* Moves the messages that a revoked communicator drops to a list, in order of arrival. */
static inline void custom_match_umq_revoke(
    custom_match_umq *umq, ompi_communicator_t *comm,
    int (*is_revoked)(ompi_communicator_t *comm, mca_pml_ob1_recv_frag_t *frag),
    opal_list_t *dropped)
{
    struct custom_match_mq_revoke revoke = {comm, is_revoked, dropped};
    custom_match_mq_check(
        mq_purge(umq->engine, custom_match_mq_is_revoked, custom_match_mq_drop, &revoke));
}

/* Printing, for a debugger. */

static inline void custom_match_mq_print(void *user, const mq_entry *entry)
{
    const mq_pattern *pattern = &entry->pattern;
    char source[16] = "ANY_SOURCE", tag[16] = "ANY_TAG";
    if (entry->posted != *(const int *) user) {
        return;
    }
    if (MQ_ANY_SOURCE != pattern->source) {
        snprintf(source, sizeof(source), "%d", pattern->source);
    }
    if (MQ_ANY_TAG != pattern->tag) {
        snprintf(tag, sizeof(tag), "%d", pattern->tag);
    }
    if (entry->posted) {
        mca_pml_base_request_t *request = (mca_pml_base_request_t *) entry->cookie;
        opal_output(0, "req %p peer %s tag %s addr %p count %lu [%s %s] req_seq %lu", entry->cookie,
                    source, tag, request->req_addr, (unsigned long) request->req_count,
                    request->req_pml_complete ? "pml_complete" : "",
                    request->req_free_called ? "freed" : "", (unsigned long) request->req_sequence);
    } else {
        opal_output(0, "frag %p source %s tag %s", entry->cookie, source, tag);
    }
}

static inline void custom_match_mq_dump(mq_engine *engine, int posted)
{
    int status = mq_visit(engine, custom_match_mq_print, &posted);
    if (status < 0) {
        opal_output(0, "libmq: %s", mq_strerror(status));
    }
}

static inline void custom_match_prq_dump(custom_match_prq *prq)
{
    custom_match_mq_dump(prq->engine, 1);
}

static inline void custom_match_umq_dump(custom_match_umq *umq)
{
    custom_match_mq_dump(umq->engine, 0);
}

/* The process's session, opened by its first communicator and closed with the component. */

static inline void custom_match_mq_open(void)
{
    char job[16];
    mq_session_options options = {
        .library = "openmpi-" OMPI_VERSION "-ob1",
        .rank = OMPI_PROC_MY_NAME->vpid,
        .size = ompi_process_info.num_procs,
        .environment = 1,
        .job = job,
    };
    /* The ranks of processes that others spawn begin with 0 again. */
    snprintf(job, sizeof(job), "%lu", (unsigned long) OMPI_PROC_MY_NAME->jobid);
    custom_match_mq_check(mq_session_open(&options, &mca_pml_ob1_mq_session));
}

/* Opened once, whichever threads make their first communicators at the same time, as they may with MPI sessions. */
static inline mq_session *custom_match_mq_session(void)
{
    mq_session *session;
    opal_mutex_lock(&mca_pml_ob1.lock);
    if (NULL == mca_pml_ob1_mq_session) {
        custom_match_mq_open();
    }
    session = mca_pml_ob1_mq_session;
    opal_mutex_unlock(&mca_pml_ob1.lock);
    return session;
}

static inline void custom_match_close(void)
{
    mq_session_close(mca_pml_ob1_mq_session);
    mca_pml_ob1_mq_session = NULL;
}

/* Gives a communicator its engine, now that its size is known. */
static inline int custom_match_attach(custom_match_prq *prq, custom_match_umq *umq,
                                      ompi_communicator_t *comm)
{
    /* Messages come from the remote group, and a trace's line has the local one: an intercommunicator has none. */
    mq_context_options context = {
        .size = comm->c_remote_group->grp_proc_count,
        .rank = OMPI_COMM_IS_INTER(comm) ? UINT32_MAX : (uint32_t) ompi_comm_rank(comm),
    };
    mq_engine_options options = {.session = custom_match_mq_session()};
    int status = MQ_ERR_MEMORY;
    if (NULL != prq && NULL != umq) {
        status = mq_engine_new(&options, &prq->engine);
    }
    if (MQ_NONE == status) {
        status = mq_context_create(prq->engine, CUSTOM_MATCH_MQ_CONTEXT, &context);
    }
    if (MQ_NONE == status) {
        umq->engine = prq->engine;
        return OMPI_SUCCESS;
    }
    /* MPI_Init ignores an error for MPI_COMM_WORLD or MPI_COMM_SELF, which would crash at their first message. */
    if (MQ_ERR_MEMORY != status || OMPI_COMM_IS_INTRINSIC(comm)) {
        custom_match_mq_check(status);
    }
    return OMPI_ERR_OUT_OF_RESOURCE;
}

#endif
