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
    int32_t elapsed, jumped;
};

enum { HEARD_MAX = 256 };

struct told_by_servers {
    struct heard phases[HEARD_MAX], heard[SERVERS_MAX][HEARD_MAX];
    int phases_count, counts[SERVERS_MAX];
    uint32_t phase;
    uint32_t asked[SERVERS_MAX]; /* the command that a server has yet to answer; 0: none */
    enum happening operation;    /* that it was asked for last */
    bool holds;
    bool forgets; /* what a server said before it was sent another command */
    int32_t past; /* with forgets: what is longer ago is as long ago as anything */
    bool is_met[SERVERS_MAX];
};

static bool is_of_server(const struct history_edge *edge)
{
    return edge->happening == HAPPENS_REPLY || edge->happening == HAPPENS_RESET ||
           edge->happening == HAPPENS_CUT;
}

/* What the learned model keeps of time: how much has passed in each operation of the attempt, and
 * behind it, in all. It is as long ago as anything when it is longer than told->past. */
static void pass(struct told_by_servers *told, const struct history_edge *edge)
{
    struct heard *last = told->phases_count ? &told->phases[told->phases_count - 1] : NULL;
    if (last && edge->elapsed != ELAPSED_ANY) {
        last->elapsed += edge->elapsed;
        last->elapsed = last->elapsed > told->past ? told->past : last->elapsed;
        last->jumped += edge->jumped;
    }
    if (!happening_asks((enum happening)edge->happening))
        return;
    if (edge->happening == HAPPENS_ACQUIRE)
        told->phases_count = 0;
    told->phases[told->phases_count++] = (struct heard){.happening = edge->happening};
}

/* A timer has rung: a connection that broke while it was idle is there again, or the ways show that
 * it is not. */
static void forget_cuts(struct told_by_servers *told)
{
    for (int s = 0; s < SERVERS_MAX; s++) {
        int kept = 0;
        for (int i = 0; i < told->counts[s]; i++)
            if (told->heard[s][i].happening != HAPPENS_CUT)
                told->heard[s][kept++] = told->heard[s][i];
        told->counts[s] = kept;
    }
}

static void hear_server(struct told_by_servers *told, const struct history_edge *edge)
{
    told->is_met[edge->server] = true;
    told->asked[edge->server] = 0;
    told->heard[edge->server][told->counts[edge->server]++] =
        (struct heard){.phase = told->forgets ? 0 : told->phase,
                       .happening = edge->happening,
                       .reply = edge->reply,
                       .whose = edge->whose,
                       .elapsed = ELAPSED_ANY};
}

/* Each event in its place among those of no server, and how much time had passed. */
static void hear_in_order(struct told_by_servers *told, const struct history_edge *edge)
{
    struct heard heard = {.phase = told->phase,
                          .happening = edge->happening,
                          .elapsed = edge->elapsed,
                          .jumped = edge->jumped};
    if (is_of_server(edge))
        heard = (struct heard){
            .happening = HAPPENING_COUNT, .elapsed = edge->elapsed, .jumped = edge->jumped};
    else
        told->phase++;
    if (!is_of_server(edge) || edge->elapsed != ELAPSED_ANY)
        told->phases[told->phases_count++] = heard;
}

static void hear(struct told_by_servers *told, const struct history_edge *edge,
                 const struct remembered_step *step)
{
    if (is_of_server(edge))
        hear_server(told, edge);
    if (told->forgets)
        pass(told, edge);
    else
        hear_in_order(told, edge);
    if (told->forgets && edge->happening == HAPPENS_TIMER)
        forget_cuts(told);
    if (happening_asks((enum happening)edge->happening))
        told->operation = (enum happening)edge->happening;
    if (step->has_ended)
        told->holds = history_holds(told->holds, told->operation, step->answer);
    if (step->has_notice)
        told->holds = false;
    for (int s = 0; s < SERVERS_MAX; s++) {
        if (step->sent[s].command)
            told->asked[s] = step->sent[s].command;
        if (step->sent[s].command && told->forgets)
            told->counts[s] = 0;
        if (!(step->waits >> s & 1))
            told->asked[s] = 0;
    }
}

