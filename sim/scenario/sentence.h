/* sentence.h - the one pattern matcher behind choices.def and steps.def: a form with holes, and
 * what fills them.
 *
 * A form is literal text with the holes %C (client), %S ("server N"), %V (command name), %T
 * (duration), %G ("gains" a duration, or "loses" it: below 0), %E (error code), %P (stall suffix);
 * %T, %G and %P stand last. Knows neither files nor worlds. */
#ifndef PICKLOCK_SCENARIO_SENTENCE_H
#define PICKLOCK_SCENARIO_SENTENCE_H

#include "scenario/step.h"

enum { SENTENCE_MAX = 256 }; /* bytes of a sentence with its final 0; two names and a few words */

/* Who may be named. names are borrowed. */
struct cast {
    const char (*names)[64];
    int clients, servers;
    bool knows_leases; /* %T may also be "2 leases" (steps), else durations only (choices) */
    bool is_foreign;   /* %V may be a command of a foreign program: no lower-case letter in it */
};

/* What fills the holes; client and server are -1 where the form has none. */
struct holes {
    int client, server;
    enum verb verb;
    char opaque[OPAQUE_NAME_MAX]; /* %V of a foreign program's command; "": verb says it */
    int64_t amount_us;
    int64_t leases_milli; /* 0: amount_us counts */
    enum reply_error error;
    enum stall stall;
    bool stalls_at_effect;
    enum verb stall_verb;
    enum effect stall_effect;
};

/* What is wrong with a sentence, and where. */
struct mishap {
    int offset; /* in bytes, from its start */
    char words[FAILURE_TEXT_MAX / 2];
    char nearest[SENTENCE_MAX]; /* "did you mean", or "" */
};

/* Reads the whole of text (borrowed). The number of the form that it has, or -1 and *mishap. what:
 * "step", "choice". */
int sentence_read(const char *const *forms, int count, const char *what, const char *text,
                  const struct cast *cast, struct holes *holes, struct mishap *mishap);

/* Prints form with its holes filled, at most size bytes with the final 0; returns text. */
const char *sentence_print(const char *form, const struct holes *holes, const char (*names)[64],
                           char *text, size_t size);

/* Whether word can be a client's name: letters and digits, short enough, not "server". */
bool sentence_is_name(const char *word);

/* The bytes that can be shown (control characters become '?'), capped to the size of shown; returns
 * shown. */
const char *sentence_show(const char *text, char *shown, size_t size);

#endif
