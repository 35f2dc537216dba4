/* The gain if the caller embedded the entry in its own request: the same streams through an intrusive list in the
 * caller's code (intrusive.h), through mq_inline.h and through calls, in nanoseconds per pair of post and arrive.
 *
 * usage: intrusive [ROUNDS]
 *
 * The forms take turns within a round. Prints the medians over the rounds (31), and how much more inline and called
 * libmq take than the list. Build: cc -std=c99 -O2 -I PREFIX/include benches/abi/intrusive.c PREFIX/lib/libmq.a
 * -lpthread -ldl -lm */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "intrusive.h"
#include "mq_inline.h"

enum form { LIST, INLINE, HALVES, CALL, FORMS };
enum stream { STANDING, FORWARD, REVERSE, RANDOM, STREAMS };
enum { MOST_DEPTH = 1024, OPERATIONS = 200000 };

static const char *const STREAM_NAMES[] = {"pairs behind", "drained forward", "drained in reverse", "drained at random"};

typedef struct bench {
    mq_engine *engine;
    requests posted, unexpected;
    request receives[MOST_DEPTH + 1], messages[MOST_DEPTH + 1];
    int order[MOST_DEPTH];
} bench;

/* A value that the compiler does not know. */
static volatile int32_t sender = 1;

static void fail(const char *what)
{
    fprintf(stderr, "intrusive: %s\n", what);
    exit(1);
}

static void *post(bench *b, enum form form, const mq_pattern *pattern, request *receive)
{
    void *taken = NULL;
    mq_handle handle;
    int status = MQ_NONE;
    switch (form) {
    case LIST: {
        request *found = requests_take_message(&b->unexpected, pattern);
        if (found != NULL)
            return found;
        receive->context = pattern->context;
        receive->source = pattern->source;
        receive->tag = pattern->tag;
        requests_add(&b->posted, receive);
        return NULL;
    }
    case INLINE:
        status = mq_inline_post(b->engine, pattern, receive, &handle, &taken, NULL);
        break;
    case HALVES:
        status = mq_inline_extract(b->engine, pattern, &taken, NULL);
        if (status == MQ_NONE)
            status = mq_inline_queue_receive(b->engine, pattern, receive, &handle);
        break;
    default:
        status = mq_post(b->engine, pattern, receive, &handle, &taken, NULL);
        break;
    }
    if (status < 0)
        fail(mq_strerror(status));
    return taken;
}

static void *arrive(bench *b, enum form form, const mq_envelope *envelope, request *message)
{
    void *taken = NULL;
    int status = MQ_NONE;
    switch (form) {
    case LIST: {
        request *found = requests_take_receive(&b->posted, envelope);
        if (found != NULL)
            return found;
        message->context = envelope->context;
        message->source = envelope->source;
        message->tag = envelope->tag;
        requests_add(&b->unexpected, message);
        return NULL;
    }
    case INLINE:
        status = mq_inline_arrive(b->engine, envelope, 8, message, &taken);
        break;
    case HALVES:
        status = mq_inline_deliver(b->engine, envelope, &taken);
        if (status == MQ_NONE)
            status = mq_inline_queue_message(b->engine, envelope, 8, message, NULL);
        break;
    default:
        status = mq_arrive(b->engine, envelope, 8, message, &taken);
        break;
    }
    if (status < 0)
        fail(mq_strerror(status));
    return taken;
}

/* One post, or one arrival, of tag `tag`; returns what it took. */
static inline void *step(bench *b, enum form form, int posting, int tag, request *own)
{
    if (posting) {
        mq_pattern pattern = {.source = sender, .tag = tag};
        return post(b, form, &pattern, own);
    }
    mq_envelope envelope = {.source = sender, .tag = tag};
    return arrive(b, form, &envelope, own);
}

