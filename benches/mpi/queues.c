/* posted and unexpected: a queue is filled to a depth, and the time to take entries from it is measured.
 *
 * Rank 0 takes all times and controls the senders through the control communicator: it sends them commands,
 * which they receive with an otherwise empty queue. Rank 0 itself receives nothing in that communicator while
 * receives are posted for a measurement, because a library with one list for all communicators would search
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matching.h"

enum { LEAST_REPETITIONS = 5, LONGEST_ROW = 10, CLOCK_EVERY = 8 };

/* A command: SEND or KEEP, the number of tags that follow, the tags. BURST sends what was kept, in the same order.
 * A sender answers DONE to REPORT, and leaves at LEAVE. */
enum { SEND, KEEP, BURST, REPORT, LEAVE };
enum { COMMAND_WORDS = 2 + BATCH };

/* The entries of one depth and order, as rank 0 sees them. */
typedef struct queue {
    const session *session;
    enum measurement which;
    enum order order;
    int senders;
    int length;
    int block;                /* entries of one sender */
    int *sequence;            /* the order in which they are taken */
    unsigned long long state; /* of the random numbers */
    char *taken;
    int (*payloads)[2]; /* tag and sender of the message that came */
    MPI_Request *requests;
} queue;

/* Tags that a sender keeps for a burst. */
typedef struct kept {
    int *tags;
    int count;
} kept;

static void keep(kept *kept, const int *tags, int count) {
    int *all = allocate((size_t)(kept->count + count), sizeof *all);
    if (kept->count)
        memcpy(all, kept->tags, (size_t)kept->count * sizeof *all);
    memcpy(all + kept->count, tags, (size_t)count * sizeof *all);
    free(kept->tags);
    kept->tags = all;
    kept->count += count;
}

static void send_all(const session *of, const int *tags, int count) {
    for (int i = 0; i < count; i++) {
        int payload[2] = {tags[i], of->rank};
        MPI_Send(payload, 2, MPI_INT, 0, payload[0], of->measured);
    }
}

static void serve(const session *of) {
    int command[COMMAND_WORDS];
    kept kept = {NULL, 0};
    for (;;) {
        MPI_Recv(command, COMMAND_WORDS, MPI_INT, 0, COMMAND_TAG, of->control, MPI_STATUS_IGNORE);
        switch (command[0]) {
        case SEND:
            send_all(of, command + 2, command[1]);
            break;
        case KEEP:
            keep(&kept, command + 2, command[1]);
            break;
        case BURST:
            send_all(of, kept.tags, kept.count);
            kept.count = 0;
            break;
        case REPORT:
            MPI_Send(NULL, 0, MPI_INT, 0, DONE_TAG, of->control);
            break;
        default:
            free(kept.tags);
            return;
        }
    }
}

static void tell_tags(const session *of, int sender, int what, const int *tags, int count) {
    int words[COMMAND_WORDS] = {what, count};
    memcpy(words + 2, tags, (size_t)count * sizeof *tags);
    MPI_Send(words, 2 + count, MPI_INT, sender, COMMAND_TAG, of->control);
}

static void tell(const session *of, int sender, int what) {
    int words[2] = {what, 0};
    MPI_Send(words, 2, MPI_INT, sender, COMMAND_TAG, of->control);
}

/* Waits until a sender has executed all commands. */
static void wait_for(const session *of, int sender) {
    tell(of, sender, REPORT);
    MPI_Recv(NULL, 0, MPI_INT, sender, DONE_TAG, of->control, MPI_STATUS_IGNORE);
}

/* Entries are in blocks, one for each sender, each with tags from 0. */
static int sender_of(const queue *q, int entry) {
    return 1 + entry / q->block;
}

static int tag_of(const queue *q, int entry) {
    return entry % q->block;
}

static int source_of(const queue *q, int entry) {
    return q->order == ANY_SOURCE ? MPI_ANY_SOURCE : sender_of(q, entry);
}

/* A different order of the sequence in each repetition, the same ones in each run (xorshift64). */
static void shuffle(queue *q) {
    for (int i = q->length - 1; i > 0; i--) {
        q->state ^= q->state << 13;
        q->state ^= q->state >> 7;
        q->state ^= q->state << 17;
        int other = (int)(q->state % (unsigned long long)(i + 1));
        int kept = q->sequence[i];
        q->sequence[i] = q->sequence[other];
        q->sequence[other] = kept;
    }
}

