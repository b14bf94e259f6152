/* trace.h - a trace: a path by the labels of its events, so that it can be replayed in another
 * order, or without some of them.
 *
 * A label says who does what, and to which message, in the words of a schedule: a message is the
 * oldest of its client, server and verb, and waited for or not. Traces are replayed without
 * reductions: a client keeps its position from the first step to the last. */
#ifndef PICKLOCK_EXPLORE_SEARCH_TRACE_H
#define PICKLOCK_EXPLORE_SEARCH_TRACE_H

#include "explore/graph/successors.h"
#include "explore/search/outcome.h"

struct event_label {
    enum action_kind kind;
    int client, server; /* -1: none */
    int fault;          /* enum fault of ACTION_INJECT, which it costs, and of ACTION_DELAYED */
    int ticks;          /* that a clock jumps by it */
    bool is_late;       /* nobody waits for that message: given up on, or a copy */
    int verb;           /* enum verb of the message that it is about, or NO_VERB */
};

enum { NO_VERB = -1 };

/* A step from the state before it. */
struct event_label label_of(const struct state_space *space, const uint32_t *before,
                            const struct successor *step);

struct trace {
    struct event_label *labels;
    int count, size;
};

/* Copies: the source is borrowed. */
void trace_add(struct trace *trace, const struct event_label *label);
void trace_copy(struct trace *to, const struct trace *from);
void trace_close(struct trace *trace);
int trace_faults(const struct trace *trace);

/* Fewer faults, or as many and fewer events. */
bool trace_is_shorter(const struct trace *trace, const struct trace *than);

static inline bool label_is_fault(const struct event_label *label)
{
    return label->kind == ACTION_INJECT;
}

/* Who does it: clients first, then servers, then time. */
enum { ACTOR_TIME = EXPLORE_CLIENTS_MAX + SERVERS_MAX, ACTORS };
int label_actor(const struct event_label *label);

/* Where paths are walked: the whole space of some options, and the state in hand. */
struct trace_replayer {
    struct explore_options options;
    struct state_space space;
    struct successors successors;
    uint32_t words[WORDS_MAX];
    struct successor *steps; /* all that can follow it */
    int count, size;
};

/* The replayer keeps itself by address: it stays where it is until replayer_close. */
void replayer_init(struct trace_replayer *replayer, const struct explore_options *options);
void replayer_close(struct trace_replayer *replayer);
void replayer_start(struct trace_replayer *replayer);
void replayer_go(struct trace_replayer *replayer, const uint32_t *words);
/* The step by which the state in hand does that, or NULL: it cannot. */
const struct successor *replayer_find(const struct trace_replayer *replayer,
                                      const struct event_label *label);

/* Makes the labels one after the other, from the state in hand, until one violates the property,
 * and lets out what cannot be done. Adds to made those that were; false when none violated it. */
bool trace_walk(struct trace_replayer *replayer, const struct event_label *labels, int count,
                enum property property, struct trace *made);

/* From the start, with nothing left out: is every label possible, and the last one the first to
 * violate the property? */
bool trace_follows(struct trace_replayer *replayer, const struct trace *trace,
                   enum property property);

/* As a schedule: fills choices (the caller frees), faults and events. The path must be one that
 * follows. */
void trace_print(struct trace_replayer *replayer, const struct trace *trace,
                 struct explore_finding *finding);

#endif
