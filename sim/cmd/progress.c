/* progress.c - see progress.h. */
#include "cmd/progress.h"

#include "base/monotonic.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { SECOND_US = 1000000, EVERY_US = 5 * SECOND_US, MINUTE_S = 60 };

void progress_print_time(int64_t us)
{
    int64_t seconds = (us + SECOND_US - 1) / SECOND_US;
    if (seconds >= MINUTE_S)
        fprintf(stderr, "%" PRId64 " min ", seconds / MINUTE_S);
    fprintf(stderr, "%" PRId64 " s", seconds % MINUTE_S);
}

void progress_begin(struct progress *progress)
{
    progress->is_terminal = isatty(STDERR_FILENO);
    progress->began_us = progress->told_us = monotonic_us();
    if (!progress->is_real_time || progress->takes_us < EVERY_US)
        return;
    fprintf(stderr, "%" PRId64 " runs, about ", progress->runs);
    progress_print_time(progress->takes_us);
    fprintf(stderr, ": leases run out in real time");
    if (progress->left_out)
        fprintf(stderr, "; %" PRId64 " more do not apply here", progress->left_out);
    fprintf(stderr, "\n");
}

/* What is left of the stories, and as much more as they have taken so far. */
static int64_t left_us(const struct progress *progress, int64_t elapsed_us)
{
    int64_t left = progress->takes_us - progress->spent_us;
    int64_t more = elapsed_us - progress->spent_us;
    if (progress->done && more > 0)
        left += more / progress->done * (progress->runs - progress->done);
    return left;
}

void progress_next(struct progress *progress, const char *scenario, int64_t takes_us)
{
    int64_t now_us = monotonic_us();
    if (progress->is_terminal || now_us - progress->told_us >= EVERY_US) {
        progress->told_us = now_us;
        fprintf(stderr, "%s%" PRId64 "/%" PRId64 " ", progress->is_terminal ? "\r\033[K" : "",
                progress->done + 1, progress->runs);
        text_print(stderr, TEXT_PLAIN, scenario);
        if (progress->is_real_time) {
            fprintf(stderr, ", about ");
            progress_print_time(left_us(progress, now_us - progress->began_us));
            fprintf(stderr, " left");
        }
        if (!progress->is_terminal)
            fprintf(stderr, "\n");
    }
    progress->done++;
    progress->spent_us += takes_us;
}

void progress_end(struct progress *progress)
{
    if (progress->is_terminal)
        fprintf(stderr, "\r\033[K");
}
