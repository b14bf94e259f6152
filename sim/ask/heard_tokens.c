/* heard_tokens.c - another's token, as a worker is told of it. Within an attempt it is one. In the
 * next attempt it is another one, or (WHOSE_SAME) that of before: who has it may have it still. */
#include "ask/worker_asker.h"

void seat_begin_attempt(struct seat *seat)
{
    seat->commands = 0;
    seat->waited_us = 0;
    seat->own.length = 0;
    seat->token_phrase = 0;
    if (seat->other.length)
        seat->before = seat->other;
    seat->other.length = 0;
}

/* No two of so many in a row are the same, nor the token that they are unlike, whatever its
 * characters. */
enum { UNLIKE_MAX = 5 };

static struct spoken_token another(const struct worker_asker *asker, struct seat *seat)
{
    const int times = 1 + seat->others++ % UNLIKE_MAX;
    struct spoken_token token = seat->own.length ? seat->own : asker->sample;
    for (int i = 0; i < times; i++)
        token = token_unlike(&token);
    return token;
}

const struct spoken_token *seat_token(const struct worker_asker *asker, struct seat *seat,
                                      unsigned whose)
{
    if (whose == WHOSE_NONE || whose == WHOSE_OWN)
        return &seat->own;
    if (!seat->other.length)
        seat->other =
            whose == WHOSE_SAME && seat->before.length ? seat->before : another(asker, seat);
    return &seat->other;
}

bool worker_asker_has_heard(const struct worker_asker *asker, uint32_t node, bool before)
{
    while (node != NODE_ROOT) {
        const struct history_edge edge = worker_asker_edge(asker, node);
        if (!before && (edge.whose == WHOSE_OTHER || edge.whose == WHOSE_SAME))
            return true;
        before &= edge.happening != HAPPENS_ACQUIRE;
        node = edge.from;
    }
    return false;
}
