/* stamp_getset_inverted.c - stamp-getset with the release check as it is often retold: "if it has
 * expired, DEL". Follows: Redis documentation, SETNX, with that check. In time it never deletes, so
 * that everybody waits for the stamp; late it deletes, and what it deletes is the next holder's
 * lock. The steps are those of stamp_getset.c. */
#include "schemes/stamp_getset.h"

static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    stamp_getset_run(state, DELETE_AFTER_STAMP, lease, in, out);
}

const struct scheme scheme_stamp_getset_inverted = {
    .name = "stamp-getset-inverted",
    .summary = "SETNX stamp, GETSET over a dead one; released by DEL once the own stamp has passed",
    .source =
        "Redis documentation, SETNX, as often retold, the check before DEL the wrong way round",
    .step = step,
    FIELDS_OF(stamp_getset_fields),
    .token = TOKEN_FIXED,
    .unit_us = UNIT_SECOND_US,
    .is_naive = true,
    .promises_token = true, /* its stamp says whose key it is that a release leaves behind */
    .uses_client_clock = true,
    .weakness = "in time it never releases; late it deletes the next holder's lock",
};
