/* progress.c - see progress.h. */
#include "cmd/progress.h"

#include "base/monotonic.h"
#include "base/units.h"
#include "cmd/heartbeat.h"

#include <inttypes.h>
#include <stdio.h>

enum { SECOND_US = 1000000, LONG_US = 5 * SECOND_US, MINUTE_S = 60 };

const char *progress_print_time(int64_t us, char *text)
{
    const int64_t seconds = us > 0 ? (us + SECOND_US - 1) / SECOND_US : 0;
    int used = 0;
    if (seconds >= MINUTE_S)
        used = snprintf(text, PROGRESS_TIME_MAX, "%" PRId64 " min ", seconds / MINUTE_S);
    (void)snprintf(text + used, (size_t)(PROGRESS_TIME_MAX - used), "%" PRId64 " s",
                   seconds % MINUTE_S);
    return text;
}

void progress_begin(struct progress *progress)
{
    char time[PROGRESS_TIME_MAX];
    progress->began_us = monotonic_us();
    if (progress->is_real_time && progress->takes_us >= LONG_US && heartbeat_is_in_words()) {
        fprintf(stderr, "%" PRId64 " run%s, about %s: leases run out in real time", progress->runs,
                units_plural(progress->runs), progress_print_time(progress->takes_us, time));
        if (progress->left_out)
            fprintf(stderr, "; %" PRId64 " more do not apply here", progress->left_out);
        fprintf(stderr, "\n");
    }
    heartbeat_begin();
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
    struct heartbeat_figures figures = HEARTBEAT_FIGURES;
    figures.what = scenario;
    figures.done = progress->done;
    figures.of = progress->runs;
    if (progress->is_real_time)
        figures.left_us = left_us(progress, monotonic_us() - progress->began_us);
    heartbeat_tell(&figures);
    progress->done++;
    progress->spent_us += takes_us;
}

void progress_end(void)
{
    heartbeat_end();
}
