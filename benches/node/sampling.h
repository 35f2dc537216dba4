/* Rounds of work in blocks, timed, and their data checked: shared by the modes. */
#ifndef SAMPLING_H
#define SAMPLING_H

#include "node.h"

/* The data of a block; each mode uses a part of it. */
typedef struct work {
    const session *session;
    MPI_Comm comm; /* the ranks of this measurement, 0 first */
    int rank;      /* in comm */
    int ranks;
    int size; /* bytes of a message */
    int window;
    int slots; /* receives that are posted at a time */
    char *out;
    char *in;
    MPI_Request *requests;
    int neighbour[4]; /* north, south, west, east */
    enum algorithm algorithm;
    enum call call;
    int rewrite; /* a message is written before it is sent, as in real programs */
    int check; /* receive buffers are cleared before, and compared after */
    unsigned seed;
} work;

/* Does rounds + 1 rounds; returns the nanoseconds of the last `rounds`. Only what rank 0 returns counts. */
typedef double block(work *on, int rounds);

/* For MPI_Waitall. */
extern MPI_Status *no_statuses;

void fill(char *buffer, int size, unsigned seed);
/* So that no part of an earlier message can pass for this one. */
void spoil(char *buffer, int size, unsigned seed);
void compare(const work *on, const char *where, const char *buffer, int size, unsigned seed);
/* For a finished receive, also its length. */
void check_length(const work *on, const char *where, MPI_Status *status, int size);
/* With --yield, other processes get the core after each poll. */
void wait_for(const work *on, int count, MPI_Request *requests);
/* All ranks of on->comm call it: checks the data of one round, then fills `into` on rank 0 with the nanoseconds of
 * one message, of `messages` in a round. */
void sample(work *on, block *run, double messages, samples *into);
/* Room for the samples of a row. */
samples room(const session *of);

#endif
