/* Messages between the processes of one node, through any MPI library: `mpirun -n 2 node pingpong --help`.
 *
 * main, the command line and the output; the measurements are in modes.c and calls.c, and explained in README.md. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "node.h"

enum { LARGEST = 1 << 30, WIDEST_TILE = 1 << 20 };

static const char *const MODES[] = {"pingpong", "bandwidth", "rate", "halo", "calls", NULL};
static const char *const WAY_NAMES[] = {"window", "pingpong", "rewritten", "exchange", NULL}; /* of enum way */
const char *const ALGORITHM_NAMES[] = {"nonblocking", "sendrecv", "persistent", "best", NULL};

static void help(void) {
    fputs("usage: mpirun -n RANKS node MODE [OPTION...]\n"
          "\n"
          "Modes:\n"
          "  pingpong   ranks 0 and 1, MPI_Send and MPI_Recv: half a round trip, in ns\n"
          "  bandwidth  rank 0 sends windows of messages to rank 1, which acknowledges each window; or both send\n"
          "             to each other; in GB/s\n"
          "  rate       ranks from 1 send windows of messages to rank 0, which has posted them, in messages/s\n"
          "  halo       all ranks exchange the borders of their tiles in a two-dimensional grid, in ns\n"
          "  calls      all ranks: collectives, exchanges, and rank 0 serving the others, in ns a round\n"
          "\n"
          "Options of all modes:\n"
          "  --samples N       samples per row (21)\n"
          "  --block MICROS    approximate length of a sample (5000)\n"
          "  --json            one JSON object per line\n"
          "  --help            this text\n"
          "Of pingpong, bandwidth, rate and calls:\n"
          "  --sizes BYTES,... (0,1,2,4 to 4194304; 16384 to 4194304; 8; 8,1024,65536)\n"
          "Of bandwidth and rate:\n"
          "  --window N        messages between two acknowledgements, or go-aheads (64)\n"
          "Of bandwidth:\n"
          "  --by NAME,...     window; pingpong; rewritten: a ping-pong whose sender first writes the message; exchange:\n"
          "                    windows both ways at the same time (window,pingpong,rewritten)\n"
          "  --in-flight BYTES total bytes of the receives posted at a time; at least two are (4194304)\n"
          "Of rate:\n"
          "  --senders N,...   (1 to one less than ranks)\n"
          "Of rate and halo:\n"
          "  --yield           wait with MPI_Testall and sched_yield, for more processes than cores\n"
          "Of halo:\n"
          "  --tiles N,...     elements of 8 bytes along the side of a tile\n"
          "                    (1,2,5,10,20,50,100,200,500,1000)\n"
          "  --width N         rows and columns of a border (1)\n"
          "  --open            the grid ends at its edges; otherwise it is periodic\n"
          "  --algorithm NAME  nonblocking, sendrecv, persistent, or best: the quickest of them for each tile\n"
          "                    (nonblocking)\n"
          "Of calls:\n"
          "  --calls NAME,...  barrier; broadcast: each rank is the root in turn; sendrecv: to the next rank, from\n"
          "                    the one before; itself: MPI_Sendrecv of a rank with itself; alltoall: by MPI_Irecv\n"
          "                    and MPI_Isend, each with itself too; recv, probe, iprobe, test: rank 0 answers as\n"
          "                    many questions as there are other ranks (all)\n"
          "\n"
          "Data is checked once for each row. Exit codes: 0, done; 1, wrong data was received; 2, bad usage; 3, the\n"
          "system refuses memory or output.\n"
          "\n"
          "examples:\n"
          "  mpirun -n 2 node pingpong --sizes 0,8,128\n"
          "  mpirun -n 4 node halo --algorithm best --json\n",
          stdout);
}

/* Reads a whole number from `low` to `high`; its text ends at `end`. */
static int number(const char *text, const char *end, long low, long high, int *into) {
    char *stopped;
    errno = 0;
    long value = strtol(text, &stopped, 10);
    if (*text < '0' || *text > '9' || stopped != end || errno || value < low || value > high)
        return -1;
    *into = (int)value;
    return 0;
}

