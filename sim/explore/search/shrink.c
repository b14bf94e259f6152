/* shrink.c - see shrink.h. */
#include "explore/search/shrink.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One path being shrunk. */
struct shrinking {
    struct trace_replayer *replayer;
    struct trace *trace;
    enum property property;
    uint32_t (*states)[WORDS_MAX]; /* before each label */
    bool *is_dropped;              /* by label: of the candidate in hand */
    struct trace rest, made;
};

/* Where the path leads, state by state. */
static void states_fill(struct shrinking *it)
{
    struct trace_replayer *replayer = it->replayer;
    replayer_start(replayer);
    for (int i = 0; i < it->trace->count; i++) {
        const struct successor *step = replayer_find(replayer, &it->trace->labels[i]);
        assert(step);
        memcpy(it->states[i], replayer->words, sizeof replayer->words);
        replayer_go(replayer, step->words);
    }
}

/* Is the path without what is dropped still a way to the violation? Then it becomes that. What can
 * no longer be done goes with it. */
static bool try_it(struct shrinking *it)
{
    const struct trace *trace = it->trace;
    int same = 0;
    while (same < trace->count && !it->is_dropped[same])
        same++;
    if (same == trace->count)
        return false;
    it->made.count = it->rest.count = 0;
    for (int i = 0; i < trace->count; i++)
        if (!it->is_dropped[i])
            trace_add(i < same ? &it->made : &it->rest, &trace->labels[i]);
    memset(it->is_dropped, 0, (size_t)trace->count);
    replayer_go(it->replayer, it->states[same]);
    if (!trace_walk(it->replayer, it->rest.labels, it->rest.count, it->property, &it->made) ||
        !trace_is_shorter(&it->made, trace))
        return false;
    trace_copy(it->trace, &it->made);
    states_fill(it);
    return true;
}

/* --- what can be dropped --- */

/* The last word, what is left of the budgets, apart: a loop may have cost a fault. */
static bool is_loop(const struct shrinking *it, int from, int to)
{
    size_t words = (size_t)space_words(&it->replayer->space) - 1;
    return memcmp(it->states[from], it->states[to], words * sizeof(uint32_t)) == 0;
}

static bool cut_loops(struct shrinking *it)
{
    bool is_shorter = false;
    for (int from = 0; from < it->trace->count; from++) {
        int to = it->trace->count - 1;
        while (to > from && !is_loop(it, from, to))
            to--;
        memset(it->is_dropped + from, true, (size_t)(to - from));
        is_shorter |= try_it(it);
    }
    return is_shorter;
}

static bool drop_actors(struct shrinking *it)
{
    bool is_shorter = false;
    for (int actor = 0; actor < ACTORS; actor++) {
        for (int i = 0; i < it->trace->count; i++)
            it->is_dropped[i] = label_actor(&it->trace->labels[i]) == actor;
        is_shorter |= try_it(it);
    }
    return is_shorter;
}

static bool drop_faults(struct shrinking *it)
{
    bool is_shorter = false;
    for (int i = 0; i < it->trace->count; i++) {
        it->is_dropped[i] = label_is_fault(&it->trace->labels[i]);
        is_shorter |= try_it(it);
    }
    return is_shorter;
}

/* So many of an actor's own events from that one on; false: it has not so many. */
static bool mark_block(struct shrinking *it, int actor, int first, int length)
{
    int own = 0;
    for (int i = 0; i < it->trace->count; i++) {
        if (label_actor(&it->trace->labels[i]) != actor)
            continue;
        it->is_dropped[i] = own >= first && own < first + length;
        own++;
    }
    return first + length <= own;
}

static bool drop_blocks_of(struct shrinking *it, int actor)
{
    bool is_shorter = false;
    for (int length = it->trace->count; length > 0; length--)
        for (int first = 0; mark_block(it, actor, first, length); first++)
            is_shorter |= try_it(it);
    memset(it->is_dropped, 0, (size_t)it->trace->count);
    return is_shorter;
}

