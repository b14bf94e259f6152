/* progress.h - what `run` says on stderr while it runs (heartbeat.h): how far it is, and how long
 * it may take. */
#ifndef PICKLOCK_CMD_PROGRESS_H
#define PICKLOCK_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    int64_t runs, done;         /* that are to be made */
    int64_t takes_us, spent_us; /* by their stories: where time is real */
    int64_t left_out;           /* runs that do not apply here */
    bool is_real_time;
    int64_t began_us;
};

enum { PROGRESS_TIME_MAX = 48 };

/* "45 s", "9 min 32 s", "0 s" for what is over; text: PROGRESS_TIME_MAX bytes. */
const char *progress_print_time(int64_t us, char *text);

/* Fills in the rest, and says what is to come where it takes long. */
void progress_begin(struct progress *progress);

/* A run of that scenario (borrowed) is next, of which its story takes takes_us. */
void progress_next(struct progress *progress, const char *scenario, int64_t takes_us);

void progress_end(void);

#endif
