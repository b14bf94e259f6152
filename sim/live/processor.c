/* processor.c - see processor.h. */
#include "live/processor.h"

#include "base/monotonic.h"
#include "base/random.h"

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    MEMBERS_MAX = 64,   /* more take turns where they like */
    LOOK_US = 100000,   /* so often is looked */
    ENOUGH_PERCENT = 60 /* of a processor: they hardly wait for anything but each other */
};

static struct {
    cpu_set_t all; /* where we could run at first */
    int users;
    int number;
    int members[MEMBERS_MAX], members_count; /* beside ourselves */
    bool has_changed;                        /* who they are, since the last look */
    bool stays;
    int64_t looked_us, ran_ns;
    struct random random;
} shared = {.number = NO_PROCESSOR};

static void put(int pid)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)shared.number, &one);
    (void)sched_setaffinity(pid, sizeof one, &one); /* refused: it runs where it likes */
}

void processor_join(void)
{
    if (shared.users++)
        return;
    shared.members_count = 0;
    shared.has_changed = true;
    shared.looked_us = monotonic_us();
    shared.random.seed = (uint64_t)getpid();
    shared.number = NO_PROCESSOR;
    if (sched_getaffinity(0, sizeof shared.all, &shared.all) != 0 || CPU_COUNT(&shared.all) < 2)
        return;
    shared.number = sched_getcpu();
    if (shared.number != NO_PROCESSOR)
        put(0);
}

void processor_take(int pid)
{
    for (int i = 0; i < shared.members_count; i++)
        if (shared.members[i] == pid)
            return;
    if (shared.number == NO_PROCESSOR || pid <= 0 || shared.members_count == MEMBERS_MAX)
        return;
    shared.members[shared.members_count++] = pid;
    shared.has_changed = true;
    put(pid);
}

void processor_leave(void)
{
    if (--shared.users || shared.number == NO_PROCESSOR)
        return;
    shared.number = NO_PROCESSOR;
    shared.stays = false;
    (void)sched_setaffinity(0, sizeof shared.all, &shared.all);
}

void processor_stay(void)
{
    shared.stays = true;
}

int processor_shared(void)
{
    return shared.number;
}

bool processor_has_others(void)
{
    cpu_set_t all;
    return sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) > 1;
}

void processor_avoid(int number)
{
    static int avoided = NO_PROCESSOR;
    cpu_set_t all;
    if (number == NO_PROCESSOR || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    if (avoided != NO_PROCESSOR)
        CPU_SET((size_t)avoided, &all);
    CPU_CLR((size_t)number, &all);
    if (CPU_COUNT(&all) && sched_setaffinity(0, sizeof all, &all) == 0)
        avoided = number;
}

void processor_begin_child(void)
{
    if (shared.number != NO_PROCESSOR)
        (void)sched_setaffinity(0, sizeof shared.all, &shared.all);
}

/* How long its main thread has run; false: it has ended, or nobody counts. */
static bool has_run(int pid, int64_t *ran_ns)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    FILE *file = fopen(path, "re");
    const bool is_told = file && fscanf(file, "%" SCNd64, ran_ns) == 1;
    if (file)
        (void)fclose(file);
    return is_told;
}

/* Those that have ended are members no more. */
static int64_t sum_of_members(void)
{
    int64_t sum_ns = 0, ran_ns;
    int kept = 0;
    for (int i = 0; i < shared.members_count; i++) {
        if (!has_run(shared.members[i], &ran_ns)) {
            shared.has_changed = true;
            continue;
        }
        sum_ns += ran_ns;
        shared.members[kept++] = shared.members[i];
    }
    shared.members_count = kept;
    return sum_ns;
}

/* To the next one, or not: where two such groups meet, one of them goes. */
static void move(void)
{
    if (random_below(&shared.random, 2))
        return;
    do
        shared.number = (shared.number + 1) % CPU_SETSIZE;
    while (!CPU_ISSET((size_t)shared.number, &shared.all));
    put(0);
    for (int i = 0; i < shared.members_count; i++)
        put(shared.members[i]);
}

void processor_look(void)
{
    const int64_t now_us = monotonic_us(), passed_us = now_us - shared.looked_us;
    int64_t ran_ns = 0;
    if (shared.number == NO_PROCESSOR || shared.stays || passed_us < LOOK_US ||
        !has_run(getpid(), &ran_ns))
        return;
    ran_ns += sum_of_members();
    if (!shared.has_changed && (ran_ns - shared.ran_ns) / 10 < passed_us * ENOUGH_PERCENT)
        move();
    shared.has_changed = false;
    shared.looked_us = now_us;
    shared.ran_ns = ran_ns;
}
