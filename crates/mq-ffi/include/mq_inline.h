/* mq_inline.h: the calls of mq.h, answered without a call while little is queued.
 *
 * mq_inline_post and its like are mq_post and its like, with the same arguments, outcomes and errors. While
 * everything that is queued in an engine fits in its front (MQ_FRONT_SIZE receives and as many messages, of
 * one context), they work on the front in place; otherwise they call. Both kinds may be mixed. What is
 * unusual (a null pointer, a masked tag, a rank that is out of range, another context) always calls, so
 * that it is judged in one place. See docs/abi.md for what this gains. */

#ifndef MQ_INLINE_H
#define MQ_INLINE_H

#include "mq.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The front of the engine, if it knows this context; null otherwise. While it is open, everything that is
 * queued is in it; else it tells how much is in the queues behind it. */
static inline mq_front *mq_front_for(mq_engine *engine, uint32_t context)
{
    mq_front *front = (mq_front *) engine;
    return engine != NULL && front->known && front->context == context ? front : NULL;
}

static inline mq_front *mq_front_for_pattern(mq_engine *engine, const mq_pattern *pattern)
{
    mq_front *front;
    if (pattern == NULL || (front = mq_front_for(engine, pattern->context)) == NULL)
        return NULL;
    if (pattern->source < 0
            ? pattern->source != MQ_ANY_SOURCE || (front->promises & MQ_NO_ANY_SOURCE)
            : (uint32_t) pattern->source > front->last_rank)
        return NULL;
    if (pattern->tag == MQ_ANY_TAG && (front->promises & MQ_NO_ANY_TAG))
        return NULL;
    return pattern->ignore == 0 && pattern->traffic_class <= MQ_CLASS_UNKNOWN ? front : NULL;
}

static inline mq_front *mq_front_for_envelope(mq_engine *engine, const mq_envelope *envelope)
{
    mq_front *front;
    if (envelope == NULL || (front = mq_front_for(engine, envelope->context)) == NULL)
        return NULL;
    if (envelope->source < 0 || (uint32_t) envelope->source > front->last_rank)
        return NULL;
    return envelope->tag != MQ_ANY_TAG && envelope->traffic_class <= MQ_CLASS_UNKNOWN ? front : NULL;
}

static inline int mq_front_matches(int32_t source, int32_t tag, int32_t from, int32_t with)
{
    return (source == from || source == MQ_ANY_SOURCE)
        && (tag == with || (tag == MQ_ANY_TAG && with >= 0));
}

/* The first message that the pattern matches; front->messages if there is none. */
static inline uint32_t mq_front_message(const mq_front *front, const mq_pattern *pattern)
{
    uint32_t i = 0;
    while (i < front->messages
           && !mq_front_matches(pattern->source, pattern->tag, front->message[i].source,
                                front->message[i].tag))
        i++;
    return i;
}

static inline void mq_front_show(const mq_front *front, const mq_parked *parked, void **message,
                                 mq_envelope *envelope)
{
    if (message != NULL)
        *message = parked->cookie;
    if (envelope != NULL) {
        envelope->context = front->context;
        envelope->source = parked->source;
        envelope->tag = parked->tag;
        envelope->traffic_class = parked->traffic_class;
    }
}

static inline void mq_front_close_gap(mq_parked *parked, uint32_t *count, uint32_t gap)
{
    uint32_t last = --*count;
    for (; gap < last; gap++)
        parked[gap] = parked[gap + 1];
}

static inline mq_parked *mq_front_add(mq_front *front, mq_parked *parked, uint32_t *count)
{
    mq_parked *added = &parked[(*count)++];
    added->sequence = front->sequence++;
    return added;
}

static inline void mq_front_add_receive(mq_front *front, const mq_pattern *pattern, void *receive,
                                        mq_handle *handle)
{
    mq_parked *added = mq_front_add(front, front->receive, &front->receives);
    added->source = pattern->source;
    added->tag = pattern->tag;
    added->traffic_class = pattern->traffic_class;
    added->cookie = receive;
    if (handle != NULL) {
        handle->sequence = added->sequence;
        handle->slot = MQ_FRONT_SLOT;
        handle->context = front->context;
    }
}

static inline void mq_front_add_message(mq_front *front, const mq_envelope *envelope, uint64_t bytes,
                                        void *message, mq_message_handle *queued)
{
    mq_parked *added = mq_front_add(front, front->message, &front->messages);
    added->source = envelope->source;
    added->tag = envelope->tag;
    added->traffic_class = envelope->traffic_class;
    added->bytes = bytes;
    added->cookie = message;
    if (queued != NULL) {
        queued->sequence = added->sequence;
        queued->slot = MQ_FRONT_SLOT;
        queued->context = front->context;
    }
}

/* Takes the first receive that matches; 0 if there is none. */
static inline int mq_front_deliver(mq_front *front, const mq_envelope *envelope, void **receive)
{
    uint32_t i;
    for (i = 0; i < front->receives; i++) {
        if (mq_front_matches(front->receive[i].source, front->receive[i].tag, envelope->source,
                             envelope->tag)) {
            if (receive != NULL)
                *receive = front->receive[i].cookie;
            mq_front_close_gap(front->receive, &front->receives, i);
            return 1;
        }
    }
    return 0;
}

