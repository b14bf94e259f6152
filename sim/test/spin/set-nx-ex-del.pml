/* set-nx-ex-del.pml - "SET key 1 NX EX ttl", released by DEL: a model by hand, as a second
 * opinion of the explorer's.
 *
 * Left out: what world.pml leaves out, and the value of the key, which nobody reads. A lease is
 * TTL ticks, not whole seconds. */
#include "world.pml"
#include "set-nx.pml"

inline deletes(c)
{
#if IS_ASKED(RELEASE_OWN)
    assert(release_own || owner == NOBODY || owner == c);
#endif
    said[c] = (owner != NOBODY);
    forget()
}

WORLD
