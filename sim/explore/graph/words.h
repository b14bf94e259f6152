/* words.h - a state is an array of words: a number for each client state and each server state, one
 * for the order of fences where critical sections write the resource, and what is left of the
 * budgets of faults. */
#ifndef PICKLOCK_EXPLORE_GRAPH_WORDS_H
#define PICKLOCK_EXPLORE_GRAPH_WORDS_H

#include "explore/model/options.h"
#include "explore/store/fingerprint_set.h"

/* Padded to an even number of words: states are copied in pairs. */
enum { WORDS_MAX = (EXPLORE_CLIENTS_MAX + SERVERS_MAX + 3) / 2 * 2 };
_Static_assert((int)WORDS_MAX <= (int)FINGERPRINT_WORDS_MAX, "a state has no room in the table");

/* Budgets share one word: four bits a fault; FAULT_OF_RUN has none. */
enum { BUDGET_BITS = 4 };
#define BUDGET_MASK ((1u << BUDGET_BITS) - 1)
_Static_assert(EXPLORE_FAULTS_MAX < 1 << BUDGET_BITS, "a fault's budget has no room");
_Static_assert((EXPLORE_FAULTS_MAX)*BUDGET_BITS <= 32, "the budgets have no room in a word");

#endif
