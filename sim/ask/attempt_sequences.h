/* attempt_sequences.h - which attempts of one client, one behind the other, are to be asked for
 * whole: few sequences that have, together, the orders in which attempts can end.
 *
 * What a sequence adds, for each of its attempts: how the last one, two and three before it ended,
 * with the operations that are asked for in it, and, behind one or two, with how it ends itself;
 * and a long row of refusals, with what was before that. Behind one end of each kind each client is
 * asked; behind more, any: behind two of each outline, behind three of each form. */
#ifndef PICKLOCK_ASK_ATTEMPT_SEQUENCES_H
#define PICKLOCK_ASK_ATTEMPT_SEQUENCES_H

#include "explore/store/intern.h"

#include <stdbool.h>

enum { SEQUENCE_MAX = 40, SEQUENCE_ENDS_MAX = 48 };

/* A way in which an attempt can end. */
struct attempt_end {
    uint32_t node;       /* of the histories of one attempt that end so, the first */
    uint32_t kind;       /* its number, the same in all searches; so are the next ones */
    uint32_t outline;    /* that, coarser */
    uint32_t form;       /* how it was asked for, and how it ended, at its coarsest */
    uint32_t operations; /* asked for in it, as bits; what is granted has more than one */
    bool is_refused;     /* so that another attempt is free */
    bool is_struck;      /* not without a fault, where the search has faults */
};

struct attempt_sequence {
    uint8_t ends[SEQUENCE_MAX]; /* places among those of the search */
    int count;
};

struct sequence_bounds {
    int rounds; /* attempts of a client, but for those that are refused */
    int faults; /* 0: nothing fails but by the worker's own doing */
    int clients;
};

/* What sequences have had so far, of one worker. */
struct sequences_had {
    struct intern_table items;
    bool *are_made; /* by the number of an item */
    uint32_t count; /* of these */
};

struct sequence_choice;

/* ends, had: kept until the choice is freed. The same seed chooses the same sequences. */
struct sequence_choice *sequence_choice_new(const struct attempt_end *ends, int count,
                                            const struct sequence_bounds *bounds, uint64_t seed,
                                            struct sequences_had *had);
void sequence_choice_free(struct sequence_choice *choice);

/* The one that adds the most when that client is asked; NULL: none adds anything. */
const struct attempt_sequence *sequence_choice_next(struct sequence_choice *choice, int client);
/* That client was asked for the one that was chosen last, and did as expected. */
void sequence_choice_made(const struct sequence_choice *choice, int client);
/* What the sequences of this search can add to nothing, and how much of it is left. */
void sequence_choice_count(const struct sequence_choice *choice, uint32_t *all, uint32_t *left);

#endif
