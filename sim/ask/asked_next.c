/* asked_next.c - see asked_next.h. */
#include "ask/asked_next.h"

#include "base/memory.h"

#include <stdlib.h>

static bool has_class(const struct asking *asking, uint32_t node)
{
    return node < asking->classes.count && asking->classes.rows[node].node;
}

struct asked_next asked_next_of(const struct asking *asking, enum asked_by by)
{
    const uint32_t count = asking->worker.questions.count + 1;
    struct asked_next asked = {memory_new(count, sizeof *asked.first),
                               memory_new(count, sizeof *asked.next)};
    for (uint32_t node = 1; node < count; node++) {
        const struct history_edge edge = worker_asker_edge(&asking->worker, node);
        if ((by != ASKED_BY_ANY && !has_class(asking, node)) ||
            (by == ASKED_BY_SEARCH_UNBROKEN && edge.happening == HAPPENS_CUT))
            continue;
        asked.next[node] = asked.first[edge.from];
        asked.first[edge.from] = node;
    }
    return asked;
}

void asked_next_free(const struct asked_next *asked)
{
    free(asked->first);
    free(asked->next);
}

uint32_t asked_next_choose(const struct asked_next *asked, uint32_t node, struct random *random)
{
    uint32_t count = 0, at = asked->first[node];
    for (uint32_t i = at; i; i = asked->next[i])
        count++;
    for (uint64_t skipped = count ? random_below(random, count) : 0; skipped; skipped--)
        at = asked->next[at];
    return at;
}
