/* asking_compare.c - two histories, compared by how a worker goes on from them. */
#include "ask/asking_state.h"

#include "base/memory.h"

#include <string.h>

/* Two workers side by side, told the same. */
struct twins {
    struct asking *asking;
    uint32_t node, fresh;
    struct kept kept[SERVERS_MAX]; /* at the servers that they are told of */
    uint32_t asked[SERVERS_MAX];   /* the command that a server has yet to answer; 0: none */
    int32_t jumped;                /* ticks, by the wall clock, before the next operation */
    bool is_first_lost;            /* the connection to the first server breaks at once */
    const uint8_t *name; /* what the fresh one calls the server that the other one calls so; NULL:
                            the same */
    bool have_differed;
    uint32_t apart[2]; /* have_differed: behind what each of them did */
};

static enum fail differs(const struct twins *pair, struct failure *failure)
{
    char text[600];
    return failure_set(failure, FAIL_UNKNOWN,
                       "it does not close: after \"%s\" the worker goes on otherwise than a new "
                       "one, so its histories grow with each attempt; a lock object that is made "
                       "anew for each acquire helps",
                       worker_asker_tell(&pair->asking->worker, pair->node, text, sizeof text));
}

static int name_of(const struct twins *pair, int server)
{
    return pair->name ? pair->name[server] : server;
}

/* What the fresh one did, with its servers called as the other one calls them. */
static struct remembered_step renamed(const struct twins *pair, const struct remembered_step *other)
{
    struct remembered_step told = *other;
    told.waits = 0;
    told.left = 0;
    for (int s = 0; s < pair->asking->servers; s++) {
        told.sent[s] = other->sent[name_of(pair, s)];
        told.waits |= (uint8_t)((other->waits >> name_of(pair, s) & 1) << s);
        for (int lane = 0; lane < LANE_COUNT; lane++)
            if (other->left & channel_bit(name_of(pair, s), lane))
                told.left |= (uint16_t)channel_bit(s, lane);
    }
    return told;
}

/* Both are told; *told: what they did, alike. */
static enum fail tell_both(struct twins *pair, const struct history_edge *what,
                           struct remembered_step *told, struct failure *failure)
{
    struct worker_asker *asker = &pair->asking->worker;
    struct history_edge edge = *what;
    struct remembered_step other;
    edge.from = pair->node;
    if (history_ask(asker, &edge, told, failure))
        return failure->code;
    edge.from = pair->fresh;
    edge.server = (uint32_t)name_of(pair, (int)edge.server);
    if (history_ask(asker, &edge, &other, failure))
        return failure->code;
    const struct remembered_step called_alike = renamed(pair, &other);
    pair->have_differed = !remembered_is_same(told, &called_alike);
    pair->apart[0] = told->node;
    pair->apart[1] = other.node;
    if (pair->have_differed)
        return differs(pair, failure);
    pair->node = told->node;
    pair->fresh = other.node;
    for (int s = 0; s < pair->asking->servers; s++)
        if (told->sent[s].command)
            pair->asked[s] = told->sent[s].command;
    return FAIL_NONE;
}

/* The first server that has yet to answer does. */
static enum fail answer_both(struct twins *pair, struct remembered_step *told,
                             struct failure *failure)
{
    struct server_told reply;
    uint32_t at = 0;
    while (!pair->asked[at])
        at++;
    const struct server_question question = {.kept = pair->kept[at], .command = pair->asked[at]};
    if (server_ask(&pair->asking->server, &question, &reply, failure))
        return failure->code;
    pair->kept[at] = reply.kept;
    pair->asked[at] = 0;
    return tell_both(
        pair,
        &(struct history_edge){
            .happening = HAPPENS_REPLY, .server = at, .reply = reply.reply, .whose = reply.whose},
        told, failure);
}

/* An operation from there to its end, as the server answers; *told: its last step. */
static enum fail end_operation(struct twins *pair, struct remembered_step *told,
                               struct failure *failure)
{
    enum { TOLD_MAX = 100 };
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < TOLD_MAX && !fail && told->is_asked; i++) {
        if (told->waits)
            fail = answer_both(pair, told, failure);
        else if (told->timer_us != TIME_NEVER)
            fail =
                tell_both(pair, &(struct history_edge){.happening = HAPPENS_TIMER}, told, failure);
        else
            break;
    }
    if (!fail && told->is_asked)
        fail = failure_set(failure, FAIL_UNKNOWN,
                           "its histories do not close: answered as a server would answer, an "
                           "operation did not end within %d steps. One that tries again for so "
                           "long wants a shorter --wait",
                           TOLD_MAX);
    return fail;
}

