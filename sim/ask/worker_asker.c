/* worker_asker.c - see worker_asker.h. */
#include "ask/worker_asker.h"

#include "base/memory.h"
#include "worker/wire_words.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void worker_asker_open(struct worker_asker *asker, struct session *session, struct phrasebook *book,
                       const char *key, const bool *is_key_known, int servers, int64_t tick_us)
{
    const bool has_idle = session_has_idle_reads(session, 0);
    const char *untold = has_idle ? session_untold(session, 0) : NULL;
    *asker = (struct worker_asker){.book = book,
                                   .key = key,
                                   .is_key_known = is_key_known,
                                   .servers = servers,
                                   .has_idle_reads = has_idle && !untold,
                                   .untold = untold,
                                   .tick_us = tick_us,
                                   .far_us = FAR_TICKS * tick_us,
                                   .runs_max = EXECUTIONS_MAX,
                                   .seat = {.session = session, .is_new = true}};
    intern_init(&asker->questions);
    intern_init(&asker->timed_edges);
    intern_init(&asker->drawn);
}

void worker_asker_close(struct worker_asker *asker)
{
    seat_close(&asker->seat);
    intern_close(&asker->questions);
    intern_close(&asker->timed_edges);
    intern_close(&asker->drawn);
    free(asker->answers);
}

struct history_edge worker_asker_edge(const struct worker_asker *asker, uint32_t node)
{
    struct history_edge edge;
    intern_get(&asker->questions, node - 1, &edge);
    return edge;
}

/* --- in words --- */

/* As long as a token is: the lengths in a phrase are those of tokens. */
static struct spoken_token stand_in(const struct worker_asker *asker, const char *words)
{
    struct spoken_token token = {.length = asker->sample.length};
    const size_t length = strlen(words) < token.length ? strlen(words) : token.length;
    memset(token.bytes, '.', token.length);
    memcpy(token.bytes, words, length);
    return token;
}

static void tell_edge(const struct worker_asker *asker, const struct history_edge *edge, char *text,
                      size_t size);

/* First its clock, where that has jumped. */
static void tell_jump(const struct worker_asker *asker, const struct history_edge *edge, char *text,
                      size_t size)
{
    struct history_edge then = *edge;
    const int used = snprintf(text, size, "its wall clock jumps by %+.2f s; ",
                              (double)edge->jumped * (double)asker->tick_us / 1e6);
    then.jumped = 0;
    if (used > 0 && (size_t)used < size)
        tell_edge(asker, &then, text + used, size - (size_t)used);
}

static bool is_of_server(const struct history_edge *edge)
{
    return edge->happening == HAPPENS_REPLY || edge->happening == HAPPENS_RESET ||
           edge->happening == HAPPENS_CUT;
}

static void tell_edge(const struct worker_asker *asker, const struct history_edge *edge, char *text,
                      size_t size)
{
    static const char *const words[HAPPENING_COUNT] = {
        [HAPPENS_ACQUIRE] = "it is asked to acquire", [HAPPENS_RELEASE] = "it is asked to release",
        [HAPPENS_EXTEND] = "it is asked to extend",   [HAPPENS_RESET] = "its connection breaks",
        [HAPPENS_CUT] = "its idle connection breaks", [HAPPENS_TIMER] = "its timer rings"};
    const struct spoken_token own = stand_in(asker, "its-token");
    const struct spoken_token other =
        stand_in(asker, edge->whose == WHOSE_EARLIER ? "its-earlier-token" : "another-token");
    size_t length;
    char quoted[80], at[40] = "";
    if (edge->jumped) {
        tell_jump(asker, edge, text, size);
        return;
    }
    if (asker->servers > 1 && is_of_server(edge))
        (void)snprintf(at, sizeof at, " (server %u)", edge->server + 1);
    if (edge->happening != HAPPENS_REPLY) {
        (void)snprintf(text, size, "%s%s", words[edge->happening], at);
        return;
    }
    char *said = phrase_say(asker->book, edge->reply, &own, &other, &length);
    (void)snprintf(text, size, "it hears %s%s",
                   wire_reply_print(said, length, quoted, sizeof quoted), at);
    free(said);
}