static void queue_make(queue *q) {
    size_t length = (size_t)q->length;
    q->block = (q->length + q->senders - 1) / q->senders;
    q->sequence = allocate(length, sizeof *q->sequence);
    q->taken = allocate(length, sizeof *q->taken);
    q->payloads = allocate(length, sizeof *q->payloads);
    q->requests = allocate(length, sizeof *q->requests);
    for (int i = 0; i < q->length; i++)
        q->sequence[i] = q->order == FORWARD || q->order == BY_TAG ? i : q->length - 1 - i;
    q->state = 0x9e3779b97f4a7c15u;
}

static void queue_free(queue *q) {
    free(q->requests);
    free(q->payloads);
    free(q->taken);
    free(q->sequence);
}

/* Calls `each` for batches of consecutive entries of one sender that are not yet taken, first ones first. */
static void in_batches(queue *q, void (*each)(queue *, const int *entries, int count)) {
    int entries[BATCH], count = 0;
    for (int i = 0; i < q->length; i++) {
        if (q->taken[i])
            continue;
        if (count == BATCH || (count && sender_of(q, entries[0]) != sender_of(q, i))) {
            each(q, entries, count);
            count = 0;
        }
        entries[count++] = i;
    }
    if (count)
        each(q, entries, count);
}

static void send_batch(queue *q, const int *entries, int count) {
    int tags[BATCH];
    for (int i = 0; i < count; i++)
        tags[i] = tag_of(q, entries[i]);
    tell_tags(q->session, sender_of(q, entries[0]), SEND, tags, count);
}

/* Sends and waits: the matches are at the head of what is left. */
static void finish_posted(queue *q, const int *entries, int count) {
    MPI_Request requests[BATCH];
    send_batch(q, entries, count);
    for (int i = 0; i < count; i++)
        requests[i] = q->requests[entries[i]];
    wait_all(count, requests);
}

static void receive(queue *q, int entry) {
    MPI_Recv(q->payloads[entry], 2, MPI_INT, source_of(q, entry), tag_of(q, entry), q->session->measured,
             MPI_STATUS_IGNORE);
}

static void finish_unexpected(queue *q, const int *entries, int count) {
    for (int i = 0; i < count; i++)
        receive(q, entries[i]);
}

/* A batch is sent when the one before it has arrived. DONE follows it on the same path: once DONE is received,
 * the messages are in the unexpected queue, in the order of the entries. */
static void fill_unexpected(queue *q, const int *entries, int count) {
    int sender = sender_of(q, entries[0]);
    send_batch(q, entries, count);
    wait_for(q->session, sender);
}

static void fill(queue *q) {
    memset(q->taken, 0, (size_t)q->length);
    memset(q->payloads, 0xff, (size_t)q->length * sizeof *q->payloads);
    if (q->which == UNEXPECTED)
        in_batches(q, fill_unexpected);
    else
        for (int i = 0; i < q->length; i++)
            MPI_Irecv(q->payloads[i], 2, MPI_INT, source_of(q, i), tag_of(q, i), q->session->measured,
                      &q->requests[i]);
}

static void take(queue *q, int entry) {
    if (q->which == UNEXPECTED) {
        receive(q, entry);
    } else {
        int tag = tag_of(q, entry);
        tell_tags(q->session, sender_of(q, entry), SEND, &tag, 1);
        MPI_Wait(&q->requests[entry], MPI_STATUS_IGNORE);
    }
    q->taken[entry] = 1;
}

/* Takes entries in sequence until all but the first are taken or `budget` nanoseconds have passed. Returns
 * how many and sets how long it took. */
static int drain(queue *q, double budget, double *elapsed) {
    int taken = 0;
    double start = now();
    *elapsed = 0;
    while (taken < q->length - 1 && *elapsed < budget) {
        take(q, q->sequence[1 + taken++]);
        if (taken % CLOCK_EVERY == 0)
            *elapsed = now() - start;
    }
    *elapsed = now() - start;
    return taken;
}

