/* The longest single operations through mq_inline.h, in nanoseconds: a new engine's queue is filled and then drained in
 * reverse, each operation timed by a clock, in the halves of an MPI library. Prints a Markdown table: the longest
 * operation of a filling and of a drain, at the best of the rounds and in the median.
 *
 * usage: pauses [ROUNDS]
 *
 * Memory that the C library fetches from the system, and gives back, is part of what is timed; to leave it out:
 * MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TOP_PAD_=100000000 pauses */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mq_inline.h"

enum { MOST_ROUNDS = 1000 };

static const int32_t ENTRIES[] = {64, 256, 1000, 4000, 8000, 20000, 30000};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

static void must(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "pauses: %s\n", what);
        exit(1);
    }
}

/* One half of a step: posts a receive, or has a message arrive; what it takes, or null if it is queued. */
static void *half(mq_engine *engine, int posting, int from_any, int32_t tag, void *own)
{
    void *taken = NULL;
    int status;
    if (posting) {
        mq_pattern pattern = {.source = from_any ? MQ_ANY_SOURCE : 1, .tag = tag};
        mq_handle handle;
        status = mq_inline_extract(engine, &pattern, &taken, NULL);
        if (status == MQ_NONE)
            status = mq_inline_queue_receive(engine, &pattern, own, &handle);
    } else {
        mq_envelope envelope = {.source = 1, .tag = tag};
        status = mq_inline_deliver(engine, &envelope, &taken);
        if (status == MQ_NONE)
            status = mq_inline_queue_message(engine, &envelope, 8, own, NULL);
    }
    must(status >= 0, mq_strerror(status));
    return taken;
}

struct longest {
    int64_t fill, drain;
};

static struct longest round_of(int32_t entries, int posted, int from_any)
{
    struct longest longest = {0, 0};
    mq_context_options options = {.size = 2};
    mq_engine *engine;
    must(mq_engine_new(NULL, &engine) == MQ_NONE && mq_context_create(engine, 0, &options) == MQ_NONE, "no engine");
    for (int32_t i = 0; i < 2 * entries; i++) {
        int fills = i < entries;
        int32_t tag = fills ? i : 2 * entries - 1 - i;
        int64_t begun = now(), took;
        void *taken = half(engine, fills == posted, from_any, tag, engine);
        took = now() - begun;
        must((taken == NULL) == fills, "a match was missed");
        if (fills && took > longest.fill)
            longest.fill = took;
        if (!fills && took > longest.drain)
            longest.drain = took;
    }
    must(mq_engine_free(engine) == MQ_NONE, "the engine is not freed");
    return longest;
}

static int by_size(const void *one, const void *other)
{
    int64_t a = *(const int64_t *) one, b = *(const int64_t *) other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    static int64_t fills[MOST_ROUNDS], drains[MOST_ROUNDS];
    int rounds = argc > 1 ? atoi(argv[1]) : 60;
    if (argc > 2 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: %s [ROUNDS], 1 to %d (60)\n", argv[0], MOST_ROUNDS);
        return 2;
    }
    printf("| queue | entries | filling, best | median | draining, best | median |\n");
    printf("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (int kind = 0; kind < 4; kind++)
        for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++) {
            int posted = kind < 2, from_any = kind % 2;
            for (int round = 0; round < rounds; round++) {
                struct longest longest = round_of(ENTRIES[i], posted, from_any);
                fills[round] = longest.fill;
                drains[round] = longest.drain;
            }
            qsort(fills, (size_t) rounds, sizeof *fills, by_size);
            qsort(drains, (size_t) rounds, sizeof *drains, by_size);
            printf("| %s%s | %d | %lld | %lld | %lld | %lld |\n", posted ? "receives" : "messages",
                   from_any ? ", from any source" : "", (int) ENTRIES[i], (long long) fills[0],
                   (long long) fills[rounds / 2], (long long) drains[0], (long long) drains[rounds / 2]);
        }
    return 0;
}
