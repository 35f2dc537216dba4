/* The inline calls against the plain ones: two engines take the same random operations, one through
 * mq_inline.h and plain calls mixed, the other through plain calls without a front, and with the list in
 * place of the structure by turns, and must agree in every answer. ci/c.sh runs this under valgrind and with
 * AddressSanitizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mq.h"
#include "mq_inline.h"

static uint64_t state;

static uint32_t random_below(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t) (state >> 33) % bound;
}

/* What an operation answered. */
struct answer {
    int status;
    void *cookie;
    mq_envelope envelope;
};

/* More than a front holds. */
enum { MOST = 21000 };

enum { HANDLES = 32, SEEN = MOST };

struct side {
    mq_engine *engine;
    int inlined;
    mq_handle handles[HANDLES];
    mq_message_handle found;
    int far; /* only a message in the middle of the queue is kept in `found` when it is queued */
    void *seen[SEEN];
    uint32_t seen_of[SEEN];
    int count;
};

/* Some of these have places of their own in a front, some share one. */
static const uint32_t CONTEXTS[] = {0, 1, 17, 48, 3, 0x1000, 4096 + 49, 2, 0x80000000u, UINT32_MAX, 34};
enum { CONTEXT_COUNT = sizeof CONTEXTS / sizeof *CONTEXTS };

static void see(void *user, const mq_entry *entry)
{
    struct side *side = user;
    if (side->count < SEEN)
        side->seen_of[side->count] = entry->pattern.context, side->seen[side->count++] = entry->cookie;
    mq_pattern any = {.context = entry->pattern.context, .source = MQ_ANY_SOURCE, .tag = MQ_ANY_TAG};
    if (mq_inline_probe(side->engine, &any, NULL, NULL) != MQ_ERR_REENTRANT) {
        fprintf(stderr, "an inline call from a callback was not refused\n");
        exit(1);
    }
}

/* Puts what was seen of each context together, in the order in which it was seen: a visit may mix contexts. */
static void group(struct side *side)
{
    static void *seen[SEEN];
    int count = 0;
    for (int c = 0; c < CONTEXT_COUNT; c++)
        for (int i = 0; i < side->count; i++)
            if (side->seen_of[i] == CONTEXTS[c])
                seen[count++] = side->seen[i];
    memcpy(side->seen, seen, (size_t) count * sizeof *seen);
}

static int by_address(const void *one, const void *other)
{
    const uintptr_t a = (uintptr_t) *(void *const *) one, b = (uintptr_t) *(void *const *) other;
    return (a > b) - (a < b);
}

static int odd_source(void *user, const mq_entry *entry)
{
    (void) user;
    return entry->pattern.source % 2 != 0;
}

static int any_entry(void *user, const mq_entry *entry)
{
    (void) user;
    (void) entry;
    return 1;
}

/* Makes a context of a size, and with promises, that `number` decides. */
static void create(mq_engine *engine, uint32_t context, uint32_t number)
{
    mq_context_options options = {.size = number % 3 == 0 ? 0 : 4 + number % 4,
                                  .promises = number % 16 < 4 ? number % 16 : 0};
    if (mq_context_create(engine, context, &options) != MQ_NONE)
        exit(2);
}

