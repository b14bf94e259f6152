/* worker_pool.c - see worker_pool.h. */
#include "explore/result/worker_pool.h"

#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* One search of a cell. */
struct task {
    int cell;
    enum section section;
};

struct worker_pool {
    struct cell **cells;
    struct task *tasks;
    int *left; /* by cell: tasks that are not done */
    int tasks_count, count;
    pthread_mutex_t lock;
    int next, done; /* done: cells */
    worker_pool_watch *watch;
    enum fail fail;
    struct failure failure;
};

static void add_tasks(struct worker_pool *pool, int cell)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (!cell_has_search(pool->cells[cell], (enum section)i))
            continue;
        pool->tasks[pool->tasks_count++] = (struct task){cell, (enum section)i};
        pool->left[cell]++;
    }
}

/* The next task; NULL: there is none. */
static const struct task *pool_take(struct worker_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool is_over = pool->fail || pool->next == pool->tasks_count;
    const struct task *task = is_over ? NULL : &pool->tasks[pool->next++];
    pthread_mutex_unlock(&pool->lock);
    return task;
}

/* Was it the last one of its cell? */
static bool pool_end(struct worker_pool *pool, const struct task *task, enum fail fail,
                     const struct failure *failure)
{
    pthread_mutex_lock(&pool->lock);
    if (fail && !pool->fail) {
        pool->fail = fail;
        pool->failure = *failure;
    }
    bool is_last = --pool->left[task->cell] == 0 && !pool->fail;
    pthread_mutex_unlock(&pool->lock);
    return is_last;
}

static void pool_tell(struct worker_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->done++;
    if (pool->watch)
        pool->watch(pool->done, pool->count);
    pthread_mutex_unlock(&pool->lock);
}

static void *pool_work(void *context)
{
    struct worker_pool *pool = context;
    const struct task *task;
    while ((task = pool_take(pool))) {
        struct cell *cell = pool->cells[task->cell];
        struct failure failure = {0};
        enum fail fail = cell_search(cell, task->section, &failure);
        if (!pool_end(pool, task, fail, &failure))
            continue;
        cell_finish(cell);
        pool_tell(pool);
    }
    return NULL;
}

enum fail worker_pool_run(struct cell **cells, int count, int jobs, worker_pool_watch *watch,
                          struct failure *failure)
{
    struct worker_pool pool = {
        .cells = cells, .count = count, .watch = watch, .lock = PTHREAD_MUTEX_INITIALIZER};
    pool.tasks = memory_new((size_t)count * SECTION_COUNT + 1, sizeof *pool.tasks);
    pool.left = memory_new((size_t)count + 1, sizeof *pool.left);
    for (int i = 0; i < count; i++)
        add_tasks(&pool, i);
    pthread_t *threads = memory_new((size_t)jobs, sizeof *threads);
    int started = 0;
    while (started < jobs && pthread_create(&threads[started], NULL, pool_work, &pool) == 0)
        started++;
    if (started == 0)
        pool_work(&pool);
    for (int i = 0; i < started; i++) {
        int failed = pthread_join(threads[i], NULL);
        assert(failed == 0);
    }
    free(threads);
    free(pool.tasks);
    for (int i = 0; i < count && !pool.fail; i++)
        if (pool.left[i]) /* whoever searched it never came back */
            pool.fail = failure_set(&pool.failure, FAIL_INPUT,
                                    "%s ended the thread that searched it under %s: nothing was "
                                    "concluded. A step returns",
                                    cells[i]->options.scheme->name, cells[i]->faults);
    free(pool.left);
    if (pool.fail)
        *failure = pool.failure;
    return pool.fail;
}
