/* asking_learned.c - the learned model: histories that the worker goes on from alike on each of
 * some ways to the end of its operation, and that wait for the same, are one class, whatever came
 * before. (Observation tables: Angluin, "Learning regular sets from queries and counterexamples",
 * 1987; Peled, Vardi and Yannakakis, "Black box checking", 1999.) What no such way tells apart is
 * taken for the same: asking_walk() looks for what is not. */
#include "ask/asked_next.h"

#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* --- ways --- */

/* Of the first one of those that have yet to answer: its connection breaks. */
enum { LOST = WAY_KEPT_COUNT };

/* What that one finds, and what all others do. */
struct way {
    uint8_t first, others;
    uint8_t cut; /* the connection to the server in that place, from 1, breaks as soon as it is
                    idle; 0: none */
};

static const struct way ways[LEARNED_WAYS] = {
    {WAY_NOTHING, WAY_NOTHING, 0}, {WAY_OTHER, WAY_OTHER, 0}, {WAY_OWN, WAY_OWN, 0},
    {LOST, WAY_NOTHING, 0},        {LOST, WAY_OWN, 0},        {WAY_NOTHING, WAY_OWN, 0},
    {WAY_OWN, WAY_NOTHING, 0}};

struct way_goer {
    struct asking *asking;
    uint32_t node, row; /* of what it did so far */
    const uint8_t *place;
    struct kept kept[SERVERS_MAX]; /* at the servers, as its history calls them */
    uint32_t asked[SERVERS_MAX];
    int cut; /* the server whose connection is still to break when it is idle, from 1; 0: none */
};

/* What it did, with its servers in their places. */
static void note(struct way_goer *walker, const struct remembered_step *told)
{
    struct way_step {
        uint32_t before, sent[SERVERS_MAX], whose[SERVERS_MAX];
        int64_t timer_us;
        uint32_t has_ended, answer, has_notice, is_asked, waits, left;
    } row;
    memset(&row, 0, sizeof row);
    row.before = walker->row;
    row.timer_us = told->timer_us;
    row.has_ended = told->has_ended;
    row.answer = told->answer;
    row.has_notice = told->has_notice;
    row.is_asked = told->is_asked;
    for (int i = 0; i < walker->asking->servers; i++) {
        const int server = walker->place[i];
        row.sent[i] = told->sent[server].command;
        row.whose[i] = told->sent[server].whose;
        row.waits |= (uint32_t)(told->waits >> server & 1) << i;
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (told->left & channel_bit(server, lane))
                row.left |= channel_bit(i, lane);
        if (told->sent[server].command)
            walker->asked[server] = told->sent[server].command;
        if (!(told->waits >> server & 1))
            walker->asked[server] = 0;
    }
    walker->row = 1 + intern_put(&walker->asking->classes.rows_seen, &row, sizeof row);
}

static enum fail tell(struct way_goer *walker, struct history_edge edge,
                      struct remembered_step *told, struct failure *failure)
{
    edge.from = walker->node;
    if (history_ask(&walker->asking->worker, &edge, told, failure))
        return failure->code;
    walker->node = told->node;
    note(walker, told);
    return FAIL_NONE;
}

static enum fail hear_server(struct way_goer *walker, int server, bool is_lost,
                             struct remembered_step *told, struct failure *failure)
{
    struct server_told reply;
    if (is_lost)
        return tell(walker,
                    (struct history_edge){.happening = HAPPENS_RESET, .server = (uint32_t)server},
                    told, failure);
    const struct server_question question = {.kept = walker->kept[server],
                                             .command = walker->asked[server]};
    if (server_ask(&walker->asking->server, &question, &reply, failure))
        return failure->code;
    walker->kept[server] = reply.kept;
    return tell(walker,
                (struct history_edge){.happening = HAPPENS_REPLY,
                                      .server = (uint32_t)server,
                                      .reply = reply.reply,
                                      .whose = reply.whose},
                told, failure);
}

/* The server in the first place that has yet to answer; -1: none. */
static int first_asked(const struct way_goer *walker)
{
    for (int i = 0; i < walker->asking->servers; i++)
        if (walker->asked[walker->place[i]])
            return walker->place[i];
    return -1;
}

