/* rules_index.h - which rules can meet a command and its key: looked up by both, so that a rule
 * about other commands, or other keys, costs nothing. */
#ifndef PICKLOCK_PROXY_RULES_INDEX_H
#define PICKLOCK_PROXY_RULES_INDEX_H

#include "proxy/fault.h"
#include "proxy/rules_set.h"

struct rules_index;

/* Of rules that are read; keeps nothing of them. */
struct rules_index *rules_index_new(const struct rules *rules);
void rules_index_free(struct rules_index *index); /* NULL does nothing */

/* Those that strike before (is_reply: after, or done), name the command or none, and have no key=
 * or one that begins as the request's first key does. False: there are none. */
bool rules_index_find(const struct rules_index *index, const struct proxy_request *request,
                      bool is_reply, struct rules_set *found);

/* Are there any, of either kind? */
bool rules_index_may_meet(const struct rules_index *index, const struct proxy_request *request);

/* Those with script=. */
const struct rules_set *rules_index_scripts(const struct rules_index *index);

#endif
