/* asking_ends.c - is a worker behind an attempt as a new one? And while a timer of that attempt is
 * still to ring, as behind another attempt that left such a timer?
 *
 * That it is, is no promise of anybody's: each such history is asked to go on, on some ways, beside
 * the one that it is taken for. What goes on otherwise than a new one does not close; what goes on
 * otherwise than the other ones that have a timer is followed for itself. */
#include "ask/asked_next.h"
#include "ask/asking_twins.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* --- ways on --- */

static const struct kept nothing = {.value = KEPT_ABSENT, .left = NO_TICKS};

/* Granted, and released after so many ticks, or at once where a timer would ring meanwhile; by then
 * nothing is there if they are a lease. */
static enum fail take_and_release(struct twins *pair, int32_t ticks, struct failure *failure)
{
    struct remembered_step told;
    twins_set_servers(pair, nothing);
    if (twins_operate(pair, HAPPENS_ACQUIRE, &told, failure))
        return failure->code;
    if (!told.has_ended || told.answer != ANSWER_OK)
        return FAIL_NONE;
    if (told.timer_us != TIME_NEVER)
        ticks = 0;
    if (ticks)
        twins_set_servers(pair, nothing);
    const struct history_edge release = {.happening = HAPPENS_RELEASE,
                                         .elapsed = ticks * ELAPSED_EACH};
    enum fail fail = twins_tell(pair, &release, &told, failure);
    return fail ? fail : twins_end_operation(pair, &told, failure);
}

