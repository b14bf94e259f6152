/* choice.h - one choice: the unit of schedules, of the explorer and of directed runs. See
 * choices.def. */
#ifndef PICKLOCK_SCENARIO_CHOICE_H
#define PICKLOCK_SCENARIO_CHOICE_H

#include "base/fail.h"
#include "history/fault.h"
#include "redis/command.h"
#include "redis/opaque.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum choice_kind {
#define CHOICE(id, name, fault, form, words) CHOICE_##id,
#include "scenario/choices.def"
    CHOICE_COUNT
};

struct choice {
    enum choice_kind kind;
    int client;                   /* %C, or -1 */
    int server;                   /* %S, from 0, or -1 */
    enum verb verb;               /* %V */
    int64_t amount_us;            /* %T, %G */
    enum reply_error error;       /* %E */
    char opaque[OPAQUE_NAME_MAX]; /* %V of a foreign program's command; "": verb says it */
};

const char *choice_name(enum choice_kind kind);
const char *choice_words(enum choice_kind kind);
bool choice_is_fault(enum choice_kind kind);
enum fault choice_fault(enum choice_kind kind); /* that it is, or FAULT_NONE */

/* The choice that is told by events of that fault; false: none is. */
bool choice_of_fault(enum fault fault, enum choice_kind *kind);

/* The name of the command that it is about; only where there is a %V in its form. */
const char *choice_command(const struct choice *choice);

/* A clock gains so many microseconds a second: it must not stand still, or run backwards, and what
 * it has gained must be told from a jump. */
enum { DRIFT_LEAST_US = -999999, DRIFT_MOST_US = 9000000 };

/* What is wrong with the amount of such a choice; NULL: nothing. */
const char *choice_objects(enum choice_kind kind, int64_t amount_us);

/* Only of a server that has a replica? */
bool choice_needs_replica(enum choice_kind kind);

/* Only of a Redis Cluster? */
bool choice_needs_cluster(enum choice_kind kind);

/* Is there a %C, a %S in its form? */
bool choice_names_client(enum choice_kind kind);
bool choice_names_server(enum choice_kind kind);

/* Field by field: the struct has a gap, so bytes cannot be compared. */
bool choice_is_same(const struct choice *a, const struct choice *b);

/* Prints the line of a schedule; names: the clients' names. At most size bytes; returns text. */
const char *choice_print(const struct choice *choice, const char (*names)[64], char *text,
                         size_t size);

/* Reads such a line back (leading and trailing blanks ignored). FAIL_INPUT: *mishap says what was
 * expected, where in the line, and what may have been meant. */
struct cast;
struct mishap;
enum fail choice_read(const char *line, const struct cast *cast, struct choice *choice,
                      struct mishap *mishap);

#endif