static int numbers(const char *text, long low, long high, number_list *into) {
    into->count = 0;
    for (;;) {
        const char *end = text + strcspn(text, ",");
        if (into->count == MAX_LIST || number(text, end, low, high, &into->at[into->count++]))
            return -1;
        if (!*end)
            return 0;
        text = end + 1;
    }
}

static int one(const char *text, long low, long high, int *into) {
    return number(text, text + strlen(text), low, high, into);
}

static int among(const char *const *names, const char *text) {
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], text))
            return i;
    return -1;
}

/* Names from a list, separated by commas, as bits. */
static int some(const char *const *names, const char *value, unsigned *into) {
    *into = 0;
    for (;;) {
        size_t length = strcspn(value, ",");
        int i = 0;
        while (names[i] && (strlen(names[i]) != length || strncmp(names[i], value, length)))
            i++;
        if (!names[i])
            return -1;
        *into |= 1U << i;
        if (!value[length])
            return 0;
        value += length + 1;
    }
}

static int parse_algorithm(options *into, const char *value) {
    int found = among(ALGORITHM_NAMES, value);
    into->algorithm = found < 0 ? NONBLOCKING : (enum algorithm)found;
    return found < 0 ? -1 : 0;
}

/* Returns 0, -1 if the value is bad, or 1 if the mode has no such option. */
static int parse_value(options *into, const char *argument, const char *value) {
    enum mode mode = into->mode;
    if (!strcmp(argument, "--samples"))
        return one(value, 1, 100000, &into->samples);
    if (!strcmp(argument, "--block"))
        return one(value, 1, 10000000, &into->block);
    if (!strcmp(argument, "--sizes") && mode != HALO)
        return numbers(value, 0, LARGEST, &into->sizes);
    if (!strcmp(argument, "--window") && (mode == BANDWIDTH || mode == RATE))
        return one(value, 1, 4096, &into->window);
    if (!strcmp(argument, "--in-flight") && mode == BANDWIDTH)
        return one(value, 0, LARGEST, &into->in_flight);
    if (!strcmp(argument, "--by") && mode == BANDWIDTH)
        return some(WAY_NAMES, value, &into->by);
    if (!strcmp(argument, "--senders") && mode == RATE)
        return numbers(value, 1, 1 << 16, &into->senders);
    if (!strcmp(argument, "--tiles") && mode == HALO)
        return numbers(value, 1, WIDEST_TILE, &into->tiles);
    if (!strcmp(argument, "--width") && mode == HALO)
        return one(value, 1, 16, &into->width);
    if (!strcmp(argument, "--algorithm") && mode == HALO)
        return parse_algorithm(into, value);
    if (!strcmp(argument, "--calls") && mode == OTHER_CALLS)
        return some(CALL_NAMES, value, &into->calls);
    return 1;
}

static void powers(number_list *into, int from, int to) {
    for (int size = from; size <= to; size *= 2)
        into->at[into->count++] = size;
}

static void defaults(options *into, enum mode mode) {
    *into = (options){.mode = mode, .samples = 21, .block = 5000, .window = 64, .in_flight = 4 << 20, .width = 1,
                      .by = BY_WINDOW | BY_PINGPONG | BY_REWRITTEN, .calls = (1U << CALLS) - 1,
                      .tiles = {10, {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}}};
    if (mode == PINGPONG) {
        into->sizes.at[into->sizes.count++] = 0;
        powers(&into->sizes, 1, 4 << 20);
    } else if (mode == BANDWIDTH) {
        powers(&into->sizes, 16 << 10, 4 << 20);
    } else if (mode == OTHER_CALLS) {
        into->sizes = (number_list){3, {8, 1024, 65536}};
    } else {
        powers(&into->sizes, 8, 8);
    }
}

