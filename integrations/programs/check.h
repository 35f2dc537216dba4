/* Shared by the programs: a check that names its place and aborts the job. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                   \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                             \
        }                                                                                             \
    } while (0)

/* Cancels a receive that no message matches. */
static inline void cancel_receive(MPI_Request *receive)
{
    MPI_Status status;
    int cancelled;
    MPI_Cancel(receive);
    MPI_Wait(receive, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
}

#endif
