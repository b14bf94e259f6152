/* stamp.pml - stamp-getset, written a second time and by hand: a second opinion for the explorer.
 *
 * As lock.pml, but time is absolute and ends at LAST: stamps are instants. So what SPIN says to hold, holds up to then.
 *
 *   STALLS   how often some client may stall
 *   PROPERTY 1: mutual-exclusion, 2: lease-exclusion, 4: fresh-grant, 5: no-crash
 */
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef LAST
#define LAST 12
#endif
#define TTL  2
#define OVER 2

#define IDLE       0
#define SETNX_OUT  1
#define SETNX_IN   2
#define GET_OUT    3
#define GET_IN     4
#define GETSET_OUT 5
#define GETSET_IN  6
#define HOLDS      7
#define DEL_OUT    8
#define DEL_IN     9

#define FIRST 1 /* the clock begins there, so that no stamp is 0 */

byte phase[N];
byte rounds[N] = ROUNDS;
byte call[N];
byte stamp[N]; /* of the attempt: its start + TTL + 1 */
byte said[N];  /* the reply: 0 is no, or nil */
bit  stalled[N];
byte key;      /* the stamp in it; 0: there is none */
byte now = FIRST;
byte stalls = STALLS;

hidden byte i, other;

#define OWN_STEP(c)                                                                                \
    (phase[c] == SETNX_IN || phase[c] == GET_IN || phase[c] == GETSET_IN || phase[c] == HOLDS ||   \
     phase[c] == DEL_IN)
#define URGENT(c)                                                                                  \
    (phase[c] == SETNX_OUT || phase[c] == GET_OUT || phase[c] == GETSET_OUT ||                     \
     phase[c] == DEL_OUT || (OWN_STEP(c) && !stalled[c]))
#define IS_PAST(c) (said[c] < stamp[c] - TTL - 1)

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
    phase[c] = HOLDS
}

inline ends(c)
{
    phase[c] = IDLE; call[c] = 0; stamp[c] = 0
}

inline crashes(c)
{
#if PROPERTY == 5
    assert(false);
#endif
    ends(c)
}

inline moves(c)
{
    if
    :: phase[c] == IDLE && rounds[c] > 0 ->
        rounds[c]--; call[c] = TTL + OVER; stamp[c] = now + TTL + 1; phase[c] = SETNX_OUT
    :: phase[c] == SETNX_OUT ->
        if
        :: key == 0 -> key = stamp[c]; said[c] = 1
        :: else     -> said[c] = 0
        fi;
        phase[c] = SETNX_IN
    :: phase[c] == SETNX_IN ->
        stalled[c] = 0;
        if
        :: said[c] -> granted(c)
        :: else    -> phase[c] = GET_OUT
        fi;
        said[c] = 0
    :: phase[c] == GET_OUT -> said[c] = key; phase[c] = GET_IN
    :: phase[c] == GET_IN ->
        stalled[c] = 0;
        if
        :: said[c] == 0 -> crashes(c)
        :: else ->
            if
            :: IS_PAST(c) -> phase[c] = GETSET_OUT
            :: else       -> rounds[c]++; ends(c) /* a clean refusal is free */
            fi
        fi;
        said[c] = 0
    :: phase[c] == GETSET_OUT -> said[c] = key; key = stamp[c]; phase[c] = GETSET_IN
    :: phase[c] == GETSET_IN ->
        stalled[c] = 0;
        if
        :: said[c] == 0 -> crashes(c)
        :: else ->
            if
            :: IS_PAST(c) -> granted(c)
            :: else       -> rounds[c]++; ends(c)
            fi
        fi;
        said[c] = 0
    :: phase[c] == HOLDS ->
        stalled[c] = 0; call[c] = 0;
        if
        :: now < stamp[c] -> phase[c] = DEL_OUT
        :: else           -> ends(c)
        fi
    :: phase[c] == DEL_OUT -> said[c] = (key != 0); key = 0; phase[c] = DEL_IN
    :: phase[c] == DEL_IN -> stalled[c] = 0; said[c] = 0; ends(c)
    :: stalls > 0 && OWN_STEP(c) && !stalled[c] -> stalls--; stalled[c] = 1
    fi
}

#define CAN_MOVE(c) (phase[c] != IDLE || rounds[c] > 0)

active proctype world()
{
    do
    :: atomic { CAN_MOVE(0) -> moves(0) }
    :: atomic { CAN_MOVE(1) -> moves(1) }
#if N > 2
    :: atomic { CAN_MOVE(2) -> moves(2) }
#endif
    :: atomic {
        now < FIRST + LAST && !(URGENT(0) || URGENT(1)
#if N > 2
          || URGENT(2)
#endif
        ) ->
        now++;
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
