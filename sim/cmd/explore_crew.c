/* explore_crew.c - see explore_crew.h. */
#include "cmd/explore_crew.h"

#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One search of a cell. */
struct task {
    int cell;
    enum section section;
};

struct crew {
    struct cell **cells;
    struct task *tasks;
    int *left; /* by cell: tasks that are not done */
    int tasks_count, count;
    pthread_mutex_t lock;
    int next, done; /* done: cells */
    enum fail fail;
    struct failure failure;
};

static void add_tasks(struct crew *crew, int cell)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!cell_has_search(crew->cells[cell], (enum section)i))
            continue;
        crew->tasks[crew->tasks_count++] = (struct task){cell, (enum section)i};
        crew->left[cell]++;
    }
}

/* The next task; NULL: there is none. */
static const struct task *crew_take(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    bool is_over = crew->fail || crew->next == crew->tasks_count;
    const struct task *task = is_over ? NULL : &crew->tasks[crew->next++];
    pthread_mutex_unlock(&crew->lock);
    return task;
}

/* Was it the last one of its cell? */
static bool crew_end(struct crew *crew, const struct task *task, enum fail fail,
                     const struct failure *failure)
{
    pthread_mutex_lock(&crew->lock);
    if (fail && !crew->fail) {
        crew->fail = fail;
        crew->failure = *failure;
    }
    bool is_last = --crew->left[task->cell] == 0 && !crew->fail;
    pthread_mutex_unlock(&crew->lock);
    return is_last;
}

static void crew_tell(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->done++;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%d/%d", crew->done, crew->count);
    pthread_mutex_unlock(&crew->lock);
}

static void *crew_work(void *context)
{
    struct crew *crew = context;
    const struct task *task;
    while ((task = crew_take(crew))) {
        struct cell *cell = crew->cells[task->cell];
        struct failure failure = {0};
        enum fail fail = cell_search(cell, task->section, &failure);
        if (!crew_end(crew, task, fail, &failure))
            continue;
        cell_finish(cell);
        crew_tell(crew);
    }
    return NULL;
}

enum fail explore_crew_run(struct cell **cells, int count, int jobs, struct failure *failure)
{
    struct crew crew = {.cells = cells, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    crew.tasks = memory_new((size_t)count * SECTION_COUNT + 1, sizeof *crew.tasks);
    crew.left = memory_new((size_t)count + 1, sizeof *crew.left);
    for (int i = 0; i < count; i++)
        add_tasks(&crew, i);
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
    free(crew.tasks);
    free(crew.left);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (crew.fail)
        *failure = crew.failure;
    return crew.fail;
}
