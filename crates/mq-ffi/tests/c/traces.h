/* For the tests that have a session write traces. */
#ifndef TRACES_H
#define TRACES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Removes the files of a folder; returns how many these were. */
static int remove_traces(const char *folder)
{
    DIR *all = opendir(folder);
    struct dirent *entry;
    int traces = 0;
    while (all != NULL && (entry = readdir(all)) != NULL) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        traces += unlink(path) == 0;
    }
    if (all != NULL)
        closedir(all);
    return traces;
}

#endif
