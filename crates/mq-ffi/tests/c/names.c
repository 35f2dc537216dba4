/* Names that are put together from one of the front and one of the queues name nothing, nor does one of the front
 * with another context: a library that keeps half of one in a field that something else writes to gets MQ_NONE, and
 * no other entry goes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "mq.h"
#include "mq_inline.h"

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

enum { CONTEXT = 1, OTHER = 2 };

static mq_engine *engine;
static const mq_pattern wanted = { .context = CONTEXT, .tag = 5 };
static const mq_envelope carried = { .context = CONTEXT, .tag = 5 };

static mq_handle post(const mq_pattern *pattern, uintptr_t cookie)
{
    mq_handle name;
    CHECK(mq_post(engine, pattern, (void *) cookie, &name, NULL, NULL) == MQ_NONE);
    return name;
}

static void arrive(void)
{
    void *cookie;
    CHECK(mq_arrive(engine, &carried, 0, NULL, &cookie) == MQ_MATCHED);
}

/* A receive that the front can not hold: all that is queued is behind it as long as it is there. */
static mq_handle close_front(void)
{
    mq_pattern masked = { .context = CONTEXT, .tag = 64, .ignore = 3 };
    return post(&masked, 0);
}

static int take_nothing(void *user, const mq_entry *entry)
{
    (void) user;
    (void) entry;
    return 0;
}

static void begin(void)
{
    CHECK(mq_engine_new(NULL, &engine) == MQ_NONE);
    CHECK(mq_context_create(engine, CONTEXT, NULL) == MQ_NONE);
    CHECK(mq_context_create(engine, OTHER, NULL) == MQ_NONE);
}

static void messages(void)
{
    mq_message_handle first, second, half;
    void *cookie;
    begin();
    CHECK(mq_queue_message(engine, &carried, 0, (void *) 1, &first) == MQ_NONE);
    CHECK(mq_take(engine, first, &cookie, NULL) == MQ_MATCHED);
    close_front();
    CHECK(mq_queue_message(engine, &carried, 0, (void *) 2, &second) == MQ_NONE);
    CHECK(first.slot == MQ_FRONT_SLOT && second.slot != MQ_FRONT_SLOT);
    half = first;
    half.slot = second.slot;
    CHECK(mq_take(engine, half, &cookie, NULL) == MQ_NONE);
    half = second;
    half.slot = first.slot;
    CHECK(mq_take(engine, half, &cookie, NULL) == MQ_NONE);
    CHECK(mq_take(engine, second, &cookie, NULL) == MQ_MATCHED && cookie == (void *) 2);
    CHECK(mq_engine_free(engine) == MQ_NONE);
}

static void receives(void)
{
    mq_handle closing, behind, front, half;
    void *cookie;
    begin();
    closing = close_front();
    for (int i = 0; i < 20; i++) {
        behind = post(&wanted, 1);
        arrive();
    }
    CHECK(behind.slot != MQ_FRONT_SLOT);
    CHECK(mq_cancel(engine, closing, NULL) == MQ_MATCHED);
    for (uintptr_t i = 0; i < 100; i++) {
        front = post(&wanted, i);
        if (front.slot == MQ_FRONT_SLOT) {
            half = behind;
            half.slot = MQ_FRONT_SLOT;
            CHECK(mq_cancel(engine, half, NULL) == MQ_NONE);
            half = front;
            half.slot = behind.slot;
            CHECK(mq_cancel(engine, half, NULL) == MQ_NONE);
        }
        arrive();
    }
    CHECK(front.slot == MQ_FRONT_SLOT);
    CHECK(mq_engine_free(engine) == MQ_NONE);

    /* Of another context. */
    begin();
    front = post(&wanted, 7);
    half = front;
    half.context = OTHER;
    CHECK(mq_cancel(engine, half, NULL) == MQ_NONE);
    CHECK(mq_purge(engine, take_nothing, NULL, NULL) == 0);
    CHECK(mq_cancel(engine, half, NULL) == MQ_NONE);
    CHECK(mq_cancel(engine, front, &cookie) == MQ_MATCHED && cookie == (void *) 7);
    CHECK(mq_engine_free(engine) == MQ_NONE);
}

int main(void)
{
    messages();
    receives();
    puts("names: half of one of the front names nothing");
    return 0;
}
