/* Matching at the MPI level: shared by matching.c, queues.c and traffic.c. */
#ifndef MATCHING_H
#define MATCHING_H

#include <mpi.h>

/* What can be measured; bits of options.only. */
enum measurement { POSTED = 1, UNEXPECTED = 2, PINGPONG = 4, RATE = 8 };

/* How entries are laid out and taken; bits of options.orders. */
enum order { FORWARD = 1, REVERSE = 2, BY_SOURCE = 4, BY_TAG = 8, ANY_SOURCE = 16 };

enum { MAX_LIST = 64, BATCH = 512 };

/* Tags in the control communicator. */
enum { COMMAND_TAG = 1, DONE_TAG, READY_TAG, GO_ON_TAG };

/* A list of numbers from the command line. */
typedef struct number_list {
    int count;
    int at[MAX_LIST];
} number_list;

typedef struct options {
    number_list depths;
    number_list sizes;
    int repetitions;
    int warmup;
    int depth;     /* receives queued ahead in the ping-pong */
    double budget; /* seconds of timed drains for one depth and order */
    unsigned only;
    unsigned orders;
    int json;
    int help;
} options;

/* What a process needs everywhere. Messages that are measured and messages that control the benchmark
 * use separate communicators. */
typedef struct session {
    int rank;
    int ranks;
    MPI_Comm measured;
    MPI_Comm control;
    const options *options;
} session;

/* One row of output; times in nanoseconds. `samples` is sorted by report_row. */
typedef struct row {
    const char *measurement;
    const char *variant; /* order, or kind of receive */
    const char *what;
    int depth;
    int bytes;
    int messages; /* of one sample */
    int complete; /* 0: a drain that the time budget ended */
    int count;
    double *samples;
} row;

/* matching.c */

void report_row(const session *of, row *what);
/* Zeroed memory, or an aborted job. */
void *allocate(size_t count, size_t size);
/* Nanoseconds of a clock that only runs forward. */
double now(void);
void wait_all(int count, MPI_Request *requests);

/* queues.c: all ranks call it. */

void measure_queue(const session *of, enum measurement which, enum order order, const char *name, int depth);

/* traffic.c: all ranks call these; ranks 0 and 1 have work to do. */

void measure_pingpong(const session *of, int preposted, int bytes);
void measure_rate(const session *of);

#endif
