/* A toy progress loop over libmq, as an MPI library would write it.
 *
 * Requests are the receive cookies, packets the message cookies. A "network" of packets in flight is
 * polled; each packet completes a posted request or waits as unexpected; each new request takes a
 * waiting packet or is posted. When the budget of unexpected messages is used up, the packet stays in
 * the network, before all others of its sender; those of other senders do not wait for it. That is
 * flow control. ci/c.sh compiles and runs it under valgrind. */
#include <stdio.h>
#include <stdlib.h>

#include "mq.h"

enum { RANKS = 8, ROUNDS = 200, BUDGET = 5 };

typedef struct request {
    int done;
    int from;
    int payload;
} request;

typedef struct packet {
    mq_envelope envelope;
    int payload;
    struct packet *next;
} packet;

static void check(int status, const char *call) {
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", call, mq_strerror(status));
        exit(1);
    }
}

/* Flow control, not an error: the message can be queued later. */
static int is_over_budget(int status) {
    return status == MQ_ERR_ENTRY_BUDGET || status == MQ_ERR_BYTE_BUDGET
        || status == MQ_ERR_SOURCE_ENTRY_BUDGET || status == MQ_ERR_SOURCE_BYTE_BUDGET;
}

static void complete(request *done, packet *by) {
    done->done = 1;
    done->from = by->envelope.source;
    done->payload = by->payload;
    free(by);
}

/* Takes packets of each sender off the network until there are no more, or the engine has no room for the next:
 * those behind it wait, since messages of one sender may not overtake each other. */
static void progress(mq_engine *engine, packet *network[RANKS], long *refused) {
    for (int source = 0; source < RANKS; source++) {
        while (network[source]) {
            packet *head = network[source];
            void *receive;
            int status = mq_arrive(engine, &head->envelope, sizeof *head, head, &receive);
            if (is_over_budget(status)) {
                ++*refused;
                break;
            }
            check(status, "mq_arrive");
            network[source] = head->next;
            if (status == MQ_MATCHED)
                complete(receive, head);
        }
    }
}

static void send(packet *network[RANKS], int round, int source) {
    packet *sent = malloc(sizeof *sent);
    if (!sent)
        abort();
    sent->envelope = (mq_envelope){.context = 1, .source = source, .tag = round % 3};
    sent->payload = round * RANKS + source;
    sent->next = NULL;
    packet **last = &network[source];
    while (*last)
        last = &(*last)->next;
    *last = sent;
}

static void free_packet(void *user, const mq_entry *entry) {
    (void)user;
    if (!entry->posted)
        free(entry->cookie);
}

int main(void) {
    mq_engine_options options = {.structure = "indexed", .max_unexpected = BUDGET};
    mq_context_options context = {.size = RANKS};
    mq_engine *engine;
    check(mq_engine_new(&options, &engine), "mq_engine_new");
    check(mq_context_create(engine, 1, &context), "mq_context_create");

    static request requests[ROUNDS][RANKS];
    packet *network[RANKS] = {NULL};
    long refused = 0, completed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int source = 0; source < RANKS; source++)
            send(network, round, source);
        progress(engine, network, &refused);
        for (int i = 0; i < RANKS; i++) {
            mq_pattern wanted = {.context = 1, .source = i % 4 ? i : MQ_ANY_SOURCE, .tag = round % 3};
            void *message;
            int status = mq_post(engine, &wanted, &requests[round][i], NULL, &message, NULL);
            check(status, "mq_post");
            if (status == MQ_MATCHED)
                complete(&requests[round][i], message);
        }
        progress(engine, network, &refused);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < RANKS; i++)
            completed += requests[round][i].done;

    uint64_t posted, unexpected;
    check(mq_lengths(engine, &posted, &unexpected), "mq_lengths");
    printf("%ld of %d requests complete, %llu posted, %llu unexpected, refused %ld times\n", completed,
           ROUNDS * RANKS, (unsigned long long)posted, (unsigned long long)unexpected, refused);
    int whole = completed + (long)posted == ROUNDS * RANKS;
    check(mq_context_free(engine, 1, free_packet, NULL), "mq_context_free");
    mq_engine_free(engine);
    for (int source = 0; source < RANKS; source++) {
        while (network[source]) {
            packet *next = network[source]->next;
            free(network[source]);
            network[source] = next;
        }
    }
    return whole ? 0 : 1;
}
