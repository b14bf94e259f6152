/* cell.h - one cell of the matrix scheme x faults: its searches, their witnesses confirmed, and
 * the word that sums it up.
 *
 * Most properties need no work in a critical section, and are cheapest without. The two that do are
 * looked for in searches of their own, each with its section, which end when they have found them.
 */
#ifndef PICKLOCK_EXPLORE_RESULT_CELL_H
#define PICKLOCK_EXPLORE_RESULT_CELL_H

#include "explore/result/retime.h"
#include "explore/search/fallback.h"

enum {
    CELL_NAME_MAX = 128,
    CELL_TRIED_MAX = FALLBACK_TEXT_MAX * SECTION_COUNT,
    CELL_WHY_MAX = CELL_TRIED_MAX + 128,
};

/* What the checks say of the replay of a property's witness. */
struct cell_witness {
    bool is_confirmed; /* the replay ends in the same verdict; if not, there is an error, or nothing
                          to replay: a violation of progress that no single way shows */
    enum cause cause;
    int64_t first_index; /* of the event at which it was seen, in the history of the replay */
    int lines;
    char (*text)[WITNESS_LINE_BYTES]; /* the sentences */
    char *error;                      /* not confirmed: why */
};

/* One search of a cell, until the cell is put together. */
struct cell_search {
    struct explore_outcome outcome;
    struct fallback tried; /* stays when the cell is put together */
    int64_t elapsed_us;
};

struct cell {
    struct explore_options options; /* in */
    char faults[CELL_NAME_MAX];     /* "none", "stall", "stall+crash" */
    unsigned ignored;               /* in; bit a property: not asked, found VERDICT_UNKNOWN */
    /* in; where witnesses are replayed. NULL: in the simulated world, where each must show what was
     * found; in another one, what does not show is unknown. */
    const struct confirm_world *world;
    /* in; the world's timers ring when they are due, whatever the search made of them; CUT: but
     * where a fault of the witness lets time pass. */
    enum retime retime;
    /* in; the search made waits longer than they are. */
    bool rounds_waits;
    bool adds_waits; /* it was searched with waits that add up */
    /* out, bit a property: a violation was found, and did not show with its timers at their own
     * times. */
    unsigned stretched;
    bool has_one_section;           /* in; options.section alone: no searches with another one */
    struct explore_outcome outcome; /* out, as all that follows; states, transitions and expected
                                       losses are sums, complete means all searches */
    struct cell_witness witnesses[PROPERTY_COUNT];
    bool
        is_run; /* a program was run: what it promises, its runs say; what they do not is ignored */
    /* Of a worker: on so many ways histories go on alike that were taken for one: all that is said
     * holds up to the model that was learned so. 0: none were. */
    int learned_ways;
    bool is_sample; /* in; of a program: asking does not decide it, so it is run so many times, and
                       that nothing is found is all that can be said */
    bool is_unstruck;   /* is_run; no fault struck in any run */
    char *doubt;        /* of a worker: why nothing can be said of what was not found; NULL */
    unsigned doubted;   /* with it: the properties that it is about, bits; 0: all */
    bool has_strayed;   /* of a worker: replayed, it did otherwise than it had answered */
    int64_t elapsed_us; /* by options.now_us, 0 without it; the sum of all searches */
    struct cell_search searches[SECTION_COUNT];
};

/* Bounds that suit the scheme: 3 clients and 2 rounds for one server, 2 clients on 3 servers for a
 * quorum; all reductions. */
void cell_init(struct cell *cell, const struct scheme *scheme);

/* Adds "stall" or "stall+crash" ("none": nothing) to the budget and the name. FAIL_INPUT: unknown
 * fault, did you mean. */
enum fail cell_add_faults(struct cell *cell, const char *text, struct failure *failure);

/* Does the property say anything about the scheme? It promises what the property is about. */
bool cell_promises(const struct cell *cell, enum property property);

/* Is the property asked in one of the cell's searches, and in which? The scheme promises it: fences
 * in order by minting them. */
bool cell_asks(const struct cell *cell, enum property property, enum section *section);

/* A cell is decided in parts, which may be done side by side: is there a search with that section;
 * it alone (FAIL_INPUT: the options); and when all of them are done, cell_finish(). */
bool cell_has_search(const struct cell *cell, enum section section);
enum fail cell_search(struct cell *cell, enum section section, struct failure *failure);
/* Takes over what a replay of the witness showed; fills a witness that says nothing yet. */
void cell_witness_say(struct cell_witness *witness, const struct finding *found);
/* Before its end: what is not found there is unknown, and so is progress; the first reason stays.
 */
void cell_doubt(struct cell *cell, const char *why);
/* The same of one property alone. */
void cell_doubt_property(struct cell *cell, enum property property, const char *why);
void cell_finish(struct cell *cell);
/* Of a cell that is finished: what was not found is unknown all the same. */
void cell_doubt_finished(struct cell *cell, const char *why);
/* And what was found, too, replayed or not. */
void cell_disbelieve(struct cell *cell, const char *why);
void cell_close(struct cell *cell);

/* INHERENT: nothing that is anybody's fault, such as an overrun. NOT_FOUND: a sample that was made,
 * in which nothing else was; never safe. */
enum cell_word { CELL_SAFE, CELL_INHERENT, CELL_BROKEN, CELL_STUCK, CELL_NOT_FOUND, CELL_UNKNOWN };

/* Were all runs of a sample made, and judged? */
bool cell_is_sampled(const struct cell *cell);

/* Is something violated, and not by nobody's fault? */
bool cell_is_violated(const struct cell *cell);
/* And by the scheme's own? */
bool cell_is_schemes_fault(const struct cell *cell);

/* Why a property is VERDICT_UNKNOWN: "not found in 10000 runs, seed 1", ..., or why it does not
 * apply. At most size bytes; returns text. */
const char *cell_why(const struct cell *cell, enum property property, char *text, size_t size);

/* What was tried where a search reached a limit, by section where that differs: "2 clients with 1
 * round, 10000 random runs with seed 0"; "" where none did. At most size bytes; returns text. */
const char *cell_tried(const struct cell *cell, char *text, size_t size);

/* How a violation was found that the exhaustive search had not come to: "2 clients with 1 round",
 * "random run 17 with seed 0"; "" where it had. At most size bytes; returns text. */
const char *cell_found_by(const struct cell *cell, enum property property, char *text, size_t size);

/* Of a cell that names no cause: "safe", "not found in 4000 runs", "unknown (..)". At most size
 * bytes; returns text. */
const char *cell_print_silent(const struct cell *cell, char *text, size_t size);

#endif
