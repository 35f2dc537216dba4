/* Rings of messages with all kinds of receives, probes and cancels, over several communicators; every
 * payload is checked. Any number of ranks; the number of rounds may be given. */
#include "check.h"

enum { WINDOW = 24 };

static void ring(MPI_Comm comm, int round)
{
    int rank, size, inbox[WINDOW], outbox[WINDOW], flag, count;
    MPI_Request requests[2 * WINDOW], doomed;
    MPI_Status statuses[2 * WINDOW], status;
    MPI_Message message;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int early = round % 2;
    /* A receive that nothing matches is queued before the others, and is cancelled at the end. */
    MPI_Irecv(&count, 1, MPI_INT, MPI_ANY_SOURCE, 9999, comm, &doomed);
    for (int i = 0; i < WINDOW; i++) {
        outbox[i] = rank * 100000 + round * 100 + i;
        if (early)
            MPI_Isend(&outbox[i], 1, MPI_INT, right, i, comm, &requests[WINDOW + i]);
    }
    if (early) {
        /* The last message has been probed, so the others are unexpected by now. Received out of order. */
        MPI_Probe(left, WINDOW - 1, comm, &status);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == WINDOW - 1);
        MPI_Improbe(MPI_ANY_SOURCE, WINDOW / 2, comm, &flag, &message, &status);
        CHECK(flag);
        MPI_Mrecv(&inbox[WINDOW / 2], 1, MPI_INT, &message, &status);
        requests[WINDOW / 2] = MPI_REQUEST_NULL;
    }
    for (int i = WINDOW - 1; i >= 0; i--) {
        int source = i % 3 ? left : MPI_ANY_SOURCE;
        if (!(early && i == WINDOW / 2))
            MPI_Irecv(&inbox[i], 1, MPI_INT, source, i, comm, &requests[i]);
    }
    if (!early)
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(&outbox[i], 1, MPI_INT, right, i, comm, &requests[WINDOW + i]);
    MPI_Waitall(2 * WINDOW, requests, statuses);
    for (int i = 0; i < WINDOW; i++)
        CHECK(inbox[i] == left * 100000 + round * 100 + i);
    cancel_receive(&doomed);
}

int main(int argc, char **argv)
{
    MPI_Comm copies[4], half;
    int rank, size, sum, rounds = argc > 1 ? atoi(argv[1]) : 300;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < 4; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    for (int round = 0; round < rounds; round++) {
        ring(MPI_COMM_WORLD, round);
        ring(copies[round % 4], round);
        ring(half, round);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copies[round % 4]);
        CHECK(sum == size * (size - 1) / 2);
        if (round % 50 == 0) {
            MPI_Comm_free(&copies[0]);
            MPI_Comm_dup(MPI_COMM_WORLD, &copies[0]);
        }
    }
    if (rank == 0)
        puts("ring: all messages are where they belong");
    MPI_Finalize();
    return 0;
}
