/* When an engine's front is open, how much it holds, how long it rests, and how its entries move into the queues: seen
 * in its words. ci/c.sh runs this. */
#include <stdio.h>
#include <stdlib.h>

#include "mq.h"
#include "mq_inline.h"

static int any_entry(void *user, const mq_entry *entry)
{
    (void) user;
    (void) entry;
    return 1;
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
enum { MOST_ROOM = 20480 };
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

/* In a queue of any length, a search for something else may look at all entries once for 268 that have come. */
static void far_looks_of_long_queues(void)
{
    enum { COME = 268, TIMES = MOST_ROOM / COME };
    static char messages[MOST_ROOM];
    mq_engine *engine = new_engine();
    mq_pattern other = {.source = 2, .tag = 1};
    void *message;
    for (int i = 0; i < COME * TIMES; i++) {
        mq_envelope envelope = {.source = 1, .tag = i};
        want(mq_inline_arrive(engine, &envelope, 8, &messages[i], NULL) == MQ_NONE, "a message is queued");
        if ((i + 1) % COME == 0)
            want(mq_inline_extract(engine, &other, &message, NULL) == MQ_NONE, "nothing of another source is there");
    }
    want(messages_in_front(engine) == COME * TIMES, "all messages are still in the front");
    want(mq_inline_extract(engine, &other, &message, NULL) == MQ_NONE, "another search comes too soon");
    want(messages_in_front(engine) == COME * TIMES - SOME, "some of them move");
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

/* A name is found wherever it stands. The others stay, unless too many would have to move up, too soon again. */
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
    for (int i = 0; i < 2; i++) {
        const int at = MESSAGES / 2 + i;
        want(mq_inline_take(engine, names[at], &message, NULL) == MQ_MATCHED && message == &messages[at],
             "so is one in the middle");
        want(messages_in_front(engine) == (i == 0 ? MESSAGES - 6 : 0), "the second has the others move");
        want(mq_inline_take(engine, names[at], &message, NULL) == MQ_NONE, "once");
    }
    want(mq_inline_take(engine, names[1], &message, NULL) == MQ_MATCHED && message == &messages[1],
         "names are those from the front");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* The same for receives that are cancelled. */
static void far_cancels(void)
{
    enum { RECEIVES = 4000 };
    static char receives[RECEIVES];
    static mq_handle names[RECEIVES];
    mq_engine *engine = new_engine();
    void *receive;
    for (int i = 0; i < RECEIVES; i++) {
        mq_pattern pattern = {.source = 1, .tag = i};
        want(mq_inline_post(engine, &pattern, &receives[i], &names[i], NULL, NULL) == MQ_NONE, "a receive is queued");
    }
    for (int i = 0; i < 2; i++) {
        const int at = RECEIVES / 2 + i;
        want(mq_cancel(engine, names[at], &receive) == MQ_MATCHED && receive == &receives[at], "one is cancelled");
        want(in_front(engine) == (i == 0 ? RECEIVES - 1 : 0), "the second has the others move");
        want(mq_cancel(engine, names[at], &receive) == MQ_NONE, "once");
    }
    for (int i = 0; i < RECEIVES; i++) {
        const int left = i / 2 == RECEIVES / 4;
        mq_envelope envelope = {.source = 1, .tag = i};
        want(mq_inline_deliver(engine, &envelope, &receive) == (left ? MQ_NONE : MQ_MATCHED), "the others are matched");
        want(left || receive == &receives[i], "in order");
    }
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* A probe that waits stands in the front like a receive, and moves nothing. */
static void probe_waits(void)
{
    enum { RECEIVES = 100 };
    static char receives[RECEIVES], probe;
    mq_engine *engine = new_engine();
    const mq_pattern awaited = {.source = 2, .tag = 7};
    const mq_envelope envelope = {.source = 2, .tag = 7};
    mq_handle name;
    void *found;
    for (int i = 0; i < RECEIVES; i++) {
        mq_pattern pattern = {.source = 1, .tag = i};
        want(mq_inline_post(engine, &pattern, &receives[i], NULL, NULL, NULL) == MQ_NONE, "a receive is queued");
    }
    for (int i = 0; i < 2; i++) {
        want(mq_inline_probe(engine, &awaited, &found, NULL) == MQ_NONE, "no message is there");
        want(mq_queue_probe(engine, &awaited, &probe, &name) == MQ_NONE, "a probe waits");
        want(in_front(engine) == RECEIVES + 1, "behind the receives, which are where they were");
        if (i == 0)
            want(mq_cancel(engine, name, &found) == MQ_MATCHED && found == &probe, "it may be given up");
    }
    want(mq_deliver(engine, &envelope, &found) == MQ_MATCHED && found == &probe, "a message finds it");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* Counts the messages that are shown, which are in order. */
static void next_message(void *user, const mq_entry *entry)
{
    const char **next = user;
    want(!entry->posted && entry->cookie == *next, "messages are shown in order");
    ++*next;
}

/* Where many have to move, some do with each operation, in order; what comes meanwhile is behind them. */
static void some_move_at_a_time(void)
{
    enum { MESSAGES = 4000 };
    static char messages[MESSAGES], newcomer;
    static mq_message_handle names[MESSAGES];
    mq_engine *engine = with_messages(messages, MESSAGES, names);
    const mq_front *front = (const mq_front *) engine;
    uint64_t receives, waiting, in_context, of_ranks[4], bytes;
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
        if (taken <= 3) {
            const char *next = messages;
            want(mq_visit(engine, next_message, &next) == MQ_NONE && next == messages + MESSAGES - taken,
                 "all that are left are shown");
            want(left == messages_in_front(engine) && (taken == 1 || left < MESSAGES - taken), "where they are");
        }
        want(before - left <= SOME + 1, "no operation moves many");
        want(mq_lengths(engine, &receives, &waiting) == MQ_NONE
                 && mq_context_lengths(engine, 0, &receives, &in_context) == MQ_NONE
                 && mq_lengths_by_source(engine, 0, 4, NULL, of_ranks) == MQ_NONE
                 && mq_memory(engine, &bytes) == MQ_NONE,
             "the lengths are there");
        want(waiting == in_context && waiting == of_ranks[1]
                 && waiting == (uint64_t) (MESSAGES - taken),
             "of both parts together");
        want(messages_in_front(engine) == left, "and move nothing");
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

/* What has moved out of the front, and has left, keeps no memory: neither the front's arrays, which rest, nor the names
 * that were given there. */
static void burst_leaves_little(void)
{
    enum { MANY = 20000, LEFT = 64 << 10 };
    static char entries[MANY];
    mq_engine *engine = new_engine();
    const mq_front *front = (const mq_front *) engine;
    mq_handle name;
    uint64_t bytes;
    for (int i = 0; i < MANY; i++) {
        mq_pattern receive = {.source = 1, .tag = i};
        mq_envelope message = {.source = 1, .tag = MANY + i};
        want(mq_inline_queue_receive(engine, &receive, &entries[i], i == 0 ? &name : NULL) == MQ_NONE &&
                 mq_inline_queue_message(engine, &message, 8, &entries[i], NULL) == MQ_NONE,
             "both are queued");
    }
    for (int i = MANY - 1; i >= 0; i--) {
        mq_envelope message = {.source = 1, .tag = i};
        mq_pattern receive = {.source = 1, .tag = MANY + i};
        void *receiver, *received;
        want(mq_inline_deliver(engine, &message, &receiver) == MQ_MATCHED && receiver == &entries[i] &&
                 mq_inline_extract(engine, &receive, &received, NULL) == MQ_MATCHED && received == &entries[i],
             "both are taken");
    }
    want(mq_memory(engine, &bytes) == MQ_NONE && bytes < LEFT, "a burst leaves less than 64 KiB");
    want(mq_cancel(engine, name, NULL) == MQ_NONE, "the name of a receive that has left is stale");
    for (int fillings = 0; front->open != MQ_FRONT_LAYOUT; fillings++) {
        want(fillings < 100, "the front rests for some fillings only");
        window(engine, 1, 0);
    }
    want(window(engine, 100, 0) == 100, "the front serves again");
    want(mq_memory(engine, &bytes) == MQ_NONE && bytes < LEFT, "and is as small as it needs to be");
    if (mq_engine_free(engine) != MQ_NONE)
        exit(2);
}

/* So does one that is purged, or goes with its context. */
static void purge_leaves_little(void)
{
    enum { MANY = 2 * MOST_ROOM, LEFT = 64 << 10 };
    static char entries[MANY];
    for (int way = 0; way < 3; way++) {
        mq_engine *engine = new_engine();
        uint64_t bytes;
        for (int i = 0; i < MANY; i++) {
            mq_pattern receive = {.source = 1, .tag = i};
            want(mq_inline_post(engine, &receive, &entries[i], NULL, NULL, NULL) == MQ_NONE, "a receive is queued");
        }
        want((way == 0   ? mq_purge(engine, any_entry, NULL, NULL)
              : way == 1 ? mq_context_purge(engine, 0, any_entry, NULL, NULL)
                         : mq_context_free(engine, 0, NULL, NULL))
                 == MQ_NONE,
             "all leave at once");
        want(mq_memory(engine, &bytes) == MQ_NONE && bytes < LEFT, "they leave less than 64 KiB");
        if (mq_engine_free(engine) != MQ_NONE)
            exit(2);
    }
}

/* A receive that the front cannot hold puts off that others come back, until it has left, in whatever way. */
static void purge_lets_receives_come_back(void)
{
    for (int purges = 0; purges < 2; purges++) {
        static char receives[2];
        mq_engine *engine = new_engine();
        const mq_front *front = (const mq_front *) engine;
        mq_pattern masked = {.source = 1, .tag = 1 << 20, .ignore = 1}, staying = {.source = 1, .tag = 999};
        mq_handle name;
        want(mq_post(engine, &masked, &receives[0], &name, NULL, NULL) == MQ_NONE, "a masked receive is queued");
        for (int i = 0; i < 3; i++)
            window(engine, 1, 0);
        want(purges ? mq_purge(engine, any_entry, NULL, NULL) == MQ_NONE
                    : mq_cancel(engine, name, NULL) == MQ_MATCHED,
             "it leaves");
        want(mq_inline_post(engine, &staying, &receives[1], NULL, NULL, NULL) == MQ_NONE, "one stays");
        want(mq_probe(engine, &masked, NULL, NULL) == MQ_NONE && front->open != MQ_FRONT_LAYOUT, "and moves");
        for (int fillings = 0; front->open != MQ_FRONT_LAYOUT; fillings++) {
            want(fillings < 3, "it comes back soon");
            window(engine, 1, 0);
        }
        if (mq_engine_free(engine) != MQ_NONE)
            exit(2);
    }
}

int main(void)
{
    room_in_order();
    rest_out_of_order();
    rest_is_counted_by_fillings();
    far_looks();
    far_looks_of_long_queues();
    far_post();
    far_names();
    far_cancels();
    probe_waits();
    some_move_at_a_time();
    last_on_the_way();
    others_come_meanwhile();
    burst_leaves_little();
    purge_leaves_little();
    purge_lets_receives_come_back();
    puts("the front was open, rested and moved as it should");
    return 0;
}