/* The whole of one. */
static enum fail operate(struct twins *pair, enum happening begins, struct remembered_step *told,
                         struct failure *failure)
{
    const struct history_edge edge = {.happening = begins, .jumped = pair->jumped};
    enum fail fail = tell_both(pair, &edge, told, failure);
    pair->jumped = 0;
    if (!fail && pair->is_first_lost && pair->asked[0]) {
        pair->asked[0] = 0;
        fail = tell_both(pair, &(struct history_edge){.happening = HAPPENS_RESET}, told, failure);
    }
    return fail ? fail : end_operation(pair, told, failure);
}

/* All servers are so. */
static void set_servers(struct twins *pair, struct kept kept)
{
    for (int s = 0; s < pair->asking->servers; s++)
        pair->kept[s] = kept;
}

/* The keys when another one has the lock, as a new worker takes it where nothing is: those of *one.
 * Of a worker without tokens what it writes itself is what another one would have written. */
static enum fail hold(struct asking *asking, struct twins *one, struct failure *failure)
{
    struct remembered_step told;
    *one = (struct twins){.asking = asking, .node = NODE_ROOT, .fresh = NODE_ROOT};
    set_servers(one, (struct kept){.value = KEPT_ABSENT, .left = NO_TICKS});
    if (operate(one, HAPPENS_ACQUIRE, &told, failure))
        return failure->code;
    for (int s = 0; s < asking->servers; s++)
        if (one->kept[s].value == KEPT_OWN)
            one->kept[s].value = KEPT_OTHER;
    return FAIL_NONE;
}

static const struct kept nothing = {.value = KEPT_ABSENT, .left = NO_TICKS};

/* Granted, and released after so many ticks, or at once where a timer would ring meanwhile; by then
 * nothing is there if they are a lease. */
static enum fail take_and_release(struct twins *pair, int32_t ticks, struct failure *failure)
{
    struct remembered_step told;
    set_servers(pair, nothing);
    if (operate(pair, HAPPENS_ACQUIRE, &told, failure))
        return failure->code;
    if (!told.has_ended || told.answer != ANSWER_OK)
        return FAIL_NONE;
    if (told.timer_us != TIME_NEVER)
        ticks = 0;
    if (ticks)
        set_servers(pair, nothing);
    const struct history_edge release = {.happening = HAPPENS_RELEASE,
                                         .elapsed = ticks * ELAPSED_EACH};
    enum fail fail = tell_both(pair, &release, &told, failure);
    return fail ? fail : end_operation(pair, &told, failure);
}

/* What it holds is extended; *holds: it has it still. */
static enum fail extend(struct twins *pair, struct remembered_step *told, bool *holds,
                        struct failure *failure)
{
    const enum fail fail = operate(pair, HAPPENS_EXTEND, told, failure);
    *holds = !fail && told->has_ended && history_holds(true, HAPPENS_EXTEND, told->answer);
    return fail;
}

/* Granted, extended and released. */
static enum fail take_and_extend(struct twins *pair, int32_t ticks, struct failure *failure)
{
    struct remembered_step told;
    bool holds;
    (void)ticks;
    set_servers(pair, nothing);
    if (operate(pair, HAPPENS_ACQUIRE, &told, failure))
        return failure->code;
    if (!told.has_ended || told.answer != ANSWER_OK)
        return FAIL_NONE;
    if (extend(pair, &told, &holds, failure))
        return failure->code;
    return holds ? operate(pair, HAPPENS_RELEASE, &told, failure) : FAIL_NONE;
}

typedef enum fail take_once(struct twins *pair, int32_t ticks, struct failure *failure);

/* As often as a client has attempts behind its first: what only a later one does otherwise is
 * found, too. */
static enum fail take_each(struct twins *pair, take_once *take, int32_t ticks,
                           struct failure *failure)
{
    enum fail fail = take(pair, ticks, failure);
    for (int i = 2; i < pair->asking->rounds && !fail; i++)
        fail = take(pair, ticks, failure);
    return fail;
}

/* They went on otherwise: does each of them, in another process, do so again? One that does not is
 * no matter of attempts. */
