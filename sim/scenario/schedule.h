/* schedule.h - a schedule file: a run and its choices, readable, versioned, replayable.
 *
 *     picklock schedule 1
 *     scheme: set-nx-ex-del
 *     lease: 1s
 *     clients: A B C
 *     servers: 1
 *     seed: 1
 *     delex: yes                   (also: same-token: A B; replica: yes; foreign: yes; when they
 * are so: foreign, when a command is no row of commands.def; worker: COMMAND, of whose processes
 * it is; wait: 2s, for so long its acquires may try again; violates: release-own, the property
 * that it was kept for)
 *     ---
 *     A acquires
 *     A's SET reaches server 1
 *     ...
 *     end
 *
 * Blank lines and lines that begin with # say nothing. Without the line "end" it is taken for cut
 * off. */
#ifndef PICKLOCK_SCENARIO_SCHEDULE_H
#define PICKLOCK_SCENARIO_SCHEDULE_H

#include "checks/checks.h"
#include "scenario/world.h"

struct schedule {
    const struct scheme *scheme;
    int clients, servers;
    char names[ACTORS_MAX][NAME_MAX_BYTES];
    int64_t lease_us;
    uint64_t seed;
    uint32_t same_token;
    bool has_replica, has_delex, is_cluster;
    bool is_foreign;   /* a choice names a command of a foreign program */
    char *worker;      /* its command line; NULL: it is of a scheme. Owned */
    int64_t wait_us;   /* of a worker: for so long an acquire may try again */
    bool has_property; /* it is kept because it violates this one */
    enum property property;
    struct choice *choices;
    int *lines; /* the file line of each choice, when it was read from one */
    int choices_count;
    char named[NAME_MAX_BYTES]; /* the scheme that the file names; "" where there is no file */
};

struct schedule *schedule_new(const struct run *run); /* copies what it needs */
void schedule_add(struct schedule *schedule, const struct choice *choice);
/* Written under a temporary name, renamed when whole. */
enum fail schedule_write(const struct schedule *schedule, const char *path,
                         struct failure *failure);
/* instead (kept): the scheme that it is to be of, whatever it names; NULL: that one. FAIL_INPUT:
 * file:line: what was expected. */
enum fail schedule_read(const char *path, const struct scheme *instead, struct schedule **schedule,
                        struct failure *failure);
/* Applies every choice in order. FAIL_UNKNOWN: "file:line: choice: why it was not possible". */
enum fail schedule_apply(const struct schedule *schedule, const char *path, struct world *world,
                         struct failure *failure);
void schedule_free(struct schedule *schedule);

#endif