static bool drop_blocks(struct shrinking *it)
{
    bool is_shorter = false;
    for (int actor = 0; actor < ACTORS; actor++)
        is_shorter |= drop_blocks_of(it, actor);
    return is_shorter;
}

static void open(struct shrinking *it, struct trace_replayer *replayer, struct trace *trace,
                 enum property property)
{
    *it = (struct shrinking){.replayer = replayer, .trace = trace, .property = property};
    it->states = memory_new((size_t)trace->count, sizeof *it->states);
    it->is_dropped = memory_new((size_t)trace->count, sizeof *it->is_dropped);
}

static void shut(struct shrinking *it)
{
    free(it->states);
    free(it->is_dropped);
    trace_close(&it->rest);
    trace_close(&it->made);
}

void shrink(struct trace_replayer *replayer, struct trace *trace, enum property property)
{
    static bool (*const passes[])(struct shrinking *) = {cut_loops, drop_actors, drop_faults,
                                                         drop_blocks};
    enum { PASSES = sizeof passes / sizeof *passes };
    struct shrinking it;
    open(&it, replayer, trace, property);
    states_fill(&it);
    /* The cheap ones again before a dear one. */
    for (int pass = 0; pass < PASSES; pass++)
        if (passes[pass](&it))
            pass = -1;
    shut(&it);
}

/* --- names --- */

/* The next name for who has none yet; -1 stays nobody. */
static int rename_one(int *names, int *count, int who)
{
    if (who < 0)
        return who;
    if (names[who] < 0)
        names[who] = (*count)++;
    return names[who];
}

void shrink_rename(struct trace_replayer *replayer, struct trace *trace, enum property property)
{
    int clients[EXPLORE_CLIENTS_MAX], servers[SERVERS_MAX], clients_count = 0, servers_count = 0;
    struct trace renamed = {0};
    memset(clients, 0xff, sizeof clients);
    memset(servers, 0xff, sizeof servers);
    trace_copy(&renamed, trace);
    for (int i = 0; i < trace->count; i++) {
        struct event_label *label = &renamed.labels[i];
        label->client = rename_one(clients, &clients_count, label->client);
        label->server = rename_one(servers, &servers_count, label->server);
    }
    /* Clients are interchangeable, and so are servers, as far as a scheme treats them alike. */
    if (trace_follows(replayer, &renamed, property))
        trace_copy(trace, &renamed);
    trace_close(&renamed);
}

/* --- order --- */

/* How much stands together: the squares of the lengths of all that one actor does in a row, so that
 * moving one event of two is worth something already. */
static int togetherness(const struct trace *trace)
{
    int sum = 0, length = 0;
    for (int i = 0; i < trace->count; i++) {
        bool goes_on =
            i > 0 && label_actor(&trace->labels[i]) == label_actor(&trace->labels[i - 1]);
        length = goes_on ? length + 1 : 1;
        sum += 2 * length - 1;
    }
    return sum;
}

static void move_label(struct trace *trace, int from, int to)
{
    struct event_label kept = trace->labels[from];
    for (int i = from; i > to; i--)
        trace->labels[i] = trace->labels[i - 1];
    for (int i = from; i < to; i++)
        trace->labels[i] = trace->labels[i + 1];
    trace->labels[to] = kept;
}

/* Moves one event to where it is in better company, and the schedule is still one. */
static bool gather_once(struct trace_replayer *replayer, struct trace *trace, struct trace *tried,
                        enum property property)
{
    int together = togetherness(trace);
    for (int from = 0; from < trace->count; from++) {
        for (int to = 0; to < trace->count; to++) {
            trace_copy(tried, trace);
            move_label(tried, from, to);
            if (togetherness(tried) <= together || !trace_follows(replayer, tried, property))
                continue;
            trace_copy(trace, tried);
            return true;
        }
    }
    return false;
}

void shrink_gather(struct trace_replayer *replayer, struct trace *trace, enum property property)
{
    struct trace tried = {0};
    while (gather_once(replayer, trace, &tried, property))
        ;
    trace_close(&tried);
}
