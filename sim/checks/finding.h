/* finding.h - how a property puts down what it found, and the sentences of a witness. */
#ifndef PICKLOCK_CHECKS_FINDING_H
#define PICKLOCK_CHECKS_FINDING_H

#include "base/units.h"
#include "checks/checks.h"
#include "checks/ledger.h"

/* For sentences: a time, a command, a client's name. Valid until the end of the enclosing block. */
#define MS(us)      units_print_ms((us), (char[UNITS_TEXT_MAX]){0})
#define SENT(quote) quote_print((quote), (char[WITNESS_LINE_BYTES / 2]){0}, WITNESS_LINE_BYTES / 2)

/* Counts a violation. True: it is the one to be shown (the first of the gravest: the scheme's
 * fault, the deployment's, nobody's); its witness is empty then, and the caller says what happened.
 */
bool finding_hit(struct finding *finding, enum cause cause, int64_t index);

/* Counts another finding's violations among this one's. */
void finding_add(struct finding *finding, const struct finding *other);

/* Adds a sentence to the witness; one too many, or too long a one, ends in "...". */
void finding_say(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds that the client's own clock runs slow, where it does: what it takes for the end of its lease
 * comes late, and so do its timers. */
void finding_say_clock(struct finding *finding, const struct ledger *ledger, int client);

/* The command as a person would type it; text: size bytes. quote_name(): only its name, as
 * verb_name(). Both borrowed from quote or text. */
const char *quote_print(const struct quote *quote, char *text, size_t size);
const char *quote_name(const struct quote *quote);

/* "A", or "somebody unknown". */
const char *client_name(const struct ledger *ledger, int client);

#endif