/* Fills the queue and has all of it taken in one burst of its only sender. Returns how long that took. */
static double burst(queue *q) {
    int sender = sender_of(q, 0), tags[BATCH], count = 0;
    for (int i = 0; i < q->length; i++) {
        tags[count++] = tag_of(q, q->sequence[i]);
        if (count == BATCH || i + 1 == q->length) {
            tell_tags(q->session, sender, KEEP, tags, count);
            count = 0;
        }
    }
    wait_for(q->session, sender);
    fill(q);
    double start = now();
    tell(q->session, sender, BURST);
    wait_all(q->length, q->requests);
    return now() - start;
}

static void verify(const queue *q) {
    for (int i = 0; i < q->length; i++)
        if (q->payloads[i][0] != tag_of(q, i) || q->payloads[i][1] != sender_of(q, i)) {
            fprintf(stderr, "matching: the receive for rank %d, tag %d got the message of rank %d, tag %d\n",
                    sender_of(q, i), tag_of(q, i), q->payloads[i][1], q->payloads[i][0]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

/* Samples of one depth and order. */
typedef struct samples {
    double *first;
    double *drain;
    int firsts;
    int drains;
    int drained; /* messages of the shortest drain, the first one included */
    double left; /* nanoseconds for further drains */
    double last; /* time of the last one */
    double *burst;
    int bursts;
    double burst_left; /* nanoseconds for further bursts */
} samples;

static void repeat(queue *q, samples *into, int warm) {
    if (q->order == BY_TAG)
        shuffle(q);
    fill(q);
    double start = now();
    take(q, q->sequence[0]);
    double first = now() - start;
    if (warm) {
        into->first[into->firsts++] = first;
        if (q->length > 1 && (!into->drains || into->left >= into->last)) {
            int count = drain(q, into->left, &into->last);
            into->left -= into->last;
            into->drain[into->drains++] = (first + into->last) / (1 + count);
            if (1 + count < into->drained)
                into->drained = 1 + count;
        }
    }
    in_batches(q, q->which == UNEXPECTED ? finish_unexpected : finish_posted);
    verify(q);
}

/* Messages of several senders would arrive in no particular order. */
static void repeat_burst(queue *q, samples *into, int warm) {
    if (q->which == UNEXPECTED || q->senders > 1 || q->length == 1 || into->burst_left <= 0)
        return;
    double elapsed = burst(q);
    verify(q);
    if (warm) {
        into->burst_left -= elapsed;
        into->burst[into->bursts++] = elapsed / q->length;
    }
}

static void steer_queue(queue *q, const char *name, int depth) {
    const options *options = q->session->options;
    size_t most = (size_t)options->repetitions;
    samples got = {.first = allocate(most, sizeof(double)),
                   .drain = allocate(most, sizeof(double)),
                   .drained = depth + 1,
                   .left = options->budget * 1e9,
                   .burst = allocate(most, sizeof(double)),
                   .burst_left = options->budget * 1e9};
    row row = {.measurement = q->which == POSTED ? "posted" : "unexpected",
               .variant = name,
               .depth = depth,
               .bytes = (int)sizeof q->payloads[0],
               .complete = 1,
               .messages = 1};
    double end = now() + LONGEST_ROW * options->budget * 1e9;
    queue_make(q);
    for (int i = -options->warmup; i < options->repetitions; i++) {
        repeat(q, &got, i >= 0);
        repeat_burst(q, &got, i >= 0);
        if (now() > end && got.firsts >= LEAST_REPETITIONS)
            break;
    }
    row.what = "first", row.count = got.firsts, row.samples = got.first;
    report_row(q->session, &row);
    row.what = "drain", row.count = got.drains, row.samples = got.drain;
    row.messages = got.drained, row.complete = got.drained == q->length;
    if (row.count)
        report_row(q->session, &row);
    row.what = "burst", row.count = got.bursts, row.samples = got.burst;
    row.messages = q->length, row.complete = 1;
    if (row.count)
        report_row(q->session, &row);
    queue_free(q);
    free(got.burst);
    free(got.drain);
    free(got.first);
}

void measure_queue(const session *of, enum measurement which, enum order order, const char *name,
                   int depth) {
    int senders = order == BY_SOURCE ? of->ranks - 1 : 1;
    if (of->rank == 0) {
        queue q = {
            .session = of, .which = which, .order = order, .senders = senders, .length = depth + 1};
        steer_queue(&q, name, depth);
        for (int sender = 1; sender <= senders; sender++)
            tell(of, sender, LEAVE);
    } else if (of->rank <= senders) {
        serve(of);
    }
}
