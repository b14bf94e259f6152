/* explore_crew.c - see explore_crew.h. */
#include "cmd/explore_crew.h"

#include "base/memory.h"
#include "cmd/cmd.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct crew {
    struct cell **cells;
    int count;
    pthread_mutex_t lock;
    int next, done;
    enum fail fail;
    struct failure failure;
};

static void *crew_work(void *context)
{
    struct crew *crew = context;
    struct failure failure = {0};
    for (;;) {
        pthread_mutex_lock(&crew->lock);
        int at = crew->fail || cmd_stop ? crew->count : crew->next++;
        pthread_mutex_unlock(&crew->lock);
        if (at >= crew->count)
            return NULL;
        enum fail fail = cell_run(crew->cells[at], &failure);
        pthread_mutex_lock(&crew->lock);
        if (fail && !crew->fail) {
            crew->fail = fail;
            crew->failure = failure;
        }
        crew->done++;
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r\033[K%d/%d", crew->done, crew->count);
        pthread_mutex_unlock(&crew->lock);
    }
}

enum fail explore_crew_run(struct cell **cells, int count, int jobs, struct failure *failure)
{
    struct crew crew = {.cells = cells, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t *threads = memory_new((size_t)jobs, sizeof *threads);
    int started = 0;
    while (started < jobs && pthread_create(&threads[started], NULL, crew_work, &crew) == 0)
        started++;
    if (started == 0)
        crew_work(&crew);
    for (int i = 0; i < started; i++) {
        int failed = pthread_join(threads[i], NULL);
        assert(failed == 0);
    }
    free(threads);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (crew.fail)
        *failure = crew.failure;
    else if (crew.done < count)
        return failure_set(failure, FAIL_UNKNOWN, "stopped after %d of %d cells", crew.done, count);
    return crew.fail;
}
