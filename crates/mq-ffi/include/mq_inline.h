/* mq_inline.h: the calls of mq.h, answered without a call while little is queued.
 *
 * mq_inline_post and the others are mq_post and so on, with the same arguments, outcomes and errors. While
 * everything queued in an engine fits in its front, and an answer is found among the earliest MQ_FRONT_SCAN
 * entries there, they work on the front in place; otherwise they call. Both kinds may be mixed. Unusual operations
 * (a null pointer, a masked tag, and where something may be queued a rank that is out of range or a context that has
 * not been used for long) always call, so that they are judged in one place. Searches that queue nothing (extract,
 * find, probe, deliver) for a named source and tag are answered without those checks: in place they find nothing
 * where a call would report that a context or a rank does not exist, or what is wrong with an envelope. A program
 * compiled with this file also works with a library of another MQ_FRONT_LAYOUT: every inline call is then a real
 * call.
 *
 * mq_try_post and the others work in place or not at all: where they would have to call, they do nothing and return
 * MQ_NOT_IN_PLACE. A caller that makes its patterns and envelopes itself gets the shortest code from them, if it calls
 * from another function, which makes the pattern again: as no call then gets the address of a pattern, compilers keep
 * it in registers and leave out what they know of it. See docs/abi.md for what either gains. */

#ifndef MQ_INLINE_H
#define MQ_INLINE_H

#include "mq.h"

#include <stddef.h>

/* The layout that this file knows. */
#ifndef MQ_INLINE_LAYOUT
#define MQ_INLINE_LAYOUT 1
#endif
#if MQ_INLINE_LAYOUT != MQ_FRONT_LAYOUT
#error "mq_inline.h and mq.h belong to different versions of libmq: take both from the same installation"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* For a function that is called so seldom that its code is better placed elsewhere. */
#ifdef __GNUC__
#define MQ_SELDOM __attribute__((cold, noinline, unused))
#else
#define MQ_SELDOM inline
#endif

/* For a loop that would take registers from the surrounding code. */
#ifdef __GNUC__
#define MQ_APART __attribute__((noinline, unused))
#else
#define MQ_APART inline
#endif

/* Has the processor fetch memory that is soon read, if there is any at the address: nothing waits for it. */
#ifdef __GNUC__
#define MQ_SOON(address) __builtin_prefetch(address)
#else
#define MQ_SOON(address) ((void) (address))
#endif

/* What a word of the front's state says, in a library whose front has the layout that this file knows. In any other
 * library it says no, and all inline calls are real calls. */
static inline int mq_front_is(uint32_t state)
{
    return state == MQ_INLINE_LAYOUT;
}

/* What the engine's front knows about a context; null if nothing. */
static inline const mq_known *mq_front_known(const mq_front *front, uint32_t context)
{
    const mq_known *known = &front->known[(context + (context >> 4) * 2) % MQ_FRONT_CONTEXTS];
    return known->context == context ? known : NULL;
}

/* Whether a pattern may have this class, as far as this header knows the classes. */
static inline int mq_front_reads_class(uint32_t traffic_class)
{
    /* One comparison for both: for MQ_CLASS_UNKNOWN, 0 is left. */
    return traffic_class + 1 <= MQ_CLASS_END;
}

/* Whether the front can judge the pattern: an ordinary one, for a context that it knows. */
static inline int mq_front_reads_pattern(const mq_front *front, const mq_pattern *pattern)
{
    const mq_known *known;
    if (pattern == NULL || (known = mq_front_known(front, pattern->context)) == NULL)
        return 0;
    if (pattern->source < 0
            ? pattern->source != MQ_ANY_SOURCE || (known->promises & MQ_NO_ANY_SOURCE)
            : (uint32_t) pattern->source > known->last_rank)
        return 0;
    if (pattern->tag == MQ_ANY_TAG && (known->promises & MQ_NO_ANY_TAG))
        return 0;
    return pattern->ignore == 0 && mq_front_reads_class(pattern->traffic_class);
}

static inline int mq_front_reads_envelope(const mq_front *front, const mq_envelope *envelope)
{
    const mq_known *known;
    if (envelope == NULL || (known = mq_front_known(front, envelope->context)) == NULL)
        return 0;
    if (envelope->source < 0 || (uint32_t) envelope->source > known->last_rank)
        return 0;
    return envelope->tag != MQ_ANY_TAG && envelope->traffic_class < MQ_CLASS_END;
}

/* Whether the front may be searched with a pattern. If the pattern names source and tag, only its class is checked: a
 * context that does not exist, or a rank that is out of range, has no message. */
