/* heartbeat.h - what a long command is doing, on stderr, for as long as it lasts: a terminal has
 * one line that changes; a file, or a terminal in which nothing can be drawn over, has a line every
 * 4 s, whatever the command waits for meanwhile, and none of what is over before. One at a time. */
#ifndef PICKLOCK_CMD_HEARTBEAT_H
#define PICKLOCK_CMD_HEARTBEAT_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

/* --progress: words (as above), json (a line of JSON for each thing that is told, at most one a
 * second but for what is told first, and no words on stderr beside them), or none. FAIL_INPUT:
 * another word. NULL: words. */
enum fail heartbeat_read(const char *how, struct failure *failure);
/* The words that it knows, from row 0 on; NULL: there is no such row. */
const char *heartbeat_how(int row);

/* The words of a command line, before they are read: messages are in JSON where they ask for it. */
void heartbeat_expect(int count, char *const *words);

/* A line on stderr: mark and text (clean), or JSON with the text where progress is in JSON. */
void heartbeat_message(const char *mark, const char *text);

void heartbeat_begin(void);

/* How far a command is; below 0 (states, left_us and others) or 0 (of): not known, and not told. */
struct heartbeat_figures {
    const char *what; /* that is done now, borrowed */
    int64_t done, of;
    int64_t states, states_per_second, depth; /* of a search */
    int64_t runs, runs_max;                   /* of one by runs: made; that it makes at most */
    int64_t executions;                       /* of a worker that is asked; below 0: none is */
    int64_t operations, grants, p99_us;       /* of a stress run */
    int64_t holders, faults;                  /* of one: now; so far */
    int64_t ungranted;      /* of one: attempts since anybody had a lock, if for long; else 0 */
    const char *violations; /* of one: counts by cause, borrowed; NULL: not told */
    int64_t search_left_us; /* of the search that is under way */
    bool is_at_least;       /* search_left_us: by what it is known to have left; else a guess */
    int64_t left_us;        /* of everything */
    bool is_at_most;        /* left_us: a budget says so; else it is a guess */
};
#define HEARTBEAT_FIGURES                                                                          \
    ((struct heartbeat_figures){.states = -1,                                                      \
                                .states_per_second = -1,                                           \
                                .depth = -1,                                                       \
                                .runs = -1,                                                        \
                                .runs_max = -1,                                                    \
                                .executions = -1,                                                  \
                                .operations = -1,                                                  \
                                .grants = -1,                                                      \
                                .p99_us = -1,                                                      \
                                .holders = -1,                                                     \
                                .ungranted = -1,                                                   \
                                .faults = -1,                                                      \
                                .search_left_us = -1,                                              \
                                .left_us = -1})

/* For who prints words of its own. */
bool heartbeat_is_in_words(void);
/* Since it began. */
bool heartbeat_has_words(void);

/* From any thread, one at a time. */
void heartbeat_tell(const struct heartbeat_figures *figures);

/* What is done from now on, in printf's way; "" leaves the line empty, for others to print. From
 * the thread that began it. */
void heartbeat_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The terminal's line is empty from then on. */
void heartbeat_end(void);

#endif
