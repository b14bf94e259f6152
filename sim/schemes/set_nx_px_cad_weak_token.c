/* set_nx_px_cad_weak_token.c - the right commands with a token that two clients can share.
 * Follows: Redis documentation, Distributed locks with Redis, as often retold: a token of
 * rand(1, 100000); or a variable that should hold the token and was never set, so that every token
 * is the empty string. The steps are those of set_nx_px_cad.c; only the token differs. It promises
 * no token: with a shared one nobody can say whose key it is that a failed attempt leaves behind.
 */
#include "schemes/set_nx_px_cad.h"

const struct scheme scheme_set_nx_px_cad_weak_token = {
    .name = "set-nx-px-cad-weak-token",
    .summary = "SET rand(1, 100000) NX PX; released by a script that compares and deletes",
    .source = "Redis documentation, Distributed locks with Redis, single instance, as often "
              "retold, rand(1, 100000)",
    .step = set_nx_px_cad_step,
    FIELDS_OF(set_nx_px_cad_fields),
    .token = TOKEN_WEAK,
    .unit_us = UNIT_MILLISECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .weakness = "two clients can draw one token, and then release each other's lock",
};

const struct scheme scheme_set_nx_px_cad_empty_token = {
    .name = "set-nx-px-cad-empty-token",
    .summary = "SET \"\" NX PX; released by a script that compares and deletes",
    .source = "Redis documentation, Distributed locks with Redis, single instance, as often "
              "retold, a token that is never set",
    .step = set_nx_px_cad_step,
    FIELDS_OF(set_nx_px_cad_fields),
    .token = TOKEN_EMPTY,
    .unit_us = UNIT_MILLISECOND_US,
    .is_naive = true,
    .promises_expiry = true,
    .weakness =
        "an undefined variable: every token is the empty string, the comparison always fits",
};