/* Fills `into` from the command line. Returns 0, or -1 with a sentence in `error`. */
static int parse_options(options *into, int count, char **arguments, char *error, size_t size) {
    int mode = count > 1 ? among(MODES, arguments[1]) : -1;
    defaults(into, mode < 0 ? PINGPONG : (enum mode)mode);
    for (int i = 1; i < count; i++)
        if (!strcmp(arguments[i], "--help") || !strcmp(arguments[i], "-h"))
            into->help = 1;
    if (into->help)
        return 0;
    if (mode < 0) {
        snprintf(error, size, "`%s` is not one of: pingpong, bandwidth, rate, halo, calls; --help describes them",
                 count > 1 ? arguments[1] : "");
        return -1;
    }
    for (int i = 2; i < count; i++) {
        const char *argument = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";
        if (!strcmp(argument, "--json")) {
            into->json = 1;
        } else if (!strcmp(argument, "--open") && mode == HALO) {
            into->open = 1;
        } else if (!strcmp(argument, "--yield") && (mode == RATE || mode == HALO)) {
            into->yield = 1;
        } else {
            int bad = parse_value(into, argument, value);
            if (bad > 0)
                snprintf(error, size, "`%s` is not an argument of %s; --help lists the arguments", argument, MODES[mode]);
            else if (bad < 0 && i + 1 == count)
                snprintf(error, size, "%s needs a value; --help shows examples", argument);
            else if (bad < 0)
                snprintf(error, size, "%s does not take `%s`; --help says what it takes", argument, value);
            if (bad)
                return -1;
            i++;
        }
    }
    return 0;
}

static int ranks_fit(const session *of, char *error, size_t size) {
    const options *options = of->options;
    int most = 0, in_pairs = options->mode == PINGPONG || options->mode == BANDWIDTH;
    for (int i = 0; i < options->senders.count; i++)
        most = options->senders.at[i] > most ? options->senders.at[i] : most;
    if (in_pairs && of->ranks != 2)
        snprintf(error, size, "%s takes two ranks, not %d: mpirun -n 2 node %s", MODES[options->mode], of->ranks,
                 MODES[options->mode]);
    else if (of->ranks < 2)
        snprintf(error, size, "%s takes two ranks or more: mpirun -n 4 node %s", MODES[options->mode],
                 MODES[options->mode]);
    else if (most >= of->ranks)
        snprintf(error, size, "%d senders take %d ranks, but there are %d", most, most + 1, of->ranks);
    else
        return 0;
    return -1;
}

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

void *allocate(size_t size) {
    void *made = NULL;
    size = size ? size : 1;
    if (posix_memalign(&made, 4096, size)) {
        fprintf(stderr, "node: no memory for %zu bytes; choose smaller sizes or windows\n", size);
        MPI_Abort(MPI_COMM_WORLD, REFUSED);
    }
    memset(made, 0, size);
    return made;
}

void wrong_data(const session *of, const char *where, size_t at) {
    fprintf(stderr, "node: %s: rank %d received wrong data: byte %zu, or the length\n", where, of->rank, at);
    MPI_Abort(MPI_COMM_WORLD, WRONG_DATA);
}

double best(const samples *of) { return of->ns[0]; }

double median(const samples *of) {
    int half = of->count / 2;
    return of->count % 2 ? of->ns[half] : (of->ns[half - 1] + of->ns[half]) / 2;
}

/* The heading of a mode's table; JSON rows name everything. */
static void heading(const session *of) {
    static const char *const LINES[] = {
        "    size         ns       best\n", "by         size       GB/s       best\n",
        "senders     size     messages/s           best\n", "    tile algorithm            ns       best\n",
        "call           size         ns       best\n"};
    if (!of->options->json)
        fputs(LINES[of->options->mode], stdout);
}

void report_pingpong(const session *of, int size, const samples *samples) {
    if (of->options->json)
        printf("{\"mode\":\"pingpong\",\"size\":%d,\"ns\":%.1f,\"best\":%.1f,\"samples\":%d}\n", size, median(samples),
               best(samples), samples->count);
    else
        printf("%8d %10.1f %10.1f\n", size, median(samples), best(samples));
    fflush(stdout);
}