static bool cuts_now(const struct way_goer *walker, const struct remembered_step *told)
{
    return walker->cut && !(told->waits >> (walker->cut - 1) & 1);
}

static enum fail cut(struct way_goer *walker, struct remembered_step *told, struct failure *failure)
{
    const uint32_t server = (uint32_t)walker->cut - 1;
    walker->cut = 0;
    return tell(walker, (struct history_edge){.happening = HAPPENS_CUT, .server = server}, told,
                failure);
}

/* From there to the end of what it is asked. */
static enum fail end_operation(struct way_goer *walker, bool is_first_lost,
                               struct remembered_step *told, struct failure *failure)
{
    enum { TOLD_MAX = 100 };
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < TOLD_MAX && !fail && told->is_asked; i++) {
        const int server = first_asked(walker);
        if (cuts_now(walker, told))
            fail = cut(walker, told, failure);
        else if (server >= 0)
            fail = hear_server(walker, server, is_first_lost && i == 0, told, failure);
        else if (told->timer_us != TIME_NEVER)
            fail = tell(walker, (struct history_edge){.happening = HAPPENS_TIMER}, told, failure);
        else
            break;
    }
    return fail;
}

/* Behind the ways that break none, one for each idle connection. */
static struct way way_of(int number)
{
    if (number < LEARNED_WAYS)
        return ways[number];
    return (struct way){
        .first = WAY_OWN, .others = WAY_OWN, .cut = (uint8_t)(number - LEARNED_WAYS + 1)};
}

static enum fail operate(struct way_goer *walker, enum happening operation,
                         struct remembered_step *told, struct failure *failure)
{
    return tell(walker, (struct history_edge){.happening = operation}, told, failure)
               ? failure->code
               : end_operation(walker, false, told, failure);
}

/* The operation under way, or a next one, and the release behind it; extends: what it holds it
 * extends before. */
static enum fail go(struct way_goer *walker, const struct way *way, const struct kept *found,
                    bool holds, enum happening operation, bool extends, struct failure *failure)
{
    struct remembered_step told = walker->asking->worker.answers[walker->node - 1];
    enum fail fail = FAIL_NONE;
    const bool was_asked = told.is_asked;
    walker->cut = way->cut ? walker->place[way->cut - 1] + 1 : 0;
    if (cuts_now(walker, &told))
        fail = cut(walker, &told, failure);
    if (!fail && !was_asked) {
        operation = !holds ? HAPPENS_ACQUIRE : extends ? HAPPENS_EXTEND : HAPPENS_RELEASE;
        fail = tell(walker, (struct history_edge){.happening = operation}, &told, failure);
    }
    const int first = first_asked(walker);
    for (int s = 0; s < walker->asking->servers; s++)
        walker->kept[s] = found[s == first && way->first != LOST ? way->first : way->others];
    if (!fail)
        fail = end_operation(walker, way->first == LOST, &told, failure);
    holds = told.has_ended && history_holds(holds, operation, told.answer);
    if (!fail && holds && extends && operation == HAPPENS_ACQUIRE) {
        fail = operate(walker, HAPPENS_EXTEND, &told, failure);
        holds = told.has_ended && history_holds(holds, HAPPENS_EXTEND, told.answer);
    }
    return !fail && holds ? operate(walker, HAPPENS_RELEASE, &told, failure) : fail;
}

enum fail asking_learn_way(struct asking *asking, const struct way_begin *begin, int way,
                           uint32_t *row, struct failure *failure)
{
    struct kept found[WAY_KEPT_COUNT];
    const struct way goes = way_of(way);
    const int variants =
        asking_extend(asking) == EXTEND_IS_ASKED ? 2 : 1; /* without an extend, and with one */
    *row = 0;
    if (asking_found(asking, found, failure))
        return failure->code;
    for (int extends = 0; extends < variants; extends++) {
        struct way_goer walker = {
            .asking = asking, .node = begin->node, .row = *row, .place = begin->place};
        memcpy(walker.asked, begin->asked, sizeof walker.asked);
        if (go(&walker, &goes, found, begin->holds, begin->operation, extends, failure))
            return failure->code;
        *row = walker.row;
    }
    return FAIL_NONE;
}

