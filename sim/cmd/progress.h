/* progress.h - what `run` says on stderr while it runs: how far it is, and how long it may take.
 *
 * A terminal has one line that changes; a file has a line every few seconds, and none of a run that
 * is over before. */
#ifndef PICKLOCK_CMD_PROGRESS_H
#define PICKLOCK_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    int64_t runs, done;         /* that are to be made */
    int64_t takes_us, spent_us; /* by their stories: where time is real */
    int64_t left_out;           /* runs that do not apply here */
    bool is_real_time;
    bool is_terminal;
    int64_t began_us, told_us;
};

/* Prints "45 s", "9 min 32 s" to stderr. */
void progress_print_time(int64_t us);

/* Fills in the rest, and says what is to come where it takes long. */
void progress_begin(struct progress *progress);

/* A run of that scenario (borrowed) is next, of which its story takes takes_us. */
void progress_next(struct progress *progress, const char *scenario, int64_t takes_us);

void progress_end(struct progress *progress);

#endif