const char *worker_asker_tell(const struct worker_asker *asker, uint32_t node, char *text,
                              size_t size)
{
    char part[128], rest[1024] = "";
    (void)snprintf(text, size, "%s", node == NODE_ROOT ? "reset" : "");
    while (node != NODE_ROOT) {
        const struct history_edge edge = worker_asker_edge(asker, node);
        tell_edge(asker, &edge, part, sizeof part);
        (void)snprintf(text, size, "%s%s%s", part, rest[0] ? "; " : "", rest);
        (void)snprintf(rest, sizeof rest, "%s", text);
        node = edge.from;
    }
    return text;
}

/* --- histories --- */

bool remembered_is_same(const struct remembered_step *a, const struct remembered_step *b)
{
    return memcmp(a->sent, b->sent, sizeof a->sent) == 0 && a->has_ended == b->has_ended &&
           a->answer == b->answer && a->has_notice == b->has_notice && a->is_asked == b->is_asked &&
           a->waits == b->waits && a->left == b->left && a->draws == b->draws &&
           a->timer_us == b->timer_us;
}

static int count_same(const struct remembered_step *step, int server)
{
    int count = 0;
    for (int s = server; s < SERVERS_MAX; s++)
        count += step->sent[s].command == step->sent[server].command;
    return count;
}

/* "EVALSHA .., to 2 servers, EVAL ..", or "nothing". */
static void describe_sent(const struct worker_asker *asker, const struct remembered_step *step,
                          char *text, size_t size)
{
    const struct spoken_token own = stand_in(asker, "its-token");
    const struct spoken_token other = stand_in(asker, "another-token");
    size_t used = 0, length;
    char words[120];
    (void)snprintf(text, size, "nothing");
    for (int s = 0; s < SERVERS_MAX && used < size; s++) {
        const uint32_t command = step->sent[s].command;
        bool was_told = !command;
        for (int k = 0; k < s; k++)
            was_told |= step->sent[k].command == command;
        if (was_told)
            continue;
        char *said = phrase_say(asker->book, command, &own, &other, &length);
        (void)wire_request_print(said, length, words, sizeof words);
        free(said);
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", words);
        if (count_same(step, s) > 1 && used < size)
            used +=
                (size_t)snprintf(text + used, size - used, ", to %d servers", count_same(step, s));
    }
}

static void describe(const struct worker_asker *asker, const struct remembered_step *step,
                     char *text, size_t size)
{
    static const char *const answers[] = {
        [ANSWER_OK] = "ok", [ANSWER_NOT_OK] = "not ok", [ANSWER_ERROR] = "an error"};
    char words[400], timer[48] = "";
    describe_sent(asker, step, words, sizeof words);
    if (step->timer_us != TIME_NEVER)
        (void)snprintf(timer, sizeof timer, ", a timer within %.0f ms",
                       (double)step->timer_us / 1000);
    (void)snprintf(text, size, "sends %s, answers %s%s%s", words,
                   step->has_ended ? answers[step->answer] : "nothing", timer,
                   step->has_notice ? ", says that its lock is lost" : "");
}

void worker_asker_tell_step(const struct worker_asker *asker, uint32_t node, char *happened,
                            size_t happened_size, char *did, size_t did_size)
{
    const struct history_edge edge = worker_asker_edge(asker, node);
    tell_edge(asker, &edge, happened, happened_size);
    describe(asker, &asker->answers[node - 1], did, did_size);
}

/* What of two steps differs that are told in the same words. */
static const char *hidden_difference(const struct remembered_step *a,
                                     const struct remembered_step *b)
{
    return a->left != b->left           ? ", and ends other connections by itself"
           : a->waits != b->waits       ? ", and waits for other servers"
           : a->is_asked != b->is_asked ? ", and the operation goes on in one of them"
           : memcmp(a->sent, b->sent, sizeof a->sent) != 0
               ? ", with other bytes, another token, or to another server"
               : ", with a timer that rings at another time";
}

