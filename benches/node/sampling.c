/* A block is work that all its ranks do together; `sample` determines how many rounds of it make a sample, and repeats
 * it. A block has one more round, before the clock starts, so that nobody is late. */
#define _POSIX_C_SOURCE 200112L
#include <sched.h>
#include <stdlib.h>

#include "sampling.h"

/* Not used directly: MPICH's is the address 1, and compilers warn about an array there. */
MPI_Status *no_statuses = MPI_STATUSES_IGNORE;

static unsigned char expected(unsigned seed, size_t at) {
    unsigned mixed = (seed * 2654435761u) ^ ((unsigned)at * 2246822519u);
    mixed ^= mixed >> 15;
    return (unsigned char)((mixed * 3266489917u) >> 24);
}

void fill(char *buffer, int size, unsigned seed) {
    for (size_t i = 0; i < (size_t)size; i++)
        buffer[i] = (char)expected(seed, i);
}

void spoil(char *buffer, int size, unsigned seed) {
    for (size_t i = 0; i < (size_t)size; i++)
        buffer[i] = (char)~expected(seed, i);
}

void compare(const work *on, const char *where, const char *buffer, int size, unsigned seed) {
    for (size_t i = 0; i < (size_t)size; i++)
        if ((unsigned char)buffer[i] != expected(seed, i))
            wrong_data(on->session, where, i);
}

void check_length(const work *on, const char *where, MPI_Status *status, int size) {
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    if (count != size)
        wrong_data(on->session, where, (size_t)(count < 0 ? 0 : count));
}

void wait_for(const work *on, int count, MPI_Request *requests) {
    int done = 0;
    if (!on->session->options->yield) {
        MPI_Waitall(count, requests, no_statuses);
        return;
    }
    for (;;) {
        MPI_Testall(count, requests, &done, no_statuses);
        if (done)
            return;
        sched_yield();
    }
}

/* Rank 0 tells the others how many rounds come next; 0 ends the measurement. */
static int agree(const work *on, int rounds) {
    MPI_Request request;
    MPI_Ibcast(&rounds, 1, MPI_INT, 0, on->comm, &request);
    wait_for(on, 1, &request);
    return rounds;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A number of rounds that takes about as long as a sample should; finding it is also the warm-up. */
static int calibrate(work *on, block *run) {
    double wanted = on->session->options->block * 1e3;
    int rounds = 1;
    for (;;) {
        double took = run(on, agree(on, rounds));
        if (took >= wanted / 2) { /* A block that was held up is not taken for a long one. */
            double again = run(on, agree(on, rounds));
            took = again < took ? again : took;
        }
        if (took >= wanted / 2 || rounds >= 1 << 24)
            return took < 1 || rounds * (wanted / took) < 1 ? 1 : (int)(rounds * (wanted / took));
        rounds *= took < wanted / 16 ? 8 : 2;
    }
}

void sample(work *on, block *run, double messages, samples *into) {
    int rounds;
    on->check = 1;
    run(on, 1);
    on->check = 0;
    if (on->rank != 0) {
        while ((rounds = agree(on, 0)) != 0)
            run(on, rounds);
        return;
    }
    rounds = calibrate(on, run);
    into->count = on->session->options->samples;
    for (int i = 0; i < into->count; i++)
        into->ns[i] = run(on, agree(on, rounds)) / (rounds * messages);
    agree(on, 0);
    qsort(into->ns, (size_t)into->count, sizeof *into->ns, ascending);
}

samples room(const session *of) {
    samples made = {0, allocate((size_t)of->options->samples * sizeof(double))};
    return made;
}
