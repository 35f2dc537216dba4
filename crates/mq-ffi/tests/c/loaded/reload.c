/* A component of an MPI library that is loaded, used and unloaded, again and again: libmq goes with it, and is as good
 * as new the next time. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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
    mq_session_options wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.library = "reload";
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
    if (engine_free(engine) != MQ_NONE || session_close(session) != MQ_NONE)
        fail("not freed");
    return NULL;
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
        if (!is_loaded())
            fail("the library was linked otherwise");
        if (dlclose(library) || is_loaded())
            fail("the library stays loaded");
    }
    puts("reload: ok");
    return 0;
}
