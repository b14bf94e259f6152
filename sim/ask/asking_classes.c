/* asking_classes.c - histories that differ in the order of what different servers said, alone: one
 * class, whose first one is asked for all that follows. Where a worker treats its servers alike,
 * those that differ in which server said what are of it, too.
 *
 * (What commutes may change places: Mazurkiewicz, "Concurrent program schemes and their
 * interpretations", 1977.) That it does is asked, of each history on its own: see does_commute().
 */
#include "ask/asking_state.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- what a history is but for the order --- */

/* What happened at one server, in which part of the history; or, of `phases`, at none, and how much
 * time had passed wherever that counts: HAPPENING_COUNT. */
struct heard {
    uint32_t phase, happening, reply, whose;
    int32_t elapsed;
};

enum { HEARD_MAX = 256 };

struct told_by_servers {
    struct heard phases[HEARD_MAX], heard[SERVERS_MAX][HEARD_MAX];
    int phases_count, counts[SERVERS_MAX];
    uint32_t phase;
    uint32_t asked[SERVERS_MAX]; /* the command that a server has yet to answer; 0: none */
    bool is_acquiring, holds;
};

static bool is_of_server(const struct history_edge *edge)
{
    return edge->happening == HAPPENS_REPLY || edge->happening == HAPPENS_RESET ||
           edge->happening == HAPPENS_CUT;
}

static void hear(struct told_by_servers *told, const struct history_edge *edge,
                 const struct remembered_step *step)
{
    struct heard heard = {.phase = told->phase,
                          .happening = edge->happening,
                          .reply = edge->reply,
                          .whose = edge->whose,
                          .elapsed = ELAPSED_ANY};
    if (is_of_server(edge)) {
        told->heard[edge->server][told->counts[edge->server]++] = heard;
        told->asked[edge->server] = 0;
        heard = (struct heard){.happening = HAPPENING_COUNT};
    } else {
        told->phase++;
    }
    heard.elapsed = edge->elapsed;
    if (!is_of_server(edge) || edge->elapsed != ELAPSED_ANY)
        told->phases[told->phases_count++] = heard;
    if (edge->happening == HAPPENS_ACQUIRE || edge->happening == HAPPENS_RELEASE)
        told->is_acquiring = edge->happening == HAPPENS_ACQUIRE;
    if (step->has_ended)
        told->holds = told->is_acquiring && step->answer == ANSWER_OK;
    if (step->has_notice)
        told->holds = false;
    for (int s = 0; s < SERVERS_MAX; s++) {
        if (step->sent[s].command)
            told->asked[s] = step->sent[s].command;
        if (!(step->waits >> s & 1))
            told->asked[s] = 0;
    }
}

/* False: it is too long for that. */
static bool read_history(const struct asking *asking, uint32_t node, struct told_by_servers *told)
{
    uint32_t way[HEARD_MAX];
    int count = 0;
    memset(told, 0, sizeof *told);
    for (; node != NODE_ROOT; node = worker_asker_edge(&asking->worker, node).from) {
        if (count == HEARD_MAX)
            return false;
        way[count++] = node;
    }
    while (count--) {
        const struct history_edge edge = worker_asker_edge(&asking->worker, way[count]);
        hear(told, &edge, &asking->worker.answers[way[count] - 1]);
    }
    return true;
}

/* Servers that have not said anything yet come last, by their numbers. */
static int compare_servers(const struct told_by_servers *told, int a, int b)
{
    if (!told->counts[a] || !told->counts[b] || told->counts[a] != told->counts[b])
        return told->counts[b] - told->counts[a];
    return memcmp(told->heard[a], told->heard[b], (size_t)told->counts[a] * sizeof **told->heard);
}

/* place[i]: the server that is number i in the class. */
static void sort_servers(const struct asking *asking, const struct told_by_servers *told,
                         uint8_t *place)
{
    for (int s = 0; s < asking->servers; s++) {
        int at = s;
        for (; asking->is_even_handed && at > 0 && compare_servers(told, place[at - 1], s) > 0;
             at--)
            place[at] = place[at - 1];
        place[at] = (uint8_t)s;
    }
}

static size_t put(char *bytes, const struct heard *heard, int count)
{
    const size_t size = (size_t)count * sizeof *heard;
    memcpy(bytes, &count, sizeof count);
    memcpy(bytes + sizeof count, heard, size);
    return sizeof count + size;
}

