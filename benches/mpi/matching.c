/* A benchmark of message matching at the MPI level: `mpirun -n 2 matching --help`.
 *
 * main and its output; the measurements are in queues.c and traffic.c, and explained in README.md. */
#define _POSIX_C_SOURCE 200112L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "matching.h"

enum { DEEPEST = 1000000, LARGEST = 1 << 30 };

typedef struct name {
    const char *text;
    unsigned bit;
} name;

static const name MEASUREMENTS[] = {
    {"posted", POSTED}, {"unexpected", UNEXPECTED}, {"pingpong", PINGPONG}, {"rate", RATE}, {NULL, 0}};
static const name ORDERS[] = {{"forward", FORWARD}, {"reverse", REVERSE},       {"by-source", BY_SOURCE},
                              {"by-tag", BY_TAG},   {"any-source", ANY_SOURCE}, {NULL, 0}};

static void help(void) {
    fputs("usage: mpirun -n RANKS matching [OPTION...]\n"
          "\n"
          "Times message matching through MPI calls. Rank 0 receives, rank 1 sends; further ranks send in\n"
          "the order by-source only.\n"
          "\n"
          "  --only NAME,...      posted, unexpected, pingpong, rate (all)\n"
          "  --orders NAME,...    forward, reverse, by-source, by-tag, any-source (all)\n"
          "  --depths N,...       entries in the queue besides the one that is taken first\n"
          "                       (0,1,4,16,64,256,1024,4096,16384)\n"
          "  --sizes BYTES,...    message sizes of the ping-pong (0,8,128,1024,8192,65536)\n"
          "  --depth N            receives queued ahead in the ping-pong (0)\n"
          "  --repetitions N      samples per row (51)\n"
          "  --warmup N           repetitions before the first sample (3)\n"
          "  --budget SECONDS     timed part of the drains of one depth and order; repetitions end after\n"
          "                       ten times that, but not before the fifth (0.5)\n"
          "  --json               one JSON object per line, with all samples\n"
          "  --help               this text\n"
          "\n"
          "examples:\n"
          "  mpirun -n 2 matching --only posted --orders forward,reverse --depths 0,1024,16384\n"
          "  mpirun -n 8 matching --only unexpected --orders by-source --json\n"
          "  mpirun -n 2 matching --only pingpong --sizes 0,8 --depth 256\n",
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

/* Walks through "a,b,c": sets [*item, *end) to the next one, 0 when there is none left. */
static int next_item(const char **rest, const char **item, const char **end) {
    if (!*rest)
        return 0;
    *item = *rest;
    *end = *item + strcspn(*item, ",");
    *rest = **end ? *end + 1 : NULL;
    return 1;
}

static int parse_numbers(const char *argument, const char *text, int high, number_list *into, char *error,
                         size_t size) {
    const char *item, *end;
    into->count = 0;
    while (next_item(&text, &item, &end)) {
        if (into->count == MAX_LIST) {
            snprintf(error, size, "%s takes at most %d numbers", argument, MAX_LIST);
            return -1;
        }
        if (number(item, end, 0, high, &into->at[into->count++])) {
            snprintf(error, size, "%s: `%.*s` is not a whole number from 0 to %d", argument,
                     (int)(end - item), item, high);
            return -1;
        }
    }
    return 0;
}

static int parse_names(const char *argument, const char *text, const name *known, unsigned *into,
                       char *error, size_t size) {
    const char *item, *end;
    *into = 0;
    while (next_item(&text, &item, &end)) {
        size_t length = (size_t)(end - item);
        const name *found = known;
        while (found->text && (strlen(found->text) != length || strncmp(found->text, item, length)))
            found++;
        if (!found->text) {
            int used = snprintf(error, size, "%s: `%.*s` is not one of", argument, (int)length, item);
            for (found = known; found->text && used > 0 && (size_t)used < size; found++)
                used += snprintf(error + used, size - (size_t)used, "%s %s", found == known ? "" : ",",
                                 found->text);
            return -1;
        }
        *into |= found->bit;
    }
    return 0;
}

static int parse_count(const char *argument, const char *text, int low, int high, int *into, char *error,
                       size_t size) {
    if (number(text, text + strlen(text), low, high, into)) {
        snprintf(error, size, "%s: `%s` is not a whole number from %d to %d", argument, text, low, high);
        return -1;
    }
    return 0;
}

static int parse_seconds(const char *argument, const char *text, double *into, char *error, size_t size) {
    char *end;
    *into = strtod(text, &end);
    if (end == text || *end || !(*into > 0 && *into <= 3600)) {
        snprintf(error, size, "%s: `%s` is not a number of seconds above 0 and up to 3600", argument, text);
        return -1;
    }
    return 0;
}

static int parse_value(options *into, const char *argument, const char *value, char *error, size_t size) {
    if (!strcmp(argument, "--depths"))
        return parse_numbers(argument, value, DEEPEST, &into->depths, error, size);
    if (!strcmp(argument, "--sizes"))
        return parse_numbers(argument, value, LARGEST, &into->sizes, error, size);
    if (!strcmp(argument, "--only"))
        return parse_names(argument, value, MEASUREMENTS, &into->only, error, size);
    if (!strcmp(argument, "--orders"))
        return parse_names(argument, value, ORDERS, &into->orders, error, size);
    if (!strcmp(argument, "--repetitions"))
        return parse_count(argument, value, 1, 1000000, &into->repetitions, error, size);
    if (!strcmp(argument, "--warmup"))
        return parse_count(argument, value, 0, 1000000, &into->warmup, error, size);
    if (!strcmp(argument, "--depth"))
        return parse_count(argument, value, 0, DEEPEST, &into->depth, error, size);
    return parse_seconds(argument, value, &into->budget, error, size);
}

static int takes_value(const char *argument) {
    static const char *const WITH_VALUE[] = {"--depths", "--sizes",  "--only",   "--orders", "--repetitions",
                                             "--warmup", "--depth", "--budget", NULL};
    for (const char *const *known = WITH_VALUE; *known; known++)
        if (!strcmp(argument, *known))
            return 1;
    return 0;
}

/* Fills `into` from the command line. Returns 0, or -1 with a sentence in `error` that names the argument. */
static int parse_options(options *into, int count, char **arguments, char *error, size_t size) {
    *into = (options){
        .depths = {9, {0, 1, 4, 16, 64, 256, 1024, 4096, 16384}},
        .sizes = {6, {0, 8, 128, 1024, 8192, 65536}},
        .repetitions = 51,
        .warmup = 3,
        .budget = 0.5,
        .only = POSTED | UNEXPECTED | PINGPONG | RATE,
        .orders = FORWARD | REVERSE | BY_SOURCE | BY_TAG | ANY_SOURCE,
    };
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
            into->help = 1;
        } else if (!strcmp(argument, "--json")) {
            into->json = 1;
        } else if (!takes_value(argument)) {
            snprintf(error, size, "unknown argument `%s`; --help lists the arguments", argument);
            return -1;
        } else if (i + 1 == count) {
            snprintf(error, size, "%s needs a value; --help shows examples", argument);
            return -1;
        } else if (parse_value(into, argument, arguments[++i], error, size)) {
            return -1;
        }
    }
    return 0;
}

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

