/* For the tests of this folder: ends the program with a sentence unless a result is the wanted one. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(got, want)                                                                              \
    do {                                                                                              \
        long got_ = (long) (got), want_ = (long) (want);                                              \
        if (got_ != want_) {                                                                          \
            fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", __FILE__, __LINE__, #got, got_, want_);    \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

#endif
