/* Pairs of post and arrive through libmq, without a clock, for an instruction counter: the C side of
 * benches/examples/instructions.rs, with the same queues.
 *
 * usage: instructions STRUCTURE DEPTH MODE PAIRS call|inline|halves|turns|list
 *
 * MODE is expected or unexpected: pairs after DEPTH queued entries; or reverse, random or any, of posted or of waiting
 * entries (posted-reverse, waiting-any): queues of DEPTH entries filled and taken out of order, any with receives from
 * any source, in reverse. Or standing: pairs with a receive from any source that stays posted, after DEPTH posted
 * receives were taken in reverse once.
 *
 * `call` calls mq_post and mq_arrive, `inline` uses their inline calls, `halves` those in place (mq_try_*) in the steps
 * of an MPI library: search, then queue; `turns` is `halves` with pairs alternating between two contexts; `list` uses
 * no libmq but a list in the caller's own requests (intrusive.h).
 * ci/abi-instructions.sh makes a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intrusive.h"
#include "mq_inline.h"

/* Values that the compiler does not know. */
static volatile int32_t sender = 1, pair_tag = 0;

static void must(int status, int wanted)
{
    if (status != wanted) {
        fprintf(stderr, "instructions: %s instead of %s\n", mq_strerror(status), mq_strerror(wanted));
        exit(1);
    }
}

/* Each form in a function of its own, as in a library: with all of them in one, the shortage of registers
 * there would be measured. */
#define APART static __attribute__((noinline))

APART int post_called(mq_engine *engine, const mq_pattern *pattern, void *receive)
{
    mq_handle handle;
    void *taken;
    return mq_post(engine, pattern, receive, &handle, &taken, NULL);
}

APART int post_inline(mq_engine *engine, const mq_pattern *pattern, void *receive)
{
    mq_handle handle;
    void *taken;
    return mq_inline_post(engine, pattern, receive, &handle, &taken, NULL);
}

/* Halves as in a library that knows source, tag and context: in place from local variables, and where that is not
 * enough by a function of its own, which makes the pattern again. */
static mq_pattern pattern_of(uint32_t context, int32_t source, int32_t tag)
{
    mq_pattern pattern = {.context = context, .source = source, .tag = tag};
    return pattern;
}

APART int extract_by_call(mq_engine *engine, uint32_t context, int32_t source, int32_t tag)
{
    mq_pattern pattern = pattern_of(context, source, tag);
    void *taken;
    return mq_extract(engine, &pattern, &taken, NULL);
}

APART int queue_receive_by_call(mq_engine *engine, uint32_t context, int32_t source, int32_t tag, void *receive)
{
    mq_pattern pattern = pattern_of(context, source, tag);
    mq_handle handle;
    return mq_queue_receive(engine, &pattern, receive, &handle);
}

APART int post_halves(mq_engine *engine, const mq_pattern *wanted, void *receive)
{
    uint32_t context = wanted->context;
    int32_t source = wanted->source, tag = wanted->tag;
    mq_pattern pattern = pattern_of(context, source, tag);
    mq_handle handle;
    void *taken;
    int status = mq_try_extract(engine, &pattern, &taken, NULL);
    if (status == MQ_NOT_IN_PLACE)
        status = extract_by_call(engine, context, source, tag);
    if (status != MQ_NONE)
        return status;
    status = mq_try_queue_receive(engine, &pattern, receive, &handle);
    return status == MQ_NOT_IN_PLACE ? queue_receive_by_call(engine, context, source, tag, receive) : status;
}

APART int arrive_called(mq_engine *engine, const mq_envelope *envelope, void *message)
{
    void *taken;
    return mq_arrive(engine, envelope, 8, message, &taken);
}

APART int arrive_inline(mq_engine *engine, const mq_envelope *envelope, void *message)
{
    void *taken;
    return mq_inline_arrive(engine, envelope, 8, message, &taken);
}

static mq_envelope envelope_of(uint32_t context, int32_t source, int32_t tag)
{
    mq_envelope envelope = {.context = context, .source = source, .tag = tag};
    return envelope;
}

APART int deliver_by_call(mq_engine *engine, uint32_t context, int32_t source, int32_t tag)
{
    mq_envelope envelope = envelope_of(context, source, tag);
    void *taken;
    return mq_deliver(engine, &envelope, &taken);
}

APART int queue_message_by_call(mq_engine *engine, uint32_t context, int32_t source, int32_t tag, void *message)
{
    mq_envelope envelope = envelope_of(context, source, tag);
    return mq_queue_message(engine, &envelope, 8, message, NULL);
}

APART int arrive_halves(mq_engine *engine, const mq_envelope *carried, void *message)
{
    uint32_t context = carried->context;
    int32_t source = carried->source, tag = carried->tag;
    mq_envelope envelope = envelope_of(context, source, tag);
    void *taken;
    int status = mq_try_deliver(engine, &envelope, &taken);
    if (status == MQ_NOT_IN_PLACE)
        status = deliver_by_call(engine, context, source, tag);
    if (status != MQ_NONE)
        return status;
    status = mq_try_queue_message(engine, &envelope, 8, message, NULL);
    return status == MQ_NOT_IN_PLACE ? queue_message_by_call(engine, context, source, tag, message) : status;
}

/* One half of a pair in a form: 0 call, 1 inline, 2 halves. */
static int post(int form, mq_engine *engine, const mq_pattern *pattern, void *receive)
{
    return form == 0 ? post_called(engine, pattern, receive)
         : form == 1 ? post_inline(engine, pattern, receive)
                     : post_halves(engine, pattern, receive);
}

