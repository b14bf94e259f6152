/* set-nx-px-cad.pml - "SET key token NX PX ttl", released by a script that compares and deletes:
 * a model by hand, as a second opinion of the explorer's.
 *
 * Left out: what world.pml leaves out. The token is the attempt's own name (client and attempt):
 * no two are ever equal, so that equal tokens are not modelled. The script is one step. */
#include "world.pml"
#include "set-nx.pml"

inline deletes(c)
{
    if
    :: owner == c && owner_round == rounds[c] -> /* release-own cannot fail: what it compared is the owner's name */
        forget();
        said[c] = 1
    :: else ->
        said[c] = 0
    fi
}

WORLD