static enum fail ask_both_again(struct asking *asking, const struct twins *pair,
                                struct failure *failure)
{
    struct seat seat = {.session = asking->session, .client = 1};
    struct failure again = {0};
    for (int i = 0; i < 2 && !again.code; i++)
        if (!seat_reset(&asking->worker, &seat, &again))
            (void)history_compare(&asking->worker, &seat, pair->apart[i], &again);
    seat_close(&seat);
    if (again.code)
        *failure = again;
    return failure->code;
}

static bool is_among(const uint32_t *ends, int count, uint32_t node)
{
    while (count > 0 && ends[count - 1] != node)
        count--;
    return count > 0;
}

static void put_among(uint32_t **ends, int *count, uint32_t node)
{
    *ends = memory_resize(*ends, (size_t)*count + 1, sizeof **ends);
    (*ends)[(*count)++] = node;
}

/* Refused, and then granted and released. */
static enum fail end_in_time(struct twins *pair, struct failure *failure)
{
    struct remembered_step told;
    struct twins held;
    if (hold(pair->asking, &held, failure))
        return failure->code;
    memcpy(pair->kept, held.kept, sizeof pair->kept);
    if (held.kept[0].value != KEPT_ABSENT && operate(pair, HAPPENS_ACQUIRE, &told, failure))
        return failure->code;
    return take_each(pair, take_and_release, 0, failure);
}

/* Its wall clock jumps behind the attempt, ahead or back; then it is granted, and released. */
static enum fail compare_jumped(struct asking *asking, uint32_t node, struct failure *failure)
{
    if (!asking->worker.answers[node - 1].has_wall ||
        is_among(asking->jumped_ends, asking->jumped_ends_count, node))
        return FAIL_NONE;
    for (int sign = 1; sign >= -1; sign -= 2) {
        struct twins pair = {
            .asking = asking, .node = node, .jumped = sign * config_jump(asking->lease_ticks)};
        if (take_each(&pair, take_and_release, 0, failure))
            return pair.have_differed ? ask_both_again(asking, &pair, failure) : failure->code;
    }
    put_among(&asking->jumped_ends, &asking->jumped_ends_count, node);
    return FAIL_NONE;
}

enum fail asking_compare_end(struct asking *asking, uint32_t node, struct failure *failure)
{
    struct twins pair = {.asking = asking, .node = node}, late = pair, extended = pair;
    if (!is_among(asking->ends, asking->ends_count, node)) {
        if (end_in_time(&pair, failure))
            return pair.have_differed ? ask_both_again(asking, &pair, failure) : failure->code;
        if (asking_extend(asking) == EXTEND_IS_ASKED &&
            take_each(&extended, take_and_extend, 0, failure))
            return extended.have_differed ? ask_both_again(asking, &extended, failure)
                                          : failure->code;
        put_among(&asking->ends, &asking->ends_count, node);
    }
    if (asking->expects_late && !is_among(asking->late_ends, asking->late_ends_count, node)) {
        if (take_each(&late, take_and_release, asking->lease_ticks + 1, failure))
            return late.have_differed ? ask_both_again(asking, &late, failure) : failure->code;
        put_among(&asking->late_ends, &asking->late_ends_count, node);
    }
    return asking->expects_jumps ? compare_jumped(asking, node, failure) : FAIL_NONE;
}

enum fail asking_refuse_open_reply(struct asking *asking, uint32_t node)
{
    char text[600];
    return failure_set(
        &asking->failure, FAIL_UNKNOWN,
        "after \"%s\" the attempt is over, and the connection is still open on which "
        "the reply to its last command may come: that is not decided by asking yet. "
        "Close a connection that timed out (in Python the file of "
        "socket.makefile(), too)",
        worker_asker_tell(&asking->worker, node, text, sizeof text));
}

/* --- two ways to one class --- */

enum fail asking_found(struct asking *asking, struct kept *found, struct failure *failure)
{
    struct twins held;
    if (hold(asking, &held, failure))
        return failure->code;
    found[WAY_NOTHING] = (struct kept){.value = KEPT_ABSENT, .left = NO_TICKS};
    found[WAY_OTHER] = found[WAY_OWN] = held.kept[0];
    if (found[WAY_OWN].value == KEPT_OTHER)
        found[WAY_OWN].value = KEPT_OWN;
    return FAIL_NONE;
}

