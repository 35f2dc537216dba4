/* The limits of the hardware on one node, without any library: the time of a cache line from one core to another, the
 * speed of libc's memcpy, and that of the kernel's copy from another process. `line --help`; README.md explains
 * the rows. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* LINE is the space of one word: two lines, since some processors fetch lines in pairs. */
enum { LINE = 128, LEAST_COPY = 16 << 10, MOST_COPY = 16 << 20, MAX_SAMPLES = 10000 };
enum { LINE_MODE = 1, MEMCPY_MODE = 2, KERNEL_MODE = 4 };

typedef struct options {
    int cores[2];
    int samples;
    int rounds;
    int window;
    int in_flight;
    int work;
    unsigned modes;
    int json;
} options;

/* In shared memory. `words[0]` and `words[1]` are on lines of their own. */
typedef struct shared {
    struct {
        uint64_t value;
        char rest[LINE - sizeof(uint64_t)];
    } words[2];
    char buffer[MOST_COPY];
} shared;

static void help(void) {
    fputs("usage: line [OPTION...]\n"
          "\n"
          "Times the ping-pong of one cache line between two processes on two cores (ns one way; `lines 1`: both\n"
          "write the same line; `lines 2`: one line for each direction), and memcpy from 16 KiB to 16 MiB (GB/s;\n"
          "`own`: from a source in the caches of the copying core, to one place; `turns`: the same, to as many\n"
          "places in turn as a window of messages has; `other`: from a source that another core just wrote;\n"
          "`kernel`: by process_vm_readv from the process on the other core, a call for each copy, where the system\n"
          "allows it).\n"
          "\n"
          "  --only NAME,...  line, memcpy, kernel (all)\n"
          "  --cores A,B      (the first two that this process may use)\n"
          "  --samples N      samples per row (51)\n"
          "  --rounds N       round trips of one sample, 100 or more (10000)\n"
          "  --work N         dependent multiplications between seeing the line and answering (0):\n"
          "                   a program that reads and writes messages takes some time there, too\n"
          "  --window N       most places of `turns` (64)\n"
          "  --in-flight BYTES  total bytes of these places; at least two are used (4194304)\n"
          "  --json           one JSON object per line\n"
          "  --help           this text\n"
          "\n"
          "exit codes: 0, done; 2, bad usage, or fewer than two cores; 3, the system refuses something\n",
          stdout);
}

static void fail(int code, const char *what, const char *why) {
    fprintf(stderr, "line: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    exit(code);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int whole(const char *text, const char *end, long low, long high, int *into) {
    char *stopped;
    errno = 0;
    long value = strtol(text, &stopped, 10);
    if (*text < '0' || *text > '9' || stopped != end || errno || value < low || value > high)
        return -1;
    *into = (int)value;
    return 0;
}

static int parse_modes(options *into, const char *value) {
    static const char *const names[] = {"line", "memcpy", "kernel"};
    into->modes = 0;
    for (;;) {
        size_t length = strcspn(value, ",");
        unsigned found = 0;
        for (unsigned mode = 0; mode < 3; mode++)
            if (length == strlen(names[mode]) && !strncmp(value, names[mode], length))
                found = 1u << mode;
        if (!found)
            return -1;
        into->modes |= found;
        if (!value[length])
            return 0;
        value += length + 1;
    }
}

static void parse_value(options *into, const char *argument, const char *value) {
    const char *end = value + strlen(value), *comma = strchr(value, ',');
    int bad = 0;
    if (!strcmp(argument, "--samples"))
        bad = whole(value, end, 1, MAX_SAMPLES, &into->samples);
    else if (!strcmp(argument, "--rounds"))
        bad = whole(value, end, 100, 100000000, &into->rounds);
    else if (!strcmp(argument, "--work"))
        bad = whole(value, end, 0, 100000, &into->work);
    else if (!strcmp(argument, "--window"))
        bad = whole(value, end, 1, 1 << 20, &into->window);
    else if (!strcmp(argument, "--in-flight"))
        bad = whole(value, end, 0, 1 << 30, &into->in_flight);
    else if (!strcmp(argument, "--cores"))
        bad = !comma || whole(value, comma, 0, CPU_SETSIZE - 1, &into->cores[0]) ||
              whole(comma + 1, end, 0, CPU_SETSIZE - 1, &into->cores[1]) || into->cores[0] == into->cores[1];
    else
        bad = parse_modes(into, value);
    if (bad) {
        fprintf(stderr, "line: %s does not take `%s`; --help says what it takes\n", argument, value);
        exit(2);
    }
}

static void parse_options(options *into, int count, char **arguments) {
    *into = (options){.cores = {-1, -1}, .samples = 51, .rounds = 10000, .window = 64, .in_flight = 4 << 20,
                      .modes = LINE_MODE | MEMCPY_MODE | KERNEL_MODE};
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
            help();
            exit(0);
        } else if (!strcmp(argument, "--json")) {
            into->json = 1;
        } else if (strcmp(argument, "--only") && strcmp(argument, "--cores") && strcmp(argument, "--samples") &&
                   strcmp(argument, "--rounds") && strcmp(argument, "--work") && strcmp(argument, "--window") &&
                   strcmp(argument, "--in-flight")) {
            fprintf(stderr, "line: unknown argument `%s`; --help lists the arguments\n", argument);
            exit(2);
        } else if (i + 1 == count) {
            fail(2, argument, "needs a value");
        } else {
            parse_value(into, argument, arguments[++i]);
        }
    }
}

