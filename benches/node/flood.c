/* A process that waits for one sender while another floods it: what that takes of its memory.
 *
 * Three processes: rank 1 sends `messages` of `bytes` bytes to rank 0, which first waits for a message that rank 2 sends
 * after `seconds`, and then receives all. Rank 0 prints a line of JSON. crates/mq-comm/examples/flood.rs does the same.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLOOD = 1, OTHER = 2 };

/* A line of /proc/self/status, in MiB. */
static double memory(const char *name)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    double kib = -1;
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, name, strlen(name)))
            kib = atof(line + strlen(name));
    if (!status || kib < 0) {
        fprintf(stderr, "flood: /proc/self/status has no %s\n", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fclose(status);
    return kib / 1024;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long messages = argc == 4 ? atol(argv[1]) : 0;
    int bytes = argc == 4 ? atoi(argv[2]) : -1;
    int seconds = argc == 4 ? atoi(argv[3]) : 0;
    if (messages < 1 || bytes < 0 || seconds < 1 || ranks != 3) {
        if (rank == 0)
            fprintf(stderr, "usage, with 3 processes: flood MESSAGES BYTES SECONDS\n");
        MPI_Finalize();
        return 2;
    }
    char *buffer = calloc(1, (size_t)bytes + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double before = memory("VmRSS:");
    if (rank == 2) {
        sleep((unsigned)seconds);
        MPI_Send(buffer, 0, MPI_BYTE, 0, OTHER, MPI_COMM_WORLD);
    } else if (rank == 1) {
        for (long n = 0; n < messages; n++) {
            memcpy(buffer, &n, bytes < (int)sizeof n ? (size_t)bytes : sizeof n);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, FLOOD, MPI_COMM_WORLD);
        }
    } else {
        MPI_Recv(buffer, 0, MPI_BYTE, 2, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double waiting = memory("VmRSS:");
        double start = MPI_Wtime();
        for (long n = 0; n < messages; n++) {
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, FLOOD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (memcmp(buffer, &n, bytes < (int)sizeof n ? (size_t)bytes : sizeof n)) {
                fprintf(stderr, "flood: message %ld is another one\n", n);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        printf("{\"waiting\": %.1f, \"peak\": %.1f, \"after\": %.1f, \"received_in\": %.3f}\n", waiting - before,
               memory("VmHWM:") - before, memory("VmRSS:") - before, MPI_Wtime() - start);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