/* False: it is too long for that. */
static bool read_history(const struct asking *asking, uint32_t node, bool forgets,
                         struct told_by_servers *told)
{
    uint32_t way[HEARD_MAX];
    int count = 0;
    memset(told, 0, sizeof *told);
    told->forgets = forgets;
    told->past = (asking->lease_ticks + 3) * ELAPSED_EACH;
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
    if (!told->is_met[a] || !told->is_met[b])
        return told->is_met[b] - told->is_met[a];
    if (told->asked[a] != told->asked[b])
        return told->asked[a] < told->asked[b] ? -1 : 1;
    if (told->counts[a] != told->counts[b])
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

struct class_key {
    char bytes[(SERVERS_MAX + 2) * sizeof(int) + 2 * HEARD_MAX * sizeof(struct heard) +
               sizeof(uint32_t) * (4 + 2 * SERVERS_MAX)];
    size_t used;
};

static void put(struct class_key *key, const void *bytes, size_t size)
{
    memcpy(key->bytes + key->used, bytes, size);
    key->used += size;
}

static void put_heard(struct class_key *key, const struct heard *heard, int count)
{
    put(key, &count, sizeof count);
    put(key, heard, (size_t)count * sizeof *heard);
}

/* What it waits for: of the learned model. */
static void put_learned(const struct asking *asking, struct class_key *key, uint32_t node,
                        const struct told_by_servers *told, const uint8_t *place)
{
    const struct remembered_step *step = &asking->worker.answers[node - 1];
    const uint32_t now[] = {(uint32_t)(step->timer_us / asking->tick_us),
                            step->has_moment | step->is_asked * 2u | told->holds * 4u |
                                (unsigned)told->operation * 8u};
    put(key, now, sizeof now);
    for (int i = 0; i < asking->servers; i++) {
        const uint32_t server[] = {told->asked[place[i]], told->is_met[place[i]]};
        put(key, server, sizeof server);
    }
}

/* The number of what is the same for all of a class. */
static uint32_t key_of(struct asking *asking, uint32_t node, const struct told_by_servers *told,
                       const uint8_t *place)
{
    struct class_key key = {.used = 0};
    put_heard(&key, told->phases, told->phases_count);
    for (int i = 0; i < asking->servers; i++)
        put_heard(&key, told->heard[place[i]], told->counts[place[i]]);
    if (told->forgets)
        put_learned(asking, &key, node, told, place);
    return intern_put(&asking->classes.keys, key.bytes, key.used);
}

/* --- does it go on alike? --- */

/* So many ways tell it apart, in the search that goes on: those on which idle connections break
 * only where they may break, and have not yet. */
static int ways_of(const struct asking *asking, uint32_t node)
{
    const int all = asking->classes.learns;
    const bool may_break = asking->expects_cuts &&
                           !(asking->has_one_fault && asking_shows(asking, node, STRUCK_BY_BREAK));
    return all <= LEARNED_WAYS || may_break ? all : LEARNED_WAYS;
}

/* On so many ways. */
static enum fail go_alike(struct asking *asking, const struct way_begin *one,
                          const struct way_begin *other, int ways, bool *is_same,
                          struct failure *failure)
{
    *is_same = true;
    for (int way = 0; way < ways && *is_same; way++) {
        uint32_t row, other_row;
        if (asking_learn_way(asking, one, way, &row, failure) ||
            asking_learn_way(asking, other, way, &other_row, failure))
            return failure->code;
        *is_same = row == other_row;
    }
    return FAIL_NONE;
}

static struct way_begin begin_of(uint32_t node, const struct told_by_servers *told,
                                 const uint8_t *place)
{
    return (struct way_begin){.node = node,
                              .place = place,
                              .asked = told->asked,
                              .holds = told->holds,
                              .operation = told->operation};
}

/* As the first one of a class with its key. One whose connections may break yet is not taken for
 * one that has had that: of what follows, it would be taken for struck, too. */
static enum fail is_like(struct asking *asking, uint32_t node, const struct told_by_servers *told,
                         const uint8_t *place, const struct class_first *first, bool *is_same,
                         struct failure *failure)
{
    const int ways = ways_of(asking, node);
    uint32_t asked[SERVERS_MAX] = {0};
    struct way_begin one = begin_of(node, told, place), other = one;
    for (int i = 0; i < asking->servers; i++)
        asked[first->place[i]] = told->asked[place[i]];
    other.node = first->node;
    other.place = first->place;
    other.asked = asked;
    *is_same = !(ways > LEARNED_WAYS && !asking_shows(asking, node, STRUCK_BY_BREAK) &&
                 asking_shows(asking, first->node, STRUCK_BY_BREAK));
    return *is_same ? go_alike(asking, &one, &other, ways, is_same, failure) : FAIL_NONE;
}

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
    *does = read_history(asking, it->node, false, &first) &&
            is_same_now(asking, node, told, it, &first);
    return *does ? asking_compare_ways(asking, node, it, told->asked, told->holds, told->operation,
                                       does, failure)
                 : FAIL_NONE;
}

