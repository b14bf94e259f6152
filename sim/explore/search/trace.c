/* trace.c - see trace.h. */
#include "explore/search/trace.h"

#include "base/memory.h"
#include "explore/search/schedule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_FIRST = 32, STEPS_FIRST = 32 };

void trace_add(struct trace *trace, const struct event_label *label)
{
    if (trace->count == trace->size) {
        trace->size = trace->size ? 2 * trace->size : TRACE_FIRST;
        trace->labels = memory_resize(trace->labels, (size_t)trace->size, sizeof *trace->labels);
    }
    trace->labels[trace->count++] = *label;
}

void trace_copy(struct trace *to, const struct trace *from)
{
    to->count = 0;
    for (int i = 0; i < from->count; i++)
        trace_add(to, &from->labels[i]);
}

void trace_close(struct trace *trace)
{
    free(trace->labels);
    memset(trace, 0, sizeof *trace);
}

int trace_faults(const struct trace *trace)
{
    int faults = 0;
    for (int i = 0; i < trace->count; i++)
        faults += label_is_fault(&trace->labels[i]);
    return faults;
}

bool trace_is_shorter(const struct trace *trace, const struct trace *than)
{
    int faults = trace_faults(trace), more = trace_faults(than);
    return faults < more || (faults == more && trace->count < than->count);
}

int label_actor(const struct event_label *label)
{
    if (label->client >= 0)
        return label->client;
    return label->server >= 0 ? EXPLORE_CLIENTS_MAX + label->server : ACTOR_TIME;
}

struct event_label label_of(const struct state_space *space, const uint32_t *before,
                            const struct successor *step)
{
    struct event_label label = {.kind = step->kind,
                                .client = step->client,
                                .server = step->server,
                                .fault = step->fault,
                                .ticks = step->ticks,
                                .verb = NO_VERB};
    struct client_state client_state;
    if (step->message < 0)
        return label;
    memset(&client_state, 0, sizeof client_state);
    intern_get(&space->client_states, before[step->client], &client_state);
    assert(step->message < client_state.count);
    label.is_late = message_is_abandoned(&client_state.messages[step->message]);
    label.verb = client_state.messages[step->message].verb;
    return label;
}

/* --- the replayer --- */

static void replayer_take(void *context, const struct successor *step)
{
    struct trace_replayer *replayer = context;
    if (replayer->count == replayer->size) {
        replayer->size = replayer->size ? 2 * replayer->size : STEPS_FIRST;
        replayer->steps =
            memory_resize(replayer->steps, (size_t)replayer->size, sizeof *replayer->steps);
    }
    replayer->steps[replayer->count++] = *step;
}

void replayer_init(struct trace_replayer *replayer, const struct explore_options *options)
{
    memset(replayer, 0, sizeof *replayer);
    replayer->options = *options;
    replayer->options.reductions = 0;
    space_init(&replayer->space, &replayer->options);
    successors_init(&replayer->successors, &replayer->space, &replayer->options);
    replayer->successors.take = replayer_take;
    replayer->successors.context = replayer;
}

void replayer_close(struct trace_replayer *replayer)
{
    space_close(&replayer->space);
    free(replayer->steps);
}

void replayer_go(struct trace_replayer *replayer, const uint32_t *words)
{
    memmove(replayer->words, words, sizeof replayer->words);
    replayer->count = 0;
    successors_expand(&replayer->successors, replayer->words);
}

void replayer_start(struct trace_replayer *replayer)
{
    uint32_t words[WORDS_MAX] = {0};
    successors_start(&replayer->successors, &replayer->options, words);
    replayer_go(replayer, words);
}

static bool is_named(const struct trace_replayer *replayer, const struct successor *step,
                     const struct event_label *label)
{
    if (step->kind != label->kind || step->client != label->client ||
        step->server != label->server || step->fault != label->fault || step->ticks != label->ticks)
        return false;
    struct event_label name = label_of(&replayer->space, replayer->words, step);
    return name.verb == label->verb && name.is_late == label->is_late;
}

const struct successor *replayer_find(const struct trace_replayer *replayer,
                                      const struct event_label *label)
{
    for (int i = 0; i < replayer->count; i++)
        if (is_named(replayer, &replayer->steps[i], label))
            return &replayer->steps[i];
    return NULL;
}

/* --- walking --- */

static bool violates(const struct trace_replayer *replayer, const struct successor *step,
                     enum property property)
{
    return violated_for(&replayer->options, step->violated) >> property & 1;
}

bool trace_walk(struct trace_replayer *replayer, const struct event_label *labels, int count,
                enum property property, struct trace *made)
{
    for (int i = 0; i < count; i++) {
        const struct successor *step = replayer_find(replayer, &labels[i]);
        if (!step)
            continue;
        trace_add(made, &labels[i]);
        if (violates(replayer, step, property))
            return true;
        replayer_go(replayer, step->words);
    }
    return false;
}

bool trace_follows(struct trace_replayer *replayer, const struct trace *trace,
                   enum property property)
{
    replayer_start(replayer);
    for (int i = 0; i < trace->count; i++) {
        const struct successor *step = replayer_find(replayer, &trace->labels[i]);
        if (!step)
            return false;
        bool is_last = i == trace->count - 1, is_violated = violates(replayer, step, property);
        if (is_last || is_violated)
            return is_last && is_violated;
        replayer_go(replayer, step->words);
    }
    return false;
}

void trace_print(struct trace_replayer *replayer, const struct trace *trace,
                 struct explore_finding *finding)
{
    finding->events = trace->count;
    finding->faults = trace_faults(trace);
    finding->choices_count = 0;
    finding->choices =
        memory_new((size_t)trace->count * TRANSLATED_MAX + 1, sizeof *finding->choices);
    replayer_start(replayer);
    for (int i = 0; i < trace->count; i++) {
        const struct successor *step = replayer_find(replayer, &trace->labels[i]);
        assert(step);
        finding->choices_count += translate_step(&replayer->space, replayer->words, step,
                                                 &finding->choices[finding->choices_count]);
        replayer_go(replayer, step->words);
    }
}