static void choose_cores(options *into) {
    cpu_set_t allowed;
    int found = 0;
    if (into->cores[0] >= 0)
        return;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        fail(3, "sched_getaffinity", strerror(errno));
    for (int core = 0; core < CPU_SETSIZE && found < 2; core++)
        if (CPU_ISSET(core, &allowed))
            into->cores[found++] = core;
    if (found < 2)
        fail(2, "two cores are needed, but this process may use only one", NULL);
}

static void pin(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one)) {
        fprintf(stderr, "line: core %d cannot be used: %s\n", core, strerror(errno));
        exit(2);
    }
}

/* Without the other process this one would wait forever. */
static void on_child(int signal) {
    static const char lost[] = "line: the process on the other core failed\n";
    siginfo_t info = {0};
    (void)signal;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid ||
        (info.si_code == CLD_EXITED && info.si_status == 0))
        return;
    if (write(STDERR_FILENO, lost, sizeof lost - 1) < 0)
        _exit(3);
    _exit(3);
}

static uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

static uint64_t await(const uint64_t *word, uint64_t value) {
    uint64_t seen;
    while ((seen = load(word)) != value) {
    }
    return seen;
}

/* The number after one that has come, after this many dependent multiplications. */
static uint64_t answer(uint64_t seen, int work) {
    uint64_t known = seen;
    __asm__ volatile("" : "+r"(seen)); /* otherwise the compiler knows that the difference is 0 */
    uint64_t none = seen - known;
    for (int i = 0; i < work; i++) {
        none *= 0x9e3779b97f4a7c15u;
        __asm__ volatile("" : "+r"(none));
    }
    return known + none + 1;
}

/* `in` is read and `out` written; with one line they are the same word. The first side to write passes 0 in
 * `first`. Values increase by one from side to side. */
static void bounce(const uint64_t *in, uint64_t *out, uint64_t first, int rounds, int work) {
    uint64_t seen = 0;
    for (uint64_t turn = 0; turn < (uint64_t)rounds; turn++) {
        if (first == 0) {
            store(out, answer(seen, work));
            seen = await(in, 2 * turn + 2);
        } else {
            seen = await(in, 2 * turn + 1);
            store(out, answer(seen, work));
        }
    }
}

/* Starts the process on the other core. It never returns from `work`, and does not outlive this one. */
static pid_t start(const options *options, shared *memory, int lines, void (*work)(const struct options *, shared *, int)) {
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        fail(3, "fork", strerror(errno));
    if (child == 0) {
        signal(SIGCHLD, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(3);
        pin(options->cores[1]);
        work(options, memory, lines);
        _exit(0);
    }
    return child;
}

static void finish(pid_t child) {
    int status;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status))
        fail(3, "the process on the other core failed", NULL);
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *samples, int count) {
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    return count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
}

