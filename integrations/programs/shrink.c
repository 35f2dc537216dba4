/* A communicator is revoked, and what is left of it agrees on another while one rank comes late: the others' messages
 * for that are there before its receives, and must stay. Three ranks, with fault tolerance on. */
#include <unistd.h>

#include "check.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

int main(int argc, char **argv)
{
    int rank, size, value, flag;
    MPI_Comm doomed, next;

    MPI_Init(&argc, &argv);
    for (int round = 0; round < 12; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &doomed);
        MPI_Comm_set_errhandler(doomed, MPI_ERRORS_RETURN);
        MPI_Comm_rank(doomed, &rank);
        if (rank == 0)
            CHECK(MPIX_Comm_revoke(doomed) == MPI_SUCCESS);
        else
            CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 7, doomed, MPI_STATUS_IGNORE) != MPI_SUCCESS);
        /* In some rounds nobody is late. */
        for (int turn = 0; rank == round % 4 && turn < 20; turn++) {
            MPI_Iprobe(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            usleep(5000);
        }
        CHECK(MPIX_Comm_shrink(doomed, &next) == MPI_SUCCESS);
        MPI_Comm_size(next, &size);
        CHECK(size == 3);
        MPI_Barrier(next);
        MPI_Comm_free(&next);
        MPI_Comm_free(&doomed);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        puts("shrink: what is left agrees, whoever is late");
    MPI_Finalize();
    return 0;
}
