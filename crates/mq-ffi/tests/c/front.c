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

enum { HANDLES = 32, SEEN = 8192 };

struct side {
    mq_engine *engine;
    int inlined;
    mq_handle handles[HANDLES];
    mq_message_handle found;
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
            answer.status = in ? mq_inline_queue_message(engine, carried, 8, mark, &side->found)
                               : mq_queue_message(engine, carried, 8, mark, &side->found);
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
    enum { STEPS = 2000, MOST = 8400, AFTERWARDS = 150 };
    static char marks[MOST + AFTERWARDS];
    const int beside_list = seed % 2 == 0;
    static struct side sides[2];
    memset(sides, 0, sizeof sides);
    for (int i = 0; i < 2; i++) {
        mq_engine_options options = {.structure = i == 1 && beside_list ? "list" : structure,
                                     .flags = i == 0 ? 0 : MQ_NO_FRONT};
        sides[i].inlined = i == 0;
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
        } else if (far && what == 5 && random_below(30) > 0) {
            what = 4;
        }
        uint32_t plain = random_below(wild == 2 ? 8 : 100) == 0 && !fills, number = random_below(4096);
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

/* How many receives stand in the front. */
static long in_front(const mq_engine *engine)
{
    const mq_front *front = (const mq_front *) engine;
    return (long) (front->receives.end - front->receives.first);
}

static void want(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "not so: %s\n", what);
        exit(1);
    }
}

/* How many entries the front keeps that are taken in order. */
enum { MOST_ROOM = 8192 };
/* How many move with one operation. */
enum { SOME = 128 };

/* Posts `count` receives and matches them, in the order they came or in reverse; how many stood in the front. */
static long window(mq_engine *engine, int count, int reverse)
{
    static char receives[MOST_ROOM + 1];
    long stood;
    for (int i = 0; i < count; i++) {
        mq_pattern pattern = {.source = 1, .tag = i};
        want(mq_inline_post(engine, &pattern, &receives[i], NULL, NULL, NULL) == MQ_NONE, "a receive is queued");
    }
    stood = in_front(engine);
    for (int i = 0; i < count; i++) {
        int tag = reverse ? count - 1 - i : i;
        mq_envelope envelope = {.source = 1, .tag = tag};
        void *receive;
        want(mq_inline_arrive(engine, &envelope, 8, NULL, &receive) == MQ_MATCHED && receive == &receives[tag],
             "a message takes its receive");
    }
    return stood;
}

static mq_engine *new_engine(void)
{
    mq_context_options options = {.size = 4};
    mq_engine *engine;
    if (mq_engine_new(NULL, &engine) != MQ_NONE || mq_context_create(engine, 0, &options) != MQ_NONE)
        exit(2);
    return engine;
}

