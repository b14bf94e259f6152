/* result.h - what one run came to: the rows that every report prints. */
#ifndef PICKLOCK_RUN_RESULT_H
#define PICKLOCK_RUN_RESULT_H

#include "base/shard.h"
#include "checks/checks.h"
#include "live/live.h"
#include "run/explored.h"
#include "run/fail_on.h"
#include "scenario/scenario.h"

enum expected { EXPECTED_NOTHING = -1 }; /* property_result.expected: none stated */

struct property_result {
    enum property property;
    enum verdict verdict;
    int expected; /* enum verdict, or EXPECTED_NOTHING */
    int64_t count;
    enum cause cause;
    char **witness; /* sentences */
    int witness_lines;
    int64_t first_index; /* of the event at which it was seen, -1 or 0: not known; reports draw what
                            is around it */
};

struct stress_figures {
    int clients;
    int64_t operations, grants, refusals, errors, overruns, foreign_releases, lost_updates;
    int64_t operations_per_second;
    struct latency latency_us;
    int64_t faults, faults_in_hold, contended;
};

struct run_result {
    char scenario[NAME_MAX_BYTES]; /* "stress" for a stress run */
    char scheme[NAME_MAX_BYTES];
    char *scheme_file; /* that it was loaded from, as the user named it, or NULL */
    bool is_naive;
    bool is_unrated;      /* a scheme that is in no table: neither naive nor safe */
    enum verdict verdict; /* the worst property */
    bool is_unsupported;  /* the server cannot run the scheme; verdict unknown */
    enum { AS_EXPECTED_NO, AS_EXPECTED_YES, AS_EXPECTED_NONE } as_expected;
    enum fail_on fail_on; /* what judged where nothing was expected; UNSAID: something was, or
                             nothing could be judged */
    char *trouble;        /* why the run is unknown (diverged ...), or NULL */
    char *not_applicable; /* why the run has no meaning here, or NULL; verdict is then
                             NOT_APPLICABLE */
    int64_t elapsed_us;
    struct property_result *properties;
    int properties_count;
    char *schedule; /* path relative to the run folder, or NULL */
    char *history;  /* path relative to the run folder, or NULL */
    char *story;    /* the scenario's, or NULL */
    char *source;   /* the scenario's, or NULL */
    char *path;     /* the scenario's file, as the user named it, or NULL: scenarios/NAME.yaml */
    bool is_stress;
    struct stress_figures stress;
    int origin;   /* which of the results' origins it comes from; 0 where there are none */
    char *folder; /* what schedule and history are relative to, as the user named it; NULL: the
                     results' own folder */
};

/* How a whole that did not come to its end ended. */
struct interruption {
    char *why;        /* "SIGINT", or what failed, without a full stop; NULL: it came to its end */
    int64_t done, of; /* so many of what was to be done came to their end */
    char unit[24];    /* what is counted: "run", "cell", "witness" */
};

struct results {
    char picklock[16]; /* the version that made them */
    char command[16];  /* "run", "stress", "explore"; "report" where it is not the same for all rows
                        */
    char world[16];    /* "redis", "sim" */
    char server_version[32];
    uint64_t seed;
    char *invocation; /* the command line that makes this again; no password */
    char started[32]; /* 2026-01-31T12:00:00Z */
    int64_t elapsed_us;
    struct interruption
        interrupted;    /* whatever the rows say, the results are then unknown as a whole */
    struct shard shard; /* this is a part of a campaign; both 0: the whole of it */
    int64_t whole;      /* with a shard: how many rows all shards together have */
    bool is_by_scheme;  /* with a shard: schemes were dealt out, not rows */
    char
        *campaign; /* with a shard: what all shards were told, the same words for each; else NULL */
    struct run_result *rows;
    int rows_count;
    struct explored *cells; /* of the explorer */
    int cells_count;

    /* results of several run folders in one (merge.h): */
    struct results *origins; /* without rows: what they were made by, where it is not the same for
                                all; 0 of them: as above for all rows */
    int origins_count;
    char **notes; /* what a reader must know about how they came together */
    int notes_count;
    char **missing; /* what is not here and should be: the results are unknown as a whole */
    int missing_count;
};

/* Worst property, as-expected and so on are filled in by runner.c; this frees all that a results
 * owns. */
void results_free(struct results *results);
/* Starts a row: its names. scenario is copied. A scheme that is not the table's own is unrated. */
void result_name_row(struct run_result *row, const char *scenario, const struct scheme *scheme);

/* What a run is judged by; all borrowed. */
struct judging {
    const struct expectation
        *expectation; /* NULL: none stated, the policy says what counts as failed */
    bool is_unsupported;
    const char *trouble; /* why the run diverged, or NULL */
    /* Why the scheme could not follow the scenario, or NULL. A failure (by the policy) up to there
     * is one all the same; without one the run is not applicable. */
    const char *not_applicable;
    /* Why the run ended before its time, or NULL. What is violated so far stays so; what is not is
     * unknown. */
    const char *interrupted;
    /* Why no two holds can have been made to overlap, or NULL: that they did not is unknown then.
     */
    const char *vacuity;
    enum fail_on fail_on; /* the policy */
};

/* Of a stress run: why no two holds can have been made to overlap; NULL: a fault struck inside a
 * hold, or none was wanted and none struck at all. */
const char *result_unstruck(const struct counters *counters, bool wants_faults);

/* Fills in the verdict, the properties and as_expected from findings[PROPERTY_COUNT]. */
void result_judge(struct run_result *row, const struct finding *findings,
                  const struct judging *judging);

/* Ends a row that was not run, or that says nothing: reason (borrowed) without a full stop. */
void result_set_not_applicable(struct run_result *row, const char *reason);

struct run_result *results_add(struct results *results); /* a zeroed row, kept by results */
void results_drop_last(struct results *results);         /* one that came to nothing */

/* Not all of it was done: `done` of `of` units. why is borrowed; the first one stays. */
void results_interrupt(struct results *results, const char *why, const char *unit, int64_t done,
                       int64_t of);
struct explored *results_add_cell(struct results *results); /* as above */

/* What made the rows with this origin (borrowed): command, world, seed and so on. */
const struct results *results_origin(const struct results *results, int origin);

/* Where a row stands: what summaries count and the exit status follows. */
enum standing {
    STANDING_EXPECTED,       /* as the scenario says */
    STANDING_UNEXPECTED,     /* not as it says, or a failure where it says nothing */
    STANDING_UNKNOWN,        /* what was to be judged could not be */
    STANDING_UNSTATED,       /* nothing was expected, and nothing failed */
    STANDING_NOT_APPLICABLE, /* there was nothing to judge */
    STANDING_COUNT
};
enum standing result_standing(const struct run_result *row);

/* Nothing failed, and whether the lock excludes, which is what it is for, is unknown: the row is
 * unknown, whatever else (a leftover) was found. */
bool result_is_vacuous(const struct run_result *row);

/* Are there rows, and none of them applicable? Then nothing was concluded: unknown as a whole. A
 * shard alone cannot tell. */
bool results_nothing_applied(const struct results *results);

/* Is there nothing to judge, neither rows nor cells? Then nothing was run: unknown. A shard to
 * which nothing fell is done. */
bool results_nothing_ran(const struct results *results);

/* Exit status of all rows and cells: not as expected 1 over unknown 2 over 0; a witness of the
 * explorer that does not replay is a defect of picklock, 70 over all. What is missing is unknown,
 * and so is a whole of which nothing ran or applied. */
enum fail results_status(const struct results *results);

#endif