/* --- classes --- */

static struct history_class class_alone(const struct asking *asking, uint32_t node)
{
    struct history_class it = {.node = node, .ways = (uint8_t)ways_of(asking, node)};
    for (int s = 0; s < asking->servers; s++)
        it.name[s] = it.like[s] = (uint8_t)s;
    return it;
}

static bool is_like_the_last(const struct told_by_servers *told, const uint8_t *place, int at)
{
    return at > 0 && told->is_met[place[at]] &&
           compare_servers(told, place[at - 1], place[at]) == 0;
}

/* Of the first one of a class: which of its servers have said the same. */
static void find_alike(const struct asking *asking, const struct told_by_servers *told,
                       const uint8_t *place, struct history_class *it)
{
    for (int i = 1; i < asking->servers && asking->is_even_handed; i++)
        if (is_like_the_last(told, place, i))
            it->like[place[i]] = it->like[place[i - 1]];
}

/* Those that have said the same, each one place further, the last one first; false: there are none.
 */
static bool turn_alike(const struct asking *asking, const struct told_by_servers *told,
                       const uint8_t *place, uint8_t *turned)
{
    bool has_turned = false;
    for (int i = 0, first = 0; i < asking->servers; i++) {
        first = is_like_the_last(told, place, i) ? first : i;
        turned[i] = place[i];
        for (int k = i; k > first; k--, has_turned = true) {
            turned[k] = turned[k - 1];
            turned[k - 1] = place[i];
        }
    }
    return has_turned;
}

/* Of the learned model: are they alike that have said the same since they were asked, whatever
 * order they stand in? */
static enum fail are_alike(struct asking *asking, uint32_t node, const struct told_by_servers *told,
                           const uint8_t *place, bool *are, struct failure *failure)
{
    uint8_t turned[SERVERS_MAX] = {0};
    const struct way_begin one = begin_of(node, told, place), other = begin_of(node, told, turned);
    *are = true;
    if (!told->forgets || !asking->is_even_handed || !turn_alike(asking, told, place, turned))
        return FAIL_NONE;
    return go_alike(asking, &one, &other, ways_of(asking, node), are, failure);
}

static void make_room(struct classes *classes, uint32_t node)
{
    while (classes->count <= node) {
        classes->rows = memory_resize(classes->rows, classes->count + 1, sizeof *classes->rows);
        classes->rows[classes->count++] = (struct history_class){0};
    }
}

static uint32_t *head_at(struct classes *classes, uint32_t number)
{
    while (classes->heads_count <= number) {
        classes->heads =
            memory_resize(classes->heads, classes->heads_count + 1, sizeof *classes->heads);
        classes->heads[classes->heads_count++] = 0;
    }
    return &classes->heads[number];
}