/* Runs a stream; `posted` says which kind of entries waits. */
static inline void run_form(bench *b, enum form form, enum stream stream, int posted, int depth)
{
    request *waiting = posted ? b->receives : b->messages, *coming = posted ? b->messages : b->receives;
    if (stream == STANDING) {
        for (int pair = 0; pair < OPERATIONS; pair++) {
            if (step(b, form, posted, 0, &waiting[MOST_DEPTH]) != NULL
                || step(b, form, !posted, 0, &coming[0]) != &waiting[MOST_DEPTH])
                fail("a pair went wrong");
        }
        return;
    }
    for (int done = 0; done < OPERATIONS; done += depth) {
        for (int i = 0; i < depth; i++)
            if (step(b, form, posted, i, &waiting[i]) != NULL)
                fail("an entry was taken too early");
        for (int i = 0; i < depth; i++)
            if (step(b, form, !posted, b->order[i], &coming[0]) != &waiting[b->order[i]])
                fail("the wrong entry was taken");
    }
}

/* Each form is compiled separately. */
static void run(bench *b, enum form form, enum stream stream, int posted, int depth)
{
    switch (form) {
    case LIST:
        run_form(b, LIST, stream, posted, depth);
        break;
    case INLINE:
        run_form(b, INLINE, stream, posted, depth);
        break;
    case HALVES:
        run_form(b, HALVES, stream, posted, depth);
        break;
    default:
        run_form(b, CALL, stream, posted, depth);
        break;
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double) time.tv_sec + (double) time.tv_nsec;
}

static void set_order(bench *b, enum stream stream, int depth)
{
    uint32_t state = 1;
    for (int i = 0; i < depth; i++)
        b->order[i] = stream == REVERSE ? depth - 1 - i : i;
    for (int i = depth; stream == RANDOM && i > 1; i--) {
        int other, kept = b->order[i - 1];
        state = state * 1664525 + 1013904223;
        other = (int) ((uint64_t) state * (uint32_t) i >> 32);
        b->order[i - 1] = b->order[other];
        b->order[other] = kept;
    }
}

/* Nanoseconds per pair. */
static double measure(bench *b, enum form form, enum stream stream, int posted, int depth)
{
    mq_context_options options = {.size = 256};
    double start, end;
    requests_empty(&b->posted);
    requests_empty(&b->unexpected);
    if (mq_engine_new(NULL, &b->engine) != MQ_NONE || mq_context_create(b->engine, 0, &options) != MQ_NONE)
        fail("no engine");
    set_order(b, stream, depth);
    if (stream == STANDING)
        for (int i = 0; i < depth; i++)
            step(b, form, posted, 1 + i, posted ? &b->receives[i] : &b->messages[i]);
    start = now();
    run(b, form, stream, posted, depth);
    end = now();
    mq_engine_free(b->engine);
    return (end - start) / OPERATIONS;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double median(double *of, int count)
{
    qsort(of, (size_t) count, sizeof *of, compare);
    return of[count / 2];
}

int main(int argc, char **argv)
{
    static bench b;
    static const int DEPTHS[] = {1, 4, 8, 16, 32, 48, 64, 256};
    int rounds = argc > 1 ? atoi(argv[1]) : 31;
    double *samples[FORMS];
    if (rounds < 1) {
        fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
        return 2;
    }
    for (int form = 0; form < FORMS; form++)
        if ((samples[form] = malloc((size_t) rounds * sizeof(double))) == NULL)
            fail("no memory");
    printf("| stream | waiting | entries | intrusive list | inline | halves | call | inline - list | call - list |\n");
    printf("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (int stream = 0; stream < STREAMS; stream++)
        for (int posted = 1; posted >= 0; posted--)
            for (size_t i = 0; i < sizeof DEPTHS / sizeof *DEPTHS; i++) {
                double medians[FORMS];
                for (int round = 0; round < rounds; round++)
                    for (int form = 0; form < FORMS; form++)
                        samples[form][round] = measure(&b, form, stream, posted, DEPTHS[i]);
                for (int form = 0; form < FORMS; form++)
                    medians[form] = median(samples[form], rounds);
                printf("| %s | %s | %d | %.1f | %.1f | %.1f | %.1f | %+.1f | %+.1f |\n", STREAM_NAMES[stream],
                       posted ? "receives" : "messages", DEPTHS[i], medians[LIST], medians[INLINE], medians[HALVES],
                       medians[CALL], medians[INLINE] - medians[LIST], medians[CALL] - medians[LIST]);
                fflush(stdout);
            }
    for (int form = 0; form < FORMS; form++)
        free(samples[form]);
    return 0;
}