void *allocate(size_t count, size_t size) {
    void *made = calloc(count ? count : 1, size);
    if (!made) {
        fprintf(stderr, "matching: no memory for %zu times %zu bytes; choose smaller --depths or --sizes\n",
                count, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return made;
}

/* With statuses, because compilers warn about MPI_STATUSES_IGNORE if it is a null pointer of array type. */
void wait_all(int count, MPI_Request *requests) {
    MPI_Status statuses[BATCH];
    for (int done = 0; done < count; done += BATCH)
        MPI_Waitall(count - done < BATCH ? count - done : BATCH, requests + done, statuses);
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(const double *sorted, int count) {
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void row_as_json(const session *of, const row *what) {
    printf("{\"measurement\":\"%s\",\"case\":\"%s\",\"what\":\"%s\",\"depth\":%d,\"bytes\":%d,\"ranks\":%d,"
           "\"messages\":%d,\"complete\":%s,\"best_ns\":%.1f,\"median_ns\":%.1f,\"samples_ns\":[",
           what->measurement, what->variant, what->what, what->depth, what->bytes, of->ranks, what->messages,
           what->complete ? "true" : "false", what->samples[0], median(what->samples, what->count));
    for (int i = 0; i < what->count; i++)
        printf("%s%.1f", i ? "," : "", what->samples[i]);
    printf("]}\n");
}

void report_row(const session *of, row *what) {
    qsort(what->samples, (size_t)what->count, sizeof *what->samples, ascending);
    if (of->options->json)
        row_as_json(of, what);
    else
        printf("%-11s %-10s %-11s %6d %7d %12.1f %12.1f%c %7d\n", what->measurement, what->variant,
               what->what, what->depth, what->bytes, what->samples[0], median(what->samples, what->count),
               what->complete ? ' ' : '*', what->count);
    fflush(stdout);
}

/* What one reading of the clock adds to a sample. */
static double clock_cost(void) {
    enum { READINGS = 10000 };
    double start = now(), end = start;
    for (int i = 0; i < READINGS; i++)
        end = now();
    return (end - start) / READINGS;
}

static void report_environment(const session *of) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = 0;
    for (char *at = version; *at; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
            *at = ' ';
    if (of->options->json) {
        printf("{\"measurement\":\"environment\",\"library\":\"%s\",\"ranks\":%d,\"clock_ns\":%.1f}\n",
               version, of->ranks, clock_cost());
    } else {
        printf("%s; %d ranks; a reading of the clock takes %.1f ns\n", version, of->ranks, clock_cost());
        printf("%-11s %-10s %-11s %6s %7s %12s %12s  %7s\n", "measurement", "case", "what", "depth", "bytes",
               "best ns", "median ns", "samples");
    }
    fflush(stdout);
}

/* Rank 0 lets the others go on to the next measurement. Those without work in it return here immediately
 * and sleep: they take no processor from the others, and send nothing that would be queued. */
static void go_on(const session *of) {
    const struct timespec pause = {0, 100000};
    MPI_Request request;
    int done = 0;
    for (int rank = 1; of->rank == 0 && rank < of->ranks; rank++)
        MPI_Send(NULL, 0, MPI_INT, rank, GO_ON_TAG, of->control);
    if (of->rank == 0)
        return;
    MPI_Irecv(NULL, 0, MPI_INT, 0, GO_ON_TAG, of->control, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        nanosleep(&pause, NULL);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static void measure_queues(const session *of, const name *order, enum measurement which) {
    const number_list *depths = &of->options->depths;
    for (int i = 0; i < depths->count && (of->options->only & which); i++) {
        measure_queue(of, which, (enum order)order->bit, order->text, depths->at[i]);
        go_on(of);
    }
}

static void measure_pingpongs(const session *of) {
    for (int preposted = 0; preposted < 2; preposted++)
        for (int i = 0; i < of->options->sizes.count; i++) {
            measure_pingpong(of, preposted, of->options->sizes.at[i]);
            go_on(of);
        }
}

/* The long queues come last, so that what they leave in the library's pools does not disturb the rest. */
static void measure(const session *of) {
    if (of->rank == 0)
        report_environment(of);
    go_on(of);
    if (of->options->only & PINGPONG)
        measure_pingpongs(of);
    if (of->options->only & RATE) {
        measure_rate(of);
        go_on(of);
    }
    for (const name *order = ORDERS; order->text; order++)
        if (of->options->orders & order->bit) {
            measure_queues(of, order, POSTED);
            measure_queues(of, order, UNEXPECTED);
        }
}

/* Entries are distinguished by their tags; the library says how many tags there are. */
static int depths_fit(const options *chosen, char *error, size_t size) {
    int *highest, known, deepest = 0;
    const char *argument = "--depths";
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &known);
    for (int i = 0; i < chosen->depths.count; i++)
        if (chosen->depths.at[i] > deepest)
            deepest = chosen->depths.at[i];
    if (chosen->depth > deepest) {
        argument = "--depth";
        deepest = chosen->depth;
    }
    if (known && deepest > *highest) {
        snprintf(error, size, "%s: %d needs as many tags, and this MPI library has tags up to %d", argument,
                 deepest, *highest);
        return -1;
    }
    return 0;
}

int main(int count, char **arguments) {
    char error[400];
    options chosen;
    session self = {.options = &chosen};
    int bad = parse_options(&chosen, count, arguments, error, sizeof error);
    if (!bad && chosen.help) {
        help();
        return 0;
    }
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.ranks);
    if (!bad && self.ranks < 2) {
        snprintf(error, sizeof error, "needs two ranks or more: mpirun -n 2 matching");
        bad = -1;
    }
    if (!bad)
        bad = depths_fit(&chosen, error, sizeof error);
    if (bad) {
        if (self.rank == 0)
            fprintf(stderr, "matching: %s\n", error);
        MPI_Finalize();
        return 2;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &self.measured);
    MPI_Comm_dup(MPI_COMM_WORLD, &self.control);
    measure(&self);
    MPI_Comm_free(&self.control);
    MPI_Comm_free(&self.measured);
    MPI_Finalize();
    return 0;
}
