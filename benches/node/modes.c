/* The measurements of messages; sampling.c times them. */
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>
#include <time.h>

#include "sampling.h"

enum { MESSAGE_TAG = 1, ACKNOWLEDGEMENT_TAG, READY_TAG };

/* Writes to every cache line, so that none of them is in another core's cache any more. */
static void rewrite(char *buffer, int size) {
    for (size_t i = 0; i < (size_t)size; i += 64)
        buffer[i]++;
}

/* ---- ping-pong ---- */

static void ping(work *on, unsigned seed) {
    MPI_Status status;
    if (on->check) {
        fill(on->out, on->size, seed);
        spoil(on->in, on->size, seed + 1);
    } else if (on->rewrite) {
        rewrite(on->out, on->size);
    }
    MPI_Send(on->out, on->size, MPI_BYTE, 1, MESSAGE_TAG, on->comm);
    MPI_Recv(on->in, on->size, MPI_BYTE, 1, MESSAGE_TAG, on->comm, &status);
    if (on->check) {
        check_length(on, "ping-pong", &status, on->size);
        compare(on, "ping-pong", on->in, on->size, seed + 1);
    }
}

static void pong(work *on, unsigned seed) {
    MPI_Status status;
    if (on->check) {
        fill(on->out, on->size, seed + 1);
        spoil(on->in, on->size, seed);
    }
    MPI_Recv(on->in, on->size, MPI_BYTE, 0, MESSAGE_TAG, on->comm, &status);
    if (on->check) {
        check_length(on, "ping-pong", &status, on->size);
        compare(on, "ping-pong", on->in, on->size, seed);
    } else if (on->rewrite) {
        rewrite(on->out, on->size);
    }
    MPI_Send(on->out, on->size, MPI_BYTE, 0, MESSAGE_TAG, on->comm);
}

static double pingpong_block(work *on, int rounds) {
    double begin = 0;
    for (int i = 0; i <= rounds; i++) {
        if (i == 1)
            begin = now();
        if (on->rank == 0)
            ping(on, (unsigned)(2 * i));
        else
            pong(on, (unsigned)(2 * i));
    }
    return now() - begin;
}

static void pingpong_of(const session *of, int size, int rewrite, samples *into) {
    work on = {.session = of, .comm = MPI_COMM_WORLD, .rank = of->rank, .ranks = of->ranks, .size = size,
               .rewrite = rewrite};
    on.out = allocate((size_t)size);
    on.in = allocate((size_t)size);
    sample(&on, pingpong_block, 2, into);
    free(on.in);
    free(on.out);
}

void measure_pingpong(const session *of) {
    samples samples = room(of);
    for (int i = 0; i < of->options->sizes.count; i++) {
        pingpong_of(of, of->options->sizes.at[i], 0, &samples);
        if (of->rank == 0)
            report_pingpong(of, of->options->sizes.at[i], &samples);
    }
    free(samples.ns);
}

/* ---- bandwidth ---- */

static void stand(work *on, int message) {
    int slot = message % on->slots;
    char *to = on->in + (size_t)slot * (size_t)on->size;
    if (on->check)
        spoil(to, on->size, on->seed);
    MPI_Irecv(to, on->size, MPI_BYTE, 0, MESSAGE_TAG, on->comm, &on->requests[slot]);
}

/* Checking every byte of many windows would take longer than everything else: each slot is used twice. */
static int messages_of_window(const work *on) {
    return on->check && 2 * on->slots < on->window ? 2 * on->slots : on->window;
}

/* The receives for the next window are posted, as far as possible, before the acknowledgement goes out. */
static void receive_windows(work *on, int windows) {
    int messages = messages_of_window(on);
    MPI_Status status;
    for (int i = 0; i < on->slots; i++)
        stand(on, i);
    for (int window = 0; window < windows; window++) {
        for (int i = 0; i < messages; i++) {
            int slot = i % on->slots;
            MPI_Wait(&on->requests[slot], &status);
            if (on->check) {
                check_length(on, "bandwidth", &status, on->size);
                compare(on, "bandwidth", on->in + (size_t)slot * (size_t)on->size, on->size, on->seed);
            }
            if (i + on->slots < messages)
                stand(on, i + on->slots);
        }
        for (int i = 0; i < on->slots && window + 1 < windows; i++)
            stand(on, i);
        MPI_Send(NULL, 0, MPI_BYTE, 0, ACKNOWLEDGEMENT_TAG, on->comm);
    }
}

static void send_window(work *on) {
    int messages = messages_of_window(on);
    for (int i = 0; i < messages; i++)
        MPI_Isend(on->out, on->size, MPI_BYTE, 1, MESSAGE_TAG, on->comm, &on->requests[i]);
    MPI_Waitall(messages, on->requests, no_statuses);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, ACKNOWLEDGEMENT_TAG, on->comm, MPI_STATUS_IGNORE);
}

