/* Cancels receives that a message has taken, while others wait: that is too late for the taken ones, and must not
 * reach the others. Two ranks or more. */
#include "check.h"

enum { TAKEN = 300, WAITING = 200, STAYING = 2, ROUNDS = 1000, ASK = 1, LENGTH = 50 };

/* Longer than what libraries send in the packet that is matched. */
typedef int content[LENGTH];

static void receive(content value, int tag, MPI_Request * request)
{
    MPI_Irecv(value, LENGTH, MPI_INT, 1, tag, MPI_COMM_WORLD, request);
}

/* Has rank 1 send a message with this tag, which is also its first value. */
static void ask_for(int tag)
{
    MPI_Send(&tag, 1, MPI_INT, 1, ASK, MPI_COMM_WORLD);
}

/* Sends what rank 0 asks for. */
static void answer(void)
{
    content value = { 0 };
    for (;;) {
        int tag;
        MPI_Recv(&tag, 1, MPI_INT, 0, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (tag < 0)
            return;
        value[0] = tag;
        MPI_Send(value, LENGTH, MPI_INT, 0, tag, MPI_COMM_WORLD);
    }
}

/* Waits for a message that was requested after all others, so the others have arrived too. */
static void catch_up(void)
{
    content value;
    ask_for(2);
    MPI_Recv(value, LENGTH, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Cancels a receive that has its message. */
static void cancel_too_late(MPI_Request * request, const content value, int tag)
{
    MPI_Status status;
    int cancelled, count;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(!cancelled && count == LENGTH && status.MPI_TAG == tag && value[0] == tag);
}

static void receive_all(void)
{
    static content taken[TAKEN], late, next[2], value[WAITING], stayed[STAYING];
    MPI_Request taken_request[TAKEN], late_request, rolling[2], waiting[WAITING], staying[STAYING];

    for (int i = 0; i < TAKEN; i++) {
        int done = 0;
        receive(taken[i], 3, &taken_request[i]);
        ask_for(3);
        while (!done)
            MPI_Request_get_status(taken_request[i], &done, MPI_STATUS_IGNORE);
    }
    /* Many, of which the newest are matched first, so they must be found by what they ask for. Two that are posted
     * then stay. */
    for (int i = 0; i < WAITING; i++)
        receive(value[i], 100 + i, &waiting[i]);
    for (int i = WAITING - 1; i >= 0; i--) {
        ask_for(100 + i);
        MPI_Wait(&waiting[i], MPI_STATUS_IGNORE);
        CHECK(value[i][0] == 100 + i);
        if (i == WAITING / 2) {
            for (int j = 0; j < STAYING; j++)
                receive(stayed[j], 50 + j, &staying[j]);
        }
    }
    /* Others come and go after them. */
    receive(next[0], 7, &rolling[0]);
    for (int i = 1; i < ROUNDS; i++) {
        receive(next[i % 2], 7, &rolling[i % 2]);
        ask_for(7);
        MPI_Wait(&rolling[(i - 1) % 2], MPI_STATUS_IGNORE);
    }
    ask_for(7);
    MPI_Wait(&rolling[(ROUNDS - 1) % 2], MPI_STATUS_IGNORE);

    for (int i = 0; i < TAKEN; i++)
        cancel_too_late(&taken_request[i], taken[i], 3);
    /* One that found its message waiting. */
    ask_for(4);
    catch_up();
    receive(late, 4, &late_request);
    cancel_too_late(&late_request, late, 4);

    for (int i = 0; i < STAYING; i++) {
        ask_for(50 + i);
        catch_up();
        cancel_too_late(&staying[i], stayed[i], 50 + i);
    }
    ask_for(-1);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size >= 2);
    if (rank == 0)
        receive_all();
    if (rank == 1)
        answer();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("cancels: those that came too late reached nobody");
    MPI_Finalize();
    return 0;
}
