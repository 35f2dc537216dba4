/* Pairs of post and arrive through libmq, without a clock, for an instruction counter: the C side of
 * benches/examples/instructions.rs, with the same queues.
 *
 * usage: instructions STRUCTURE DEPTH expected|unexpected PAIRS call|inline|halves|turns
 *
 * `call` calls mq_post and mq_arrive, `inline` uses mq_inline.h, `halves` uses mq_inline.h in the steps of an
 * MPI library: search, then queue; `turns` is `halves` with pairs on two contexts by turns.
 * ci/abi-instructions.sh makes a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mq.h"
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

static int post_halves(mq_engine *engine, const mq_pattern *pattern, void *receive, mq_handle *handle)
{
    int status = mq_inline_extract(engine, pattern, NULL, NULL);
    return status == MQ_NONE ? mq_inline_queue_receive(engine, pattern, receive, handle) : status;
}

static int arrive_halves(mq_engine *engine, const mq_envelope *envelope, void *message, void **receive)
{
    int status = mq_inline_deliver(engine, envelope, receive);
    return status == MQ_NONE ? mq_inline_queue_message(engine, envelope, 8, message, NULL) : status;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: %s STRUCTURE DEPTH expected|unexpected PAIRS call|inline|halves|turns\n", argv[0]);
        return 2;
    }
    int depth = atoi(argv[2]), expected = strcmp(argv[3], "expected") == 0, pairs = atoi(argv[4]);
    int form = strcmp(argv[5], "call") == 0 ? 0 : strcmp(argv[5], "inline") == 0 ? 1 : 2;
    uint32_t contexts = strcmp(argv[5], "turns") == 0 ? 2 : 1;
    mq_engine_options options = {.structure = argv[1]};
    mq_context_options context = {.size = 256};
    mq_engine *engine;
    must(mq_engine_new(&options, &engine), MQ_NONE);
    for (uint32_t i = 0; i < contexts; i++)
        must(mq_context_create(engine, i, &context), MQ_NONE);
    for (int i = 1; i <= depth; i++) {
        mq_pattern pattern = {.source = sender, .tag = i};
        mq_envelope envelope = {.source = sender, .tag = i};
        must(expected ? mq_inline_post(engine, &pattern, NULL, NULL, NULL, NULL)
                      : mq_inline_arrive(engine, &envelope, 8, NULL, NULL),
             MQ_NONE);
    }
    for (int i = 0; i < pairs; i++) {
        mq_pattern pattern = {.context = (uint32_t) i % contexts, .source = sender, .tag = pair_tag};
        mq_envelope envelope = {.context = pattern.context, .source = pattern.source, .tag = pattern.tag};
        mq_handle handle;
        void *taken;
        for (int half = 0; half < 2; half++) {
            int status, posting = (half == 0) == expected;
            if (posting)
                status = form == 0 ? mq_post(engine, &pattern, &pairs, &handle, &taken, NULL)
                       : form == 1 ? mq_inline_post(engine, &pattern, &pairs, &handle, &taken, NULL)
                                   : post_halves(engine, &pattern, &pairs, &handle);
            else
                status = form == 0 ? mq_arrive(engine, &envelope, 8, &pairs, &taken)
                       : form == 1 ? mq_inline_arrive(engine, &envelope, 8, &pairs, &taken)
                                   : arrive_halves(engine, &envelope, &pairs, &taken);
            must(status, half == 0 ? MQ_NONE : MQ_MATCHED);
        }
    }
    return mq_engine_free(engine) != MQ_NONE;
}
