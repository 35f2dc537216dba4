/* What a C library has without libmq: two lists whose links and keys are in the caller's requests, searched in the
 * caller's own code, without checks, names, or contexts that come and go. A lower bound for a form of libmq in which
 * the caller embeds the entry. */
#ifndef INTRUSIVE_H
#define INTRUSIVE_H

#include <stddef.h>
#include <stdint.h>

#include "mq.h"

/* The parts of a request that matter for matching. */
typedef struct request {
    struct request *next;
    uint32_t context;
    int32_t source;
    int32_t tag;
} request;

typedef struct requests {
    request *first;
    request **end;
} requests;

static inline void requests_empty(requests *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static inline void requests_add(requests *list, request *added)
{
    added->next = NULL;
    *list->end = added;
    list->end = &added->next;
}

static inline request *requests_remove(requests *list, request **link)
{
    request *found = *link;
    *link = found->next;
    if (found->next == NULL)
        list->end = link;
    return found;
}

/* Takes the first message that a receive matches; null if there is none. */
static inline request *requests_take_message(requests *list, const mq_pattern *pattern)
{
    for (request **link = &list->first; *link != NULL; link = &(*link)->next) {
        const request *at = *link;
        if (at->context == pattern->context
            && (pattern->source == MQ_ANY_SOURCE || at->source == pattern->source)
            && (pattern->tag == MQ_ANY_TAG ? at->tag >= 0 : at->tag == pattern->tag))
            return requests_remove(list, link);
    }
    return NULL;
}

/* Takes the first receive that a message matches; null if there is none. */
static inline request *requests_take_receive(requests *list, const mq_envelope *envelope)
{
    for (request **link = &list->first; *link != NULL; link = &(*link)->next) {
        const request *at = *link;
        if (at->context == envelope->context && (at->source == MQ_ANY_SOURCE || at->source == envelope->source)
            && (at->tag == MQ_ANY_TAG ? envelope->tag >= 0 : at->tag == envelope->tag))
            return requests_remove(list, link);
    }
    return NULL;
}

#endif