/* Runs operation `what`; `inlined` of the side and `plain` of the step decide how. */
static struct answer act(struct side *side, uint32_t what, uint32_t plain, const mq_pattern *pattern,
                         const mq_envelope *carried, void *mark, uint32_t number)
{
    struct answer answer;
    int in = side->inlined && !plain;
    mq_engine *engine = side->engine;
    mq_handle *handle = &side->handles[number % HANDLES];
    mq_message_handle *queued = side->far && number != HANDLES / 2 ? NULL : &side->found;
    memset(&answer, 0, sizeof answer);
    switch (what) {
    case 0:
        answer.status = in ? mq_inline_post(engine, pattern, mark, handle, &answer.cookie, &answer.envelope)
                           : mq_post(engine, pattern, mark, handle, &answer.cookie, &answer.envelope);
        break;
    case 1:
        answer.status = in ? mq_inline_arrive(engine, carried, 8, mark, &answer.cookie)
                           : mq_arrive(engine, carried, 8, mark, &answer.cookie);
        break;
    case 2:
        answer.status = in ? mq_inline_extract(engine, pattern, &answer.cookie, &answer.envelope)
                           : mq_extract(engine, pattern, &answer.cookie, &answer.envelope);
        if (answer.status == MQ_NONE)
            answer.status = in ? mq_inline_queue_receive(engine, pattern, mark, handle)
                               : mq_queue_receive(engine, pattern, mark, handle);
        break;
    case 3:
        answer.status = in ? mq_inline_deliver(engine, carried, &answer.cookie)
                           : mq_deliver(engine, carried, &answer.cookie);
        if (answer.status == MQ_NONE)
            answer.status = in ? mq_inline_queue_message(engine, carried, 8, mark, queued)
                               : mq_queue_message(engine, carried, 8, mark, queued);
        break;
    case 4:
        answer.status =
            in ? mq_inline_find(engine, pattern, &side->found, &answer.cookie, &answer.envelope)
               : mq_find(engine, pattern, &side->found, &answer.cookie, &answer.envelope);
        break;
    case 5:
        answer.status = in ? mq_inline_take(engine, side->found, &answer.cookie, &answer.envelope)
                           : mq_take(engine, side->found, &answer.cookie, &answer.envelope);
        break;
    case 6:
        answer.status = in ? mq_inline_probe(engine, pattern, &answer.cookie, &answer.envelope)
                           : mq_probe(engine, pattern, &answer.cookie, &answer.envelope);
        break;
    case 7:
        answer.status = mq_cancel(engine, side->handles[number % HANDLES], &answer.cookie);
        break;
    case 8:
        side->count = 0;
        if (number % 4 == 1)
            answer.status = mq_context_purge(engine, pattern->context,
                                             number % 8 == 1 ? odd_source : NULL, see, side);
        else
            answer.status = mq_purge(engine, number % 4 == 0 ? odd_source : any_entry, see, side);
        break;
    case 9:
        side->count = 0;
        answer.status = mq_visit(engine, see, side);
        group(side);
        break;
    default:
        side->count = 0;
        answer.status = mq_context_free(engine, pattern->context, see, side);
        if (answer.status == MQ_NONE)
            create(engine, pattern->context, number);
        break;
    }
    return answer;
}

/* Operations that have ended while some entries were in the queues and some still in the front. */
static uint64_t moving;

/* `far`: begins with a long queue, whose entries move into the queues some with each operation; what moves all at once
 * is seldom done then, lengths included. */