void worker_asker_tell_did(const struct worker_asker *asker, const struct remembered_step *step,
                           const struct remembered_step *other, char *text, size_t size)
{
    char words[600];
    describe(asker, other, words, sizeof words);
    describe(asker, step, text, size);
    const size_t used = strlen(text);
    if (strcmp(text, words) == 0)
        (void)snprintf(text + used, size - used, "%s", hidden_difference(step, other));
}

static enum fail two_answers(struct worker_asker *asker, const struct seat *seat,
                             const struct history_edge *edge, const struct remembered_step *before,
                             const struct remembered_step *now, struct failure *failure)
{
    char history[600], what[160], one[500], two[500];
    tell_edge(asker, edge, what, sizeof what);
    describe(asker, before, one, sizeof one);
    describe(asker, now, two, sizeof two);
    asker->has_two_answers = true;
    return failure_set(
        failure, FAIL_UNKNOWN,
        "the worker gave two answers to one question: what it does hangs on more "
        "than what it was asked and answered (chance, a token drawn for each try, the "
        "bytes of another's, a timer left behind, which a \"close\" that ends connections and "
        "timers "
        "cures)%s: after \"%s\", when %s, it once %s; and once "
        "it %s%s",
        seat->turn     ? ", or it does not treat its servers alike"
        : seat->client ? ", or its clients are not alike"
                       : "",
        worker_asker_tell(asker, edge->from, history, sizeof history), what, one, two,
        strcmp(one, two) == 0 ? hidden_difference(before, now) : "");
}

/* The process goes from where it stands to the node, which lies behind that. */
static enum fail go_to(struct worker_asker *asker, struct seat *seat, uint32_t node,
                       struct failure *failure)
{
    uint32_t way[1024];
    int count = 0;
    for (uint32_t at = node; at != seat->at; at = worker_asker_edge(asker, at).from) {
        if (count == (int)(sizeof way / sizeof *way))
            return failure_set(failure, FAIL_UNKNOWN, "a history of more than %d steps", count);
        way[count++] = at;
    }
    while (count--) {
        struct remembered_step told;
        bool reads_clock;
        const struct history_edge edge = worker_asker_edge(asker, way[count]);
        const struct remembered_step *known = &asker->answers[way[count] - 1];
        if (seat_step(asker, seat, &edge, &told, &reads_clock, failure))
            return failure->code;
        asker->compared++;
        if (!remembered_is_same(known, &told))
            return two_answers(asker, seat, &edge, known, &told, failure);
        worker_asker_compare_fences(asker, edge.from, known, &told);
        seat->at = way[count];
        if (known->counts)
            seat_note_moment(seat);
    }
    return FAIL_NONE;
}

static bool is_behind(const struct worker_asker *asker, uint32_t node, uint32_t before)
{
    while (node != before && node != NODE_ROOT)
        node = worker_asker_edge(asker, node).from;
    return node == before;
}

static enum fail stand_at(struct worker_asker *asker, struct seat *seat, uint32_t node,
                          struct failure *failure)
{
    const bool goes_on = !seat->is_new && is_behind(asker, node, seat->at);
    if (!goes_on && seat_reset(asker, seat, failure))
        return failure->code;
    return go_to(asker, seat, node, failure);
}

/* Where no more time has passed than the edge wants. */
static enum fail stand_before(struct worker_asker *asker, struct seat *seat,
                              const struct history_edge *edge, struct failure *failure)
{
    if (stand_at(asker, seat, edge->from, failure))
        return failure->code;
    if (!seat_is_ahead(asker, seat, edge))
        return FAIL_NONE;
    return seat_reset(asker, seat, failure) ? failure->code
                                            : go_to(asker, seat, edge->from, failure);
}

static bool look_up(const struct worker_asker *asker, const struct history_edge *edge,
                    struct remembered_step *told)
{
    const uint32_t number = intern_find(&asker->questions, edge, sizeof *edge);
    if (number == UNKNOWN_ID)
        return false;
    *told = asker->answers[number];
    return true;
}

