/* watch.h - `picklock watch`: somebody's program runs through the proxy, and the history of its
 * locks is written, to be judged like any other.
 *
 * Nothing is asked of the program. A lock is a key whose name matches, and which was made by a
 * command that makes it only where there is none (SET NX, SETNX, a script, a transaction). A hold
 * is inferred: from the grant heard to the release sent. Whose command it is follows from the token
 * in it, never from the connection, which may be a pool's. Commands that name a watched key are
 * with the server one at a time, so that the key can be looked at before and behind each; all
 * others pass. */
#ifndef PICKLOCK_WATCH_WATCH_H
#define PICKLOCK_WATCH_WATCH_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

struct watch_options {
    const char *pattern;      /* of the keys, as in KEYS */
    const char *fences;       /* of those that hold fences; NULL: none */
    const char *url;          /* the server, or NULL: a private one */
    const char *redis_server; /* its program, or NULL: the one on the PATH */
    const char *listen;       /* address of the proxy */
    char *const *command;     /* NULL at its end; NULL: none, until a signal comes */
    bool is_stdout_taken;     /* what the command prints goes to stderr */
    const char *history;      /* the file to be written */
    bool hides_values;        /* of tokens only digests are written */
    const char *program;      /* what the history calls the program */
    const volatile int *stop; /* set by a signal handler */
    /* Called once, when the proxy listens there: "redis://127.0.0.1:1234/0". */
    enum fail (*ready)(void *context, const char *address, struct failure *failure);
    /* What cannot wait for the end: the history cannot be written on, what SIGUSR1 asks for. NULL:
     * nobody asks (only behind the proxy's rules). */
    void (*notice)(void *context, const char *words);
    void *context;
};

enum { WATCH_NOTES_MAX = 8 };

struct watch_outcome {
    int status;    /* of the command, as a shell tells it: 128 + N behind a signal */
    char *stopped; /* by which signal it, or the command, was ended; NULL: none. The caller frees,
                      as below */
    char *missed;  /* why the history is not whole; NULL: it is. */
    char *open;    /* what could not be told, so that nothing can be concluded; NULL: nothing */
    bool is_cut;   /* the history has no end: it could not be written to it */
    int64_t connections, looked_at; /* commands that name a watched key */
    int64_t evident;                /* of these, many at once, in the order of the log of reads */
    bool is_ordered;                /* the server tells in which order it reads */
    int64_t waited_us;              /* the longest that one of them stood behind another */
    int64_t grants, refusals, releases;
    int64_t fenced; /* writes that changed a fence; of these, how many began it anew with less */
    int64_t fences_back;
    int64_t
        plain_deletes; /* of those releases: by DEL or UNLINK, whoever's lock it may have been */
    int64_t rewrites;  /* of a lock's value, by commands that name nobody */
    int64_t doubtful_releases; /* that name no token, and may be another's */
    int64_t plain;             /* changes of watched keys that were not granted as locks */
    char *notes[WATCH_NOTES_MAX];
    int notes_count;
};

/* FAIL_UNAVAILABLE: no server, no such command. Whatever is returned, outcome is filled in; free it
 * with watch_outcome_free(). The history is there when FAIL_NONE is returned, and, as far as it
 * could be written, where it is cut. */
enum fail watch_run(const struct watch_options *options, struct watch_outcome *outcome,
                    struct failure *failure);
void watch_outcome_free(struct watch_outcome *outcome);

/* Why nothing can be concluded from what was seen, unless it is a violation: the one rule for it,
 * which the history's head carries ("incomplete"). NULL: it can. */
const char *watch_outcome_unknown(const struct watch_outcome *outcome);

#endif
