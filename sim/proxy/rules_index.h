/* rules_index.h - which rules can meet a command: looked up by its name, so that a rule about other
 * commands costs nothing. */
#ifndef PICKLOCK_PROXY_RULES_INDEX_H
#define PICKLOCK_PROXY_RULES_INDEX_H

#include "proxy/fault.h"

/* In the order of the file; each once. */
struct rules_list {
    struct rule **rules;
    int count, capacity;
};

struct rules_index;

/* Of rules that are read; borrows them. */
struct rules_index *rules_index_new(struct rules *rules);
void rules_index_free(struct rules_index *index); /* NULL does nothing */

/* name: in upper case. Those that strike before (is_reply: after) and name the command, or none. */
const struct rules_list *rules_index_find(const struct rules_index *index, const char *name,
                                          bool is_reply);

#endif
