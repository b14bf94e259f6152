/* skeleton.c - the start of a new scheme: copy this file, rename it, and change what the comments
 * point at.
 *
 * What it locks with is plain and safe: SET key token NX PX, compare-and-delete. It is compiled
 * with the rest, so that it never goes stale, but has no row in schemes.def.
 *
 * Build it alone, and name the file where a scheme is asked for,
 *     cc -std=c17 -Isim -shared -fPIC -o my_lock.so my_lock.c
 *     picklock run --scheme ./my_lock.so scenarios/expired-lease-double-delete.yaml
 * with `scheme_my_lock` as the name of the descriptor below. A scheme among picklock's own needs
 * three things, in its source tree:
 *   1. this file under its own name,
 *   2. a row SCHEME(its_name) in schemes.def,
 *   3. a scenario in scenarios/ that says what is expected of it.
 *
 * Rules that the worlds rely on: no clock but in->now_us (the client's own, which may be wrong), no
 * randomness (the world draws lease->token), no I/O, no malloc, no static variable. A file head
 * says what the scheme is, whom it follows, where it is weak. */
#include "schemes/parts.h"

/* All that it remembers between two stops. Every member is an int64_t and the first one is `at`;
 * the world zeroes it before an attempt, copies it with memcpy, and compares it. A local variable
 * does not survive an AWAIT: what is needed later goes in here. */
struct skeleton {
    int64_t at; /* enum step */
};

/* One row a member, in order: what kind of thing it is, so that states can be compared (see enum
 * scheme_field). */
static const enum scheme_field fields[] = {FIELD_STEP};
FIELDS_FIT(struct skeleton, fields);

/* The places where it stops. START is 0 and first; each other one is the name of one AWAIT. Every
 * one is a place where a crash, a stall or a lost message can strike, so give it the name of what
 * has just been done. */
enum step { START, ASKED, HELD, COMPARED };

/* Called once for each moment: MOMENT_START begins an attempt, then one call for each thing that
 * was awaited.
 *   lease: the ttl, the token of this attempt, how many servers
 *   in:    what just happened
 *   out:   what it wants next: commands to send, a timer, a report */
static void step(void *state, const struct lease *lease, const struct moment *in,
                 struct outbox *out)
{
    struct skeleton *self = state;

    SCRIPT(self);

    /* Acquire. Ask, then stop. The next line runs when the answer is there, or a time-out, or a
     * broken connection: every command that was sent ends in exactly one of those. */
    out_set_nx_px(out, SERVER_ONE, lease);
    AWAIT(self, ASKED);
    if (!moment_is_ok(in)) {
        /* nil: refused. An error or no answer: failed, the state of the key is unknown. */
        out_no_set(out, in);
        SCRIPT_RETURN(self);
    }

    /* An acquire ends in exactly one report: out_granted, out_refused, out_failed (or unsupported,
     * crashed). Then wait for MOMENT_RELEASE. With no timer set and no command out, nothing else
     * can come here. */
    out_granted(out);
    AWAIT(self, HELD);

    /* Release. Loops, several servers and timers are used in redlock.c and watchdog.c. */
    out_compare_and_delete(out, SERVER_ONE, lease);
    AWAIT(self, COMPARED);
    out_compared(out, in); /* released, not mine, or failed: again exactly one */

    SCRIPT_END(self);
}

/* What tables, checks and worlds know of it. A promise that is not made is not checked; a promise
 * that is made and broken is a violation. See struct scheme for every field. */
const struct scheme scheme_skeleton = {
    .name = "skeleton",
    .summary = "SET token NX PX; released by compare-and-delete",
    .source = "the start of a new scheme",
    .step = step,
    FIELDS_OF(fields),
    .token = TOKEN_UNIQUE, /* what lease->token is */
    .unit_us =
        UNIT_MILLISECOND_US,  /* what the ttl is rounded up to: seconds for EX, EXPIRE and stamps */
    .is_naive = false,        /* true needs a .weakness, one line */
    .promises_expiry = true,  /* its key always has a time to live */
    .promises_notice = false, /* it tells its holder of a loss with out_lost() */
    .promises_token = true,   /* its key holds lease->token, so that an orphan can be told */
    .mints_fence = false,     /* it grants with out_granted_with_fence() */
    .needs_script = false,    /* sends EVALSHA */
    .uses_client_clock = false, /* clients judge expiry by stamps */
    .needs_quorum = false,      /* it talks to lease->servers servers */
    .is_even_handed = false,    /* and does the same with each: no server's number in the state */
    .waits_for_all = false,     /* and asks all at once, and only counts until all have answered */
    .needs_replica = false,     /* sends WAIT: its servers have a replica */
    .needs_delex = false,       /* DELEX, DELIFEQ: the explorer plays a server that knows them */
};