static inline int mq_front_searches_by(const mq_front *front, const mq_pattern *pattern)
{
    if (pattern == NULL || pattern->ignore != 0 || !mq_front_reads_class(pattern->traffic_class))
        return 0;
    return (pattern->source >= 0 && pattern->tag != MQ_ANY_TAG) || mq_front_reads_pattern(front, pattern);
}

/* What a search compares. */
static inline uint64_t mq_front_bits(int32_t source, int32_t tag)
{
    return (uint64_t) (uint32_t) source << 32 | (uint32_t) tag;
}

/* What a receive wants. Any tag means any tag of 0 or above: no sign bit. */
static inline uint64_t mq_front_wants(const mq_pattern *pattern)
{
    return mq_front_bits(pattern->source, pattern->tag == MQ_ANY_TAG ? 0 : pattern->tag);
}

/* The bits that matter to a receive. */
static inline uint64_t mq_front_care(const mq_pattern *pattern)
{
    return (uint64_t) (pattern->source == MQ_ANY_SOURCE ? 0 : UINT32_MAX) << 32
         | (pattern->tag == MQ_ANY_TAG ? UINT32_C(1) << 31 : UINT32_MAX);
}

/* Word by word (volatile keeps compilers from doing otherwise): recent stores are not yet in the cache, and a
 * processor that loads two such words as one waits for them, longer than a search takes. */
static inline void mq_front_move(volatile mq_parked *to, const mq_parked *from)
{
    to->bits = from->bits;
    to->care = from->care;
    to->place = from->place;
    to->sequence = from->sequence;
    to->cookie = from->cookie;
}

/* Takes out an entry that is neither the first nor the last; the shorter part of the others closes the gap. */
static MQ_APART void mq_front_close(mq_front_queue *queue, mq_parked *gap)
{
    mq_parked *last = queue->end - 1;
    if ((const char *) gap - (const char *) queue->first <= (const char *) last - (const char *) gap) {
        for (; gap != queue->first; gap--)
            mq_front_move(gap, gap - 1);
        queue->first++;
    } else {
        for (; gap != last; gap++)
            mq_front_move(gap, gap + 1);
        queue->end = last;
    }
}

/* Takes an entry out. After the first the second is likely to leave, and then the caller looks at what its cookie
 * points to; in a long queue neither that is in a cache, nor are the entries behind. */
static inline void mq_front_remove(mq_front_queue *queue, mq_parked *gap)
{
    int is_first = gap == queue->first, is_last = gap + 1 == queue->end;
    if (is_first && is_last) {
        queue->first = queue->end = queue->start;
    } else if (is_first) {
        MQ_SOON(gap[1].cookie);
        MQ_SOON((const void *) ((uintptr_t) gap + 8 * sizeof *gap));
        queue->first = gap + 1;
    } else if (is_last)
        queue->end = gap;
    else
        mq_front_close(queue, gap);
}

/* Moves the entries back to the start, unless they are too many for that; 0 if they are. */
static MQ_SELDOM int mq_front_slide(mq_front_queue *queue)
{
    mq_parked *from = queue->first, *to = queue->start;
    if (from - to < queue->limit - from)
        return 0;
    while (from != queue->end)
        mq_front_move(to++, from++);
    queue->first = queue->start;
    queue->end = to;
    return 1;
}

/* Puts an entry at the end; null if there is no room. */
static inline mq_parked *mq_front_add(mq_front *front, mq_front_queue *queue, uint64_t bits, uint64_t care,
                                      uint32_t context, uint32_t traffic_class, void *cookie)
{
    mq_parked *added;
    if (queue->end == queue->limit && !mq_front_slide(queue))
        return NULL;
    added = queue->end++;
    added->bits = bits;
    added->care = care;
    added->place = (uint64_t) traffic_class << 32 | context;
    added->sequence = front->sequence++;
    added->cookie = cookie;
    return added;
}

static inline int mq_front_is_it(const mq_parked *at, uint64_t bits, uint64_t care, uint32_t context)
{
    return ((at->bits ^ bits) & care) == 0 && (uint32_t) at->place == context;
}

/* Where a search stops. */
static inline mq_parked *mq_front_stop(const mq_front_queue *queue)
{
    return (const char *) queue->end - (const char *) queue->first
                   > (ptrdiff_t) (MQ_FRONT_SCAN * sizeof(mq_parked))
             ? queue->first + MQ_FRONT_SCAN
             : queue->end;
}

/* The result of a search that found nothing up to `stop`. */
static inline int mq_front_nothing(const mq_front_queue *queue, const mq_parked *stop)
{
    return stop == queue->end ? MQ_NONE : MQ_NOT_IN_PLACE;
}

