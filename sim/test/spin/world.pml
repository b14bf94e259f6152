/* world.pml - what the three models share: clients, their messages, one server with one key,
 * time. A scheme includes it first, says what its steps do, and ends with WORLD.
 *
 *   -DN=2          clients, 1 to 4
 *   -DROUNDS=2     attempts that each may be granted
 *   -DSTALLS=0     stalls, of whomever
 *   -DPROPERTY=0   what is asserted, see below
 *   -DEACH         a process for each client, not one for all; the states are the same
 *
 * The world is prompt: a tick passes only when nobody has anything to do but begin. A stall, from
 * a budget, lets one client put off its next own step for any number of ticks; the server never
 * stalls. Times are what remains, in ticks.
 *
 * Left out, against the explorer: every fault but the stall; messages that are late, lost or sent
 * twice; crashes; clocks that differ; replicas, more servers, and all properties but the three. A
 * reply is what the client looks at, not what Redis sends.
 *
 * Every step is atomic: a state of SPIN's is then a state of the explorer's without its
 * reductions, and the counts can be compared. Every variable that is not "hidden" is part of the
 * state: each goes back to 0 as soon as nobody will read it.
 *
 * From the scheme: begin(c) sends the first command; executes(c) is the server; hears(c) the
 * client; leaves(c) the end of the section; ages() what else changes in a tick. */
#ifndef N
#define N 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef STALLS
#define STALLS 0
#endif
#ifndef PROPERTY
#define PROPERTY 0
#endif

#define MUTUAL_EXCLUSION 1
#define LEASE_EXCLUSION  2
#define RELEASE_OWN      3
#define ALL              4 /* for "pan -c0", which goes on after a violation */
#define IS_ASKED(property) (PROPERTY == property || PROPERTY == ALL)

/* Never set: the names by which a violated assertion is known. */
hidden byte mutual_exclusion, lease_exclusion, release_own;

/* The lease. call[] starts OVER above it and stops at CALL_LEAST: a lease by stamps counts for a
 * little longer. */
#define TTL  2
#define OVER 2
#ifndef CALL_LEAST
#define CALL_LEAST OVER
#endif

/* Where a client is: a command on its way is even, the reply to it is the odd number above. */
#define IDLE  0
#define HOLDS 1
#define IS_REQUEST(c) (phase[c] > HOLDS && phase[c] % 2 == 0)
#define IS_REPLY(c)   (phase[c] > HOLDS && phase[c] % 2 == 1)

byte phase[N];
byte rounds[N] = ROUNDS; /* attempts left; one that is refused does not count */
byte call[N];            /* of the own lease, counted from the call; OVER and below: it is over */
bit  said[N];            /* the reply on its way: yes or no */
bit  stalled[N];
byte stalls = STALLS;

/* Whose the lock is. The server does not know; a property asks. NOBODY: there is no key. */
#define NOBODY N
byte owner = NOBODY;
byte owner_round; /* the owner's rounds[] in that attempt */

hidden byte i; /* of one step only */

#define OWN_STEP(c) (IS_REPLY(c) || phase[c] == HOLDS)
#define URGENT(c)   (IS_REQUEST(c) || (OWN_STEP(c) && !stalled[c]))

#define HAS_LEASE(c) (call[c] > OVER)

inline granted(c)
{
    for (i : 0 .. N - 1) {
#if IS_ASKED(MUTUAL_EXCLUSION)
        assert(mutual_exclusion || i == c || phase[i] != HOLDS);
#endif
#if IS_ASKED(LEASE_EXCLUSION)
        assert(lease_exclusion || i == c || phase[i] != HOLDS || !HAS_LEASE(i) || !HAS_LEASE(c));
#endif
        skip
    }
    phase[c] = HOLDS
}

inline over(c)
{
    call[c] = 0;
    said[c] = 0;
    phase[c] = IDLE
}

/* The attempt is over, and left nothing behind: it may be made again. */
inline refused(c)
{
    rounds[c]++;
    over(c)
}

#define MOVES(c)                                                                                   \
    :: d_step {                                                                                    \
        phase[c] == IDLE && rounds[c] > 0 ->                                                       \
        rounds[c]--; call[c] = TTL + OVER; begin(c); i = 0                                         \
    }                                                                                              \
    :: d_step { IS_REQUEST(c) -> executes(c); phase[c]++; i = 0 }                                  \
    :: d_step { IS_REPLY(c) -> stalled[c] = 0; hears(c); i = 0 }                                   \
    :: d_step { phase[c] == HOLDS -> stalled[c] = 0; call[c] = 0; leaves(c); i = 0 }               \
    :: d_step { stalls > 0 && OWN_STEP(c) && !stalled[c] -> stalls--; stalled[c] = 1; i = 0 }

#if N == 1
#define MOVES_OF_ALL MOVES(0)
#define ANYBODY(is)  (is(0))
#elif N == 2
#define MOVES_OF_ALL MOVES(0) MOVES(1)
#define ANYBODY(is)  (is(0) || is(1))
#elif N == 3
#define MOVES_OF_ALL MOVES(0) MOVES(1) MOVES(2)
#define ANYBODY(is)  (is(0) || is(1) || is(2))
#else
#define MOVES_OF_ALL MOVES(0) MOVES(1) MOVES(2) MOVES(3)
#define ANYBODY(is)  (is(0) || is(1) || is(2) || is(3))
#endif

inline tick()
{
    ages();
    for (i : 0 .. N - 1) {
        if
        :: call[i] > CALL_LEAST -> call[i]--
        :: else
        fi
    }
}

/* i = 0: a d_step must not end in a jump. */
#define TICK :: d_step { !ANYBODY(URGENT) -> tick(); i = 0 }

/* The last line of a model. */
#ifdef EACH
#define WORLD                                                                                      \
    active [N] proctype client() { do MOVES(_pid) od }                                             \
    active proctype time() { do TICK od }
#else
#define WORLD active proctype world() { do MOVES_OF_ALL TICK od }
#endif
