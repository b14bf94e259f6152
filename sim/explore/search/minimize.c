/* minimize.c - see minimize.h. */
#include "explore/search/minimize.h"

#include "explore/search/shrink.h"
#include "explore/search/witness.h"

#include <string.h>

struct minimizing {
    /* A shorter trace than this is looked for; events 0: none. */
    int faults[PROPERTY_COUNT], events[PROPERTY_COUNT];
    /* How far the search has come: with fewer faults, or with as many and less deep, all was seen.
     */
    int layer, depth;
};

/* All that is shorter was seen: the next step would make a way of depth + 1 events. */
static bool is_settled(const struct minimizing *it, const struct search *search, int property)
{
    if (it->events[property] == 0 ||
        violation_is_final(&search->first_violations[property], it->layer, it->depth))
        return true;
    return it->layer > it->faults[property] ||
           (it->layer == it->faults[property] && it->depth + 1 >= it->events[property]);
}

static bool is_enough(void *context, const struct search *search, int faults, int depth)
{
    struct minimizing *it = context;
    bool is_all = true;
    it->layer = faults;
    it->depth = depth;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        is_all &= is_settled(it, search, i);
    return is_all;
}

/* What the search met replaces what is longer. */
static void take_trace(struct search *search, int property, struct trace *trace)
{
    const struct violation *violation = &search->first_violations[property];
    struct trace met = {0};
    if (violation->state == STATE_NONE)
        return;
    witness_trace(search, violation, &met);
    if (trace->count == 0 || trace_is_shorter(&met, trace))
        trace_copy(trace, &met);
    trace_close(&met);
}

/* One search below what there is. Returns a bit for each property whose path is proved to be the
 * shortest. */
static unsigned search_below(const struct explore_options *options,
                             struct trace traces[PROPERTY_COUNT], uint64_t *states)
{
    struct minimizing it = {0};
    struct search search;
    unsigned proved = 0;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        it.faults[i] = trace_faults(&traces[i]);
        it.events[i] = traces[i].count;
    }
    search_init(&search, options);
    search.is_enough = is_enough;
    search.context = &it;
    search_run(&search);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        bool is_sure = search.end == END_COMPLETE || is_settled(&it, &search, i);
        take_trace(&search, i, &traces[i]);
        proved |= (unsigned)(is_sure && traces[i].count > 0) << i;
    }
    *states = search.visited.count;
    search_close(&search);
    return proved;
}

/* --- with those alone who take part --- */

/* Clients with the attempts that they make, and faults as often as they strike. The path names its
 * clients in order. */
static struct explore_options narrowed(const struct explore_options *given,
                                       const struct trace *trace)
{
    struct explore_options options = *given;
    int attempts[EXPLORE_CLIENTS_MAX] = {0};
    options.clients = options.rounds = 1;
    for (int i = 0; i < FAULT_COUNT; i++)
        if (fault_blame((enum fault)i) != FAULT_OF_RUN)
            options.budget[i] = 0;
    for (int i = 0; i < trace->count; i++) {
        const struct event_label *label = &trace->labels[i];
        if (label_is_fault(label))
            options.budget[label->fault]++;
        if (label->client >= options.clients)
            options.clients = label->client + 1;
        if (label->kind == ACTION_ACQUIRE && ++attempts[label->client] > options.rounds)
            options.rounds = attempts[label->client];
    }
    if (options.rounds > given->rounds) /* a clean refusal is free */
        options.rounds = given->rounds;
    return options;
}

static bool is_narrower(const struct explore_options *options, const struct explore_options *than)
{
    return options->clients < than->clients || options->rounds < than->rounds ||
           memcmp(options->budget, than->budget, sizeof options->budget) != 0;
}

static void look_closer(struct trace_replayer *replayer, const struct explore_options *given,
                        struct trace traces[PROPERTY_COUNT], int property)
{
    struct trace *trace = &traces[property], met[PROPERTY_COUNT] = {0};
    uint64_t states;
    shrink_rename(replayer, trace, (enum property)property);
    const struct explore_options options = narrowed(given, trace);
    if (!is_narrower(&options, given))
        return;
    trace_copy(&met[property], trace);
    search_below(&options, met, &states);
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        bool is_better = traces[i].count == 0 || trace_is_shorter(&met[i], &traces[i]);
        if (met[i].count > 0 && is_better && trace_follows(replayer, &met[i], (enum property)i))
            trace_copy(&traces[i], &met[i]);
        trace_close(&met[i]);
    }
}

unsigned minimize(struct trace_replayer *replayer, const struct explore_options *given,
                  struct trace traces[PROPERTY_COUNT], uint64_t *states)
{
    struct explore_options options = *given;
    options.skips_progress = true;
    if (options.states_max == 0)
        options.states_max = MINIMIZE_STATES;
    unsigned proved = search_below(&options, traces, states);
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (traces[i].count > 0 && !(proved >> i & 1))
            look_closer(replayer, &options, traces, i);
    return proved;
}
