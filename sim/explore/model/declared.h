/* declared.h - is a scheme from a user's file what its descriptor declares?
 *
 * The explorer lets instants age, and takes one server for another, as the descriptor says
 * (.fields, .is_even_handed). Where that is not so its ways lead nowhere in the real world. So each
 * step of such a scheme is made again, under another clock and with other servers, and must come to
 * the same. */
#ifndef PICKLOCK_EXPLORE_MODEL_DECLARED_H
#define PICKLOCK_EXPLORE_MODEL_DECLARED_H

#include "explore/model/subject.h"

/* before: the record that the step went on from; client, step: what it came to. CONTRACT_NONE:
 * nothing differs. *slip is set with CONTRACT_KIND, and fits in 16 bits. */
enum contract_violation declared_violation(const struct client_state *before,
                                           const struct config *config,
                                           const struct impulse *impulse,
                                           const struct client *client,
                                           const struct step_result *step, unsigned *slip);

/* ": field 1 is declared FIELD_COUNT, and keeps an instant ..."; "" for 0. At most size bytes;
 * returns text. */
const char *declared_print(const struct scheme *scheme, unsigned slip, char *text, size_t size);

#endif