/* operation: that it was asked for last; extends: what it holds it extends before it releases. */
static enum fail go_on(struct twins *pair, bool holds, enum happening operation, bool extends,
                       struct failure *failure)
{
    struct remembered_step told = pair->asking->worker.answers[pair->node - 1];
    enum fail fail = FAIL_NONE;
    if (told.is_asked) {
        fail = end_operation(pair, &told, failure);
        holds = told.has_ended && history_holds(holds, operation, told.answer);
    } else if (!holds) {
        fail = operate(pair, HAPPENS_ACQUIRE, &told, failure);
        holds = told.has_ended && told.answer == ANSWER_OK;
    }
    if (!fail && holds && extends)
        fail = extend(pair, &told, &holds, failure);
    return !fail && holds ? operate(pair, HAPPENS_RELEASE, &told, failure) : fail;
}

enum fail asking_compare_ways(struct asking *asking, uint32_t node, const struct history_class *it,
                              const uint32_t *asked, bool holds, enum happening operation,
                              bool *is_same, struct failure *failure)
{
    const int ways = asking_extend(asking) == EXTEND_IS_ASKED ? 8 : 4;
    static const uint8_t same[SERVERS_MAX] = {0, 1, 2, 3, 4, 5, 6};
    struct twins held;
    *is_same = true;
    if (hold(asking, &held, failure))
        return failure->code;
    for (int way = 0; way < ways && *is_same; way++) {
        /* First the one that was there before goes alone: then it need not be set back. */
        const bool is_alone = way % 2 == 0, is_taken = way / 2 % 2, extends = way / 4;
        struct twins pair = {.asking = asking, .node = node, .fresh = it->node, .name = it->name};
        if (!is_taken)
            set_servers(&pair, (struct kept){.value = KEPT_ABSENT, .left = NO_TICKS});
        else
            memcpy(pair.kept, held.kept, sizeof pair.kept);
        if (is_alone) {
            pair.node = it->node;
            pair.name = same;
        }
        for (int s = 0; s < asking->servers; s++)
            pair.asked[is_alone ? it->name[s] : s] = asked[s];
        const enum fail fail = go_on(&pair, holds, operation, extends, failure);
        if (fail && !pair.have_differed)
            return fail;
        if (fail) { /* then they are two */
            *is_same = false;
            *failure = (struct failure){0};
        }
    }
    return FAIL_NONE;
}

/* --- servers in other places --- */

/* What there is at the servers, the first one and the others, before an attempt. */
struct opening {
    bool is_first_taken, are_others_taken, is_first_lost;
};

/* An attempt there, an extend where it can, and its release; *node: the history behind it. */
static enum fail play(struct asking *asking, const struct opening *opening, uint32_t *node,
                      struct failure *failure)
{
    struct remembered_step told;
    const struct kept free = {.value = KEPT_ABSENT, .left = NO_TICKS};
    struct twins held, pair = {.asking = asking, .is_first_lost = opening->is_first_lost};
    if (hold(asking, &held, failure))
        return failure->code;
    for (int s = 0; s < asking->servers; s++)
        pair.kept[s] =
            (s ? opening->are_others_taken : opening->is_first_taken) ? held.kept[s] : free;
    enum fail fail = operate(&pair, HAPPENS_ACQUIRE, &told, failure);
    bool holds = !fail && told.has_ended && told.answer == ANSWER_OK;
    if (holds && asking_extend(asking) == EXTEND_IS_ASKED)
        fail = extend(&pair, &told, &holds, failure);
    if (!fail && holds)
        fail = operate(&pair, HAPPENS_RELEASE, &told, failure);
    *node = pair.node;
    return fail;
}

/* The same history, in another process, with its servers in all other places. */
static bool is_same_in_other_places(struct asking *asking, uint32_t node)
{
    struct seat seat = {.session = asking->session, .client = 1};
    struct failure differs = {0};
    for (seat.turn = 1; seat.turn < 2 * asking->servers && !differs.code; seat.turn++)
        if (!seat_reset(&asking->worker, &seat, &differs))
            (void)history_compare(&asking->worker, &seat, node, &differs);
    seat_close(&seat);
    return !differs.code;
}

enum fail asking_measure_servers(struct asking *asking, struct failure *failure)
{
    static const struct opening openings[] = {
        {.is_first_taken = false},  {.is_first_taken = true},
        {.are_others_taken = true}, {.is_first_taken = true, .are_others_taken = true},
        {.is_first_lost = true},    {.is_first_lost = true, .are_others_taken = true}};
    bool is_same = true;
    for (size_t i = 0; i < sizeof openings / sizeof *openings && is_same; i++) {
        uint32_t node;
        if (play(asking, &openings[i], &node, failure))
            return failure->code;
        is_same = is_same_in_other_places(asking, node);
    }
    asking->is_even_handed = is_same;
    return FAIL_NONE;
}
