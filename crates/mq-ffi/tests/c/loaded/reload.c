/* A component of an MPI library that is loaded, used and unloaded, again and again: libmq goes with it, and is as good
 * as new the next time. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mq.h"

#define ROUNDS 3
#define RECEIVES 3000 /* deep queues */

static void fail(const char *what)
{
    fprintf(stderr, "reload: %s\n", what);
    _Exit(1);
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail(dlerror());
    return found;
}

/* What a library could change in the process that loads it. */
struct process {
    int threads;
    void (*handlers[NSIG])(int);
    int flags[NSIG];
};

static void look(struct process *process)
{
    memset(process, 0, sizeof *process);
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        fail("no /proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));)
        process->threads += task->d_name[0] != '.';
    closedir(tasks);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        /* Some numbers are the C library's own. */
        if (sigaction(number, NULL, &action) == 0) {
            process->handlers[number] = action.sa_handler;
            process->flags[number] = action.sa_flags;
        }
    }
}

static void check_unchanged(const struct process *before)
{
    struct process now;
    look(&now);
    if (now.threads != before->threads)
        fail("the library started a thread");
    if (memcmp(&now, before, sizeof now))
        fail("the library changed what a signal does");
}

/* Removes a folder of files and returns how many there were. */
static int clear_away(const char *folder)
{
    DIR *files = opendir(folder);
    if (!files)
        fail("no folder");
    int count = 0;
    for (struct dirent *file; (file = readdir(files));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        count += file->d_name[0] != '.' && unlink(path) == 0;
    }
    closedir(files);
    rmdir(folder);
    return count;
}

/* A function of the library: what dlsym gives is an object's address, which ISO C does not turn into a function's. */
#define FUNCTION(name) \
    __typeof__(&mq_##name) name; \
    void *name##_found = symbol(library, "mq_" #name); \
    memcpy(&name, &name##_found, sizeof name)

static void *use(void *library)
{
    FUNCTION(session_open);
    FUNCTION(session_close);
    FUNCTION(engine_new);
    FUNCTION(engine_free);
    FUNCTION(context_create);
    FUNCTION(post);
    FUNCTION(arrive);
    struct process before;
    look(&before);
    char traces[] = "/tmp/mq-reload-XXXXXX";
    if (!mkdtemp(traces))
        fail("no folder for traces");
    mq_session_options wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.library = "reload";
    wanted.rank = 1; /* the first tells of its trace */
    wanted.trace = traces;
    mq_session *session;
    if (session_open(&wanted, &session) != MQ_NONE)
        fail("no session");
    mq_engine_options options;
    memset(&options, 0, sizeof options);
    options.session = session;
    mq_engine *engine;
    if (engine_new(&options, &engine) != MQ_NONE || context_create(engine, 1, NULL) != MQ_NONE)
        fail("no engine");
    static char receives[RECEIVES];
    for (int i = 0; i < RECEIVES; i++) {
        mq_pattern pattern = {.context = 1, .source = i, .tag = 7};
        if (post(engine, &pattern, &receives[i], NULL, NULL, NULL) != MQ_NONE)
            fail("a receive was not queued");
    }
    /* Some stay, for the engine to free. */
    for (int i = RECEIVES - 1; i > 10; i--) {
        mq_envelope envelope = {.context = 1, .source = i, .tag = 7};
        void *receive = NULL;
        if (arrive(engine, &envelope, 0, NULL, &receive) != MQ_MATCHED || receive != &receives[i])
            fail("a message found another receive");
    }
    check_unchanged(&before);
    if (engine_free(engine) != MQ_NONE || session_close(session) != MQ_NONE)
        fail("not freed");
    check_unchanged(&before);
    if (clear_away(traces) != 1)
        fail("no trace");
    return NULL;
}

/* A locked engine in use by one thread, for which another waits: what a lock keeps for a thread that has waited must not
 * keep the library. */
static int inside;
static int calls;

/* Whether this process's first thread sleeps. */
static int sleeps(void)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)getpid());
    FILE *stat = fopen(path, "r");
    if (!stat || !fgets(line, sizeof line, stat))
        fail("the state of a thread is not known");
    fclose(stat);
    const char *name_ends = strrchr(line, ')');
    return name_ends && name_ends[1] == ' ' && name_ends[2] == 'S';
}

static void stay(void *user, const mq_entry *entry)
{
    (void)user;
    (void)entry;
    __atomic_store_n(&inside, 1, __ATOMIC_RELEASE);
    for (int looks = 0; !__atomic_load_n(&calls, __ATOMIC_ACQUIRE) || !sleeps(); looks++) {
        if (looks == 10000)
            fail("a thread does not wait for the lock");
        usleep(1000);
    }
}

struct shared {
    void *library;
    mq_engine *engine;
};

static void *hold(void *argument)
{
    struct shared *shared = argument;
    void *library = shared->library;
    FUNCTION(visit);
    if (visit(shared->engine, stay, NULL) != MQ_NONE)
        fail("nothing was shown");
    return NULL;
}

static void wait_for_the_lock(void *library)
{
    FUNCTION(engine_new);
    FUNCTION(engine_free);
    FUNCTION(context_create);
    FUNCTION(post);
    FUNCTION(lengths);
    mq_engine_options options;
    memset(&options, 0, sizeof options);
    options.flags = MQ_LOCKED;
    struct shared shared = {library, NULL};
    if (engine_new(&options, &shared.engine) != MQ_NONE || context_create(shared.engine, 1, NULL) != MQ_NONE)
        fail("no locked engine");
    mq_pattern pattern = {.context = 1, .source = 0, .tag = 7};
    if (post(shared.engine, &pattern, &shared, NULL, NULL, NULL) != MQ_NONE)
        fail("a receive was not queued");
    __atomic_store_n(&inside, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&calls, 0, __ATOMIC_RELAXED);
    pthread_t thread;
    if (pthread_create(&thread, NULL, hold, &shared))
        fail("no thread");
    while (!__atomic_load_n(&inside, __ATOMIC_ACQUIRE))
        usleep(100);
    uint64_t posted = 0;
    __atomic_store_n(&calls, 1, __ATOMIC_RELEASE);
    if (lengths(shared.engine, &posted, NULL) != MQ_NONE || posted != 1)
        fail("no length after the lock");
    if (pthread_join(thread, NULL) || engine_free(shared.engine) != MQ_NONE)
        fail("a locked engine was not freed");
}

static int is_loaded(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps)
        fail("no /proc/self/maps");
    char line[4096];
    int found = 0;
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, "libmq.so") != NULL;
    fclose(maps);
    return found;
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        void *library = dlopen("libmq.so", RTLD_NOW | RTLD_LOCAL);
        if (!library)
            fail(dlerror());
        use(library);
        pthread_t thread;
        if (pthread_create(&thread, NULL, use, library) || pthread_join(thread, NULL))
            fail("no thread");
        wait_for_the_lock(library);
        if (!is_loaded())
            fail("the library was linked otherwise");
        if (dlclose(library) || is_loaded())
            fail("the library stays loaded");
    }
    puts("reload: ok");
    return 0;
}
