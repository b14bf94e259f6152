/* explored.h - what a cell of the explorer came to: the rows that every report prints.
 *
 * Taken from a cell once it was searched, or read back from results.json; judges nothing. */
#ifndef PICKLOCK_RUN_EXPLORED_H
#define PICKLOCK_RUN_EXPLORED_H

#include "explore/result/cell.h"
#include "run/fail_on.h"

enum { EXPLORED_WORDS_MAX = 160, EXPLORED_FOUND_MAX = 80 };

/* What --confirm found on a real server. Nothing was found where it does not know a command of the
 * witness (LACKS), or where there is nothing to replay (NOTHING). */
enum confirmed {
    CONFIRMED_NOT_ASKED = -1,
    CONFIRMED_NO,
    CONFIRMED_YES,
    CONFIRMED_LACKS,
    CONFIRMED_NOTHING,
};

struct explored_property {
    enum property property;
    enum verdict verdict;
    bool is_headline; /* the one that the cell's words speak of */

    char why[CELL_WHY_MAX]; /* UNKNOWN, NOT_APPLICABLE: why, else "" */

    /* violated: */
    enum cause cause;
    int64_t faults, steps; /* of the witness: fewest faults, then fewest steps */
    bool is_shortest;      /* nothing is shorter */
    /* Behind a limit: "2 clients with 1 round", "random run 17 with seed 0"; else "" */
    char found_by[EXPLORED_FOUND_MAX];
    int64_t run;    /* of a random search: that found it; 0: none did, or not random */
    char **choices; /* its steps, as of a schedule */
    int choices_count;
    char **witness; /* it in sentences */
    int witness_lines;
    int64_t first_index; /* as in property_result */
    bool is_replayed;    /* the simulated world and the checks come to the same */
    enum confirmed confirmed;
    char *trouble;   /* why it was not replayed, or NULL */
    bool is_failure; /* by --fail-on */
    char *schedule;  /* paths relative to the run folder, or NULL */
    char *history;
};

struct explored {
    char scheme[NAME_MAX_BYTES];
    char *scheme_file;              /* as in run_result */
    bool is_naive, is_unrated;      /* as in run_result */
    char faults[CELL_NAME_MAX];     /* "none", "stall", "stall+crash" */
    char words[EXPLORED_WORDS_MAX]; /* as cell_print() */
    bool has_one_section;           /* critical sections do one thing in every search: */
    enum section section;           /* this; else what each property needs. A bound too */
#define BOUND(name, member)  int64_t member;
#define FIGURE(name, member) int64_t member;
#include "run/explored.def"
#undef BOUND
#undef FIGURE
    char search[NAME_MAX_BYTES]; /* enum explore_search; seed, runs, new_per_1000 and shorter_states
                                  * are 0 of an exhaustive one */
    double lost;                 /* states expected to be lost to equal fingerprints */
    bool is_complete, is_unsupported;
    enum fail_on fail_on; /* what judged it; UNSAID: it is not known (an older results.json) */
    char end[EXPLORED_WORDS_MAX]; /* why the search ended */
    char tried[CELL_TRIED_MAX];   /* as cell_tried() */
    int64_t elapsed_us;
    struct explored_property *properties; /* those that the explorer judges */
    int properties_count;
    int origin;   /* as in run_result */
    char *folder; /* as in run_result */
};

/* Nothing is expected of a cell: fail_on says what counts as failed; UNSAID: nothing, but of a
 * user's scheme its own faults. Fills a zeroed row from a cell that was searched (borrowed).
 * on_redis: PROPERTY_COUNT enum confirmed. */
void explored_fill(struct explored *row, const struct cell *cell, const int *on_redis,
                   enum fail_on fail_on);
void explored_close(struct explored *row);

/* The names of the clients, as in every schedule that the explorer writes; EXPLORE_CLIENTS_MAX. */
extern char explored_clients[EXPLORE_CLIENTS_MAX][NAME_MAX_BYTES];

/* The property that the cell's words speak of, or NULL: nothing is violated, or unknown. */
const struct explored_property *explored_headline(const struct explored *row);

/* What the cell's words come to, for colours and counts; as cell_judge(). */
enum cell_word explored_word(const struct explored *row);

/* Is there a witness that did not replay, or that real Redis did not follow: a defect of picklock?
 */
bool explored_has_defect(const struct explored *row);

/* Was it not searched to its end, though it could have been? */
bool explored_is_open(const struct explored *row);

/* Why there is no answer: "this server does not know DELEX"; NULL where there is one, or nobody
 * asked. And read back.
 */
const char *explored_unconfirmed(const struct explored_property *property);
enum confirmed explored_unconfirmed_read(const char *why);

bool explored_has_failure(const struct explored *row);

/* Was it searched at random? */
bool explored_is_random(const struct explored *row);

/* "write", or NULL: each property is looked for with the section that it needs. */
const char *explored_section(const struct explored *row);

/* "3 clients, 2 rounds, 1 server, lease of 2 ticks", and of a random search its seed: the bounds
 * that all cells of a scheme share; the caller frees. */
char *explored_bounds(const struct explored *row);

/* The same cell: scheme, faults, every bound, and how it was searched. */
bool explored_is_same_cell(const struct explored *a, const struct explored *b);

#endif
