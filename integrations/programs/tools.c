/* A tool uses MPI_T and never ends that: what it has begun is still in use when MPI is finalized. */
#include "check.h"

int main(int argc, char **argv)
{
    int provided, rank, size, sent, received;

    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sent = rank;
    MPI_Sendrecv(&sent, 1, MPI_INT, (rank + 1) % size, 1, &received, 1, MPI_INT, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(received == (rank + size - 1) % size);
    MPI_Finalize();
    if (rank == 0)
        puts("tools: MPI has ended, MPI_T has not");
    return 0;
}