/* A sample; both sides synchronise before it, so that neither is late. */
static void one_bounce(const options *options, shared *memory, int lines, uint64_t side, double *sample) {
    uint64_t *mine = &memory->words[lines == 2 ? side : 0].value;
    uint64_t *other = &memory->words[lines == 2 ? 1 - side : 0].value;
    uint64_t skip = 64;
    if (side == 0) {
        store(mine, 0);
        bounce(other, mine, 0, (int)skip, options->work);
        double begin = now();
        /* The words go on from 2 * skip: restart both, this side's turn. */
        store(mine, 0);
        bounce(other, mine, 0, options->rounds, options->work);
        *sample = (now() - begin) / (2.0 * options->rounds);
    } else {
        bounce(other, mine, 1, (int)skip, options->work);
        bounce(other, mine, 1, options->rounds, options->work);
    }
}

static void bounce_back(const options *options, shared *memory, int lines) {
    double ignored;
    for (int sample = 0; sample <= options->samples; sample++)
        one_bounce(options, memory, lines, 1, &ignored);
}

static void measure_line(const options *options, shared *memory, int lines, double *samples) {
    memset(memory, 0, sizeof memory->words);
    pid_t child = start(options, memory, lines, bounce_back);
    for (int sample = 0; sample <= options->samples; sample++) /* the first one warms up */
        one_bounce(options, memory, lines, 0, &samples[sample ? sample - 1 : 0]);
    finish(child);
    double middle = median(samples, options->samples);
    if (options->json)
        printf("{\"mode\":\"line\",\"lines\":%d,\"ns\":%.1f,\"best\":%.1f,\"samples\":%d}\n", lines, middle,
               samples[0], options->samples);
    else
        printf("line    lines %d         %10.1f ns   best %10.1f\n", lines, middle, samples[0]);
}

/* Writes a piece of the buffer when given its size; word 0 is the order, word 1 the acknowledgement. */
static void write_pieces(const options *options, shared *memory, int unused) {
    (void)options;
    (void)unused;
    for (uint64_t turn = 1;; turn++) {
        uint64_t order;
        while ((order = load(&memory->words[0].value)) >> 32 != turn) {
        }
        if ((uint32_t)order == 0)
            return;
        memset(memory->buffer, (int)turn, (uint32_t)order);
        store(&memory->words[1].value, turn);
    }
}

/* The compiler must neither leave out a copy nor move it over the clock. */
static void copy(char *to, const char *from, size_t size) {
    memcpy(to, from, size);
    __asm__ volatile("" : : "r"(to) : "memory");
}

static void report_copy(const options *options, const char *source, int size, double *samples) {
    double middle = median(samples, options->samples);
    if (options->json)
        printf("{\"mode\":\"memcpy\",\"source\":\"%s\",\"size\":%d,\"gb_s\":%.3f,\"best\":%.3f,\"samples\":%d}\n", source,
               size, size / middle, size / samples[0], options->samples);
    else
        printf("memcpy  %-6s %8d %10.2f GB/s best %10.2f\n", source, size, size / middle, size / samples[0]);
}

/* As many as the receives that are posted at a time in `bandwidth`: see node.c and modes.c. */
static int places_of(const options *options, int size) {
    int places = options->in_flight / size < 2 ? 2 : options->in_flight / size;
    return places < options->window ? places : options->window;
}

static void copy_own(const options *options, shared *memory, char *to, int in_turns, double *samples) {
    for (int size = LEAST_COPY; size <= MOST_COPY; size *= 2) {
        int rounds = size < MOST_COPY / 4 ? 2 * MOST_COPY / size : 8;
        int places = in_turns ? places_of(options, size) : 1, turn = 0;
        for (int sample = -1; sample < options->samples; sample++) {
            double begin = now();
            for (int i = 0; i < rounds; i++) {
                copy(to + (size_t)turn * (size_t)size, memory->buffer, (size_t)size);
                turn = turn + 1 < places ? turn + 1 : 0;
            }
            samples[sample < 0 ? 0 : sample] = (now() - begin) / rounds;
        }
        report_copy(options, in_turns ? "turns" : "own", size, samples);
    }
}

