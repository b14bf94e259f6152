/* result.h - what a run, a stress run or a cell of the explorer came to: the rows that every report
 * prints. One type for all three: what they have in common stands once, what only one of them has
 * hangs on it. */
#ifndef PICKLOCK_RUN_RESULT_H
#define PICKLOCK_RUN_RESULT_H

#include "run/series.h"
#include "base/shard.h"
#include "checks/checks.h"
#include "explore/result/cell.h"
#include "live/live.h"
#include "run/fail_on.h"
#include "scenario/scenario.h"

enum { EXPECTED_NOTHING = -1 }; /* result_property.expected: none stated */

enum { SEARCH_WORDS_MAX = 160, CELL_WORDS_MAX = 64 * CAUSE_COUNT };

/* What --confirm found on a real server. Nothing was found where it does not know a command of the
 * witness (LACKS), or where there is nothing to replay (NOTHING). */
enum confirmed {
    CONFIRMED_NOT_ASKED,
    CONFIRMED_NO,
    CONFIRMED_YES,
    CONFIRMED_LACKS,
    CONFIRMED_NOTHING,
};

struct result_property {
    enum property property;
    enum verdict verdict;
    int expected;  /* enum verdict, or EXPECTED_NOTHING */
    int64_t count; /* of violations; of a cell 1: its witness has one */
    enum cause cause;
    unsigned causes; /* bit enum cause, of all violations; 0: of `cause` alone */
    unsigned known;  /* bit enum cause: those of them that a baseline accepts */
    char **witness;  /* sentences */
    int witness_lines;
    int64_t first_index; /* of the event at which it was seen, -1 or 0: not known; reports draw what
                            is around it */

    /* Of a cell: */
    bool is_failure; /* by --fail-on */
    char *why;       /* UNKNOWN, NOT_APPLICABLE: why, else NULL */
    /* violated: */
    int64_t faults, steps; /* of the witness: fewest faults, then fewest steps */
    bool is_shortest;      /* nothing is shorter */
    char *found_by; /* behind a limit: "2 clients with 1 round", "random run 17 with seed 0"; else
                       NULL */
    int64_t run;    /* of a random search: that found it; 0: none did, or not random */
    char **choices; /* the witness, as of a schedule */
    int choices_count;
    bool is_replayed; /* the simulated world and the checks come to the same */
    enum confirmed confirmed;
    char *error;    /* why it was not replayed, or NULL */
    char *schedule; /* as those of the row: a cell has them for each property */
    char *history;
};

struct stress_figures {
#define COUNT(name, member) int64_t member;
#include "run/stress.def"
#undef COUNT
    int64_t struck[FAULT_ROWS]; /* of the faults, each; all 0: not known */
    int64_t cpu_us; /* of picklock: clients, proxy and checks, not servers; 0: not known */
    int64_t injected_wait_us; /* faults kept clients waiting so long, all together; 0: or not known
                               */
    struct latency latency_us;
    struct series series;
};

/* How a cell of the explorer was searched, and what that came to. */
struct search_figures {
    char words[CELL_WORDS_MAX]; /* what the cell came to; see result_name_causes() */
    bool has_one_section;       /* critical sections do one thing in every search: */
    enum section section;       /* this; else what each property needs. A bound too */
#define BOUND(name, member)  int64_t member;
#define FIGURE(name, member) int64_t member;
#include "run/search.def"
#undef BOUND
#undef FIGURE
    int64_t learned_ways;        /* as cell.learned_ways: a bound, too */
    int64_t extends;             /* so often who holds is asked to extend, at most; a bound, too */
    int64_t cancels;             /* so often an acquire of each client is cancelled, at most; too */
    char method[NAME_MAX_BYTES]; /* enum explore_search; seed, runs, new_per_1000 and shorter_states
                                  * are 0 of an exhaustive one */
    double omissions;            /* states expected to be omitted for equal fingerprints */
    bool is_complete;
    bool is_sampled; /* as cell_is_sampled(): all that was to be done was; it proves nothing */
    char end[SEARCH_WORDS_MAX]; /* why the search ended */
    char tried[CELL_TRIED_MAX]; /* as cell_tried() */
};

enum result_kind { KIND_RUN, KIND_STRESS, KIND_CELL };

