/* A C++ exception that leaves one of the caller's functions ends the process, whichever function and engine it is: it
 * does not pass through a call that is in the middle of its work. */

#include "mq.h"
#include "mq_inline.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

static void shown(void *, const mq_entry *)
{
    throw 1;
}

static int thrown_at(void *, const mq_entry *)
{
    throw 2;
}

static int chosen(void *, const mq_entry *)
{
    return 1;
}

static void high(void *, uint64_t, uint64_t)
{
    throw 3;
}

static bool throws = false;

static void *allocate(void *, size_t bytes, size_t align)
{
    void *memory = nullptr;
    if (throws)
        throw 4;
    return posix_memalign(&memory, align, bytes) == 0 ? memory : nullptr;
}

static void release(void *, void *memory, size_t, size_t)
{
    if (throws)
        throw 5;
    std::free(memory);
}

static const char *const ways[] = {"mq_visit", "mq_purge, select", "mq_purge, back", "mq_context_free",
                                   "high_water", "allocate", "release"};
enum { VISIT, SELECT, BACK, FREE, HIGH, ALLOCATE, RELEASE, WAYS };

/* Makes a call one of whose functions throws. */
static void go(int way, const char *structure, uint32_t flags)
{
    mq_engine_options options = {};
    mq_engine *engine = nullptr;
    const mq_pattern pattern = {0, 1, 2, 0, 0};
    const mq_envelope envelope = {0, 3, 3, 0};
    options.structure = structure;
    options.flags = flags;
    if (way == HIGH) {
        options.high_water = high;
        options.high_unexpected = 1;
    }
    if (way == ALLOCATE || way == RELEASE) {
        const mq_allocator allocator = {allocate, release, nullptr};
        mq_allocator_set(&allocator);
    }
    if (mq_engine_new(&options, &engine) != MQ_NONE || mq_context_create(engine, 0, nullptr) != MQ_NONE)
        std::_Exit(2);
    if (mq_post(engine, &pattern, nullptr, nullptr, nullptr, nullptr) != MQ_NONE)
        std::_Exit(2);
    throws = true;
    switch (way) {
    case VISIT:
        mq_visit(engine, shown, nullptr);
        break;
    case SELECT:
        mq_purge(engine, thrown_at, nullptr, nullptr);
        break;
    case BACK:
        mq_purge(engine, chosen, shown, nullptr);
        break;
    case FREE:
        mq_context_free(engine, 0, shown, nullptr);
        break;
    case HIGH:
        mq_inline_arrive(engine, &envelope, 0, nullptr, nullptr);
        break;
    case ALLOCATE:
        mq_context_create(engine, 1, nullptr);
        break;
    default:
        mq_engine_free(engine);
    }
}

/* The signal that ends a child which does that, or 0. */
static int signal_of(int way, const char *structure, uint32_t flags)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        /* What is said at the end is not for the log of a test that passes. */
        if (std::freopen("/dev/null", "w", stderr) == nullptr)
            std::_Exit(2);
        try {
            go(way, structure, flags);
        } catch (...) {
            std::_Exit(3);
        }
        std::_Exit(4);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        std::perror("a child");
        std::exit(1);
    }
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int main()
{
    static const char *const structures[] = {nullptr, "list"};
    static const uint32_t flags[] = {0, MQ_NO_FRONT, MQ_LOCKED, MQ_STATISTICS};
    int failed = 0, tried = 0;
    for (int way = 0; way < WAYS; way++)
        for (const char *structure : structures)
            for (uint32_t flag : flags) {
                const int signal = signal_of(way, structure, flag);
                tried++;
                if (signal == SIGABRT)
                    continue;
                failed++;
                std::printf("throws.cpp: %s, %s, flags %u: signal %d\n", ways[way],
                            structure ? structure : "the default structure", flag, signal);
            }
    std::printf("%d of %d exceptions ended the process\n", tried - failed, tried);
    return failed != 0;
}