static void remember(struct worker_asker *asker, const struct history_edge *edge,
                     struct remembered_step *told)
{
    const uint32_t known = asker->questions.count;
    const uint32_t number = intern_put(&asker->questions, edge, sizeof *edge);
    assert(number == known);
    (void)known;
    asker->answers = memory_resize(asker->answers, number + 1, sizeof *asker->answers);
    told->node = number + 1;
    asker->answers[number] = *told;
    asker->seat.at = told->node;
}

static bool has_moment(const struct worker_asker *asker, uint32_t node)
{
    return node != NODE_ROOT && asker->answers[node - 1].has_moment;
}

static bool has_wall(const struct worker_asker *asker, uint32_t node)
{
    return node != NODE_ROOT && asker->answers[node - 1].has_wall;
}

/* How long the timer of that history takes, as an edge tells time; it is no shorter than that
 * before it rings. */
static int32_t timer_elapsed(const struct worker_asker *asker, uint32_t node)
{
    const int64_t timer_us = asker->answers[node - 1].timer_us;
    return timer_us == TIME_NEVER ? 0 : (int32_t)(timer_us / asker->tick_us * ELAPSED_EACH);
}

static int32_t at_least(int32_t elapsed, int32_t least)
{
    return elapsed > least ? elapsed : least;
}

enum fail history_ask(struct worker_asker *asker, const struct history_edge *edge,
                      struct remembered_step *told, struct failure *failure)
{
    struct history_edge timed = *edge, any = *edge;
    bool reads_clock;
    any.elapsed = ELAPSED_ANY;
    any.jumped = 0;
    if (!has_moment(asker, edge->from))
        timed.elapsed = ELAPSED_ANY;
    else if (edge->happening == HAPPENS_TIMER)
        timed.elapsed = at_least(timed.elapsed, timer_elapsed(asker, edge->from));
    if (!has_wall(asker, edge->from))
        timed.jumped = 0;
    const bool is_known_timed = intern_find(&asker->timed_edges, &any, sizeof any) != UNKNOWN_ID;
    if (look_up(asker, is_known_timed ? &timed : &any, told))
        return FAIL_NONE;
    if (asker->runs >= asker->runs_max)
        return failure_set(failure, FAIL_UNKNOWN,
                           "its histories do not close: %d executions were not enough. Fewer "
                           "attempts, or clients, or a shorter --wait; a library that polls, or "
                           "renews, for ever does not end",
                           EXECUTIONS_MAX);
    if (stand_before(asker, &asker->seat, &timed, failure) ||
        seat_step(asker, &asker->seat, &timed, told, &reads_clock, failure))
        return failure->code;
    const bool had_timer =
        edge->from != NODE_ROOT && asker->answers[edge->from - 1].timer_us != TIME_NEVER;
    const bool is_timed = timed.elapsed >= 0 && (reads_clock || had_timer || is_known_timed);
    told->counts |= is_timed; /* the time that passed is told by then */
    if (is_timed)
        (void)intern_put(&asker->timed_edges, &any, sizeof any);
    told->has_moment = told->counts || has_moment(asker, edge->from);
    told->has_wall |= has_wall(asker, edge->from);
    asker->asked++;
    asker->timed += is_timed;
    remember(asker, is_timed ? &timed : &any, told);
    if (told->counts)
        seat_note_moment(&asker->seat);
    return FAIL_NONE;
}

enum fail history_compare(struct worker_asker *asker, struct seat *seat, uint32_t node,
                          struct failure *failure)
{
    return stand_at(asker, seat, node, failure);
}

enum fail history_ask_again(struct worker_asker *asker, struct seat *seat, uint32_t node,
                            struct failure *failure)
{
    const uint64_t before = asker->compared;
    const enum fail fail = stand_at(asker, seat, node, failure);
    asker->compared = before;
    for (uint32_t at = node; at != NODE_ROOT && !fail; at = worker_asker_edge(asker, at).from) {
        asker->audited += !asker->answers[at - 1].is_audited;
        asker->answers[at - 1].is_audited = true;
    }
    return fail;
}