void report_bandwidth(const session *of, const char *by, int size, const samples *samples) {
    double middle = size / median(samples), most = size / best(samples);
    if (of->options->json)
        printf("{\"mode\":\"bandwidth\",\"by\":\"%s\",\"window\":%d,\"size\":%d,\"gb_s\":%.3f,\"best\":%.3f,"
               "\"samples\":%d}\n",
               by, of->options->window, size, middle, most, samples->count);
    else
        printf("%-8s %6d %10.2f %10.2f\n", by, size, middle, most);
    fflush(stdout);
}

void report_rate(const session *of, int senders, int size, const samples *samples) {
    double middle = 1e9 / median(samples), most = 1e9 / best(samples);
    if (of->options->json)
        printf("{\"mode\":\"rate\",\"senders\":%d,\"size\":%d,\"window\":%d,\"per_s\":%.0f,\"best\":%.0f,"
               "\"samples\":%d}\n",
               senders, size, of->options->window, middle, most, samples->count);
    else
        printf("%7d %8d %14.0f %14.0f\n", senders, size, middle, most);
    fflush(stdout);
}

void report_halo(const session *of, int tile, const char *algorithm, const samples *samples) {
    const options *options = of->options;
    if (options->json)
        printf("{\"mode\":\"halo\",\"tile\":%d,\"ranks\":%d,\"width\":%d,\"periodic\":%s,\"algorithm\":\"%s\","
               "\"ns\":%.1f,\"best\":%.1f,\"samples\":%d}\n",
               tile, of->ranks, options->width, options->open ? "false" : "true", algorithm, median(samples),
               best(samples), samples->count);
    else
        printf("%8d %-11s %10.1f %10.1f\n", tile, algorithm, median(samples), best(samples));
    fflush(stdout);
}

void report_call(const session *of, const char *call, int size, const samples *samples) {
    if (of->options->json)
        printf("{\"mode\":\"calls\",\"call\":\"%s\",\"ranks\":%d,\"size\":%d,\"ns\":%.1f,\"best\":%.1f,"
               "\"samples\":%d}\n",
               call, of->ranks, size, median(samples), best(samples), samples->count);
    else
        printf("%-9s %9d %10.1f %10.1f\n", call, size, median(samples), best(samples));
    fflush(stdout);
}

/* The only core that this process may use, or -1. */
static int only_core(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) != 1)
        return -1;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed))
            return core;
    return -1;
}

/* Prints the library's version, and where the launcher has put the ranks. */
static void report_environment(const session *of) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, core = only_core(), *cores = allocate((size_t)of->ranks * sizeof *cores);
    MPI_Gather(&core, 1, MPI_INT, cores, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (of->rank == 0) {
        MPI_Get_library_version(version, &length);
        version[strcspn(version, "\n")] = 0;
        for (char *at = version; *at; at++)
            if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
                *at = ' ';
        printf(of->options->json ? "{\"mode\":\"environment\",\"library\":\"%s\",\"cores\":[" : "%s; cores ", version);
        for (int i = 0; i < of->ranks; i++)
            printf("%s%d", i ? "," : "", cores[i]);
        printf(of->options->json ? "]}\n" : " (-1: not bound to one)\n");
        heading(of);
        fflush(stdout);
    }
    free(cores);
}

int main(int count, char **arguments) {
    static void (*const MEASURE[])(const session *) = {measure_pingpong, measure_bandwidth, measure_rate, measure_halo,
                                                   measure_calls};
    char error[400];
    options chosen;
    session self = {.options = &chosen};
    int failed;
    int bad = parse_options(&chosen, count, arguments, error, sizeof error);
    if (!bad && chosen.help) {
        help();
        return 0;
    }
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.ranks);
    if (!bad)
        bad = ranks_fit(&self, error, sizeof error);
    if (bad) {
        if (self.rank == 0)
            fprintf(stderr, "node: %s\n", error);
        MPI_Finalize();
        return BAD_USAGE;
    }
    report_environment(&self);
    MEASURE[chosen.mode](&self);
    failed = fflush(stdout) || ferror(stdout);
    MPI_Finalize();
    if (failed)
        fprintf(stderr, "node: the output cannot be written\n");
    return failed ? REFUSED : 0;
}
