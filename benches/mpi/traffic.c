/* pingpong and rate: the cost of matching in traffic whose queues are short, or of a fixed depth. */
#include <stdio.h>
#include <stdlib.h>

#include "matching.h"

/* Receives with tags from 1, which match nothing until stand_down. */
static MPI_Request *stand_up(const session *of, int (*payloads)[2]) {
    int depth = of->options->depth;
    MPI_Request *requests = allocate((size_t)depth, sizeof *requests);
    for (int i = 0; i < depth; i++)
        MPI_Irecv(payloads[i], 2, MPI_INT, 1 - of->rank, 1 + i, of->measured, &requests[i]);
    return requests;
}

static void stand_down(const session *of, MPI_Request *requests) {
    int depth = of->options->depth, payload[2] = {0, 0};
    for (int turn = 0; turn < 2; turn++)
        if (turn == of->rank)
            for (int i = 0; i < depth; i++)
                MPI_Send(payload, 2, MPI_INT, 1 - of->rank, 1 + i, of->measured);
        else
            wait_all(depth, requests);
    free(requests);
}

static void ping(const session *of, int preposted, char *out, char *in, int bytes, int rounds) {
    MPI_Request request;
    for (int i = 0; i < rounds; i++) {
        if (preposted)
            MPI_Irecv(in, bytes, MPI_BYTE, 1, 0, of->measured, &request);
        MPI_Send(out, bytes, MPI_BYTE, 1, 0, of->measured);
        if (preposted)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else
            MPI_Recv(in, bytes, MPI_BYTE, 1, 0, of->measured, MPI_STATUS_IGNORE);
    }
}

static void pong(const session *of, int preposted, char *out, char *in, int bytes, int rounds) {
    MPI_Request request;
    if (preposted)
        MPI_Irecv(in, bytes, MPI_BYTE, 0, 0, of->measured, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, READY_TAG, of->control);
    for (int i = 0; i < rounds; i++) {
        if (preposted)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else
            MPI_Recv(in, bytes, MPI_BYTE, 0, 0, of->measured, MPI_STATUS_IGNORE);
        if (preposted && i + 1 < rounds)
            MPI_Irecv(in, bytes, MPI_BYTE, 0, 0, of->measured, &request);
        MPI_Send(out, bytes, MPI_BYTE, 0, 0, of->measured);
    }
}

void measure_pingpong(const session *of, int preposted, int bytes) {
    const options *options = of->options;
    int rounds = bytes > 8192 || options->depth > 64 ? 100 : 1000;
    if (of->rank > 1)
        return;
    char *out = allocate((size_t)bytes, 1), *in = allocate((size_t)bytes, 1);
    int(*payloads)[2] = allocate((size_t)options->depth, sizeof *payloads);
    row row = {.measurement = "pingpong",
               .variant = preposted ? "preposted" : "blocking",
               .what = "half-trip",
               .depth = options->depth,
               .bytes = bytes,
               .complete = 1,
               .messages = 2 * rounds,
               .samples = allocate((size_t)options->repetitions, sizeof(double))};
    MPI_Request *standing = stand_up(of, payloads);
    for (int i = -options->warmup; i < options->repetitions; i++) {
        if (of->rank == 1) {
            pong(of, preposted, out, in, bytes, rounds);
            continue;
        }
        MPI_Recv(NULL, 0, MPI_BYTE, 1, READY_TAG, of->control, MPI_STATUS_IGNORE);
        double start = now();
        ping(of, preposted, out, in, bytes, rounds);
        if (i >= 0)
            row.samples[row.count++] = (now() - start) / (2 * rounds);
    }
    stand_down(of, standing);
    if (of->rank == 0)
        report_row(of, &row);
    free(row.samples);
    free(payloads);
    free(in);
    free(out);
}

enum { WINDOW = 64, WINDOWS = 200 };

/* A window is sent when its receives are posted: READY goes out after the last one. */
static void one_window(const session *of, int (*payloads)[2]) {
    MPI_Request requests[WINDOW];
    if (of->rank == 0) {
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(payloads[i], 2, MPI_INT, 1, 0, of->measured, &requests[i]);
        MPI_Send(NULL, 0, MPI_INT, 1, READY_TAG, of->control);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, READY_TAG, of->control, MPI_STATUS_IGNORE);
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(payloads[i], 2, MPI_INT, 0, 0, of->measured, &requests[i]);
    }
    wait_all(WINDOW, requests);
}

void measure_rate(const session *of) {
    const options *options = of->options;
    if (of->rank > 1)
        return;
    int payloads[WINDOW][2] = {{0}};
    row row = {.measurement = "rate",
               .variant = "window-64",
               .what = "per message",
               .bytes = (int)sizeof payloads[0],
               .complete = 1,
               .messages = WINDOW * WINDOWS,
               .samples = allocate((size_t)options->repetitions, sizeof(double))};
    for (int i = -options->warmup; i < options->repetitions; i++) {
        double start = now();
        for (int window = 0; window < WINDOWS; window++)
            one_window(of, payloads);
        if (i >= 0)
            row.samples[row.count++] = (now() - start) / (WINDOW * WINDOWS);
    }
    if (of->rank == 0)
        report_row(of, &row);
    free(row.samples);
}