/* mq_post, in place where it can be. */
static inline int mq_inline_post(mq_engine *engine, const mq_pattern *pattern, void *receive,
                                 mq_handle *handle, void **message, mq_envelope *envelope)
{
    mq_front *front = mq_front_for_pattern(engine, pattern);
    if (front != NULL && front->open) {
        uint32_t i = mq_front_message(front, pattern);
        if (i < front->messages) {
            mq_front_show(front, &front->message[i], message, envelope);
            mq_front_close_gap(front->message, &front->messages, i);
            return MQ_MATCHED;
        }
        if (front->receives < MQ_FRONT_SIZE) {
            mq_front_add_receive(front, pattern, receive, handle);
            return MQ_NONE;
        }
    }
    return mq_post(engine, pattern, receive, handle, message, envelope);
}

/* mq_arrive, in place where it can be. */
static inline int mq_inline_arrive(mq_engine *engine, const mq_envelope *envelope, uint64_t bytes,
                                   void *message, void **receive)
{
    mq_front *front = mq_front_for_envelope(engine, envelope);
    if (front != NULL && front->open) {
        if (mq_front_deliver(front, envelope, receive))
            return MQ_MATCHED;
        if (front->messages < MQ_FRONT_SIZE) {
            mq_front_add_message(front, envelope, bytes, message, NULL);
            return MQ_NONE;
        }
    }
    return mq_arrive(engine, envelope, bytes, message, receive);
}

/* mq_extract, in place where it can be. */
static inline int mq_inline_extract(mq_engine *engine, const mq_pattern *pattern, void **message,
                                    mq_envelope *envelope)
{
    mq_front *front = mq_front_for_pattern(engine, pattern);
    if (front != NULL && front->open) {
        uint32_t i = mq_front_message(front, pattern);
        if (i == front->messages)
            return MQ_NONE;
        mq_front_show(front, &front->message[i], message, envelope);
        mq_front_close_gap(front->message, &front->messages, i);
        return MQ_MATCHED;
    }
    if (front != NULL && front->unexpected == 0)
        return MQ_NONE;
    return mq_extract(engine, pattern, message, envelope);
}

/* mq_find, in place where it can be. */
static inline int mq_inline_find(mq_engine *engine, const mq_pattern *pattern,
                                 mq_message_handle *found, void **message, mq_envelope *envelope)
{
    mq_front *front = mq_front_for_pattern(engine, pattern);
    if (front != NULL && front->open) {
        uint32_t i = mq_front_message(front, pattern);
        if (i == front->messages)
            return MQ_NONE;
        mq_front_show(front, &front->message[i], message, envelope);
        if (found != NULL) {
            found->sequence = front->message[i].sequence;
            found->slot = MQ_FRONT_SLOT;
            found->context = front->context;
        }
        return MQ_MATCHED;
    }
    if (front != NULL && front->unexpected == 0)
        return MQ_NONE;
    return mq_find(engine, pattern, found, message, envelope);
}

/* mq_probe, in place where it can be. */
static inline int mq_inline_probe(mq_engine *engine, const mq_pattern *pattern, void **message,
                                  mq_envelope *envelope)
{
    return mq_inline_find(engine, pattern, NULL, message, envelope);
}

/* mq_take, in place where it can be. */
static inline int mq_inline_take(mq_engine *engine, mq_message_handle found, void **message,
                                 mq_envelope *envelope)
{
    mq_front *front = mq_front_for(engine, found.context);
    if (front != NULL && front->open && found.slot == MQ_FRONT_SLOT) {
        uint32_t i;
        for (i = 0; i < front->messages; i++) {
            if (front->message[i].sequence == found.sequence) {
                mq_front_show(front, &front->message[i], message, envelope);
                mq_front_close_gap(front->message, &front->messages, i);
                return MQ_MATCHED;
            }
        }
        return MQ_NONE;
    }
    return mq_take(engine, found, message, envelope);
}

/* mq_deliver, in place where it can be. */
static inline int mq_inline_deliver(mq_engine *engine, const mq_envelope *envelope, void **receive)
{
    mq_front *front = mq_front_for_envelope(engine, envelope);
    if (front != NULL && front->open)
        return mq_front_deliver(front, envelope, receive) ? MQ_MATCHED : MQ_NONE;
    if (front != NULL && front->posted == 0)
        return MQ_NONE;
    return mq_deliver(engine, envelope, receive);
}

/* mq_queue_receive, in place where it can be. */
static inline int mq_inline_queue_receive(mq_engine *engine, const mq_pattern *pattern, void *receive,
                                          mq_handle *handle)
{
    mq_front *front = mq_front_for_pattern(engine, pattern);
    if (front != NULL && front->open && front->receives < MQ_FRONT_SIZE) {
        mq_front_add_receive(front, pattern, receive, handle);
        return MQ_NONE;
    }
    return mq_queue_receive(engine, pattern, receive, handle);
}

/* mq_queue_message, in place where it can be. */
static inline int mq_inline_queue_message(mq_engine *engine, const mq_envelope *envelope,
                                          uint64_t bytes, void *message, mq_message_handle *queued)
{
    mq_front *front = mq_front_for_envelope(engine, envelope);
    if (front != NULL && front->open && front->messages < MQ_FRONT_SIZE) {
        mq_front_add_message(front, envelope, bytes, message, queued);
        return MQ_NONE;
    }
    return mq_queue_message(engine, envelope, bytes, message, queued);
}

#ifdef __cplusplus
}
#endif

#endif /* MQ_INLINE_H */