/* The last of those with its key. */
static void add_first(struct classes *classes, uint32_t number, uint32_t node, const uint8_t *place)
{
    uint32_t *at = head_at(classes, number);
    while (*at)
        at = &classes->firsts[*at - 1].next;
    *at = classes->firsts_count + 1;
    classes->firsts =
        memory_resize(classes->firsts, classes->firsts_count + 1, sizeof *classes->firsts);
    struct class_first *first = &classes->firsts[classes->firsts_count++];
    *first = (struct class_first){.node = node};
    memcpy(first->place, place, sizeof first->place);
}

/* Histories are met in another order from then on, and so are their servers. */
static enum fail join(struct asking *asking, const struct class_first *first,
                      const struct told_by_servers *told, const uint8_t *place, uint32_t node,
                      bool *does, struct history_class *it, struct failure *failure)
{
    struct history_class joined;
    if (told->forgets && is_like(asking, node, told, place, first, does, failure))
        return failure->code;
    if (told->forgets && !*does)
        return FAIL_NONE;
    if (asking_class(asking, first->node, &joined, failure))
        return failure->code;
    joined.ways = it->ways;
    for (int i = 0; i < asking->servers; i++)
        joined.name[place[i]] = first->place[i];
    if (!told->forgets && does_commute(asking, node, &joined, told, does, failure))
        return failure->code;
    if (*does)
        *it = joined;
    return FAIL_NONE;
}

static enum fail join_any(struct asking *asking, uint32_t number,
                          const struct told_by_servers *told, const uint8_t *place, uint32_t node,
                          bool *does, struct history_class *it, struct failure *failure)
{
    *does = false;
    for (uint32_t at = asking->classes.heads[number]; at && !*does;) {
        const struct class_first first = asking->classes.firsts[at - 1];
        if (join(asking, &first, told, place, node, does, it, failure))
            return failure->code;
        at = first.next;
    }
    return FAIL_NONE;
}

struct history_class asking_class_alone(struct asking *asking, uint32_t node)
{
    struct classes *classes = &asking->classes;
    if (!classes->are_wanted || asking->servers == 1)
        return class_alone(asking, node);
    make_room(classes, node);
    if (!classes->rows[node].node)
        classes->rows[node] = class_alone(asking, node);
    return classes->rows[node];
}

/* One that was taken for another on fewer ways than the search wants is looked at again. */
enum fail asking_class(struct asking *asking, uint32_t node, struct history_class *it,
                       struct failure *failure)
{
    struct classes *classes = &asking->classes;
    struct told_by_servers told;
    uint8_t place[SERVERS_MAX] = {0};
    bool does = false, are;
    *it = class_alone(asking, node);
    if (!classes->are_wanted || asking->servers == 1)
        return FAIL_NONE;
    const uint32_t known = node < classes->count ? classes->rows[node].node : NODE_ROOT;
    if (known != NODE_ROOT && classes->rows[node].ways >= it->ways) {
        *it = classes->rows[node];
        return FAIL_NONE;
    }
    if (!read_history(asking, node, classes->learns > 0, &told))
        return FAIL_NONE;
    sort_servers(asking, &told, place);
    const uint32_t number = key_of(asking, node, &told, place);
    make_room(classes, node);
    const bool has_first = *head_at(classes, number) != 0;
    if (known != node && join_any(asking, number, &told, place, node, &does, it, failure))
        return failure->code;
    if (!does && are_alike(asking, node, &told, place, &are, failure))
        return failure->code;
    if (!does && are)
        find_alike(asking, &told, place, it);
    if (!does && known != node && (classes->learns || !has_first))
        add_first(classes, number, node, place);
    classes->joined += does && known == NODE_ROOT;
    classes->apart += !does && has_first && known != node;
    classes->rows[node] = *it;
    return FAIL_NONE;
}

void asking_classes_free(struct classes *classes)
{
    intern_close(&classes->keys);
    intern_close(&classes->rows_seen);
    free(classes->heads);
    free(classes->firsts);
    free(classes->rows);
}