struct result_row {
    /* What ran: a scenario's name, "stress", "replay"; of a cell the faults that may strike:
     * "none", "stall+crash". */
    char subject[CELL_NAME_MAX];
    char scheme[NAME_MAX_BYTES]; /* of a worker its file, "my_lock.py", or "" */
    char *scheme_file;           /* that it was loaded from, as the user named it, or NULL */
    char *worker; /* a foreign program: the command of its processes, or what its history calls it;
                     NULL: a scheme ran */
    bool is_inferred; /* nobody told when it held the lock: its commands did, so holds are inferred
                       */
    bool is_naive;
    bool is_unrated;      /* a scheme that is in no table: neither naive nor safe */
    enum verdict verdict; /* the worst property */
    bool is_unsupported;  /* the server cannot run the scheme, or the model has not its fault */
    enum { AS_EXPECTED_NO, AS_EXPECTED_YES, AS_EXPECTED_NONE } as_expected;
    bool is_known;        /* not as expected, and a baseline accepts all that is not (baseline.h) */
    enum fail_on fail_on; /* what judged where nothing was expected; UNSAID: something was, or
                             nothing could be judged */
    char *error;          /* why the run is unknown (diverged ...), or NULL */
    char *not_applicable; /* why the run has no meaning here, or NULL; verdict is then
                             NOT_APPLICABLE */
    int64_t elapsed_us;
    struct result_property *properties; /* of a cell: those that the explorer judges */
    int properties_count;
    char *schedule; /* path relative to the run folder, or NULL */
    char *history;  /* path relative to the run folder, or NULL */
    char *story;    /* the scenario's, or NULL */
    char *source;   /* the scenario's, or NULL */
    char *path;     /* the scenario's file, as the user named it, or NULL: scenarios/NAME.yaml */
    struct stress_figures *stress; /* of a stress run, else NULL; owned */
    struct search_figures *search; /* of a cell, else NULL; owned */
    int origin;   /* which of the results' origins it comes from; 0 where there are none */
    char *folder; /* what schedules and histories are relative to, as the user named it; NULL: the
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
    struct result_row *rows;
    int rows_count;

    /* results of several run folders in one (merge.h): */
    struct results *origins; /* without rows: what they were made by, where it is not the same for
                                all; 0 of them: as above for all rows */
    int origins_count;
    char **notes; /* what a reader must know: what verdicts rest on, how rows came together */
    int notes_count;
    char **missing; /* what is not here and should be: the results are unknown as a whole */
    int missing_count;
    const char *scratch; /* a folder of histories that goes again when the page is drawn, which
                            names none of them; borrowed, or NULL */
};

/* Worst property, as-expected and so on are filled in by runner.c; this frees all that a results
 * owns. */
void results_free(struct results *results);
/* Starts a row: its names. subject is copied. A scheme that is not the table's own is unrated. */
void result_name_row(struct result_row *row, const char *subject, const struct scheme *scheme);

/* What a run is judged by; all borrowed. */
struct judging {
    const struct expectation
        *expectation; /* NULL: none stated, the policy says what counts as failed */
    bool is_unsupported;
    const char *error; /* why the run diverged, or NULL */
    /* Why the scheme could not follow the scenario, or NULL. A failure (by the policy) up to there
     * is one all the same, and what held so far is unknown; without one the run is not applicable.
     */
    const char *not_applicable;
    /* Why the run ended before its time, or NULL. What is violated so far stays so; what is not is
     * unknown. */
    const char *interrupted;
    /* Why no two holds can have been made to overlap, or NULL: that they did not is unknown then;
     * and so is the row, where nothing was stated and nothing failed. */
    const char *vacuity;
    /* What of the servers nobody saw, or cannot be so, or NULL. Where nothing was stated and
     * nothing failed, the row is unknown: a violation that is nobody's fault does not make good
     * what was not seen. */
    const char *gap;
    enum fail_on fail_on; /* the policy */
    bool tells_all;       /* what is not applicable has its place, too, and says why */
};

/* Of a history whose findings these are: why some of it was not seen, or cannot be so; NULL: all
 * was, and can. Borrowed from both. */
const char *result_gap(const struct finding *findings, const struct checks *checks);

/* Of a stress run: why no two holds can have been made to overlap; NULL: a fault struck inside a
 * hold, a client stalled in its release, or none was wanted and none struck at all. */
const char *result_vacuity(const struct counters *counters, bool wants_faults);

/* Fills in the verdict, the properties and as_expected from findings[PROPERTY_COUNT]. */
void result_judge(struct result_row *row, const struct finding *findings,
                  const struct judging *judging);

/* Fills in a cell's verdict and as_expected from its properties. */
void result_sum_up_cell(struct result_row *row);

/* Ends a row that was not run, or that says nothing: reason (borrowed) without a full stop. */
void result_set_not_applicable(struct result_row *row, const char *reason);

struct result_row *results_add(struct results *results); /* an empty row, kept by results */
void results_drop_last(struct results *results);         /* one that came to nothing */

/* A note; takes text. One that is there already is not added again. */
void results_note(struct results *results, char *text);

/* Not all of it was done: `done` of `of` units. why is borrowed; the first one stays. */
void results_interrupt(struct results *results, const char *why, const char *unit, int64_t done,
                       int64_t of);