static double bandwidth_block(work *on, int rounds) {
    double begin = 0;
    if (on->rank == 1) {
        receive_windows(on, rounds + 1);
        return 0;
    }
    for (int i = 0; i <= rounds; i++) {
        if (i == 1)
            begin = now();
        send_window(on);
    }
    return now() - begin;
}

/* As many receives as fit into --in-flight, but at least two, and no more than there are messages. */
static int slots_of(const options *options, int size) {
    int slots = size ? options->in_flight / size : options->window;
    slots = slots < 2 ? 2 : slots;
    return slots < options->window ? slots : options->window;
}

static void bandwidth_of(const session *of, int size, samples *into) {
    const options *options = of->options;
    work on = {.session = of, .comm = MPI_COMM_WORLD, .rank = of->rank, .ranks = of->ranks, .size = size,
               .window = options->window, .seed = (unsigned)size};
    on.slots = slots_of(options, size);
    if (of->rank == 0) {
        on.out = allocate((size_t)size);
        fill(on.out, size, on.seed);
    } else {
        on.in = allocate((size_t)size * (size_t)on.slots);
    }
    on.requests = allocate((size_t)on.window * sizeof *on.requests);
    sample(&on, bandwidth_block, on.window, into);
    free(on.requests);
    free(on.in);
    free(on.out);
}

static double exchange_block(work *on, int rounds) {
    double begin = 0;
    int other = 1 - on->rank;
    for (int i = 0; i <= rounds; i++) {
        if (i == 1)
            begin = now();
        for (int slot = 0; slot < on->slots; slot++) {
            char *to = on->in + (size_t)slot * (size_t)on->size;
            if (on->check)
                spoil(to, on->size, on->seed);
            MPI_Irecv(to, on->size, MPI_BYTE, other, MESSAGE_TAG, on->comm, &on->requests[slot]);
        }
        for (int slot = 0; slot < on->slots; slot++)
            MPI_Isend(on->out, on->size, MPI_BYTE, other, MESSAGE_TAG, on->comm, &on->requests[on->slots + slot]);
        wait_for(on, 2 * on->slots, on->requests);
        for (int slot = 0; on->check && slot < on->slots; slot++)
            compare(on, "exchange", on->in + (size_t)slot * (size_t)on->size, on->size, on->seed);
    }
    return now() - begin;
}

static void exchange_of(const session *of, int size, samples *into) {
    work on = {.session = of, .comm = MPI_COMM_WORLD, .rank = of->rank, .ranks = of->ranks, .size = size,
               .seed = (unsigned)size};
    on.slots = slots_of(of->options, size);
    on.out = allocate((size_t)size);
    fill(on.out, size, on.seed);
    on.in = allocate((size_t)size * (size_t)on.slots);
    on.requests = allocate(2 * (size_t)on.slots * sizeof *on.requests);
    sample(&on, exchange_block, 2 * on.slots, into);
    free(on.requests);
    free(on.in);
    free(on.out);
}

void measure_bandwidth(const session *of) {
    const options *options = of->options;
    samples samples = room(of);
    for (int i = 0; i < options->sizes.count; i++) {
        int size = options->sizes.at[i];
        if (options->by & BY_WINDOW) {
            bandwidth_of(of, size, &samples);
            if (of->rank == 0)
                report_bandwidth(of, "window", size, &samples);
        }
        if (options->by & BY_PINGPONG) {
            pingpong_of(of, size, 0, &samples);
            if (of->rank == 0)
                report_bandwidth(of, "pingpong", size, &samples);
        }
        if (options->by & BY_REWRITTEN) {
            pingpong_of(of, size, 1, &samples);
            if (of->rank == 0)
                report_bandwidth(of, "rewritten", size, &samples);
        }
        if (options->by & BY_EXCHANGE) {
            exchange_of(of, size, &samples);
            if (of->rank == 0)
                report_bandwidth(of, "exchange", size, &samples);
        }
    }
    free(samples.ns);
}

/* ---- rate ---- */

static unsigned rate_seed(int sender, int message) { return (unsigned)(sender * 65536 + message); }