static void copy_other(const options *options, shared *memory, char *to, double *samples) {
    uint64_t turn = 0;
    memset(memory->words, 0, sizeof memory->words);
    pid_t child = start(options, memory, 0, write_pieces);
    for (int size = LEAST_COPY; size <= MOST_COPY; size *= 2) {
        for (int sample = -1; sample < options->samples; sample++) {
            store(&memory->words[0].value, ++turn << 32 | (uint64_t)size);
            await(&memory->words[1].value, turn);
            double begin = now();
            copy(to, memory->buffer, (size_t)size);
            samples[sample < 0 ? 0 : sample] = now() - begin;
            if (to[size - 1] != (char)turn)
                fail(3, "a copy is not what the other core wrote", NULL);
        }
        report_copy(options, "other", size, samples);
    }
    store(&memory->words[0].value, ++turn << 32);
    finish(child);
}

/* The least cost of reading a message from its sender's memory. The other process waits for orders meanwhile. */
static void copy_kernel(const options *options, shared *memory, char *to, double *samples) {
    memset(memory->words, 0, sizeof memory->words);
    memset(memory->buffer, 3, sizeof memory->buffer);
    pid_t child = start(options, memory, 0, write_pieces);
    for (int size = LEAST_COPY; size <= MOST_COPY; size *= 2) {
        struct iovec into = {to, (size_t)size}, from = {memory->buffer, (size_t)size};
        int rounds = size < MOST_COPY / 4 ? MOST_COPY / 4 / size : 1;
        for (int sample = -1; sample < options->samples; sample++) {
            double begin = now();
            for (int i = 0; i < rounds; i++) {
                ssize_t copied = process_vm_readv(child, &into, 1, &from, 1, 0);
                if (copied < 0) {
                    fprintf(stderr, "line: no rows `kernel`: process_vm_readv: %s\n", strerror(errno));
                    goto over;
                }
                if (copied != size)
                    fail(3, "process_vm_readv", "copied less than asked for");
            }
            samples[sample < 0 ? 0 : sample] = (now() - begin) / rounds;
        }
        if (to[size - 1] != 3)
            fail(3, "a copy is not what the other process has", NULL);
        report_copy(options, "kernel", size, samples);
    }
over:
    store(&memory->words[0].value, UINT64_C(1) << 32);
    finish(child);
}

int main(int count, char **arguments) {
    options options;
    char *to;
    parse_options(&options, count, arguments);
    choose_cores(&options);
    signal(SIGCHLD, on_child);
    pin(options.cores[1]); /* checks that it can be used; the child stays there */
    pin(options.cores[0]);
    shared *memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    size_t room = (size_t)(options.in_flight > 2 * MOST_COPY ? options.in_flight : 2 * MOST_COPY);
    double *samples = calloc((size_t)options.samples, sizeof *samples);
    if (memory == MAP_FAILED || !samples || posix_memalign((void **)&to, 4096, room))
        fail(3, "no memory", NULL);
    memset(memory->buffer, 1, sizeof memory->buffer);
    memset(to, 2, room);
    if (!options.json)
        printf("cores %d and %d\n", options.cores[0], options.cores[1]);
    fflush(stdout); /* otherwise the children print it again */
    for (int lines = 1; lines <= 2 && (options.modes & LINE_MODE); lines++) {
        measure_line(&options, memory, lines, samples);
        fflush(stdout);
    }
    if (options.modes & MEMCPY_MODE) {
        copy_own(&options, memory, to, 0, samples);
        copy_own(&options, memory, to, 1, samples);
        fflush(stdout);
        copy_other(&options, memory, to, samples);
        fflush(stdout);
    }
    if (options.modes & KERNEL_MODE)
        copy_kernel(&options, memory, to, samples);
    if (fflush(stdout) || ferror(stdout))
        fail(3, "the output cannot be written", NULL);
    free(samples);
    free(to);
    return 0;
}