/* What made the rows with this origin (borrowed): command, world, seed and so on. */
const struct results *results_origin(const struct results *results, int origin);

/* What the lock of the row is called: the scheme, else the worker's command (borrowed). */
const char *result_lock(const struct result_row *row);

enum result_kind result_kind(const struct result_row *row);

/* The history in which the property was judged, or NULL. */
const char *result_history(const struct result_row *row, const struct result_property *property);

/* The same scenario and lock, or the same cell: its faults, every bound, and how it was searched.
 * Stress runs are samples, and never the same. */
bool result_is_same(const struct result_row *a, const struct result_row *b);

/* Where a row stands: what summaries count and the exit status follows. */
enum standing {
    STANDING_EXPECTED,       /* as the scenario says */
    STANDING_UNEXPECTED,     /* not as it says, or a failure where it says nothing */
    STANDING_KNOWN,          /* not as it says, and accepted by a baseline */
    STANDING_UNKNOWN,        /* what was to be judged could not be; a search did not come to its
                                end */
    STANDING_UNSTATED,       /* nothing was expected, and nothing failed */
    STANDING_UNSUPPORTED,    /* nothing was judged: this server cannot run it, as was foreseen, or
                                the model has not its fault */
    STANDING_NOT_APPLICABLE, /* there was nothing to judge */
    STANDING_COUNT
};
enum standing result_standing(const struct result_row *row);

/* Nothing failed, and whether the lock excludes, which is what it is for, is unknown: the row is
 * unknown, whatever else (a leftover) was found. */
bool result_is_vacuous(const struct result_row *row);

/* --- of cells --- */

/* The causes that a cell names, the gravest first (causes.def): those that count (--fail-on); where
 * none does, all that are somebody's fault; where none is that, and all was searched, the first.
 * Each stands with the property of which it has the shortest witness: the fewest faults, then the
 * fewest steps. told: CAUSE_COUNT. Returns how many. Every report names these, and so the same. */
int result_cell_causes(const struct result_row *row, const struct result_property **told);

/* Of these the first, NULL: there is none. Its witness is the counterexample of the cell. */
const struct result_property *result_cell_headline(const struct result_row *row);

/* The shorter of two witnesses; the first where neither is. */
bool result_is_shorter(const struct result_property *property, const struct result_property *than);

/* What the first comes to, for colours and counts. */
enum cell_word result_cell_word(const struct result_row *row);

/* Puts the causes that the cell names into its words: "broken (unlock-bug, 10 steps; late-grant, 6
 * steps)", "stuck (3 steps; no-expiry, 1 step)", "overrun only". Where it names none, its words
 * stay. */
void result_name_causes(struct result_row *row);

/* Is there a witness that did not replay, or that real Redis did not follow: a defect of picklock?
 */
bool result_has_defect(const struct result_row *row);
bool result_property_is_defect(const struct result_property *property);

/* Why there is no answer: "this server does not know DELEX"; NULL where there is one, or nobody
 * asked. And read back. */
const char *result_unconfirmed(enum confirmed confirmed);
enum confirmed result_unconfirmed_read(const char *why);

/* "write", or NULL: each property is looked for with the section that it needs. */
const char *search_section(const struct search_figures *search);
bool search_is_random(const struct search_figures *search);

/* It did not come to its end: neither all interleavings nor all runs that were to be made. */
bool search_is_open(const struct search_figures *search);

/* The same bounds and way, but for how many faults may strike: cells that stand in one table. */
bool search_is_same(const struct search_figures *a, const struct search_figures *b);

/* "3 clients, 2 rounds, 1 server, lease of 2 ticks", and of a random search its seed: the bounds
 * that all cells of a scheme share; the caller frees. */
char *search_bounds(const struct search_figures *search);

/* "3 clients now, 2 clients before; at most 2 faults now, at most 1 fault before": the bounds, and
 * the way, that are not the same; NULL: all are. The caller frees. */
char *search_difference(const struct search_figures *now, const struct search_figures *then);

/* --- of stress runs --- */

/* "3 clients now, 100 clients before; 2 s now, 4 s before; 12 faults now, 318 faults before":
 * what is not the same of how much two samples looked at, and the faults that struck in one alone;
 * NULL: nothing. The caller frees. */
char *stress_difference(const struct result_row *now, const struct result_row *then);

/* --- of all rows --- */

/* Why no verdict at all was earned, so that the whole is unknown: "nothing was run: ..."; NULL: one
 * was, or this is a shard, which alone cannot tell, and is done where nothing fell to it. */
const char *results_nothing_judged(const struct results *results);

/* Exit status of all rows: not as expected 1 over unknown 2 over 0; a witness of the explorer that
 * does not replay is a defect of picklock, 70 over all. What is missing is unknown, and so is a
 * whole of which nothing was judged. */
enum fail results_status(const struct results *results);

#endif
