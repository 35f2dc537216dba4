/* A caller that was compiled with another layout of the front: every inline call of its has to be a call, and right. */
#include <stdio.h>

#include "mq.h"

static int calls;

static int counted_post(mq_engine *engine, const mq_pattern *pattern, void *receive, mq_handle *handle,
                        void **message, mq_envelope *envelope)
{
    calls++;
    return mq_post(engine, pattern, receive, handle, message, envelope);
}

static int counted_arrive(mq_engine *engine, const mq_envelope *envelope, uint64_t bytes, void *message,
                          void **receive)
{
    calls++;
    return mq_arrive(engine, envelope, bytes, message, receive);
}

static int counted_extract(mq_engine *engine, const mq_pattern *pattern, void **message, mq_envelope *envelope)
{
    calls++;
    return mq_extract(engine, pattern, message, envelope);
}

static int counted_deliver(mq_engine *engine, const mq_envelope *envelope, void **receive)
{
    calls++;
    return mq_deliver(engine, envelope, receive);
}

static int counted_queue_receive(mq_engine *engine, const mq_pattern *pattern, void *receive, mq_handle *handle)
{
    calls++;
    return mq_queue_receive(engine, pattern, receive, handle);
}

static int counted_queue_message(mq_engine *engine, const mq_envelope *envelope, uint64_t bytes, void *message,
                                 mq_message_handle *queued)
{
    calls++;
    return mq_queue_message(engine, envelope, bytes, message, queued);
}

#define mq_post counted_post
#define mq_arrive counted_arrive
#define mq_extract counted_extract
#define mq_deliver counted_deliver
#define mq_queue_receive counted_queue_receive
#define mq_queue_message counted_queue_message
#undef MQ_FRONT_LAYOUT
#define MQ_FRONT_LAYOUT 1000
#define MQ_INLINE_LAYOUT 1000
#include "mq_inline.h"

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "layout.c:%d: not so: %s\n", __LINE__, #condition); \
            return 1;                                                         \
        }                                                                     \
    } while (0)

int main(void)
{
    mq_engine *engine;
    mq_context_options options = {.size = 4};
    mq_pattern pattern = {.source = 1, .tag = 5};
    mq_envelope envelope = {.source = 1, .tag = 5};
    int receive, message;
    void *taken;
    CHECK(mq_engine_new(NULL, &engine) == MQ_NONE);
    CHECK(mq_context_create(engine, 0, &options) == MQ_NONE);
    for (int i = 0; i < 100; i++) {
        calls = 0;
        CHECK(mq_inline_post(engine, &pattern, &receive, NULL, NULL, NULL) == MQ_NONE && calls == 1);
        CHECK(mq_inline_arrive(engine, &envelope, 8, &message, &taken) == MQ_MATCHED && calls == 2);
        CHECK(taken == &receive);
        CHECK(mq_inline_deliver(engine, &envelope, NULL) == MQ_NONE && calls == 3);
        CHECK(mq_inline_queue_message(engine, &envelope, 8, &message, NULL) == MQ_NONE && calls == 4);
        CHECK(mq_inline_extract(engine, &pattern, &taken, NULL) == MQ_MATCHED && calls == 5);
        CHECK(taken == &message);
        CHECK(mq_inline_queue_receive(engine, &pattern, &receive, NULL) == MQ_NONE && calls == 6);
        CHECK(mq_inline_deliver(engine, &envelope, &taken) == MQ_MATCHED && calls == 7);
    }
    CHECK(mq_engine_free(engine) == MQ_NONE);
    CHECK(mq_version() == (MQ_VERSION_MAJOR << 16 | MQ_VERSION_MINOR << 8 | MQ_VERSION_PATCH));
    printf("another layout: every inline call is a call\n");
    return 0;
}
