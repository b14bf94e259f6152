/* step.h - one step of a scenario: a short sentence "ACTOR verb [argument]", as data.
 *
 * steps.def lists the sentences. A step is larger than a choice: "A acquires" is all the choices
 * that bring A's attempt to its end, whatever commands the scheme sends. The interpreter turns
 * steps into choices, world in hand. Steps that are no more than a choice stand in choices.def. */
#ifndef PICKLOCK_SCENARIO_STEP_H
#define PICKLOCK_SCENARIO_STEP_H

#include "scenario/choice.h"

enum step_kind {
#define STEP(id, form, words) STEP_##id,
#include "scenario/steps.def"
#undef STEP
#define STEP_CHOICE(id, name, fault, form, words) STEP_##id,
#include "scenario/choices.def"
    STEP_COUNT
};

enum stall { STALL_NONE, STALL_BEFORE, STALL_AFTER };

struct step {
    enum step_kind kind;
    int client, server;    /* -1: none */
    int line, column;      /* where it stands */
    int64_t amount_us;     /* a duration, or */
    int64_t leases_milli;  /* thousandths of the scheme's lease */
    enum stall stall;      /* "A acquires, stalls before DEL" */
    bool stalls_at_effect; /* "before the delete": any command with stall_effect; else of
                              stall_verb's name */
    enum verb stall_verb;
    enum effect stall_effect;
    enum reply_error error; /* "answers A with LOADING" */
};

struct cast;   /* sentence.h: who may be named */
struct mishap; /* sentence.h: what is wrong, and where */

/* Reads the whole of text (borrowed); line and column stay 0. FAIL_INPUT and *mishap: what was
 * expected, did you mean. */
enum fail step_read(const char *text, const struct cast *cast, struct step *step,
                    struct mishap *mishap);

/* The choice that a step of this kind is, for those that are no more than one; CHOICE_COUNT: it is
 * none. */
enum choice_kind step_choice(enum step_kind kind);

/* The fault that strikes with it; FAULT_NONE: none does. Who stalls is struck by none until time
 * passes meanwhile. */
enum fault step_strikes(const struct step *step);

/* Prints the sentence, at most size bytes with the final 0; names: the clients'. Returns text. */
const char *step_print(const struct step *step, const char (*names)[64], char *text, size_t size);

#endif
