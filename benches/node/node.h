/* Messages inside one node through MPI: shared by all of the program. */
#ifndef NODE_H
#define NODE_H

#include <mpi.h>
#include <stddef.h>

enum { MAX_LIST = 64 };

/* Exit codes, also of MPI_Abort. */
enum { WRONG_DATA = 1, BAD_USAGE = 2, REFUSED = 3 };

enum mode { PINGPONG, BANDWIDTH, RATE, HALO, OTHER_CALLS };
/* Bits of options.by. */
enum way { BY_WINDOW = 1 << 0, BY_PINGPONG = 1 << 1, BY_REWRITTEN = 1 << 2, BY_EXCHANGE = 1 << 3 };
enum algorithm { NONBLOCKING, SENDRECV, PERSISTENT, ALGORITHMS, BEST = ALGORITHMS };

/* As CALL_NAMES has them. */
enum call {
    CALL_BARRIER,
    CALL_BROADCAST,
    CALL_SENDRECV,
    CALL_ITSELF,
    CALL_ALLTOALL,
    CALL_RECV,
    CALL_PROBE,
    CALL_IPROBE,
    CALL_TEST,
    CALLS
};

/* A list of numbers from the command line. */
typedef struct number_list {
    int count;
    int at[MAX_LIST];
} number_list;

typedef struct options {
    enum mode mode;
    number_list sizes;   /* bytes */
    number_list tiles;   /* elements of 8 bytes along a side */
    number_list senders; /* empty: all of them, from 1 */
    int samples;
    int block;    /* approximate microseconds of a sample */
    int window;   /* messages between two acknowledgements */
    int in_flight; /* bytes of all receives posted at a time in `bandwidth` */
    int width;    /* rows and columns of a halo */
    int open;     /* the grid ends at its edges */
    enum algorithm algorithm;
    int yield; /* a waiting rank yields the core after each poll */
    unsigned by;
    unsigned calls; /* bits */
    int json;
    int help;
} options;

typedef struct session {
    int rank;
    int ranks;
    const options *options;
} session;

/* Sorted samples of a row, in nanoseconds of one message, or of one exchange. */
typedef struct samples {
    int count;
    double *ns;
} samples;

extern const char *const ALGORITHM_NAMES[];
extern const char *const CALL_NAMES[]; /* in calls.c */

/* node.c */

/* Memory, page-aligned and touched, or an aborted job. */
void *allocate(size_t size);
/* Nanoseconds of a clock that only runs forward. */
double now(void);
/* Reports wrong data, and aborts the job. */
void wrong_data(const session *of, const char *where, size_t at);
double best(const samples *of);
double median(const samples *of);
/* The rows of each mode; rank 0 calls them. */
void report_pingpong(const session *of, int size, const samples *samples);
void report_bandwidth(const session *of, const char *by, int size, const samples *samples);
void report_rate(const session *of, int senders, int size, const samples *samples);
void report_halo(const session *of, int tile, const char *algorithm, const samples *samples);
void report_call(const session *of, const char *call, int size, const samples *samples);

/* modes.c and calls.c: all ranks call them. */

void measure_pingpong(const session *of);
void measure_bandwidth(const session *of);
void measure_rate(const session *of);
void measure_halo(const session *of);
void measure_calls(const session *of);

#endif