static int arrive(int form, mq_engine *engine, const mq_envelope *envelope, void *message)
{
    return form == 0 ? arrive_called(engine, envelope, message)
         : form == 1 ? arrive_inline(engine, envelope, message)
                     : arrive_halves(engine, envelope, message);
}

/* Fills a queue with `depth` entries of tags of their own, and takes all of them, again and again. */
static void drains(mq_engine *engine, int depth, const char *mode, int pairs, int form)
{
    int posted = strncmp(mode, "posted", 6) == 0, any = strstr(mode, "any") != NULL;
    int *order = malloc((size_t) depth * sizeof *order);
    uint32_t state = 1;
    if (order == NULL)
        exit(1);
    for (int i = 0; i < depth; i++)
        order[i] = depth - i;
    for (int i = depth; strstr(mode, "random") && i > 1; i--) {
        state = state * 1664525 + 1013904223;
        int other = (int) ((uint64_t) state * (uint32_t) i >> 32), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
    for (int done = 0; done < pairs; done += depth)
        for (int i = 0; i < 2 * depth; i++) {
            int second = i >= depth, tag = second ? order[i - depth] : i + 1;
            mq_pattern pattern = {.source = any ? MQ_ANY_SOURCE : sender, .tag = tag};
            mq_envelope envelope = {.source = sender, .tag = tag};
            must(posted != second ? post(form, engine, &pattern, order) : arrive(form, engine, &envelope, order),
                 second ? MQ_MATCHED : MQ_NONE);
        }
    free(order);
}

/* The same pairs and drains through a list in the caller's requests. */
static requests posted_list, unexpected_list;

static void list_half(int posting, int tag, request *own, int found)
{
    request *taken;
    if (posting) {
        mq_pattern pattern = {.source = sender, .tag = tag};
        taken = requests_take_message(&unexpected_list, &pattern);
    } else {
        mq_envelope envelope = {.source = sender, .tag = tag};
        taken = requests_take_receive(&posted_list, &envelope);
    }
    must(taken != NULL, found);
    if (taken == NULL) {
        own->context = 0;
        own->source = sender;
        own->tag = tag;
        requests_add(posting ? &posted_list : &unexpected_list, own);
    }
}

static int through_list(int depth, const char *mode, int pairs)
{
    int drained = strchr(mode, '-') != NULL;
    int posted = strcmp(mode, "expected") == 0 || strncmp(mode, "posted", 6) == 0;
    request *own = calloc((size_t) depth + 1, sizeof *own);
    if (own == NULL)
        return 1;
    requests_empty(&posted_list);
    requests_empty(&unexpected_list);
    for (int i = 1; !drained && i <= depth; i++)
        list_half(posted, i, &own[i], 0);
    for (int done = 0; done < pairs; done += drained ? depth : 1) {
        if (!drained) {
            list_half(posted, pair_tag, &own[0], 0);
            list_half(!posted, pair_tag, &own[0], 1);
            continue;
        }
        for (int i = 1; i <= depth; i++)
            list_half(posted, i, &own[i], 0);
        for (int i = depth; i >= 1; i--)
            list_half(!posted, i, &own[0], 1);
    }
    free(own);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: %s STRUCTURE DEPTH MODE PAIRS call|inline|halves|turns|list\n", argv[0]);
        return 2;
    }
    int depth = atoi(argv[2]), standing = strcmp(argv[3], "standing") == 0, pairs = atoi(argv[4]);
    int expected = standing || strcmp(argv[3], "expected") == 0;
    int form = strcmp(argv[5], "call") == 0 ? 0 : strcmp(argv[5], "inline") == 0 ? 1 : 2;
    if (strcmp(argv[5], "list") == 0)
        return standing ? through_list(1, "expected", pairs) : through_list(depth, argv[3], pairs);
    uint32_t contexts = strcmp(argv[5], "turns") == 0 ? 2 : 1;
    mq_engine_options options = {.structure = argv[1]};
    mq_context_options context = {.size = 256};
    mq_engine *engine;
    must(mq_engine_new(&options, &engine), MQ_NONE);
    for (uint32_t i = 0; i < contexts; i++)
        must(mq_context_create(engine, i, &context), MQ_NONE);
    if (strchr(argv[3], '-') != NULL) {
        drains(engine, depth, argv[3], pairs, form);
        return mq_engine_free(engine) != MQ_NONE;
    }
    if (standing) {
        must(post(form, engine, &(mq_pattern) {.source = MQ_ANY_SOURCE, .tag = depth + 1}, NULL), MQ_NONE);
        drains(engine, depth, "posted-reverse", depth, form);
    }
    for (int i = 1; i <= depth && !standing; i++) {
        mq_pattern pattern = {.source = sender, .tag = i};
        mq_envelope envelope = {.source = sender, .tag = i};
        must(expected ? mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL)
                      : mq_inline_arrive(engine, &envelope, 8, NULL, NULL),
             MQ_NONE);
    }
    for (int i = 0; i < pairs; i++) {
        mq_pattern pattern = {.context = (uint32_t) i % contexts, .source = sender, .tag = pair_tag};
        mq_envelope envelope = {.context = pattern.context, .source = pattern.source, .tag = pattern.tag};
        for (int half = 0; half < 2; half++) {
            int posting = (half == 0) == expected;
            must(posting ? post(form, engine, &pattern, &pairs) : arrive(form, engine, &envelope, &pairs),
                 half == 0 ? MQ_NONE : MQ_MATCHED);
        }
    }
    return mq_engine_free(engine) != MQ_NONE;
}
