/* The calls in place (mq_try_*): they do what the call of their name does, or nothing at all. ci/c.sh runs this. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "mq.h"
#include "mq_inline.h"

enum { CONTEXT = 1, SIZE = 8, MORE_THAN_A_SEARCH_LOOKS_AT = MQ_FRONT_SCAN + 2 };

static const mq_pattern WANTED = {.context = CONTEXT, .source = 2, .tag = 7};
static const mq_envelope CARRIED = {.context = CONTEXT, .source = 2, .tag = 7};

static mq_engine *engine_with(uint32_t flags)
{
    mq_engine_options options = {.flags = flags};
    mq_context_options context = {.size = SIZE};
    mq_engine *engine;
    CHECK(mq_engine_new(&options, &engine), MQ_NONE);
    CHECK(mq_context_create(engine, CONTEXT, &context), MQ_NONE);
    return engine;
}

static void has(mq_engine *engine, uint64_t posted, uint64_t unexpected)
{
    uint64_t receives, messages;
    CHECK(mq_lengths(engine, &receives, &messages), MQ_NONE);
    CHECK(receives, posted);
    CHECK(messages, unexpected);
}

/* Each call, where it is answered: the outcomes and outputs are those of the calls. */
static void answered(void)
{
    mq_engine *engine = engine_with(0);
    int receive, message;
    void *found = NULL;
    mq_handle handle;
    mq_message_handle name;
    mq_envelope envelope;

    CHECK(mq_try_post(engine, &WANTED, &receive, &handle, NULL, NULL), MQ_NONE);
    CHECK(mq_try_arrive(engine, &CARRIED, 8, &message, &found), MQ_MATCHED);
    CHECK(found == &receive, 1);
    CHECK(mq_try_arrive(engine, &CARRIED, 8, &message, NULL), MQ_NONE);
    CHECK(mq_try_probe(engine, &WANTED, &found, &envelope), MQ_MATCHED);
    CHECK(found == &message && envelope.source == CARRIED.source && envelope.tag == CARRIED.tag, 1);
    CHECK(mq_try_post(engine, &WANTED, &receive, NULL, &found, NULL), MQ_MATCHED);
    CHECK(mq_try_probe(engine, &WANTED, &found, NULL), MQ_NONE);

    CHECK(mq_try_extract(engine, &WANTED, &found, NULL), MQ_NONE);
    CHECK(mq_try_queue_receive(engine, &WANTED, &receive, &handle), MQ_NONE);
    has(engine, 1, 0);
    CHECK(mq_cancel(engine, handle, &found), MQ_MATCHED);
    CHECK(mq_try_queue_receive(engine, &WANTED, &receive, NULL), MQ_NONE);
    CHECK(mq_try_deliver(engine, &CARRIED, &found), MQ_MATCHED);
    CHECK(found == &receive, 1);
    CHECK(mq_try_deliver(engine, &CARRIED, &found), MQ_NONE);

    CHECK(mq_try_queue_message(engine, &CARRIED, 8, &message, NULL), MQ_NONE);
    CHECK(mq_try_extract(engine, &WANTED, &found, &envelope), MQ_MATCHED);
    CHECK(found == &message && envelope.context == CONTEXT, 1);
    CHECK(mq_try_queue_message(engine, &CARRIED, 8, &message, &name), MQ_NONE);
    CHECK(mq_try_find(engine, &WANTED, &name, &found, NULL), MQ_MATCHED);
    CHECK(mq_try_take(engine, name, &found, NULL), MQ_MATCHED);
    CHECK(mq_try_take(engine, name, &found, NULL), MQ_NONE);
    has(engine, 0, 0);
    CHECK(mq_engine_free(engine), MQ_NONE);
}

/* Nothing has happened: the queues are as long as they were, and no output was written. */
static const int untouched;
static mq_engine *observed;
static uint64_t receives_before, messages_before;
static void *output;

static void observe(mq_engine *engine)
{
    observed = engine;
    output = (void *) &untouched;
    CHECK(mq_lengths(engine, &receives_before, &messages_before), MQ_NONE);
}

static void nothing_done(int status)
{
    CHECK(status, MQ_NOT_IN_PLACE);
    CHECK(output == &untouched, 1);
    has(observed, receives_before, messages_before);
}

/* A front that is closed forever, with one receive and one message in the queues behind it. */
static void without_a_front(void)
{
    mq_engine *engine = engine_with(MQ_NO_FRONT);
    const mq_pattern other = {.context = CONTEXT, .source = 3, .tag = 9};
    const mq_envelope to_other = {.context = CONTEXT, .source = 3, .tag = 9};
    const mq_message_handle in_front = {.sequence = 0, .slot = MQ_FRONT_SLOT, .context = CONTEXT};
    CHECK(mq_arrive(engine, &CARRIED, 8, NULL, NULL), MQ_NONE);
    CHECK(mq_post(engine, &other, NULL, NULL, NULL, NULL), MQ_NONE);
    observe(engine);
    nothing_done(mq_try_post(engine, &WANTED, NULL, NULL, &output, NULL));
    nothing_done(mq_try_extract(engine, &WANTED, &output, NULL));
    nothing_done(mq_try_find(engine, &WANTED, NULL, &output, NULL));
    nothing_done(mq_try_probe(engine, &WANTED, &output, NULL));
    nothing_done(mq_try_take(engine, in_front, &output, NULL));
    nothing_done(mq_try_arrive(engine, &to_other, 8, NULL, &output));
    nothing_done(mq_try_deliver(engine, &to_other, &output));
    nothing_done(mq_try_queue_receive(engine, &WANTED, NULL, NULL));
    nothing_done(mq_try_queue_message(engine, &CARRIED, 8, NULL, NULL));
    CHECK(mq_engine_free(engine), MQ_NONE);
}

