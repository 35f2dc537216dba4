/* What other calls than those of modes.c take: collectives, exchanges, and a process that serves the others. */
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>

#include "sampling.h"

enum { QUESTION_TAG = 1, ANSWER_TAG, EXCHANGE_TAG };

const char *const CALL_NAMES[] = {"barrier", "broadcast", "sendrecv", "itself", "alltoall", "recv", "probe", "iprobe",
                                  "test", NULL};

static unsigned seed_of(int from, int to) { return (unsigned)(from * 64 + to); }

static char *place(const work *on, char *of, int at) { return of + (size_t)at * (size_t)on->size; }

static void broadcast(work *on, int root) {
    if (on->check)
        (on->rank == root ? fill : spoil)(on->in, on->size, seed_of(root, 0));
    MPI_Bcast(on->in, on->size, MPI_BYTE, root, on->comm);
    if (on->check)
        compare(on, "broadcast", on->in, on->size, seed_of(root, 0));
}

/* To one rank, and from another. */
static void shift(work *on, const char *where, int to, int from) {
    MPI_Status status;
    if (on->check) {
        fill(on->out, on->size, seed_of(on->rank, to));
        spoil(on->in, on->size, seed_of(from, on->rank));
    }
    MPI_Sendrecv(on->out, on->size, MPI_BYTE, to, EXCHANGE_TAG, on->in, on->size, MPI_BYTE, from, EXCHANGE_TAG,
                 on->comm, &status);
    if (on->check) {
        check_length(on, where, &status, on->size);
        compare(on, where, on->in, on->size, seed_of(from, on->rank));
    }
}

/* Each rank to each, itself included, receives first. */
static void all_to_all(work *on) {
    int ranks = on->ranks;
    for (int from = 0; from < ranks; from++) {
        if (on->check)
            spoil(place(on, on->in, from), on->size, seed_of(from, on->rank));
        MPI_Irecv(place(on, on->in, from), on->size, MPI_BYTE, from, EXCHANGE_TAG, on->comm, &on->requests[from]);
    }
    for (int i = 0; i < ranks; i++) {
        int to = (on->rank + i) % ranks;
        if (on->check)
            fill(place(on, on->out, to), on->size, seed_of(on->rank, to));
        MPI_Isend(place(on, on->out, to), on->size, MPI_BYTE, to, EXCHANGE_TAG, on->comm, &on->requests[ranks + i]);
    }
    MPI_Waitall(2 * ranks, on->requests, no_statuses);
    for (int from = 0; on->check && from < ranks; from++)
        compare(on, "alltoall", place(on, on->in, from), on->size, seed_of(from, on->rank));
}

/* Receives a question from anybody, found in one of four ways. */
static void hear(work *on, enum call call, MPI_Status *status) {
    MPI_Request request;
    int found = 0, from = MPI_ANY_SOURCE;
    switch (call) {
    case CALL_PROBE:
        MPI_Probe(MPI_ANY_SOURCE, QUESTION_TAG, on->comm, status);
        from = status->MPI_SOURCE;
        break;
    case CALL_IPROBE:
        while (!found)
            MPI_Iprobe(MPI_ANY_SOURCE, QUESTION_TAG, on->comm, &found, status);
        from = status->MPI_SOURCE;
        break;
    case CALL_TEST:
        MPI_Irecv(on->in, on->size, MPI_BYTE, MPI_ANY_SOURCE, QUESTION_TAG, on->comm, &request);
        while (!found)
            MPI_Test(&request, &found, status);
        return;
    default:
        break;
    }
    MPI_Recv(on->in, on->size, MPI_BYTE, from, QUESTION_TAG, on->comm, status);
}

/* Rank 0 answers as many questions as there are other ranks. */
static void serve(work *on, enum call call) {
    MPI_Status status;
    for (int i = 1; i < on->ranks; i++) {
        if (on->check) /* With what nobody sends. */
            fill(on->in, on->size, seed_of(on->ranks, 0));
        hear(on, call, &status);
        if (on->check) {
            check_length(on, "question", &status, on->size);
            compare(on, "question", on->in, on->size, seed_of(status.MPI_SOURCE, 0));
            fill(on->out, on->size, seed_of(0, status.MPI_SOURCE));
        }
        MPI_Send(on->out, on->size, MPI_BYTE, status.MPI_SOURCE, ANSWER_TAG, on->comm);
    }
}

static void ask(work *on) {
    MPI_Status status;
    if (on->check) {
        fill(on->out, on->size, seed_of(on->rank, 0));
        spoil(on->in, on->size, seed_of(0, on->rank));
    }
    MPI_Send(on->out, on->size, MPI_BYTE, 0, QUESTION_TAG, on->comm);
    MPI_Recv(on->in, on->size, MPI_BYTE, 0, ANSWER_TAG, on->comm, &status);
    if (on->check) {
        check_length(on, "answer", &status, on->size);
        compare(on, "answer", on->in, on->size, seed_of(0, on->rank));
    }
}

static void call_once(work *on, int round) {
    int ranks = on->ranks, rank = on->rank;
    switch (on->call) {
    case CALL_BARRIER:
        MPI_Barrier(on->comm);
        break;
    case CALL_BROADCAST:
        /* Each rank is the root in its turn. */
        for (int root = 0; on->check && root < ranks; root++)
            broadcast(on, root);
        broadcast(on, round % ranks);
        break;
    case CALL_SENDRECV:
        shift(on, "sendrecv", (rank + 1) % ranks, (rank + ranks - 1) % ranks);
        break;
    case CALL_ITSELF:
        shift(on, "itself", rank, rank);
        break;
    case CALL_ALLTOALL:
        all_to_all(on);
        break;
    default:
        if (rank == 0)
            serve(on, on->call);
        else
            ask(on);
        break;
    }
}

static double calls_block(work *on, int rounds) {
    double begin = 0;
    for (int i = 0; i <= rounds; i++) {
        if (i == 1)
            begin = now();
        call_once(on, i);
    }
    return now() - begin;
}

static void call_of(const session *of, enum call call, int size, samples *into) {
    size_t messages = call == CALL_ALLTOALL ? (size_t)of->ranks : 1;
    work on = {.session = of, .comm = MPI_COMM_WORLD, .rank = of->rank, .ranks = of->ranks, .size = size, .call = call};
    on.out = allocate((size_t)size * messages);
    on.in = allocate((size_t)size * messages);
    on.requests = allocate(2 * messages * sizeof *on.requests);
    sample(&on, calls_block, 1, into);
    free(on.requests);
    free(on.in);
    free(on.out);
}

void measure_calls(const session *of) {
    static const number_list NOTHING = {1, {0}};
    samples samples = room(of);
    for (int call = 0; call < CALLS; call++) {
        const number_list *sizes = call == CALL_BARRIER ? &NOTHING : &of->options->sizes;
        if (!(of->options->calls >> call & 1))
            continue;
        for (int i = 0; i < sizes->count; i++) {
            call_of(of, (enum call)call, sizes->at[i], &samples);
            if (of->rank == 0)
                report_call(of, CALL_NAMES[call], sizes->at[i], &samples);
        }
    }
    free(samples.ns);
}
