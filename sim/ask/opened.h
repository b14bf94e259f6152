/* opened.h - the files that a worker has opened while it was asked, as they were: what its answers
 * rest on, wherever they lie. Seen by the library that is preloaded into it (worker/shim/opened.c),
 * and what is mapped into its processes. Private to this folder. */
#ifndef PICKLOCK_ASK_OPENED_H
#define PICKLOCK_ASK_OPENED_H

#include <stdbool.h>

struct opened_file {
    char *path;    /* owned */
    char mark[48]; /* "size seconds.nanoseconds" of its last change; "": it could not be read */
};

struct opened {
    struct opened_file *files; /* owned; sorted, each once, from opened_settle() on */
    int count, room;
};

/* Those of a log; what lies in its own folder is ours, and what is a process's or a device's is
 * none. A byte code of Python is named by its source, where that is there. */
void opened_add_log(struct opened *opened, const char *folder);
/* What is mapped into that process. */
void opened_add_maps(struct opened *opened, int pid);
/* As opened_print() has it, and just compared: as they are now. */
void opened_add_text(struct opened *opened, const char *text);
/* The path (borrowed) of one that has changed since it was opened; NULL: none has. Files that are
 * gone were nobody's but the worker's, and are dropped. */
const char *opened_settle(struct opened *opened);
/* A line a file, "size seconds.nanoseconds digest path"; the caller frees. */
char *opened_print(const struct opened *opened);
void opened_close(struct opened *opened);

/* The path of the first file of such a text that has other bytes now, or is gone; NULL: none. One
 * of the same size and time is the same; of a large one the time counts alone. The caller frees. */
char *opened_changed(const char *text);

#endif