/* What a call has to judge. */
static void unusual(void)
{
    mq_engine *engine = engine_with(0);
    const mq_pattern any = {.context = CONTEXT, .source = MQ_ANY_SOURCE, .tag = MQ_ANY_TAG};
    mq_pattern masked = WANTED, elsewhere = WANTED;
    mq_envelope of_nobody = CARRIED;
    masked.ignore = 1;
    elsewhere.context = CONTEXT + 1;
    of_nobody.source = SIZE;
    CHECK(mq_try_queue_message(engine, &CARRIED, 8, NULL, NULL), MQ_NONE);
    observe(engine);
    nothing_done(mq_try_post(engine, NULL, NULL, NULL, &output, NULL));
    nothing_done(mq_try_extract(engine, NULL, &output, NULL));
    nothing_done(mq_try_find(engine, NULL, NULL, &output, NULL));
    nothing_done(mq_try_extract(engine, &masked, &output, NULL));
    nothing_done(mq_try_probe(engine, &masked, &output, NULL));
    nothing_done(mq_try_queue_receive(engine, &masked, NULL, NULL));
    nothing_done(mq_try_queue_receive(engine, &elsewhere, NULL, NULL));
    nothing_done(mq_try_post(engine, &elsewhere, NULL, NULL, &output, NULL));
    CHECK(mq_try_extract(engine, &WANTED, NULL, NULL), MQ_MATCHED);
    CHECK(mq_try_queue_receive(engine, &any, NULL, NULL), MQ_NONE);
    observe(engine);
    nothing_done(mq_try_deliver(engine, &of_nobody, &output));
    nothing_done(mq_try_arrive(engine, &of_nobody, 8, NULL, &output));
    nothing_done(mq_try_queue_message(engine, &of_nobody, 8, NULL, NULL));
    nothing_done(mq_try_deliver(engine, NULL, &output));
    nothing_done(mq_try_arrive(engine, NULL, 8, NULL, &output));
    CHECK(mq_engine_free(engine), MQ_NONE);
}

/* Behind more entries than a search looks at there is one that only a call finds. */
static void far_behind(void)
{
    mq_engine *engine = engine_with(0);
    int last;
    mq_message_handle name;
    for (int i = 0; i < MORE_THAN_A_SEARCH_LOOKS_AT; i++) {
        const mq_envelope other = {.context = CONTEXT, .source = 1, .tag = i};
        /* A call now and then, to make room. */
        CHECK(mq_inline_queue_message(engine, &other, 8, NULL, NULL), MQ_NONE);
    }
    CHECK(mq_inline_queue_message(engine, &CARRIED, 8, &last, &name), MQ_NONE);
    observe(engine);
    nothing_done(mq_try_extract(engine, &WANTED, &output, NULL));
    nothing_done(mq_try_post(engine, &WANTED, NULL, NULL, &output, NULL));
    nothing_done(mq_try_find(engine, &WANTED, NULL, &output, NULL));
    nothing_done(mq_try_probe(engine, &WANTED, &output, NULL));
    nothing_done(mq_try_take(engine, name, &output, NULL));
    /* The front was open. */
    CHECK(mq_try_probe(engine, &(mq_pattern) {.context = CONTEXT, .source = 1}, NULL, NULL), MQ_MATCHED);
    CHECK(mq_extract(engine, &WANTED, &output, NULL), MQ_MATCHED);
    CHECK(output == &last, 1);
    CHECK(mq_engine_free(engine), MQ_NONE);

    engine = engine_with(0);
    for (int i = 0; i < MORE_THAN_A_SEARCH_LOOKS_AT; i++) {
        const mq_pattern other = {.context = CONTEXT, .source = 1, .tag = i};
        CHECK(mq_inline_queue_receive(engine, &other, NULL, NULL), MQ_NONE);
    }
    CHECK(mq_inline_queue_receive(engine, &WANTED, &last, NULL), MQ_NONE);
    observe(engine);
    nothing_done(mq_try_deliver(engine, &CARRIED, &output));
    nothing_done(mq_try_arrive(engine, &CARRIED, 8, NULL, &output));
    CHECK(mq_deliver(engine, &CARRIED, &output), MQ_MATCHED);
    CHECK(output == &last, 1);
    CHECK(mq_engine_free(engine), MQ_NONE);
}

/* Arrays that are full: nothing is queued in place, and the call makes room. */
static void full(void)
{
    mq_engine *engine = engine_with(0);
    int status;
    while ((status = mq_try_queue_message(engine, &CARRIED, 8, NULL, NULL)) == MQ_NONE)
        observe(engine);
    nothing_done(status);
    CHECK(messages_before > 0, 1);
    CHECK(mq_queue_message(engine, &CARRIED, 8, NULL, NULL), MQ_NONE);
    has(engine, 0, messages_before + 1);
    CHECK(mq_try_queue_message(engine, &CARRIED, 8, NULL, NULL), MQ_NONE);
    CHECK(mq_engine_free(engine), MQ_NONE);
}

int main(void)
{
    answered();
    without_a_front();
    unusual();
    far_behind();
    full();
    puts("every call in place did all or nothing");
    return 0;
}
