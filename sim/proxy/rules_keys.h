/* rules_keys.h - which rules can meet a key: looked up by what their patterns begin with, so that a
 * rule about other keys costs nothing. Whether the rest of a pattern matches is not asked here. */
#ifndef PICKLOCK_PROXY_RULES_KEYS_H
#define PICKLOCK_PROXY_RULES_KEYS_H

#include "proxy/fault.h"
#include "proxy/rules_set.h"

struct rules_keys;

/* Of rules that are read; keeps nothing of them. */
struct rules_keys *rules_keys_new(const struct rules *rules);
void rules_keys_free(struct rules_keys *keys);

/* Those without key=, and those whose pattern begins as the key does. key: borrowed; NULL: none,
 * which no pattern matches. */
const struct rules_set *rules_keys_find(const struct rules_keys *keys, const char *key,
                                        size_t length);

#endif
