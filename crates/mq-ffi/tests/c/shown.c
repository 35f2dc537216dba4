/* A library that lists what is queued takes out what it picks by the names that it was shown: in the front, behind it,
 * after a receive has come back, and with statistics. ci/c.sh runs this. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mq.h"
#include "mq_inline.h"

enum { RECEIVES = 20, MESSAGES = 10, MOST = RECEIVES + MESSAGES };

static mq_engine *engine;
static mq_entry seen[MOST];
static int count;

static void see(void *user, const mq_entry *entry)
{
    (void) user;
    CHECK(count < MOST, 1);
    seen[count++] = *entry;
}

static int is_odd(void *user, const mq_entry *entry)
{
    (void) user;
    return (int) ((uintptr_t) entry->cookie % 2);
}

static int any_entry(void *user, const mq_entry *entry)
{
    (void) user;
    (void) entry;
    return 0;
}

static void look(int expected)
{
    count = 0;
    CHECK(mq_visit(engine, see, NULL), MQ_NONE);
    CHECK(count, expected);
}

/* Receives have the cookies from 1 on, messages those after them and as many bytes as their cookies say. */
static void fill(void)
{
    for (uintptr_t i = 1; i <= RECEIVES; i++) {
        const mq_pattern wanted = {.context = 1, .source = (int32_t) i, .tag = 5};
        CHECK(mq_inline_post(engine, &wanted, (void *) i, NULL, NULL, NULL), MQ_NONE);
    }
    for (uintptr_t i = RECEIVES + 1; i <= MOST; i++) {
        const mq_envelope carried = {.context = 1, .source = (int32_t) i, .tag = 6};
        CHECK(mq_inline_arrive(engine, &carried, i, (void *) i, NULL), MQ_NONE);
    }
}

/* Takes out all that is in the list; the entries of odd cookies have gone if so told. */
static void take(int odd_have_gone)
{
    for (int i = count - 1; i >= 0; i--) {
        const int outcome = odd_have_gone && is_odd(NULL, &seen[i]) ? MQ_NONE : MQ_MATCHED;
        void *cookie = seen[i].cookie;
        mq_envelope envelope = {0};
        if (seen[i].posted) {
            CHECK(seen[i].bytes, 0);
            CHECK(mq_take(engine, seen[i].message, NULL, NULL), MQ_NONE);
            CHECK(mq_cancel(engine, seen[i].receive, &cookie), outcome);
            CHECK(mq_cancel(engine, seen[i].receive, NULL), MQ_NONE);
        } else {
            CHECK(seen[i].bytes, (uintptr_t) cookie);
            CHECK(mq_cancel(engine, seen[i].receive, NULL), MQ_NONE);
            CHECK(mq_inline_take(engine, seen[i].message, &cookie, &envelope), outcome);
            CHECK(envelope.source, outcome == MQ_MATCHED ? seen[i].pattern.source : 0);
            CHECK(mq_take(engine, seen[i].message, NULL, NULL), MQ_NONE);
        }
        CHECK(cookie == seen[i].cookie, 1);
    }
    look(0);
}

static void removed(void *user, const mq_entry *entry)
{
    const mq_handle no_receive = {0};
    const mq_message_handle no_message = {0};
    ++*(int *) user;
    CHECK(memcmp(&entry->receive, &no_receive, sizeof(no_receive)), 0);
    CHECK(memcmp(&entry->message, &no_message, sizeof(no_message)), 0);
    CHECK(entry->bytes, entry->posted ? 0 : (uintptr_t) entry->cookie);
}

/* A receive that stays while others come and go is in the front, behind it, and in the front again. */
static void comes_back(void)
{
    const mq_pattern any = {.context = 1, .source = MQ_ANY_SOURCE, .tag = 9};
    const mq_pattern wanted = {.context = 1, .source = 1, .tag = 5};
    const mq_envelope carried = {.context = 1, .source = 1, .tag = 5};
    mq_handle names[200], name;
    void *cookie;
    int kinds = 0;
    CHECK(mq_inline_post(engine, &any, (void *) 1, NULL, NULL, NULL), MQ_NONE);
    for (int i = 0; i < 200; i++) {
        look(1);
        names[i] = seen[0].receive;
        if (i % 50 == 25)
            CHECK(mq_purge(engine, any_entry, NULL, NULL), MQ_NONE);
        for (int pair = 0; pair < 9; pair++) {
            CHECK(mq_inline_post(engine, &wanted, (void *) 2, &name, NULL, NULL), MQ_NONE);
            CHECK(mq_inline_arrive(engine, &carried, 0, NULL, &cookie), MQ_MATCHED);
            CHECK(cookie == (void *) 2, 1);
            kinds |= name.slot == MQ_FRONT_SLOT ? 1 : 2;
        }
    }
    CHECK(kinds, 3);
    CHECK(mq_cancel(engine, names[60], &cookie), MQ_MATCHED);
    CHECK(cookie == (void *) 1, 1);
    for (int i = 0; i < 200; i++)
        CHECK(mq_cancel(engine, names[i], NULL), MQ_NONE);
}

int main(void)
{
    const uint32_t flags[] = {0, MQ_NO_FRONT, MQ_LOCKED, MQ_STATISTICS};
    for (int i = 0; i < 4; i++) {
        const mq_engine_options options = {.flags = flags[i]};
        int left = 0;
        CHECK(mq_engine_new(&options, &engine), MQ_NONE);
        CHECK(mq_context_create(engine, 1, NULL), MQ_NONE);
        fill();
        look(MOST);
        take(0);
        /* Seen in the front if there is one, and taken behind it, but for those that leave by a purge. */
        fill();
        look(MOST);
        CHECK(mq_purge(engine, is_odd, removed, &left), MQ_NONE);
        CHECK(left, MOST / 2);
        take(1);
        if (flags[i] == 0)
            comes_back();
        fill();
        left = 0;
        CHECK(mq_context_free(engine, 1, removed, &left), MQ_NONE);
        CHECK(left, MOST);
        CHECK(mq_engine_free(engine), MQ_NONE);
    }
    puts("every entry left by the name that was shown");
    return 0;
}