/* The number of what is the same for all of a class. */
static uint32_t key_of(struct asking *asking, const struct told_by_servers *told,
                       const uint8_t *place)
{
    char bytes[(SERVERS_MAX + 1) * sizeof(int) + 2 * HEARD_MAX * sizeof *told->phases];
    size_t used = put(bytes, told->phases, told->phases_count);
    for (int i = 0; i < asking->servers; i++)
        used += put(bytes + used, told->heard[place[i]], told->counts[place[i]]);
    return intern_put(&asking->classes.keys, bytes, used);
}

/* --- does it commute? --- */

/* What can be seen at once: what it waits for, and for how long. */
static bool is_same_now(const struct asking *asking, uint32_t node,
                        const struct told_by_servers *told, const struct history_class *first,
                        const struct told_by_servers *first_told)
{
    const struct remembered_step *a = &asking->worker.answers[node - 1];
    const struct remembered_step *b = &asking->worker.answers[first->node - 1];
    bool is_same = a->is_asked == b->is_asked && a->timer_us == b->timer_us &&
                   a->has_moment == b->has_moment && told->holds == first_told->holds;
    for (int s = 0; s < asking->servers; s++)
        is_same &= told->asked[s] == first_told->asked[first->name[s]];
    return is_same;
}

static enum fail does_commute(struct asking *asking, uint32_t node, const struct history_class *it,
                              const struct told_by_servers *told, bool *does,
                              struct failure *failure)
{
    struct told_by_servers first;
    *does = read_history(asking, it->node, &first) && is_same_now(asking, node, told, it, &first);
    return *does ? asking_compare_ways(asking, node, it, told->asked, told->holds, does, failure)
                 : FAIL_NONE;
}

/* --- classes --- */

static struct history_class class_alone(const struct asking *asking, uint32_t node)
{
    struct history_class it = {.node = node};
    for (int s = 0; s < asking->servers; s++)
        it.name[s] = it.like[s] = (uint8_t)s;
    return it;
}

/* Of the first one of a class: which of its servers have said the same. */
static void find_alike(const struct asking *asking, const struct told_by_servers *told,
                       const uint8_t *place, struct history_class *it)
{
    for (int i = 1; i < asking->servers && asking->is_even_handed; i++)
        if (told->counts[place[i]] && compare_servers(told, place[i - 1], place[i]) == 0)
            it->like[place[i]] = it->like[place[i - 1]];
}

static void make_room(struct classes *classes, uint32_t number, uint32_t node)
{
    while (classes->firsts_count <= number) {
        classes->firsts =
            memory_resize(classes->firsts, classes->firsts_count + 1, sizeof *classes->firsts);
        classes->firsts[classes->firsts_count++] = (struct class_first){0};
    }
    while (classes->count <= node) {
        classes->rows = memory_resize(classes->rows, classes->count + 1, sizeof *classes->rows);
        classes->rows[classes->count++] = (struct history_class){0};
    }
}

/* Histories are met in another order from then on, and so are their servers. */
static enum fail join(struct asking *asking, const struct class_first *first,
                      const struct told_by_servers *told, const uint8_t *place, uint32_t node,
                      struct history_class *it, struct failure *failure)
{
    bool does;
    struct history_class joined = asking->classes.rows[first->node];
    joined.node = first->node;
    for (int i = 0; i < asking->servers; i++)
        joined.name[place[i]] = first->place[i];
    if (does_commute(asking, node, &joined, told, &does, failure))
        return failure->code;
    asking->classes.joined += does;
    asking->classes.apart += !does;
    if (does)
        *it = joined;
    return FAIL_NONE;
}

enum fail asking_class(struct asking *asking, uint32_t node, struct history_class *it,
                       struct failure *failure)
{
    struct classes *classes = &asking->classes;
    struct told_by_servers told;
    uint8_t place[SERVERS_MAX] = {0};
    *it = class_alone(asking, node);
    if (!classes->are_wanted || asking->servers == 1)
        return FAIL_NONE;
    if (node < classes->count && classes->rows[node].node) {
        *it = classes->rows[node];
        return FAIL_NONE;
    }
    if (!read_history(asking, node, &told))
        return FAIL_NONE;
    sort_servers(asking, &told, place);
    find_alike(asking, &told, place, it);
    const uint32_t number = key_of(asking, &told, place);
    make_room(classes, number, node);
    struct class_first *first = &classes->firsts[number];
    if (!first->node) {
        first->node = node;
        memcpy(first->place, place, sizeof place);
    } else if (join(asking, first, &told, place, node, it, failure)) {
        return failure->code;
    }
    classes->rows[node] = *it;
    return FAIL_NONE;
}

void asking_classes_free(struct classes *classes)
{
    intern_close(&classes->keys);
    free(classes->rows);
    free(classes->firsts);
}