/* MQ_MATCHED, with the first message that the pattern matches in `*found`, or as mq_front_nothing. Usually nothing
 * waits when a receive is posted; if something does, it is usually the first. */
static inline int mq_front_message(const mq_front_queue *queue, const mq_pattern *pattern, mq_parked **found)
{
    mq_parked *at = queue->first, *stop;
    uint64_t bits, care;
    uint32_t context;
    if (at == queue->end)
        return MQ_NONE;
    bits = mq_front_wants(pattern);
    care = mq_front_care(pattern);
    context = pattern->context;
    *found = at;
    if (mq_front_is_it(at, bits, care, context))
        return MQ_MATCHED;
    stop = mq_front_stop(queue);
    for (at++; stop - at >= 2; at += 2) {
        *found = &at[0];
        if (mq_front_is_it(&at[0], bits, care, context))
            return MQ_MATCHED;
        *found = &at[1];
        if (mq_front_is_it(&at[1], bits, care, context))
            return MQ_MATCHED;
    }
    *found = at;
    return at != stop && mq_front_is_it(at, bits, care, context) ? MQ_MATCHED : mq_front_nothing(queue, stop);
}

/* The same for the first receive that matches the message. */
static inline int mq_front_receive(const mq_front_queue *queue, const mq_envelope *envelope, mq_parked **found)
{
    mq_parked *at = queue->first, *stop;
    uint64_t bits;
    uint32_t context;
    if (at == queue->end)
        return MQ_NONE;
    bits = mq_front_bits(envelope->source, envelope->tag);
    context = envelope->context;
    *found = at;
    if (mq_front_is_it(at, bits, at->care, context))
        return MQ_MATCHED;
    stop = mq_front_stop(queue);
    for (at++; stop - at >= 2; at += 2) {
        *found = &at[0];
        if (mq_front_is_it(&at[0], bits, at[0].care, context))
            return MQ_MATCHED;
        *found = &at[1];
        if (mq_front_is_it(&at[1], bits, at[1].care, context))
            return MQ_MATCHED;
    }
    *found = at;
    return at != stop && mq_front_is_it(at, bits, at->care, context) ? MQ_MATCHED : mq_front_nothing(queue, stop);
}

/* Whether a receive that was found names its source. Volatile: otherwise compilers keep what each step of the search
 * has read, in a register that the search cannot spare. */
static inline int mq_front_names_source(const volatile mq_parked *receive)
{
    return receive->care >> 32 != 0;
}

static inline void mq_front_show(const mq_parked *parked, void **message, mq_envelope *envelope)
{
    if (message != NULL)
        *message = parked->cookie;
    if (envelope != NULL) {
        envelope->context = (uint32_t) parked->place;
        envelope->source = (int32_t) (uint32_t) (parked->bits >> 32);
        envelope->tag = (int32_t) (uint32_t) parked->bits;
        envelope->traffic_class = (uint32_t) (parked->place >> 32);
    }
}

/* Shows a message and takes it out. */
static inline int mq_front_take(mq_front_queue *queue, mq_parked *at, void **message, mq_envelope *envelope)
{
    mq_front_show(at, message, envelope);
    mq_front_remove(queue, at);
    return MQ_MATCHED;
}

/* Takes a receive out. */
static inline int mq_front_complete(mq_front_queue *queue, mq_parked *at, void **receive)
{
    if (receive != NULL)
        *receive = at->cookie;
    mq_front_remove(queue, at);
    return MQ_MATCHED;
}

/* Queues a receive; 0 if there is no room. */
static inline int mq_front_add_receive(mq_front *front, const mq_pattern *pattern, void *receive,
                                       mq_handle *handle)
{
    mq_parked *added =
        mq_front_add(front, &front->receives, mq_front_wants(pattern), mq_front_care(pattern),
                     pattern->context, pattern->traffic_class, receive);
    if (added == NULL)
        return 0;
    if (handle != NULL) {
        handle->sequence = added->sequence;
        handle->slot = MQ_FRONT_SLOT;
        handle->context = pattern->context;
    }
    return 1;
}

/* Queues a message; 0 if there is no room. */
static inline int mq_front_add_message(mq_front *front, const mq_envelope *envelope, uint64_t bytes,
                                       void *message, mq_message_handle *queued)
{
    mq_parked *added =
        mq_front_add(front, &front->messages, mq_front_bits(envelope->source, envelope->tag), bytes,
                     envelope->context, envelope->traffic_class, message);
    if (added == NULL)
        return 0;
    if (queued != NULL) {
        queued->sequence = added->sequence;
        queued->slot = MQ_FRONT_SLOT;
        queued->context = envelope->context;
    }
    return 1;
}