/* The senders begin a window when its receives are posted. */
static void take_window(work *on) {
    int senders = on->ranks - 1, total = senders * on->window;
    MPI_Status status;
    for (int i = 0; i < total; i++) {
        char *to = on->in + (size_t)i * (size_t)on->size;
        if (on->check)
            spoil(to, on->size, rate_seed(1 + i % senders, i / senders));
        MPI_Irecv(to, on->size, MPI_BYTE, 1 + i % senders, MESSAGE_TAG, on->comm, &on->requests[i]);
    }
    for (int sender = 1; sender <= senders; sender++)
        MPI_Send(NULL, 0, MPI_BYTE, sender, READY_TAG, on->comm);
    if (!on->check) {
        wait_for(on, total, on->requests);
        return;
    }
    for (int i = 0; i < total; i++) {
        MPI_Wait(&on->requests[i], &status);
        check_length(on, "rate", &status, on->size);
        compare(on, "rate", on->in + (size_t)i * (size_t)on->size, on->size, rate_seed(1 + i % senders, i / senders));
    }
}

static void give_window(work *on) {
    MPI_Request ready;
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, READY_TAG, on->comm, &ready);
    wait_for(on, 1, &ready);
    for (int i = 0; i < on->window; i++)
        MPI_Isend(on->out + (size_t)i * (size_t)on->size, on->size, MPI_BYTE, 0, MESSAGE_TAG, on->comm, &on->requests[i]);
    wait_for(on, on->window, on->requests);
}

static double rate_block(work *on, int rounds) {
    double begin = 0;
    for (int i = 0; i <= rounds; i++) {
        if (i == 1)
            begin = now();
        if (on->rank == 0)
            take_window(on);
        else
            give_window(on);
    }
    return now() - begin;
}

static void rate_of(const session *of, MPI_Comm comm, int size, samples *into) {
    work on = {.session = of, .comm = comm, .size = size, .window = of->options->window};
    MPI_Comm_rank(comm, &on.rank);
    MPI_Comm_size(comm, &on.ranks);
    size_t messages = (size_t)on.window * (size_t)(on.rank == 0 ? on.ranks - 1 : 1);
    on.in = allocate(messages * (size_t)size);
    on.out = on.in;
    on.requests = allocate(messages * sizeof *on.requests);
    for (int i = 0; i < on.window && on.rank != 0; i++)
        fill(on.out + (size_t)i * (size_t)size, size, rate_seed(on.rank, i));
    sample(&on, rate_block, on.window * (on.ranks - 1), into);
    free(on.requests);
    free(on.in);
}

/* Ranks without work wait here, and sleep: they take no core from the others. */
static void meet_asleep(void) {
    const struct timespec pause = {0, 200000};
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        nanosleep(&pause, NULL);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static void rate_with(const session *of, int senders, samples *samples) {
    const options *options = of->options;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, of->rank <= senders ? 0 : MPI_UNDEFINED, of->rank, &comm);
    if (comm != MPI_COMM_NULL) {
        for (int i = 0; i < options->sizes.count; i++) {
            rate_of(of, comm, options->sizes.at[i], samples);
            if (of->rank == 0)
                report_rate(of, senders, options->sizes.at[i], samples);
        }
        MPI_Comm_free(&comm);
    }
    meet_asleep();
}

void measure_rate(const session *of) {
    const number_list *asked = &of->options->senders;
    samples samples = room(of);
    for (int i = 0; i < asked->count; i++)
        rate_with(of, asked->at[i], &samples);
    for (int senders = 1; asked->count == 0 && senders < of->ranks; senders++)
        rate_with(of, senders, &samples);
    free(samples.ns);
}

/* ---- halo ---- */

/* Directions are north, south, west, east. A border has its direction as tag, and arrives from the opposite one. */
static int opposite(int direction) { return direction ^ 1; }

static char *border(const work *on, char *of, int direction) { return of + (size_t)direction * (size_t)on->size; }

static unsigned halo_seed(int from, int direction) { return (unsigned)(from * 4 + direction); }

static void exchange_nonblocking(work *on) {
    for (int to = 0; to < 4; to++)
        MPI_Irecv(border(on, on->in, to), on->size, MPI_BYTE, on->neighbour[opposite(to)], to, on->comm,
                  &on->requests[to]);
    for (int to = 0; to < 4; to++)
        MPI_Isend(border(on, on->out, to), on->size, MPI_BYTE, on->neighbour[to], to, on->comm, &on->requests[4 + to]);
    wait_for(on, 8, on->requests);
}

static void exchange_yielding_pairs(work *on) {
    for (int to = 0; to < 4; to++) {
        MPI_Irecv(border(on, on->in, to), on->size, MPI_BYTE, on->neighbour[opposite(to)], to, on->comm,
                  &on->requests[0]);
        MPI_Isend(border(on, on->out, to), on->size, MPI_BYTE, on->neighbour[to], to, on->comm, &on->requests[1]);
        wait_for(on, 2, on->requests);
    }
}