/* --- walks --- */

/* A real history beside the classes that the model says it is in. */
struct model_walk {
    uint32_t real, model;
    uint8_t name[SERVERS_MAX]; /* what the model calls the server that the real one calls so */
    bool is_unbroken; /* by a class that was not asked for what idle connections are to: from there
                         on none breaks */
};

static bool did_the_same(const struct asking *asking, const struct model_walk *walk,
                         const struct remembered_step *real, const struct remembered_step *model)
{
    struct remembered_step renamed = *model;
    renamed.waits = 0;
    renamed.left = 0;
    for (int s = 0; s < asking->servers; s++) {
        renamed.sent[s] = model->sent[walk->name[s]];
        renamed.waits |= (uint8_t)((model->waits >> walk->name[s] & 1) << s);
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (model->left & channel_bit(walk->name[s], lane))
                renamed.left |= (uint16_t)channel_bit(s, lane);
    }
    return remembered_is_same(real, &renamed);
}

/* Servers that the model takes for alike: what happens to that one happens to any of them, by
 * chance. */
static void change_places(struct asking *asking, struct model_walk *walk, uint32_t server,
                          struct random *random)
{
    struct history_class it;
    struct failure none = {0};
    uint8_t alike[SERVERS_MAX], count = 0;
    if (walk->model == NODE_ROOT || asking_class(asking, walk->model, &it, &none))
        return;
    for (int s = 0; s < asking->servers; s++)
        if (it.like[s] == it.like[server])
            alike[count++] = (uint8_t)s;
    const uint8_t other = alike[random_below(random, count)];
    for (int s = 0; s < asking->servers; s++)
        walk->name[s] = walk->name[s] == server  ? other
                        : walk->name[s] == other ? (uint8_t)server
                                                 : walk->name[s];
}

static enum fail walk_on(struct asking *asking, struct model_walk *walk, uint32_t next,
                         struct random *random, struct failure *failure)
{
    struct history_edge edge = worker_asker_edge(&asking->worker, next);
    struct history_class it;
    struct remembered_step told;
    char text[600];
    uint8_t name[SERVERS_MAX];
    change_places(asking, walk, edge.server, random);
    edge.from = walk->real;
    for (int s = asking->servers - 1; s >= 0; s--)
        if (walk->name[s] == worker_asker_edge(&asking->worker, next).server)
            edge.server = (uint32_t)s;
    if (history_ask(&asking->worker, &edge, &told, failure))
        return failure->code;
    const struct remembered_step known = asking->worker.answers[next - 1];
    if (!did_the_same(asking, walk, &told, &known))
        return failure_set(failure, FAIL_UNKNOWN,
                           "the learned model is not the worker: after \"%s\" it did something "
                           "else than the model. Without --learn nothing is taken for the same",
                           worker_asker_tell(&asking->worker, told.node, text, sizeof text));
    if (asking_class(asking, next, &it, failure))
        return failure->code;
    for (int s = 0; s < asking->servers; s++)
        name[s] = it.name[walk->name[s]];
    memcpy(walk->name, name, sizeof name);
    walk->real = told.node;
    walk->model = it.node;
    walk->is_unbroken |= it.ways < asking->classes.learns;
    return FAIL_NONE;
}

enum fail asking_walk(struct asking *asking, int walks, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    struct random random = {.seed = asking->seed};
    if (!asking->classes.learns || asking->servers == 1)
        return FAIL_NONE;
    const struct asked_next asked[] = {asked_next_of(asking, ASKED_BY_SEARCH),
                                       asked_next_of(asking, ASKED_BY_SEARCH_UNBROKEN)};
    for (int i = 0; i < walks && !fail; i++) {
        struct model_walk walk = {.real = NODE_ROOT, .model = NODE_ROOT};
        for (int s = 0; s < asking->servers; s++)
            walk.name[s] = (uint8_t)s;
        uint32_t next;
        while (!fail && (next = asked_next_choose(&asked[walk.is_unbroken], walk.model, &random)))
            fail = walk_on(asking, &walk, next, &random, failure);
        asking->classes.walks += !fail;
    }
    asked_next_free(&asked[false]);
    asked_next_free(&asked[true]);
    return fail;
}
