/* Receives with any source and tag wait on a communicator while the library sends its own messages on it; the
 * receives must not take those. Two ranks or more. */
#include "check.h"

int main(int argc, char **argv)
{
    enum { WAITING = 5 };
    int rank, size, value[WAITING], data[64], flag;
    MPI_Request waiting[WAITING];
    MPI_Status status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size >= 2);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < WAITING; i++)
            MPI_Irecv(&value[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &waiting[i]);
        for (int i = 0; i < 64; i++)
            data[i] = rank == 0 ? i : -1;
        MPI_Bcast(data, 64, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, data, 64, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        for (int i = 0; i < 64; i++)
            CHECK(data[i] == i);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Testall(WAITING, waiting, &flag, MPI_STATUSES_IGNORE);
        CHECK(!flag);
        /* The first takes a message, tag 0 and the largest tag included; the others are cancelled. */
        int tag = round % 2 ? 0 : 32767, sent = rank * 1000 + round;
        MPI_Send(&sent, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD);
        MPI_Wait(&waiting[0], &status);
        CHECK(status.MPI_TAG == tag && value[0] == (rank + size - 1) % size * 1000 + round);
        for (int i = 1; i < WAITING; i++) {
            cancel_receive(&waiting[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("wildcards: none took a message of the library's own");
    MPI_Finalize();
    return 0;
}
