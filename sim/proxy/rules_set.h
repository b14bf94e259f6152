/* rules_set.h - some of the rules of a file, a bit each: what may meet a command, and what may meet
 * a key, are told together by an AND. */
#ifndef PICKLOCK_PROXY_RULES_SET_H
#define PICKLOCK_PROXY_RULES_SET_H

#include "proxy/rules.h"

enum { RULES_SET_WORDS = (RULES_MAX + 63) / 64 };

struct rules_set {
    uint64_t words[RULES_SET_WORDS];
};

static inline void rules_set_add(struct rules_set *set, int rule)
{
    set->words[rule / 64] |= UINT64_C(1) << rule % 64;
}

static inline void rules_set_join(struct rules_set *set, const struct rules_set *others)
{
    for (int i = 0; i < RULES_SET_WORDS; i++)
        set->words[i] |= others->words[i];
}

static inline bool rules_set_is_empty(const struct rules_set *set)
{
    uint64_t any = 0;
    for (int i = 0; i < RULES_SET_WORDS; i++)
        any |= set->words[i];
    return !any;
}

/* Those that are in both. False: none is. */
static inline bool rules_set_meet(const struct rules_set *one, const struct rules_set *other,
                                  struct rules_set *both)
{
    for (int i = 0; i < RULES_SET_WORDS; i++)
        both->words[i] = one->words[i] & other->words[i];
    return !rules_set_is_empty(both);
}

/* Takes out the first in the order of the file; -1: none is left. */
static inline int rules_set_take(struct rules_set *set)
{
    for (int i = 0; i < RULES_SET_WORDS; i++) {
        const uint64_t word = set->words[i];
        if (!word)
            continue;
        set->words[i] = word & (word - 1);
        return i * 64 + __builtin_ctzll(word);
    }
    return -1;
}

#endif