/* Granted, extended and released. */
static enum fail take_and_extend(struct twins *pair, int32_t ticks, struct failure *failure)
{
    struct remembered_step told;
    bool holds;
    (void)ticks;
    twins_set_servers(pair, nothing);
    if (twins_operate(pair, HAPPENS_ACQUIRE, &told, failure))
        return failure->code;
    if (!told.has_ended || told.answer != ANSWER_OK)
        return FAIL_NONE;
    if (twins_extend(pair, &told, &holds, failure))
        return failure->code;
    return holds ? twins_operate(pair, HAPPENS_RELEASE, &told, failure) : FAIL_NONE;
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

enum { REFUSALS_MAX = 6 };

/* Of several servers each refusal is a history of many: one. */
int asking_refusals(const struct asking *asking)
{
    return asking->servers > 1 ? 1 : REFUSALS_MAX;
}

enum fail asking_end_refused(struct twins *pair, int refusals, bool extends,
                             struct failure *failure)
{
    struct remembered_step told = {.answer = ANSWER_NOT_OK};
    struct twins held;
    if (twins_hold(pair->asking, &held, failure))
        return failure->code;
    if (held.kept[0].value == KEPT_ABSENT)
        refusals = 0;
    for (int i = 0; i < refusals && told.answer != ANSWER_OK; i++) {
        memcpy(pair->kept, held.kept, sizeof pair->kept);
        if (twins_operate(pair, HAPPENS_ACQUIRE, &told, failure))
            return failure->code;
    }
    return take_each(pair, extends ? take_and_extend : take_and_release, 0, failure);
}

enum fail asking_end_in_time(struct twins *pair, struct failure *failure)
{
    return asking_end_refused(pair, 1, false, failure);
}

/* Each number of refusals, and then granted and released: what counts them may mind one alone. */
static enum fail refused_at_times(struct twins *pair, struct failure *failure)
{
    const struct twins begin = *pair;
    enum fail fail = FAIL_NONE;
    for (int refusals = 0; refusals < REFUSALS_MAX && !fail; refusals++) {
        *pair = begin;
        fail = asking_end_refused(pair, refusals, false, failure);
    }
    return fail;
}

/* What comes first; then what is done. */
enum first { FIRST_NOTHING, FIRST_TIMER, FIRST_LATE, FIRST_CUT, FIRST_COUNT };
enum then {
    THEN_IN_TIME,
    THEN_OFTEN,
    THEN_AT_TIMES,
    THEN_EXTENDED,
    THEN_LATE,
    THEN_AHEAD,
    THEN_BACK,
    THEN_LOST,
    THEN_COUNT
};
_Static_assert(FIRST_COUNT *THEN_COUNT <= 32, "ways are bits");

static uint32_t bit_of(enum first first, enum then then)
{
    return 1u << (first * THEN_COUNT + then);
}

/* Has a refusal ended it? */
static bool is_refusal(const struct end_kind *kind)
{
    return kind->operation == HAPPENS_ACQUIRE && kind->answer == ANSWER_NOT_OK;
}

static struct end_kind kind_of(const struct asking *asking, uint32_t node)
{
    struct end_kind kind = {.answer = asking->worker.answers[node - 1].answer,
                            .has_moment = asking->worker.answers[node - 1].has_moment,
                            .has_broken = asking_shows(asking, node, STRUCK_BY_BREAK)};
    do {
        const struct history_edge edge = worker_asker_edge(&asking->worker, node);
        kind.operation = edge.happening;
        node = edge.from;
    } while (node != NODE_ROOT && !happening_asks(kind.operation));
    return kind;
}

/* The first end of its kind that was met; NODE_ROOT: none was. */
static uint32_t *first_of(struct history_ends *ends, const struct end_kind *kind)
{
    return &ends->firsts_of_kind[kind->operation][kind->answer][kind->has_broken][kind->has_moment];
}

/* It is noted. */
bool asking_is_first_end(struct asking *asking, uint32_t node)
{
    const struct end_kind kind = kind_of(asking, node);
    uint32_t *first = first_of(&asking->ends, &kind);
    *first = *first == NODE_ROOT ? node : *first;
    return *first == node;
}

static bool is_wanted(struct asking *asking, uint32_t node, enum then then)
{
    const struct remembered_step *at = &asking->worker.answers[node - 1];
    const struct end_kind kind = kind_of(asking, node);
    const bool is_first = asking_is_first_end(asking, node);
    switch (then) {
    case THEN_IN_TIME:
        return true;
    case THEN_OFTEN:
        return is_first && asking->servers == 1 &&
               (is_refusal(&kind) || kind.answer == ANSWER_ERROR);
    case THEN_AT_TIMES:
        return is_first && asking->servers == 1 && is_refusal(&kind);
    case THEN_EXTENDED:
        return asking_extend(asking) == EXTEND_IS_ASKED;
    case THEN_LATE:
        return asking->expects_late && !asking_has_struck(asking, node, STRUCK_BY_DELAY);
    case THEN_AHEAD:
    case THEN_BACK:
        return asking->expects_jumps && at->has_wall &&
               !asking_has_struck(asking, node, STRUCK_BY_JUMP);
    case THEN_LOST:
        return at->timer_us != TIME_NEVER;
    case THEN_COUNT:
        break;
    }
    return false;
}

/* Of one that has a timer: while that runs, behind it, and when it is due. */
static uint32_t wanted_ways(struct asking *asking, uint32_t node)
{
    const bool has_timer = asking->worker.answers[node - 1].timer_us != TIME_NEVER;
    uint32_t ways = 0;
    for (enum then then = 0; then < THEN_COUNT; then++) {
        if (!is_wanted(asking, node, then))
            continue;
        ways |= bit_of(FIRST_NOTHING, then);
        if (has_timer && then != THEN_LOST && then != THEN_OFTEN && then != THEN_AT_TIMES)
            ways |= bit_of(FIRST_TIMER, then);
    }
    if (has_timer)
        ways |= bit_of(FIRST_LATE, THEN_IN_TIME);
    if (asking->expects_cuts && !asking_has_struck(asking, node, STRUCK_BY_BREAK))
        ways |= bit_of(FIRST_CUT, THEN_IN_TIME);
    return ways;
}

static enum fail begin_way(struct twins *pair, enum first first, struct failure *failure)
{
    const struct worker_asker *worker = &pair->asking->worker;
    struct history_edge edge = {.happening = HAPPENS_TIMER};
    struct remembered_step told;
    if (first == FIRST_CUT)
        edge.happening = HAPPENS_CUT;
    if (first == FIRST_LATE)
        pair->elapsed =
            (int32_t)(worker->answers[pair->node - 1].timer_us / worker->tick_us * ELAPSED_EACH);
    if (first == FIRST_NOTHING || first == FIRST_LATE)
        return FAIL_NONE;
    return twins_tell(pair, &edge, &told, failure);
}

static enum fail go_on(struct twins *pair, enum then then, struct failure *failure)
{
    const int32_t ticks = pair->asking->lease_ticks;
    switch (then) {
    case THEN_IN_TIME:
        return asking_end_in_time(pair, failure);
    case THEN_OFTEN:
        return asking_end_refused(pair, REFUSALS_MAX, false, failure);
    case THEN_AT_TIMES:
        return refused_at_times(pair, failure);
    case THEN_EXTENDED:
        return take_each(pair, take_and_extend, 0, failure);
    case THEN_LATE:
        return take_each(pair, take_and_release, ticks + 1, failure);
    case THEN_AHEAD:
        pair->jumped = config_jump(ticks);
        return take_each(pair, take_and_release, 0, failure);
    case THEN_BACK:
        pair->jumped = -config_jump(ticks);
        return take_each(pair, take_and_release, 0, failure);
    case THEN_LOST:
        pair->is_first_lost = true;
        return take_each(pair, take_and_release, 0, failure);
    case THEN_COUNT:
        break;
    }
    return FAIL_NONE;
}

static enum fail go_way(struct twins *pair, int way, struct failure *failure)
{
    const enum fail fail = begin_way(pair, (enum first)(way / THEN_COUNT), failure);
    return fail ? fail : go_on(pair, (enum then)(way % THEN_COUNT), failure);
}

/* pair->have_differed: on one of them. */
static enum fail go_ways(struct twins *pair, uint32_t ways, struct failure *failure)
{
    const struct twins begin = *pair;
    enum fail fail = FAIL_NONE;
    for (int way = 0; way < FIRST_COUNT * THEN_COUNT && !fail; way++) {
        if (!(ways >> way & 1))
            continue;
        *pair = begin; /* first the other one goes alone: then it need not be set back */
        pair->node = begin.fresh;
        fail = go_way(pair, way, failure);
        *pair = begin;
        fail = fail ? fail : go_way(pair, way, failure);
    }
    return fail;
}

/* --- what it is taken for --- */

static struct history_end *end_at(struct history_ends *ends, uint32_t node)
{
    while (ends->count <= node) {
        ends->rows = memory_resize(ends->rows, ends->count + 1, sizeof *ends->rows);
        ends->rows[ends->count++] = (struct history_end){.like = END_UNKNOWN};
    }
    return &ends->rows[node];
}

/* Its idle connections break behind it: does it mind? */
static enum fail compare_cut(struct asking *asking, uint32_t node, struct failure *failure)
{
    const struct history_edge again = {
        .from = node, .happening = HAPPENS_ACQUIRE, .elapsed = ELAPSED_ANY};
    return asking_compare_cut(asking, &again, failure);
}

enum fail asking_compare_end(struct asking *asking, uint32_t node, struct failure *failure)
{
    struct history_ends *ends = &asking->ends;
    const uint32_t cut = bit_of(FIRST_CUT, THEN_IN_TIME);
    const uint32_t ways = wanted_ways(asking, node) & ~end_at(ends, node)->ways;
    struct twins pair = {.asking = asking, .node = node, .fresh = NODE_ROOT};
    enum fail fail = go_ways(&pair, ways & ~cut, failure);
    if (!fail && compare_cut(asking, node, failure))
        return failure->code;
    if (!fail) {
        pair = (struct twins){.asking = asking, .node = node, .fresh = NODE_ROOT};
        fail = go_ways(&pair, ways & cut, failure);
    }
    if (fail)
        return pair.have_differed ? twins_ask_again(&pair, failure) : fail;
    struct history_end *end = end_at(ends, node);
    ends->compared += end->ways == 0;
    end->like = NODE_ROOT;
    end->ways |= ways;
    return FAIL_NONE;
}

enum fail asking_last_end(struct asking *asking, uint32_t node, struct failure *failure)
{
    end_at(&asking->ends, node)->like = NODE_ROOT;
    return compare_cut(asking, node, failure);
}

void asking_forget_ends(struct asking *asking)
{
    asking->ends.count = asking->ends.compared_count = 0;
    memset(asking->ends.firsts_of_kind, 0, sizeof asking->ends.firsts_of_kind);
    asking->ends.compared = asking->ends.joined = 0;
}

/* What can be seen at once; and asking_shows() looks at the way to what it is taken for. */
static bool may_be_like(const struct asking *asking, uint32_t node, uint32_t other)
{
    const struct remembered_step *a = &asking->worker.answers[node - 1];
    const struct remembered_step *b = &asking->worker.answers[other - 1];
    return asking_shows(asking, node, STRUCK_BY_BREAK) ==
               asking_shows(asking, other, STRUCK_BY_BREAK) &&
           a->timer_us == b->timer_us && a->has_wall == b->has_wall &&
           a->has_moment == b->has_moment;
}

/* *is_like: on all ways that are wanted by now. */
static enum fail compare_timed(struct asking *asking, uint32_t node, uint32_t other, uint32_t known,
                               bool *is_like, struct failure *failure)
{
    struct twins pair = {.asking = asking, .node = node, .fresh = other};
    const uint32_t ways = wanted_ways(asking, node) & ~known;
    const enum fail fail = go_ways(&pair, ways, failure);
    *is_like = !fail;
    if (fail && !pair.have_differed)
        return fail;
    *failure = (struct failure){0};
    return FAIL_NONE;
}

enum { FIRSTS_TRIED_MAX = 8 };

enum fail asking_end_with_timer(struct asking *asking, uint32_t node, uint32_t *like,
                                struct failure *failure)
{
    struct history_ends *ends = &asking->ends;
    const uint32_t before = end_at(ends, node)->like, known = end_at(ends, node)->ways;
    bool is_like = false;
    *like = node;
    if (!asking->classes.are_wanted || asking->servers > 1 || before == node)
        return FAIL_NONE;
    for (uint32_t i = 0, tried = 0; i < ends->firsts_count && tried < FIRSTS_TRIED_MAX; i++) {
        const uint32_t first = ends->firsts[i];
        if ((before != END_UNKNOWN && before != first) || !may_be_like(asking, node, first))
            continue;
        tried++;
        if (compare_timed(asking, node, first, before == first ? known : 0, &is_like, failure))
            return failure->code;
        if (is_like) {
            *like = first;
            break;
        }
    }
    if (!is_like) {
        ends->firsts = memory_resize(ends->firsts, ends->firsts_count + 1, sizeof *ends->firsts);
        ends->firsts[ends->firsts_count++] = node;
    }
    ends->joined += is_like && before == END_UNKNOWN;
    *end_at(ends, node) = (struct history_end){
        .like = *like, .ways = is_like ? known | wanted_ways(asking, node) : 0};
    return FAIL_NONE;
}

/* --- walks --- */

static enum fail tell_difference(struct asking *asking, const struct twins *pair, uint32_t end,
                                 uint32_t like, struct failure *failure)
{
    char text[600], other[600] = "it began";
    if (!pair->have_differed || twins_ask_again(pair, failure) != FAIL_UNKNOWN)
        return failure->code;
    if (like != NODE_ROOT)
        (void)worker_asker_tell(&asking->worker, like, other, sizeof other);
    return failure_set(failure, FAIL_UNKNOWN,
                       "what it does behind one attempt was taken for what it does behind another: "
                       "after \"%s\" it goes on otherwise than after \"%s\"",
                       worker_asker_tell(&asking->worker, end, text, sizeof text), other);
}

/* That of those behind the history which was walked least, so that all are come by; 0: none is. */
static uint32_t least_walked(const struct asked_next *asked, const uint32_t *walked, uint32_t node)
{
    uint32_t least = asked->first[node];
    for (uint32_t at = least; at; at = asked->next[at])
        least = walked[at] < walked[least] ? at : least;
    return least;
}

/* Goes on from that end as from the one that it was taken for, as far as that was asked, and
 * as he has attempts. */
static enum fail walk(struct asking *asking, const struct asked_next *asked, uint32_t *walked,
                      uint32_t end, struct failure *failure)
{
    const uint32_t like = asking->ends.rows[end].like;
    struct twins pair = {.asking = asking, .node = end, .fresh = like};
    struct remembered_step told;
    uint32_t next;
    int attempts = asking->rounds > 2 ? asking->rounds - 1 : 1; /* that it has left */
    while ((next = least_walked(asked, walked, pair.fresh))) {
        struct history_edge edge = worker_asker_edge(&asking->worker, next);
        if (edge.happening == HAPPENS_ACQUIRE && !attempts--)
            break;
        walked[next]++;
        edge.elapsed = edge.elapsed > pair.passed[1] ? edge.elapsed - pair.passed[1] : 0;
        if (twins_tell(&pair, &edge, &told, failure))
            return tell_difference(asking, &pair, end, like, failure);
        if (pair.fresh != next)
            break;
    }
    return FAIL_NONE;
}

enum { WALKS_MAX = 50, WALKS_EACH = 5 };

enum fail asking_walk_ends(struct asking *asking, struct failure *failure)
{
    const struct history_ends *ends = &asking->ends;
    struct random random = {.seed = asking->seed};
    uint32_t *chosen = memory_new(ends->count + 1, sizeof *chosen), count = 0;
    uint32_t *walked = memory_new(asking->worker.questions.count + 1, sizeof *walked);
    enum fail fail = FAIL_NONE;
    for (uint32_t node = 1; node < ends->count; node++)
        if (ends->rows[node].ways && ends->rows[node].like != node)
            chosen[count++] = node;
    const struct asked_next asked = asked_next_of(asking, ASKED_BY_ANY);
    for (uint32_t i = 0; i < WALKS_MAX && i < count * WALKS_EACH && !fail; i++)
        fail = walk(asking, &asked, walked, chosen[random_below(&random, count)], failure);
    asked_next_free(&asked);
    free(walked);
    free(chosen);
    return fail;
}

void asking_ends_free(struct history_ends *ends)
{
    free(ends->rows);
    free(ends->firsts);
    free(ends->are_compared);
}

enum fail asking_refuse_open_reply(struct asking *asking, uint32_t node)
{
    char *first = asking->open_reply;
    if (!*first) /* all that are met have one cause, and one cure */
        (void)worker_asker_tell(&asking->worker, node, first, sizeof asking->open_reply);
    return failure_set(
        &asking->failure, FAIL_UNKNOWN,
        "its attempt can be over while the connection is still open on which the reply to its last "
        "command may come, as behind \"%s\": that is not decided by asking yet. "
        "Close a connection that timed out%s",
        first,
        asking->worker.has_idle_reads /* it is Node.js */
            ? ": commandTimeout of ioredis does not; disconnect(), and make a new client for the "
              "next attempt"
            : " (in Python the file of socket.makefile(), too)");
}
