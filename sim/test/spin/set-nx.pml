/* set-nx.pml - what set-nx-ex-del and set-nx-px-cad share: the SET, and a key that expires at the
 * server. The scheme says how it deletes: deletes(c) sets said[c]. */
#define SETS    2
#define DELETES 4

byte left; /* ticks until the key expires */

inline forget()
{
    owner = NOBODY;
    owner_round = 0;
    left = 0
}

inline begin(c)
{
    phase[c] = SETS
}

inline executes(c)
{
    if
    :: phase[c] == SETS && owner == NOBODY ->
        owner = c;
        owner_round = rounds[c];
        left = TTL;
        said[c] = 1
    :: phase[c] == SETS && owner != NOBODY ->
        said[c] = 0
    :: phase[c] == DELETES ->
        deletes(c)
    fi
}

inline hears(c)
{
    if
    :: phase[c] == SETS + 1 && said[c] ->
        said[c] = 0;
        granted(c)
    :: phase[c] == SETS + 1 && !said[c] ->
        refused(c)
    :: phase[c] == DELETES + 1 ->
        over(c)
    fi
}

inline leaves(c)
{
    phase[c] = DELETES
}

inline ages()
{
    if
    :: left > 1  -> left--
    :: left == 1 -> forget()
    :: else
    fi
}
