/* stamp-getset.pml - SETNX of a stamp, a dead one taken over by GETSET, released by DEL while the
 * own stamp lasts: a model by hand, as a second opinion of the explorer's.
 *
 * A stamp is a tick of the one clock that all share, told as NOW + what remains of it. When even
 * the newest of the past ones is LONG past, the past ones stay where they are: their order and
 * distances are all that a comparison can ask for.
 *
 * Whose lock it is: his who wrote it by SETNX, or by a GETSET over a stamp that he had read as
 * dead; the latter until his acquire says otherwise. A loser who is told "granted" after all owns
 * it from then on.
 *
 * Left out: what world.pml leaves out, and int() of what is no stamp. A unit is a tick: that
 * whole seconds are rounded is not modelled, but the one that is added to each stamp is. */
#define CALL_LEAST 0
#include "world.pml"

#define SETS    2
#define GETS    4
#define SWAPS   6
#define DELETES 8

#define NOW    100
#define LONG   (TTL + 3)
#define OLDEST (NOW - 64)

/* Stamps; 0: none. */
byte key;
byte own[N];  /* what this attempt writes */
byte seen[N]; /* what its GET saw, for the judge */
byte got[N];  /* the reply to a GET or GETSET on its way; nil: 0 */

/* For the judge, beside owner and owner_round. */
byte owner_left;     /* ticks; above 1 the lock counts */
bit  is_tentative;   /* by a GETSET whose acquire has not returned */
byte before = NOBODY; /* then: whose it was until then */
byte before_round, before_left;
bit  has_lost[N];    /* its GETSET was judged to come too late */

hidden byte newest;

#define IS_OWN(c) (owner == c && owner_round == rounds[c])
/* The clock of the attempt is read once, when it begins. */
#define IS_DEAD(c, stamp) (stamp + TTL + 1 < own[c])

inline forget_before()
{
    before = NOBODY;
    before_round = 0;
    before_left = 0;
    is_tentative = 0
}

inline owns(c)
{
    owner = c;
    owner_round = rounds[c];
    owner_left = call[c];
    forget_before()
}

inline begin(c)
{
    own[c] = NOW + TTL + 1;
    phase[c] = SETS
}

inline swaps(c)
{
    got[c] = key;
    if
    :: key == 0 ->
        owns(c)
    :: key != 0 && (IS_OWN(c) || (seen[c] != 0 && key <= seen[c])) ->
        before = owner;
        before_round = owner_round;
        before_left = owner_left;
        owner = c;
        owner_round = rounds[c];
        owner_left = call[c];
        is_tentative = 1
    :: else ->
        has_lost[c] = 1
    fi;
    key = own[c]
}

inline executes(c)
{
    if
    :: phase[c] == SETS && key == 0 ->
        key = own[c];
        owns(c);
        said[c] = 1
    :: phase[c] == SETS && key != 0 ->
        said[c] = 0
    :: phase[c] == GETS ->
        seen[c] = key;
        got[c] = key
    :: phase[c] == SWAPS ->
        swaps(c)
    :: phase[c] == DELETES ->
#if IS_ASKED(RELEASE_OWN)
        assert(release_own || key == 0 || owner == c || owner_left <= 1);
#endif
        said[c] = (key != 0);
        key = 0;
        owner = NOBODY;
        owner_round = 0;
        owner_left = 0;
        forget_before()
    fi
}

inline ends(c)
{
    own[c] = 0;
    seen[c] = 0;
    got[c] = 0;
    has_lost[c] = 0
}

/* The acquire returns: what it claimed by GETSET stands, or falls. */
inline wins(c)
{
    if
    :: is_tentative && IS_OWN(c) -> forget_before()
    :: else ->
        if
        :: has_lost[c] && key != 0 -> owns(c)
        :: else
        fi
    fi;
    said[c] = 0;
    seen[c] = 0;
    got[c] = 0;
    has_lost[c] = 0;
    granted(c)
}

inline loses(c)
{
    if
    :: is_tentative && IS_OWN(c) ->
        owner = before;
        owner_round = before_round;
        owner_left = before_left;
        forget_before()
    :: else
    fi;
    ends(c);
    refused(c)
}

/* int(None): the source's code trips. What it wrote stays. */
inline trips(c)
{
    ends(c);
    over(c)
}

inline hears(c)
{
    if
    :: phase[c] == SETS + 1 && said[c] ->
        wins(c)
    :: phase[c] == SETS + 1 && !said[c] ->
        phase[c] = GETS
    :: phase[c] == GETS + 1 && got[c] == 0 ->
        trips(c)
    :: phase[c] == GETS + 1 && got[c] != 0 && !IS_DEAD(c, got[c]) ->
        loses(c)
    :: phase[c] == GETS + 1 && got[c] != 0 && IS_DEAD(c, got[c]) ->
        got[c] = 0;
        phase[c] = SWAPS
    :: phase[c] == SWAPS + 1 && got[c] == 0 ->
        trips(c)
    :: phase[c] == SWAPS + 1 && got[c] != 0 && !IS_DEAD(c, got[c]) ->
        loses(c)
    :: phase[c] == SWAPS + 1 && got[c] != 0 && IS_DEAD(c, got[c]) ->
        wins(c)
    :: phase[c] == DELETES + 1 ->
        ends(c);
        over(c)
    fi
}

inline leaves(c)
{
    if
    :: NOW < own[c] ->
        phase[c] = DELETES
    :: else ->
        ends(c);
        over(c)
    fi
}

inline look_at(stamp)
{
    if
    :: stamp <= NOW && stamp > newest -> newest = stamp
    :: else
    fi
}

inline grows_older(stamp)
{
    if
    :: stamp > NOW || (newest > NOW - LONG && stamp > OLDEST) -> stamp--
    :: else
    fi
}

inline ages()
{
    newest = 0;
    look_at(key);
    for (i : 0 .. N - 1) {
        look_at(own[i]);
        look_at(seen[i]);
        look_at(got[i])
    }
    if
    :: newest == 0 -> newest = NOW /* none is past */
    :: else
    fi;
    grows_older(key);
    for (i : 0 .. N - 1) {
        grows_older(own[i]);
        grows_older(seen[i]);
        grows_older(got[i])
    }
    if
    :: owner_left > 0 -> owner_left--
    :: else
    fi;
    if
    :: before_left > 0 -> before_left--
    :: else
    fi
}

WORLD
