/* contract.h - what a step of a scheme asked for, held to the rules of schemes/contract.def.
 *
 * A scheme may come from a user's file: what it asks for is input. Looked at once, behind the step,
 * for every world. */
#ifndef PICKLOCK_WORLD_CONTRACT_H
#define PICKLOCK_WORLD_CONTRACT_H

#include "world/client.h"

/* The first rule that the step broke; CONTRACT_NONE: none. client: phase and lease as before the
 * step, state as after it. */
enum contract_violation contract_check(const struct client *client, const struct outbox *out);

/* FAIL_INPUT: "the scheme 'my-lock' broke a rule at its step 1: it ...". */
enum fail contract_fail(const struct scheme *scheme, enum contract_violation violation, int64_t at,
                        struct failure *failure);

#endif