/* The calls in place: each does what the inline call of its name does in place, or nothing, and then it returns
 * MQ_NOT_IN_PLACE. They report no errors. `engine` is not null. */

/* mq_post in place. */
static inline int mq_try_post(mq_engine *engine, const mq_pattern *pattern, void *receive, mq_handle *handle,
                              void **message, mq_envelope *envelope)
{
    mq_front *front = (mq_front *) engine;
    mq_front_queue *queue = &front->messages;
    mq_parked *at;
    int status;
    if (!mq_front_is(front->open) || !mq_front_reads_pattern(front, pattern))
        return MQ_NOT_IN_PLACE;
    status = mq_front_message(queue, pattern, &at);
    if (status == MQ_MATCHED)
        return mq_front_take(queue, at, message, envelope);
    if (status == MQ_NONE && mq_front_add_receive(front, pattern, receive, handle))
        return MQ_NONE;
    return MQ_NOT_IN_PLACE;
}

/* mq_arrive in place. */
static inline int mq_try_arrive(mq_engine *engine, const mq_envelope *envelope, uint64_t bytes, void *message,
                                void **receive)
{
    mq_front *front = (mq_front *) engine;
    mq_front_queue *queue = &front->receives;
    mq_parked *at;
    int status;
    if (!mq_front_is(front->open) || !mq_front_reads_envelope(front, envelope))
        return MQ_NOT_IN_PLACE;
    status = mq_front_receive(queue, envelope, &at);
    if (status == MQ_MATCHED)
        return mq_front_complete(queue, at, receive);
    if (status == MQ_NONE && mq_front_add_message(front, envelope, bytes, message, NULL))
        return MQ_NONE;
    return MQ_NOT_IN_PLACE;
}

/* mq_extract in place. */
static inline int mq_try_extract(mq_engine *engine, const mq_pattern *pattern, void **message,
                                 mq_envelope *envelope)
{
    mq_front *front = (mq_front *) engine;
    mq_front_queue *queue = &front->messages;
    mq_parked *at;
    int status;
    if (!mq_front_is(front->no_messages) || !mq_front_searches_by(front, pattern))
        return MQ_NOT_IN_PLACE;
    status = mq_front_message(queue, pattern, &at);
    return status == MQ_MATCHED ? mq_front_take(queue, at, message, envelope) : status;
}

/* mq_find in place. */
static inline int mq_try_find(mq_engine *engine, const mq_pattern *pattern, mq_message_handle *found, void **message,
                              mq_envelope *envelope)
{
    mq_front *front = (mq_front *) engine;
    mq_parked *at;
    int status;
    if (!mq_front_is(front->no_messages) || !mq_front_searches_by(front, pattern))
        return MQ_NOT_IN_PLACE;
    status = mq_front_message(&front->messages, pattern, &at);
    if (status != MQ_MATCHED)
        return status;
    mq_front_show(at, message, envelope);
    if (found != NULL) {
        found->sequence = at->sequence;
        found->slot = MQ_FRONT_SLOT;
        found->context = (uint32_t) at->place;
    }
    return MQ_MATCHED;
}

/* mq_probe in place. */
static inline int mq_try_probe(mq_engine *engine, const mq_pattern *pattern, void **message, mq_envelope *envelope)
{
    return mq_try_find(engine, pattern, NULL, message, envelope);
}

/* mq_take in place. */
static inline int mq_try_take(mq_engine *engine, mq_message_handle found, void **message, mq_envelope *envelope)
{
    mq_front *front = (mq_front *) engine;
    mq_front_queue *queue = &front->messages;
    mq_parked *stop, *at;
    if (!mq_front_is(front->open) || found.slot != MQ_FRONT_SLOT)
        return MQ_NOT_IN_PLACE;
    stop = mq_front_stop(queue);
    for (at = queue->first; at != stop; at++)
        if (at->sequence == found.sequence && (uint32_t) at->place == found.context)
            return mq_front_take(queue, at, message, envelope);
    return mq_front_nothing(queue, stop);
}

