/* lock.pml - set-nx-ex-del and set-nx-px-cad, written a second time and by hand: a second opinion for the explorer.
 *
 * The same prompt world: time passes only when nothing else can happen, a stall is a fault with a budget, all times are what
 * remains. One process whose every step is atomic, so that SPIN's states are the explorer's (without its reductions).
 *
 *   CAD      1: release by compare-and-delete, 0: by DEL
 *   STALLS   how often some client may stall
 *   PROPERTY 0: none, 1: mutual-exclusion, 2: lease-exclusion, 3: release-own, 4: fresh-grant
 */
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define TTL  2
#define OVER 2 /* call[] at and below: the own lease is over */

#define IDLE    0
#define SET_OUT 1 /* the SET is on its way */
#define SET_IN  2 /* its reply is */
#define HOLDS   3
#define DEL_OUT 4
#define DEL_IN  5

byte phase[N];
byte rounds[N] = ROUNDS;
byte call[N];
byte said[N]; /* the reply: 1 yes, 0 no */
bit  stalled[N];
byte owner = N; /* of the key; N: there is none */
byte owner_round;
byte left;
byte stalls = STALLS;

/* Of one step only: back to 0 before it ends, so that they are no part of a state. */
hidden byte i, other;

#define OWN_STEP(c) (phase[c] == SET_IN || phase[c] == HOLDS || phase[c] == DEL_IN)
#define URGENT(c)   (phase[c] == SET_OUT || phase[c] == DEL_OUT || (OWN_STEP(c) && !stalled[c]))

inline granted(c)
{
#if PROPERTY == 4
    assert(call[c] > OVER);
#endif
    for (other : 0 .. N - 1) {
        if
        :: other != c && phase[other] == HOLDS ->
#if PROPERTY == 1
            assert(false);
#elif PROPERTY == 2
            assert(!(call[c] > OVER && call[other] > OVER));
#else
            skip;
#endif
        :: else
        fi
    }
    other = 0;
}

inline moves(c)
{
    if
    :: phase[c] == IDLE && rounds[c] > 0 ->
        rounds[c]--; call[c] = TTL + OVER; phase[c] = SET_OUT
    :: phase[c] == SET_OUT ->
        if
        :: owner == N -> owner = c; owner_round = rounds[c]; left = TTL; said[c] = 1
        :: else       -> said[c] = 0
        fi;
        phase[c] = SET_IN
    :: phase[c] == SET_IN ->
        stalled[c] = 0;
        if
        :: said[c]  -> granted(c); phase[c] = HOLDS
        :: else -> rounds[c]++; call[c] = 0; phase[c] = IDLE /* a clean refusal is free */
        fi;
        said[c] = 0
    :: phase[c] == HOLDS ->
        stalled[c] = 0; call[c] = 0; phase[c] = DEL_OUT
    :: phase[c] == DEL_OUT ->
#if CAD
        if
        :: owner == c && owner_round == rounds[c] -> owner = N; owner_round = 0; left = 0; said[c] = 1
        :: else -> said[c] = 0
        fi;
#else
        said[c] = (owner != N);
#if PROPERTY == 3
        assert(owner == N || owner == c);
#endif
        owner = N; owner_round = 0; left = 0;
#endif
        phase[c] = DEL_IN
    :: phase[c] == DEL_IN ->
        stalled[c] = 0; said[c] = 0; phase[c] = IDLE
    :: stalls > 0 && OWN_STEP(c) && !stalled[c] ->
        stalls--; stalled[c] = 1
    fi
}

#define CAN_MOVE(c) (phase[c] != IDLE || rounds[c] > 0)

active proctype world()
{
    do
    :: atomic { CAN_MOVE(0) -> moves(0) }
#if N > 1
    :: atomic { CAN_MOVE(1) -> moves(1) }
#endif
#if N > 2
    :: atomic { CAN_MOVE(2) -> moves(2) }
#endif
#if N > 3
    :: atomic { CAN_MOVE(3) -> moves(3) }
#endif
    :: atomic {
        !(URGENT(0)
#if N > 1
          || URGENT(1)
#endif
#if N > 2
          || URGENT(2)
#endif
#if N > 3
          || URGENT(3)
#endif
        ) ->
        if
        :: left == 1 -> left = 0; owner = N; owner_round = 0
        :: left > 1  -> left--
        :: else
        fi;
        for (i : 0 .. N - 1) {
            if
            :: call[i] > OVER -> call[i]--
            :: else
            fi
        }
        i = 0
    }
    od
}