/* The front has room for what is taken in order. */
static void room_in_order(void)
{
    mq_engine *engine = new_engine();
    want(window(engine, 10, 0) == 10, "few receives are in the front");
    want(window(engine, MOST_ROOM, 0) == MOST_ROOM, "so are many, where it grows");
    want(window(engine, MOST_ROOM, 0) == MOST_ROOM, "again");
    want(window(engine, MOST_ROOM + 1, 0) == MOST_ROOM + 1 - SOME, "some of more have moved into the queues");
    for (int i = 0; i < 8; i++)
        want(window(engine, MQ_FRONT_SCAN + 1, 0) == 0, "then the front rests for a while");
    want(window(engine, MOST_ROOM, 0) == MOST_ROOM, "and holds as many again");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* It rests where more than searches look at are not taken in order, for longer each time. */
static void rest_out_of_order(void)
{
    mq_engine *engine = new_engine();
    want(window(engine, MQ_FRONT_SCAN, 1) == MQ_FRONT_SCAN, "in reverse what a search looks at is in the front");
    for (int rest = 8; rest < 200; rest = rest < 64 ? 2 * rest : 200) {
        want(window(engine, 60, 1) == 60, "nobody knows the order of a window before");
        for (int i = 0; i < rest; i++)
            want(window(engine, i % 2 ? 60 : 1, 1) == 0, "now all is queued behind the front");
    }
    want(window(engine, 60, 1) == 60, "it is tried again");
    for (int i = 0; i < 64; i++)
        want(window(engine, 1, 1) == 0, "and rests no longer than that");
    for (int i = 0; i < 20; i++)
        want(window(engine, 60, 0) == 60, "as long as it is worth it, it is used");
    want(window(engine, 60, 1) == 60, "until it is not");
    for (int i = 0; i < 8; i++)
        want(window(engine, 1, 1) == 0, "and then rests as long as at first");
    want(window(engine, 1, 1) == 1, "once");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* How long a front rests is counted by fillings, however they are drained, and by nothing else. */
static void rest_is_counted_by_fillings(void)
{
    static char receive;
    mq_engine *engine = new_engine();
    mq_pattern pattern = {.source = 1, .tag = 1};
    mq_handle handle;
    want(window(engine, 60, 1) == 60, "the front is given up");
    for (int i = 0; i < 8; i++) {
        for (int other = 0; other < 20; other++) {
            want(mq_cancel(engine, (mq_handle){0}, NULL) == MQ_NONE, "nothing is cancelled");
            want(mq_context_update(engine, 0, NULL) == MQ_NONE, "a context is updated");
            want(mq_purge(engine, any_entry, NULL, NULL) == MQ_NONE, "nothing is purged");
        }
        want(mq_inline_post(engine, &pattern, &receive, &handle, NULL, NULL) == MQ_NONE, "a receive is queued");
        want(in_front(engine) == 0, "behind the front");
        if (i % 2 == 0)
            want(mq_purge(engine, any_entry, NULL, NULL) == MQ_NONE, "and purged");
        else
            want(mq_cancel(engine, handle, NULL) == MQ_MATCHED, "and cancelled");
    }
    want(window(engine, 10, 0) == 10, "after eight fillings it is open");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* How many messages stand in the front. */
static long messages_in_front(const mq_engine *engine)
{
    const mq_front *front = (const mq_front *) engine;
    return (long) (front->messages.end - front->messages.first);
}

/* Receives with a wildcard may look at all messages in the front four times, and once for those that have come. */
static void far_looks(void)
{
    enum { MESSAGES = 200, LOOKS = 5 };
    static char messages[MESSAGES];
    mq_engine *engine = new_engine();
    mq_message_handle name;
    void *message;
    for (int i = 0; i < MESSAGES; i++) {
        mq_envelope envelope = {.source = 1, .tag = i};
        want(mq_inline_arrive(engine, &envelope, 8, &messages[i], NULL) == MQ_NONE, "a message is queued");
    }
    for (int last = MESSAGES - 1; last >= MESSAGES - LOOKS; last--) {
        mq_pattern any = {.source = MQ_ANY_SOURCE, .tag = last};
        int (*look)(mq_engine *, const mq_pattern *, void **, mq_envelope *) = last % 2 ? mq_inline_extract : mq_probe;
        want(look(engine, &any, &message, NULL) == MQ_MATCHED && message == &messages[last], "the message is found");
        want(messages_in_front(engine) >= MESSAGES - LOOKS, "and the others stay in the front");
    }
    mq_pattern any = {.source = MQ_ANY_SOURCE, .tag = 100};
    want(mq_inline_find(engine, &any, &name, NULL, NULL) == MQ_MATCHED, "one more is found");
    want(messages_in_front(engine) == MESSAGES - LOOKS / 2 - 1 - SOME, "after so many looks they move, some at first");
    want(mq_inline_take(engine, name, &message, NULL) == MQ_MATCHED && message == &messages[100],
         "it is taken by its name");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* Messages of source 1 in an engine's front, with tags from 0 on. */
static mq_engine *with_messages(char *messages, int count, mq_message_handle *names)
{
    mq_engine *engine = new_engine();
    for (int i = 0; i < count; i++) {
        mq_envelope envelope = {.source = 1, .tag = i};
        want(mq_inline_queue_message(engine, &envelope, 8, &messages[i], &names[i]) == MQ_NONE, "a message is queued");
    }
    want(messages_in_front(engine) == count, "all in the front");
    return engine;
}

/* A receive with a wildcard that is posted takes a message far behind, or is queued beside them. */
static void far_post(void)
{
    enum { MESSAGES = 200 };
    static char messages[MESSAGES], receives[2];
    static mq_message_handle names[MESSAGES];
    mq_engine *engine = with_messages(messages, MESSAGES, names);
    mq_pattern any = {.source = MQ_ANY_SOURCE, .tag = 150};
    mq_envelope envelope = {.source = 2, .tag = 150};
    mq_message_handle found;
    void *message, *receive;
    want(mq_inline_find(engine, &any, &found, &message, NULL) == MQ_MATCHED && message == &messages[150],
         "it is found");
    want(mq_inline_take(engine, found, &message, NULL) == MQ_MATCHED && message == &messages[150],
         "and taken by the name that was found");
    want(mq_inline_post(engine, &any, &receives[0], NULL, NULL, NULL) == MQ_NONE, "the next receive is queued");
    want(in_front(engine) == 1 && messages_in_front(engine) == MESSAGES - 1, "in the front");
    want(mq_inline_arrive(engine, &envelope, 8, NULL, &receive) == MQ_MATCHED && receive == &receives[0],
         "where its message finds it");
    any.tag = 151;
    want(mq_inline_post(engine, &any, &receives[1], NULL, &message, NULL) == MQ_MATCHED && message == &messages[151],
         "another takes its message at once");
    want(messages_in_front(engine) == MESSAGES - 2, "the others stay in the front");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* A name is found wherever it stands; the others stay unless too many would have to move up. */
static void far_names(void)
{
    enum { MESSAGES = 4000 };
    static char messages[MESSAGES];
    static mq_message_handle names[MESSAGES];
    static const int FEW_MOVE[] = {150, 0, MESSAGES - 1, 500, MESSAGES - 400};
    mq_engine *engine = with_messages(messages, MESSAGES, names);
    void *message;
    for (int i = 0; i < 5; i++) {
        const int at = FEW_MOVE[i];
        want(mq_inline_take(engine, names[at], &message, NULL) == MQ_MATCHED && message == &messages[at],
             "it is taken by its name");
        want(mq_inline_take(engine, names[at], &message, NULL) == MQ_NONE, "once");
        want(messages_in_front(engine) == MESSAGES - 1 - i, "the others stay in the front");
    }
    want(mq_inline_take(engine, names[MESSAGES / 2], &message, NULL) == MQ_MATCHED
             && message == &messages[MESSAGES / 2],
         "so is one in the middle");
    want(messages_in_front(engine) == 0, "and the others move into the queues");
    want(mq_inline_take(engine, names[MESSAGES / 2], &message, NULL) == MQ_NONE, "once");
    want(mq_inline_take(engine, names[1], &message, NULL) == MQ_MATCHED && message == &messages[1],
         "names are those from the front");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* Where many have to move, some do with each operation, in order; what comes meanwhile is behind them. */
static void some_move_at_a_time(void)
{
    enum { MESSAGES = 4000 };
    static char messages[MESSAGES], newcomer;
    static mq_message_handle names[MESSAGES];
    mq_engine *engine = with_messages(messages, MESSAGES, names);
    const mq_front *front = (const mq_front *) engine;
    mq_envelope like_the_last = {.source = 1, .tag = MESSAGES - 1};
    void *message;
    int taken = 0, operations = 0;
    for (long left = MESSAGES, before; left > 0; operations++) {
        /* The first of these is far too soon after the others: none has paid for a look at all. */
        mq_pattern pattern = {.source = 1, .tag = MESSAGES - 1 - taken};
        before = messages_in_front(engine);
        want(mq_inline_extract(engine, &pattern, &message, NULL) == MQ_MATCHED
                 && message == &messages[MESSAGES - 1 - taken],
             "the messages are taken in reverse");
        taken++;
        left = messages_in_front(engine);
        want(before - left <= SOME + 1, "no operation moves many");
        if (taken == 3) {
            want(mq_inline_queue_message(engine, &like_the_last, 8, &newcomer, NULL) == MQ_NONE, "one more is queued");
            pattern.tag = 0;
            want(mq_inline_extract(engine, &pattern, &message, NULL) == MQ_MATCHED && message == &messages[0],
                 "the first is in the queues");
            left = messages_in_front(engine);
        }
    }
    want(operations > MESSAGES / SOME / 2, "so it took many operations");
    want(front->open == 0, "now the front is closed");
    mq_pattern pattern = {.source = 1, .tag = MESSAGES - 1};
    want(mq_inline_extract(engine, &pattern, &message, NULL) == MQ_MATCHED && message == &newcomer,
         "the newcomer is found");
    for (int left = MESSAGES - taken - 1; left > 0; left--) {
        mq_pattern any = {.source = MQ_ANY_SOURCE, .tag = MQ_ANY_TAG};
        want(mq_inline_extract(engine, &any, &message, NULL) == MQ_MATCHED, "the others are there");
    }
    for (int i = 0; i < 8; i++)
        want(window(engine, 10, 0) == 0, "the front rests");
    want(window(engine, 10, 0) == 10, "and opens again, since nothing is left");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* Receives move before messages: those that come meanwhile find room, though few were there before. */
static void others_come_meanwhile(void)
{
    enum { RECEIVES = 4000, BEFORE = 10, MEANWHILE = 25 };
    static char receives[RECEIVES], messages[BEFORE + MEANWHILE];
    mq_engine *engine = new_engine();
    const mq_front *front = (const mq_front *) engine;
    void *receive;
    for (int i = 0; i < RECEIVES; i++) {
        mq_pattern pattern = {.source = 1, .tag = i};
        want(mq_inline_queue_receive(engine, &pattern, &receives[i], NULL) == MQ_NONE, "a receive is queued");
    }
    for (int i = 0; i < BEFORE; i++) {
        mq_envelope envelope = {.source = 2, .tag = i};
        want(mq_inline_queue_message(engine, &envelope, 8, &messages[i], NULL) == MQ_NONE, "a message is queued");
    }
    for (int i = 0; i < 2; i++) {
        mq_envelope envelope = {.source = 1, .tag = RECEIVES - 1 - i};
        want(mq_inline_deliver(engine, &envelope, &receive) == MQ_MATCHED && receive == &receives[RECEIVES - 1 - i],
             "receives far behind are taken");
    }
    for (int i = BEFORE; i < BEFORE + MEANWHILE; i++) {
        long before = in_front(engine);
        mq_envelope envelope = {.source = 2, .tag = i};
        want(front->open == UINT32_MAX && before > SOME, "they are on their way");
        want(mq_inline_arrive(engine, &envelope, 8, &messages[i], NULL) == MQ_NONE, "a message is queued meanwhile");
        want(before - in_front(engine) <= SOME, "no operation moves many");
        want(messages_in_front(engine) == i + 1, "behind the others of its kind");
    }
    for (int i = 0; i < BEFORE + MEANWHILE; i++) {
        mq_pattern pattern = {.source = 2, .tag = MQ_ANY_TAG};
        void *message;
        want(mq_inline_extract(engine, &pattern, &message, NULL) == MQ_MATCHED && message == &messages[i],
             "all are received in order");
    }
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* The last entry that has not moved is taken from where it stands. */
static void last_on_the_way(void)
{
    static char messages[SOME + 1];
    static mq_message_handle names[SOME + 1];
    mq_engine *engine = with_messages(messages, SOME + 1, names);
    const mq_front *front = (const mq_front *) engine;
    mq_pattern beside = {.source = 1, .tag = SOME / 2}, last = {.source = 1, .tag = SOME};
    void *message;
    want(mq_inline_extract(engine, &beside, &message, NULL) == MQ_MATCHED && message == &messages[SOME / 2],
         "one is taken by a search that those that have come pay for");
    want(mq_inline_queue_message(engine, &(mq_envelope) {.source = 1, .tag = SOME + 1}, 8, NULL, NULL) == MQ_NONE,
         "as many are there as before");
    want(mq_inline_extract(engine, &last, &message, NULL) == MQ_MATCHED && message == &messages[SOME],
         "another search moves some");
    want(messages_in_front(engine) == 1 && front->open == UINT32_MAX, "one is left");
    last.tag = SOME + 1;
    want(mq_inline_extract(engine, &last, NULL, NULL) == MQ_MATCHED, "which is moved and taken");
    want(messages_in_front(engine) == 0 && front->open == 0, "and the front is closed");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
    engine = with_messages(messages, SOME + 1, names);
    last.tag = SOME;
    want(mq_inline_extract(engine, &last, NULL, NULL) == MQ_MATCHED, "again the first search is paid for");
    want(mq_inline_queue_message(engine, &(mq_envelope) {.source = 1, .tag = SOME + 1}, 8, NULL, NULL) == MQ_NONE,
         "as many are there as before");
    last.tag = SOME + 1;
    want(mq_inline_extract(engine, &last, NULL, NULL) == MQ_MATCHED, "the last is taken where it stands");
    want(messages_in_front(engine) == 0 && ((const mq_front *) engine)->open == 0, "and the front is closed");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

int main(void)
{
    const char *name;
    uint64_t seeds = 0;
    room_in_order();
    rest_out_of_order();
    rest_is_counted_by_fillings();
    far_looks();
    far_post();
    far_names();
    some_move_at_a_time();
    last_on_the_way();
    others_come_meanwhile();
    for (uint32_t i = 0; (name = mq_structure_name(i)) != NULL; i++)
        for (uint64_t seed = 0; seed < 12; seed++, seeds++)
            run(seed * 31 + i, name, seed % 4 == 3);
    want(moving > seeds, "many operations met entries on their way into the queues");
    printf("%lu random programs: inline and plain calls agree\n", (unsigned long) seeds);
    return 0;
}