/* mq_deliver in place. */
static inline int mq_try_deliver(mq_engine *engine, const mq_envelope *envelope, void **receive)
{
    mq_front *front = (mq_front *) engine;
    mq_front_queue *queue = &front->receives;
    mq_parked *at;
    int status;
    if (!mq_front_is(front->no_receives) || envelope == NULL)
        return MQ_NOT_IN_PLACE;
    status = mq_front_receive(queue, envelope, &at);
    if (status != MQ_MATCHED)
        return status;
    /* Otherwise any class would match, and an out-of-range rank would match a receive from any source. */
    if (envelope->traffic_class < MQ_CLASS_END
        && (mq_front_names_source(at) || mq_front_reads_envelope(front, envelope)))
        return mq_front_complete(queue, at, receive);
    return MQ_NOT_IN_PLACE;
}

/* mq_queue_receive in place. */
static inline int mq_try_queue_receive(mq_engine *engine, const mq_pattern *pattern, void *receive,
                                       mq_handle *handle)
{
    mq_front *front = (mq_front *) engine;
    return mq_front_is(front->open) && mq_front_reads_pattern(front, pattern)
                   && mq_front_add_receive(front, pattern, receive, handle)
             ? MQ_NONE
             : MQ_NOT_IN_PLACE;
}

/* mq_queue_message in place. */
static inline int mq_try_queue_message(mq_engine *engine, const mq_envelope *envelope, uint64_t bytes, void *message,
                                       mq_message_handle *queued)
{
    mq_front *front = (mq_front *) engine;
    return mq_front_is(front->open) && mq_front_reads_envelope(front, envelope)
                   && mq_front_add_message(front, envelope, bytes, message, queued)
             ? MQ_NONE
             : MQ_NOT_IN_PLACE;
}

/* mq_post, in place where it can be. */
static inline int mq_inline_post(mq_engine *engine, const mq_pattern *pattern, void *receive, mq_handle *handle,
                                 void **message, mq_envelope *envelope)
{
    int status = engine != NULL ? mq_try_post(engine, pattern, receive, handle, message, envelope) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_post(engine, pattern, receive, handle, message, envelope);
}

/* mq_arrive, in place where it can be. */
static inline int mq_inline_arrive(mq_engine *engine, const mq_envelope *envelope, uint64_t bytes, void *message,
                                   void **receive)
{
    int status = engine != NULL ? mq_try_arrive(engine, envelope, bytes, message, receive) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_arrive(engine, envelope, bytes, message, receive);
}

/* mq_extract, in place where it can be. */
static inline int mq_inline_extract(mq_engine *engine, const mq_pattern *pattern, void **message,
                                    mq_envelope *envelope)
{
    int status = engine != NULL ? mq_try_extract(engine, pattern, message, envelope) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_extract(engine, pattern, message, envelope);
}

/* mq_find, in place where it can be. */
static inline int mq_inline_find(mq_engine *engine, const mq_pattern *pattern, mq_message_handle *found,
                                 void **message, mq_envelope *envelope)
{
    int status = engine != NULL ? mq_try_find(engine, pattern, found, message, envelope) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_find(engine, pattern, found, message, envelope);
}

/* mq_probe, in place where it can be. */
static inline int mq_inline_probe(mq_engine *engine, const mq_pattern *pattern, void **message, mq_envelope *envelope)
{
    int status = engine != NULL ? mq_try_probe(engine, pattern, message, envelope) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_probe(engine, pattern, message, envelope);
}

/* mq_take, in place where it can be. */
static inline int mq_inline_take(mq_engine *engine, mq_message_handle found, void **message, mq_envelope *envelope)
{
    int status = engine != NULL ? mq_try_take(engine, found, message, envelope) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_take(engine, found, message, envelope);
}

/* mq_deliver, in place where it can be. */
static inline int mq_inline_deliver(mq_engine *engine, const mq_envelope *envelope, void **receive)
{
    int status = engine != NULL ? mq_try_deliver(engine, envelope, receive) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_deliver(engine, envelope, receive);
}

/* mq_queue_receive, in place where it can be. */
static inline int mq_inline_queue_receive(mq_engine *engine, const mq_pattern *pattern, void *receive,
                                          mq_handle *handle)
{
    int status = engine != NULL ? mq_try_queue_receive(engine, pattern, receive, handle) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_queue_receive(engine, pattern, receive, handle);
}

/* mq_queue_message, in place where it can be. */
static inline int mq_inline_queue_message(mq_engine *engine, const mq_envelope *envelope, uint64_t bytes,
                                          void *message, mq_message_handle *queued)
{
    int status = engine != NULL ? mq_try_queue_message(engine, envelope, bytes, message, queued) : MQ_NOT_IN_PLACE;
    return status != MQ_NOT_IN_PLACE ? status : mq_queue_message(engine, envelope, bytes, message, queued);
}

#ifdef __cplusplus
}
#endif

#endif /* MQ_INLINE_H */
