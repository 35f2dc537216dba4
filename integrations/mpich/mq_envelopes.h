/* MPICH's envelopes as libmq's: what its devices ch3 and ch4 say in the same words. */

#ifndef MQ_ENVELOPES_H_INCLUDED
#define MQ_ENVELOPES_H_INCLUDED

#include <mq_inline.h>

/* For functions on the path of every message that compilers would not inline. */
#define MPIDI_MQ_ALWAYS_INLINE inline ATTRIBUTE((always_inline, unused))

/* A status that no caller here can handle: a fault, or out of memory. */
static ATTRIBUTE((noinline, unused)) void MPIDI_MQ_abort(int status)
{
    char text[512];
    MPL_snprintf(text, sizeof(text), "libmq: %s", mq_strerror(status));
    MPID_Abort(NULL, MPI_ERR_INTERN, 1, text);
}

static MPIDI_MQ_ALWAYS_INLINE int MPIDI_MQ_check(int status)
{
    if (unlikely(status < 0))
        MPIDI_MQ_abort(status);
    return status;
}

/* The collective operation of a message, by its tag (mpir_tags.h). */
static MPIDI_MQ_ALWAYS_INLINE uint32_t MPIDI_MQ_class(int tag, int context_id)
{
    static const uint8_t classes[] = {
        [MPIR_BARRIER_TAG] = MQ_CLASS_BARRIER,
        [MPIR_BCAST_TAG] = MQ_CLASS_BROADCAST,
        [MPIR_GATHER_TAG] = MQ_CLASS_GATHER,
        [MPIR_GATHERV_TAG] = MQ_CLASS_GATHERV,
        [MPIR_SCATTER_TAG] = MQ_CLASS_SCATTER,
        [MPIR_SCATTERV_TAG] = MQ_CLASS_SCATTERV,
        [MPIR_ALLGATHER_TAG] = MQ_CLASS_ALLGATHER,
        [MPIR_ALLGATHERV_TAG] = MQ_CLASS_ALLGATHERV,
        [MPIR_ALLTOALL_TAG] = MQ_CLASS_ALLTOALL,
        [MPIR_ALLTOALLV_TAG] = MQ_CLASS_ALLTOALLV,
        [MPIR_ALLTOALLW_TAG] = MQ_CLASS_ALLTOALLW,
        [MPIR_REDUCE_TAG] = MQ_CLASS_REDUCE,
        [MPIR_ALLREDUCE_TAG] = MQ_CLASS_ALLREDUCE,
        [MPIR_REDUCE_SCATTER_TAG] = MQ_CLASS_REDUCE_SCATTER,
        [MPIR_REDUCE_SCATTER_BLOCK_TAG] = MQ_CLASS_REDUCE_SCATTER_BLOCK,
        [MPIR_SCAN_TAG] = MQ_CLASS_SCAN,
        [MPIR_EXSCAN_TAG] = MQ_CLASS_EXSCAN,
    };
    uint32_t class;
    if ((context_id & MPIR_CONTEXT_SUFFIX_MASK) == MPIR_CONTEXT_INTRA_PT2PT)
        return MQ_CLASS_POINT_TO_POINT;
    if (tag == MPI_ANY_TAG)
        return MQ_CLASS_UNKNOWN;
    class = tag >= 0 && tag < (int) sizeof(classes) ? classes[tag] : 0;
    return class != 0 ? class : MQ_CLASS_OTHER_COLLECTIVE;
}

static MPIDI_MQ_ALWAYS_INLINE mq_pattern MPIDI_MQ_pattern(int source, int tag, int context_id)
{
    mq_pattern pattern = {
        .context = (uint32_t) context_id,
        .source = source == MPI_ANY_SOURCE ? MQ_ANY_SOURCE : source,
        .tag = tag == MPI_ANY_TAG ? MQ_ANY_TAG : tag,
        .traffic_class = MPIDI_MQ_class(tag, context_id),
    };
    return pattern;
}

/* A message's envelope, without the bits of its tag that report an error. */
static MPIDI_MQ_ALWAYS_INLINE mq_envelope MPIDI_MQ_envelope(int source, int tag_and_error, int context_id)
{
    int tag = MPIR_TAG_MASK_ERROR_BITS(tag_and_error);
    mq_envelope envelope = {
        .context = (uint32_t) context_id,
        .source = source,
        .tag = tag,
        .traffic_class = MPIDI_MQ_class(tag, context_id),
    };
    return envelope;
}

#endif /* MQ_ENVELOPES_H_INCLUDED */
