/* Three threads of each rank, MPI_THREAD_MULTIPLE, that use one communicator with tags of their own, and communicators
 * that come and go: receives from any source, cancels, matched probes. Two ranks or more. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 200, DUPLICATE_EVERY = 20, RING = 100, NOBODY = 200, PROBED = 300 };

static int next, previous;
static MPI_Comm own[THREADS];

/* A receive that nobody sends to is cancelled while another waits. */
static void ring_and_cancel(int thread, int round)
{
    int sent = THREADS * round + thread, received = -1, nothing;
    MPI_Request receive, cancel, send;
    MPI_Irecv(&received, 1, MPI_INT, round % 3 ? previous : MPI_ANY_SOURCE, RING + thread, MPI_COMM_WORLD, &receive);
    MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, NOBODY + thread, MPI_COMM_WORLD, &cancel);
    MPI_Isend(&sent, 1, MPI_INT, next, RING + thread, MPI_COMM_WORLD, &send);
    cancel_receive(&cancel);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    CHECK(received == sent);
}

static void probe(int thread, int round)
{
    int received = -1;
    MPI_Message message;
    MPI_Send(&round, 1, MPI_INT, next, PROBED + thread, MPI_COMM_WORLD);
    MPI_Mprobe(MPI_ANY_SOURCE, PROBED + thread, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(received == round);
}

static void duplicate(int thread, int round)
{
    int received = -1;
    MPI_Comm duplicate;
    MPI_Comm_dup(own[thread], &duplicate);
    MPI_Sendrecv(&round, 1, MPI_INT, next, 0, &received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, duplicate,
                 MPI_STATUS_IGNORE);
    CHECK(received == round);
    MPI_Comm_free(&duplicate);
}

static void *work(void *number)
{
    const int thread = *(const int *) number;
    for (int round = 0; round < ROUNDS; round++) {
        ring_and_cancel(thread, round);
        probe(thread, round);
        if (round % DUPLICATE_EVERY == 0)
            duplicate(thread, round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rank, size, numbers[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&own[i]);
    if (rank == 0)
        puts("threads: each got its own");
    MPI_Finalize();
    return 0;
}