/* MPI_Sendrecv cannot be told to yield. */
static void exchange_sendrecv(work *on) {
    if (on->session->options->yield) {
        exchange_yielding_pairs(on);
        return;
    }
    for (int to = 0; to < 4; to++)
        MPI_Sendrecv(border(on, on->out, to), on->size, MPI_BYTE, on->neighbour[to], to, border(on, on->in, to), on->size,
                     MPI_BYTE, on->neighbour[opposite(to)], to, on->comm, MPI_STATUS_IGNORE);
}

static void exchange_persistent(work *on) {
    MPI_Startall(8, on->requests);
    wait_for(on, 8, on->requests);
}

static void exchange(work *on) {
    switch (on->algorithm) {
    case SENDRECV: exchange_sendrecv(on); break;
    case PERSISTENT: exchange_persistent(on); break;
    default: exchange_nonblocking(on);
    }
}

static void make_persistent(work *on) {
    for (int to = 0; to < 4; to++) {
        MPI_Recv_init(border(on, on->in, to), on->size, MPI_BYTE, on->neighbour[opposite(to)], to, on->comm,
                      &on->requests[to]);
        MPI_Send_init(border(on, on->out, to), on->size, MPI_BYTE, on->neighbour[to], to, on->comm,
                      &on->requests[4 + to]);
    }
}

static void check_exchange(work *on) {
    for (int to = 0; to < 4; to++) {
        fill(border(on, on->out, to), on->size, halo_seed(on->rank, to));
        spoil(border(on, on->in, to), on->size, halo_seed(on->neighbour[opposite(to)], to));
    }
    exchange(on);
    for (int to = 0; to < 4; to++)
        if (on->neighbour[opposite(to)] != MPI_PROC_NULL)
            compare(on, "halo", border(on, on->in, to), on->size, halo_seed(on->neighbour[opposite(to)], to));
}

/* The time is that of the slowest rank. */
static double halo_block(work *on, int rounds) {
    double begin = 0, took, slowest = 0;
    MPI_Request request;
    if (on->check) {
        check_exchange(on);
        return 0;
    }
    MPI_Ibarrier(on->comm, &request);
    wait_for(on, 1, &request);
    for (int i = 0; i <= rounds; i++) {
        if (i == 1)
            begin = now();
        exchange(on);
    }
    took = now() - begin;
    MPI_Ireduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, on->comm, &request);
    wait_for(on, 1, &request);
    return slowest;
}

static void halo_of(const session *of, MPI_Comm grid, int tile, enum algorithm algorithm, samples *into) {
    work on = {.session = of, .comm = grid, .algorithm = algorithm, .size = tile * 8 * of->options->width};
    MPI_Comm_rank(grid, &on.rank);
    MPI_Comm_size(grid, &on.ranks);
    MPI_Cart_shift(grid, 0, 1, &on.neighbour[0], &on.neighbour[1]);
    MPI_Cart_shift(grid, 1, 1, &on.neighbour[2], &on.neighbour[3]);
    on.out = allocate(4 * (size_t)on.size);
    on.in = allocate(4 * (size_t)on.size);
    on.requests = allocate(8 * sizeof *on.requests);
    if (algorithm == PERSISTENT)
        make_persistent(&on);
    sample(&on, halo_block, 1, into);
    for (int i = 0; i < 8 && algorithm == PERSISTENT; i++)
        MPI_Request_free(&on.requests[i]);
    free(on.requests);
    free(on.in);
    free(on.out);
}

static void halo_row(const session *of, MPI_Comm grid, int tile, samples *samples, struct samples *least) {
    enum algorithm chosen = of->options->algorithm, quickest = chosen;
    if (chosen != BEST) {
        halo_of(of, grid, tile, chosen, least);
    } else {
        for (enum algorithm algorithm = NONBLOCKING; algorithm < ALGORITHMS; algorithm++) {
            halo_of(of, grid, tile, algorithm, samples);
            if (of->rank == 0 && (algorithm == NONBLOCKING || median(samples) < median(least))) {
                struct samples other = *least;
                *least = *samples;
                *samples = other;
                quickest = algorithm;
            }
        }
    }
    if (of->rank == 0)
        report_halo(of, tile, ALGORITHM_NAMES[quickest], least);
}

void measure_halo(const session *of) {
    const options *options = of->options;
    int extents[2] = {0, 0}, periods[2] = {!options->open, !options->open};
    samples samples = room(of), least = room(of);
    MPI_Comm grid;
    MPI_Dims_create(of->ranks, 2, extents);
    MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &grid);
    for (int i = 0; i < options->tiles.count; i++)
        halo_row(of, grid, options->tiles.at[i], &samples, &least);
    MPI_Comm_free(&grid);
    free(least.ns);
    free(samples.ns);
}