static void run(uint64_t seed, const char *structure, int far)
{
    enum { STEPS = 2000, AFTERWARDS = 150 };
    static char marks[MOST + AFTERWARDS];
    const int beside_list = seed % 2 == 0;
    static struct side sides[2];
    memset(sides, 0, sizeof sides);
    for (int i = 0; i < 2; i++) {
        mq_engine_options options = {.structure = i == 1 && beside_list ? "list" : structure,
                                     .flags = i == 0 ? 0 : MQ_NO_FRONT};
        sides[i].inlined = i == 0;
        sides[i].far = far;
        if (mq_engine_new(&options, &sides[i].engine) != MQ_NONE)
            exit(2);
        for (uint32_t c = 0; c < CONTEXT_COUNT; c++)
            create(sides[i].engine, CONTEXTS[c], 1 + (c * 5 + (uint32_t) seed) % 16);
    }
    state = seed * 0x9e3779b97f4a7c15u + 1;
    uint32_t contexts = 1 + random_below(random_below(2) ? 3 : CONTEXT_COUNT), first = random_below(4);
    uint32_t ranks = 1 + random_below(7), tags = 1 + random_below(far ? 200 : 4), wild = random_below(3), flood = 0;
    if (far)
        flood = 200 + random_below(random_below(4) ? 1500 : MOST - 200);
    const uint32_t filled = flood;
    for (int step = 0, steps = far ? (int) flood + AFTERWARDS : STEPS; step < steps; step++) {
        /* Short queues most of the time, so that the front opens again and again; at times a flood of
         * one kind, and then of the other, so that its rings fill and go round. */
        static const uint32_t OFTEN[] = {0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 5, 1, 0, 3};
        static const uint32_t CALLS[] = {6, 6, 7, 7, 7, 8, 8, 8, 8, 8, 9, 10};
        uint32_t roll = random_below(far ? 2000 : 400), what = OFTEN[random_below(16)];
        if (flood == 0 && !far && random_below(200) == 0)
            flood = 20 + random_below(280);
        const int fills = far && flood > 0;
        if (roll < 4 + wild * 12 && !fills) {
            what = CALLS[random_below(12)];
        } else if (flood > 0) {
            flood--;
            what = (far ? seed / 4 % 2 : flood / 128 % 2 != seed % 2) + (random_below(2) ? 2 : 0);
        } else if (far && (step < (int) filled + 3 || random_below(40) == 0)) {
            what = random_below(2) ? 5 : 7;
        } else if (far && what == 5 && random_below(30) > 0) {
            what = 4;
        }
        uint32_t plain = random_below(wild == 2 ? 8 : 100) == 0 && !fills, number = random_below(4096);
        /* The handles that are kept are from everywhere in the queue. */
        if (fills)
            number = (uint32_t) step * HANDLES / filled;
        mq_pattern pattern = {.context = CONTEXTS[(first + random_below(contexts)) % CONTEXT_COUNT],
                              .source = (int32_t) random_below(ranks),
                              .tag = (int32_t) random_below(tags) - 1};
        mq_envelope carried = {.context = pattern.context, .source = pattern.source, .tag = pattern.tag};
        if (random_below(6) == 0)
            pattern.source = MQ_ANY_SOURCE;
        if (random_below(6) == 0)
            pattern.tag = MQ_ANY_TAG;
        else if (random_below(far ? 1000 : 12) == 0 && !fills)
            pattern.ignore = 1;
        struct answer answers[2];
        for (int i = 0; i < 2; i++)
            answers[i] = act(&sides[i], what, plain, &pattern, &carried, &marks[step], number);
        moving += ((const mq_front *) sides[0].engine)->open == UINT32_MAX;
        /* Structures show what leaves each in an order of its own. */
        for (int i = 0; i < 2 && beside_list; i++)
            qsort(sides[i].seen, (size_t) sides[i].count, sizeof sides[i].seen[0], by_address);
        uint64_t lengths[2][2] = {{0}};
        for (int i = 0; i < 2 && (!far || step == steps - 1); i++)
            mq_lengths(sides[i].engine, &lengths[i][0], &lengths[i][1]);
        /* A search in place finds nothing where a call says what is wrong. */
        if ((what == 4 || what == 6) && answers[0].status == MQ_NONE && answers[1].status < 0)
            answers[1].status = MQ_NONE;
        if (answers[0].status != answers[1].status || answers[0].cookie != answers[1].cookie
            || memcmp(&answers[0].envelope, &answers[1].envelope, sizeof(mq_envelope)) != 0
            || memcmp(lengths[0], lengths[1], sizeof lengths[0]) != 0
            || sides[0].count != sides[1].count
            || (what >= 8 && memcmp(sides[0].seen, sides[1].seen, (size_t) sides[0].count * sizeof(void *)) != 0)) {
            fprintf(stderr, "seed %lu, %s, step %d, operation %u: inline %d, plain %d\n",
                    (unsigned long) seed, structure, step, what, answers[0].status, answers[1].status);
            exit(1);
        }
    }
    for (int i = 0; i < 2; i++)
        if (mq_engine_free(sides[i].engine) != MQ_NONE)
            exit(2);
}

int main(void)
{
    const char *name;
    uint64_t seeds = 0;
    for (uint32_t i = 0; (name = mq_structure_name(i)) != NULL; i++)
        for (uint64_t seed = 0; seed < 12; seed++, seeds++)
            run(seed * 31 + i, name, seed % 4 == 3);
    if (moving <= seeds) {
        fprintf(stderr, "few operations met entries on their way into the queues\n");
        return 1;
    }
    printf("%lu random programs: inline and plain calls agree\n", (unsigned long) seeds);
    return 0;
}
