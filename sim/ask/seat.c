/* seat.c - see seat.h. */
#include "ask/worker_asker.h"

#include "base/memory.h"
#include "worker/look.h"
#include "worker/wire_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void seat_close(struct seat *seat)
{
    for (size_t i = 0; i < sizeof seat->said / sizeof *seat->said; i++)
        free(seat->said[i]);
}

int seat_server(const struct seat *seat, int servers, int server)
{
    if (server >= servers)
        return server;
    return seat->turn < servers ? (server + seat->turn) % servers : (seat->turn - server) % servers;
}

/* Those to different servers arrive in no order: the first server's comes first. */
struct wire_message *seat_waits_for(const struct seat *seat, int server)
{
    struct wire_message *first = NULL;
    for (struct wire_message *it = session_messages(seat->session); it; it = it->next) {
        const bool is_it = it->client == seat->client && !it->is_gone &&
                           (server == ANY_SERVER || it->server == server);
        if (is_it && (!first || it->server < first->server))
            first = it;
    }
    return first;
}

static void forget_gone(const struct seat *seat)
{
    struct wire_message *message = session_messages(seat->session);
    while (message) {
        struct wire_message *next = message->next;
        if (message->client == seat->client && message->is_gone)
            session_forget(seat->session, message);
        message = next;
    }
}

enum { CONNECTION_ENDS = 1 }; /* our number for those that do */

static enum fail hear_of_break(const struct seat *seat, struct failure *failure)
{
    const enum fail fail = session_settle(seat->session, failure);
    forget_gone(seat);
    return fail;
}

/* What it waits for breaks. */
static enum fail break_connection(const struct seat *seat, int server, struct failure *failure)
{
    struct wire_message *message = seat_waits_for(seat, server);
    if (message) {
        session_set_connection(message, CONNECTION_ENDS);
        session_cut(seat->session, seat->client, CONNECTION_ENDS);
    }
    return hear_of_break(seat, failure);
}

/* Whatever is under way is to end: its connections break, its timers ring. */
static enum fail let_end(const struct seat *seat, struct failure *failure)
{
    enum { TRIES = 200 };
    for (int i = 0; i < TRIES && session_is_asked(seat->session, seat->client); i++) {
        const int64_t next_us = session_next_us(seat->session, seat->client);
        enum fail fail = FAIL_NONE;
        if (seat_waits_for(seat, ANY_SERVER))
            fail = break_connection(seat, ANY_SERVER, failure);
        else if (next_us != TIME_NEVER)
            fail = session_set_now(seat->session, next_us, failure);
        else
            break;
        if (fail)
            return fail;
    }
    while (seat_waits_for(seat, ANY_SERVER))
        if (break_connection(seat, ANY_SERVER, failure))
            return failure->code;
    /* One that has ended says so. */
    return session_is_asked(seat->session, seat->client) ? session_settle(seat->session, failure)
                                                         : FAIL_NONE;
}

enum fail seat_run_out(const struct seat *seat, struct failure *failure)
{
    if (let_end(seat, failure))
        return failure->code;
    if (session_is_asked(seat->session, seat->client))
        return failure_set(failure, FAIL_UNKNOWN,
                           "what is under way does not end when its connections break, so that it "
                           "cannot be reset; a client that sends again by itself is to give up "
                           "instead (ioredis: maxRetriesPerRequest: 0)");
    return FAIL_NONE;
}

/* What it sends while it is reset is executed. */
static enum fail begin_again(const struct seat *seat, struct failure *failure)
{
    struct wire_message *message;
    while (session_is_asked(seat->session, seat->client) &&
           (message = seat_waits_for(seat, ANY_SERVER)))
        if (session_execute(seat->session, message, failure) ||
            session_deliver(seat->session, message, failure))
            return failure->code;
    return FAIL_NONE;
}

static enum fail end_reset(const struct seat *seat, struct failure *failure)
{
    if (begin_again(seat, failure) || let_end(seat, failure))
        return failure->code;
    if (session_is_asked(seat->session, seat->client))
        return failure_set(failure, FAIL_UNKNOWN,
                           "it hangs in its reset: it does not answer that, though nothing is "
                           "under way, and each connection that it waits on breaks. Its close() "
                           "or init() waits for what does not come");
    return FAIL_NONE;
}

/* When a timer of its rings; TIME_NEVER: it has none but one that is far away, wherever it stands
 * when that comes nearer. */
static int64_t next_timer(struct worker_asker *asker, struct seat *seat)
{
    const int64_t next_us = session_next_us(seat->session, seat->client);
    if (next_us == TIME_NEVER || next_us == seat->far_us)
        return TIME_NEVER;
    if (next_us - session_now_us(seat->session) < asker->far_us)
        return next_us;
    seat->far_us = next_us;
    asker->has_far_timers = true;
    return TIME_NEVER;
}

/* Timers that were left behind, and need not have been: a runtime may keep one whose owner has
 * taken it back. One that is set again and again stays. */
static enum fail ring_out(struct worker_asker *asker, struct seat *seat, struct failure *failure)
{
    enum { TIMERS_MAX = 20 };
    seat->far_us = TIME_NEVER;
    for (int i = 0; i < TIMERS_MAX; i++) {
        const int64_t next_us = next_timer(asker, seat);
        if (next_us == TIME_NEVER)
            break;
        if (session_set_now(seat->session, next_us, failure))
            return failure->code;
        if (seat_waits_for(seat, ANY_SERVER))
            return failure_set(failure, FAIL_UNKNOWN,
                               "behind its reset it goes on: it sends a command by itself. Its "
                               "close() must end its threads and timers");
    }
    return FAIL_NONE;
}

enum fail seat_reset(struct worker_asker *asker, struct seat *seat, struct failure *failure)
{
    asker->runs++;
    seat->at = NODE_ROOT;
    seat->waited_us = 0;
    seat->own.length = seat->other.length = seat->before.length = seat->earlier.length = 0;
    seat->others = 0;
    if (seat->is_new) {
        seat->is_new = false;
        return ring_out(asker, seat, failure);
    }
    if (seat_run_out(seat, failure))
        return failure->code;
    session_jump_clock(seat->session, seat->client, -seat->jumped_in_all_us);
    seat->jumped_in_all_us = 0;
    seat_note_moment(seat);
    if (session_ask(seat->session, seat->client, (struct worker_request){.op = WORKER_RESET},
                    failure) ||
        end_reset(seat, failure) || ring_out(asker, seat, failure))
        return failure->code;
    forget_gone(seat);
    return FAIL_NONE;
}

/* The session keeps a line until it was delivered, and no longer than a few of them. */
static const char *keep(struct seat *seat, char *said)
{
    char **place = &seat->said[seat->said_next];
    seat->said_next = (seat->said_next + 1) % (int)(sizeof seat->said / sizeof *seat->said);
    free(*place);
    *place = said;
    return said;
}

/* What is left of its timer; TIME_NEVER: it has none. */
static int64_t left_of_timer(struct worker_asker *asker, struct seat *seat)
{
    const int64_t next_us = next_timer(asker, seat), now_us = session_now_us(seat->session);
    if (next_us == TIME_NEVER)
        return TIME_NEVER;
    return next_us > now_us ? next_us - now_us : 0;
}

/* The same in whole ticks: time is a grid, and a step that is due within a tick is made at its end.
 * Or, where waits are added up, in no time, as a message comes, until they are a tick. */
static int64_t timer_of(struct worker_asker *asker, struct seat *seat)
{
    const int64_t left_us = left_of_timer(asker, seat), each_us = asker->tick_of_wait_us;
    if (left_us == TIME_NEVER)
        return TIME_NEVER;
    const int64_t ticks = each_us ? (seat->waited_us + left_us) / each_us
                                  : (left_us + asker->tick_us - 1) / asker->tick_us;
    return ticks * asker->tick_us;
}

/* Its timer rings, when so much time has passed: one that is late by a tick, or more, begins anew.
 */
static void add_wait(const struct worker_asker *asker, struct seat *seat, int64_t timer_us,
                     int64_t passes_us)
{
    seat->waited_us += timer_us;
    if (passes_us >= timer_us + asker->tick_us)
        seat->waited_us = 0;
    else if (asker->tick_of_wait_us)
        seat->waited_us %= asker->tick_of_wait_us;
}

void seat_note_moment(struct seat *seat)
{
    seat->passed_us = seat->jumped_us = 0;
}

static int64_t elapsed_us(const struct worker_asker *asker, const struct history_edge *edge)
{
    return edge->elapsed > 0 ? edge->elapsed * asker->tick_us / ELAPSED_EACH : 0;
}

bool seat_is_ahead(const struct worker_asker *asker, const struct seat *seat,
                   const struct history_edge *edge)
{
    return seat->passed_us > elapsed_us(asker, edge);
}

static enum fail jump(struct worker_asker *asker, struct seat *seat, int32_t ticks,
                      struct failure *failure)
{
    const int64_t amount_us = ticks * asker->tick_us - seat->jumped_us;
    if (amount_us && atomic_load(&session_counts(seat->session, seat->client)->wall_waits))
        return failure_set(failure, FAIL_UNKNOWN,
                           "it waits until an instant of its wall clock: what becomes of such a "
                           "wait when that clock jumps is not decided by asking yet");
    session_jump_clock(seat->session, seat->client, amount_us);
    seat->jumped_us += amount_us;
    seat->jumped_in_all_us += amount_us;
    return FAIL_NONE;
}

static enum fail let_pass(struct worker_asker *asker, struct seat *seat,
                          const struct history_edge *edge, struct failure *failure)
{
    struct session *session = seat->session;
    int64_t timer_us = 0;
    if (edge->happening == HAPPENS_TIMER)
        timer_us = asker->tick_of_wait_us ? left_of_timer(asker, seat) : timer_of(asker, seat);
    if (timer_us == TIME_NEVER)
        return failure_set(failure, FAIL_UNKNOWN, "a timer that ran is gone");
    const int64_t left_us = elapsed_us(asker, edge) - seat->passed_us;
    const int64_t passes_us = timer_us > left_us ? timer_us : left_us;
    if (edge->happening == HAPPENS_TIMER)
        add_wait(asker, seat, timer_us, passes_us);
    if (jump(asker, seat, edge->jumped, failure))
        return failure->code;
    if (passes_us > 0) {
        session_let_pass(session, session_now_us(session) + passes_us);
        seat->passed_us += passes_us;
    }
    session_catch_up(session, seat->client);
    return FAIL_NONE;
}

enum fail seat_ask(const struct seat *seat, enum worker_op op, struct failure *failure)
{
    return session_ask(seat->session, seat->client, (struct worker_request){.op = op}, failure);
}

static enum fail make_happen(struct worker_asker *asker, struct seat *seat,
                             const struct history_edge *edge, struct failure *failure)
{
    const int server = seat_server(seat, asker->servers, (int)edge->server);
    const struct spoken_token *token;
    struct wire_message *message;
    const char *said;
    size_t length;
    if (let_pass(asker, seat, edge, failure))
        return failure->code;
    switch ((enum happening)edge->happening) {
    case HAPPENS_ACQUIRE:
        session_forget_notice(seat->session, seat->client);
        seat_begin_attempt(seat);
        return seat_ask(seat, WORKER_ACQUIRE, failure);
    case HAPPENS_RELEASE:
        return seat_ask(seat, WORKER_RELEASE, failure);
    case HAPPENS_EXTEND:
        return seat_ask(seat, WORKER_EXTEND, failure);
    case HAPPENS_REPLY:
        message = seat_waits_for(seat, server);
        if (!message)
            return failure_set(failure, FAIL_UNKNOWN, "it waits for no reply any more");
        token = seat_token(asker, seat, edge->whose);
        said = keep(seat, phrase_say(asker->book, edge->reply, token, token, &length));
        session_refuse(message, said, length);
        return session_deliver(seat->session, message, failure);
    case HAPPENS_RESET:
        return break_connection(seat, server, failure);
    case HAPPENS_CUT:
        session_cut_server(seat->session, server);
        return hear_of_break(seat, failure);
    case HAPPENS_TIMER:
    case HAPPENING_COUNT:
        break;
    }
    return session_settle(seat->session, failure);
}

/* --- what it did --- */

static int name_number(struct worker_asker *asker, const char *name)
{
    enum { NAMES_MAX = sizeof asker->names / sizeof *asker->names };
    int i = 0;
    while (i < asker->names_count && strcmp(asker->names[i], name) != 0)
        i++;
    if (i == asker->names_count && i < NAMES_MAX)
        (void)snprintf(asker->names[asker->names_count++], sizeof *asker->names, "%s", name);
    return i < NAMES_MAX ? i : NAMES_MAX - 1;
}

static bool names_key(const struct worker_asker *asker, const struct wire_words *words)
{
    for (int i = 1; i < words->count; i++)
        if (look_is_key(asker->key, *asker->is_key_known, words->words[i], words->lengths[i]))
            return true;
    return false;
}

/* The command of an attempt that shows its token. */
static void take_token(const struct worker_asker *asker, struct seat *seat,
                       const struct wire_words *words)
{
    const int at = asker->token_word;
    if (!at || seat->commands != asker->token_command || words->count != asker->token_words ||
        words->lengths[at] > SPOKEN_TOKEN_MAX)
        return;
    memcpy(seat->own.bytes, words->words[at], words->lengths[at]);
    seat->own.length = words->lengths[at];
}

void seat_note_token(const struct worker_asker *asker, struct seat *seat,
                     const struct wire_message *message)
{
    const struct wire_words words = wire_words_read(message->bytes, message->length);
    take_token(asker, seat, &words);
    seat->commands++;
}

enum fail seat_take_command(struct worker_asker *asker, struct seat *seat,
                            const struct wire_message *message, struct sent_command *sent,
                            uint8_t *draws, struct failure *failure)
{
    unsigned whose;
    const struct wire_words words = wire_words_read(message->bytes, message->length);
    const bool shows_token = asker->token_word && seat->commands == asker->token_command;
    take_token(asker, seat, &words);
    seat->commands++;
    if (seat_take_further_token(asker, seat, message, draws, failure) ||
        phrase_put(asker->book, message->bytes, message->length, &seat->own, &seat->other,
                   &sent->command, &whose, failure))
        return failure->code;
    if (shows_token && whose & WHOSE_OWN)
        seat->token_phrase = sent->command;
    if (whose & WHOSE_OTHER)
        return failure_set(failure, FAIL_UNKNOWN,
                           "it sends what it read of another client's: that is not decided by "
                           "asking yet");
    sent->whose = whose;
    sent->name = name_number(asker, message->name);
    sent->names_key = names_key(asker, &words);
    return FAIL_NONE;
}

static int count_on_their_way(const struct seat *seat, int server)
{
    int count = 0;
    for (struct wire_message *it = session_messages(seat->session); it; it = it->next)
        count += it->client == seat->client && !it->is_gone && it->server == server;
    return count;
}

/* Those to the first server first. */
static enum fail take_commands(struct worker_asker *asker, struct seat *seat,
                               struct remembered_step *told, struct failure *failure)
{
    for (int s = 0; s < asker->servers; s++)
        for (struct wire_message *it = session_messages(seat->session); it; it = it->next)
            if (it->client == seat->client && it->is_left &&
                it->server == seat_server(seat, asker->servers, s))
                told->left |= (uint16_t)channel_bit(s, it->lane);
    forget_gone(seat);
    for (int s = 0; s < asker->servers; s++) {
        const int at = seat_server(seat, asker->servers, s);
        const int count = count_on_their_way(seat, at);
        if (count > 1)
            return failure_set(
                failure, FAIL_UNKNOWN,
                "it has %d commands on their way to one server at once, over several "
                "connections: that is not decided by asking yet; --search random "
                "runs it",
                count);
        if (!count)
            continue;
        struct wire_message *message = seat_waits_for(seat, at);
        told->waits |= (uint8_t)(1u << s);
        if (message->is_offered)
            continue;
        message->is_offered = true;
        if (seat_take_command(asker, seat, message, &told->sent[s], &told->draws, failure))
            return failure->code;
    }
    return FAIL_NONE;
}

static bool has_sent(const struct remembered_step *told)
{
    bool has = false;
    for (int s = 0; s < SERVERS_MAX; s++)
        has |= told->sent[s].command != 0;
    return has;
}

static uint64_t wall_reads(const struct seat *seat)
{
    return atomic_load(&session_counts(seat->session, seat->client)->wall_reads);
}

/* Those of the monotonic clock only where they are the worker's own. */
static uint64_t clock_reads(const struct worker_asker *asker, const struct seat *seat)
{
    const struct time_counts *counts = session_counts(seat->session, seat->client);
    return wall_reads(seat) +
           atomic_load(asker->has_idle_reads ? &counts->told_reads : &counts->monotonic_reads);
}

/* Since it began, or in another process than the first: what was asked so far took no notice of the
 * time. */
static enum fail check_told(const struct worker_asker *asker, const struct seat *seat,
                            struct failure *failure)
{
    const char *why = asker->has_idle_reads ? session_untold(seat->session, seat->client) : NULL;
    return why ? failure_set(failure, FAIL_UNKNOWN,
                             "when it reads the monotonic clock is not known, and Node.js reads it "
                             "for itself, too: %s; --search random runs it",
                             why)
               : FAIL_NONE;
}

/* Steps a process that stands at the edge's beginning. */
enum fail seat_step(struct worker_asker *asker, struct seat *seat, const struct history_edge *edge,
                    struct remembered_step *told, bool *reads_clock, struct failure *failure)
{
    const uint64_t reads = clock_reads(asker, seat), of_wall = wall_reads(seat);
    const bool was_asked = happening_asks((enum happening)edge->happening) ||
                           session_is_asked(seat->session, seat->client);
    *told = (struct remembered_step){.timer_us = TIME_NEVER};
    if (make_happen(asker, seat, edge, failure) || check_told(asker, seat, failure) ||
        take_commands(asker, seat, told, failure))
        return failure->code;
    told->is_asked = session_is_asked(seat->session, seat->client);
    if (was_asked && !told->is_asked) {
        told->has_ended = true;
        const struct worker_answer *answer = session_answer(seat->session, seat->client);
        told->answer = (uint8_t)answer->kind;
        told->has_fence = answer->has_fence;
        told->fence = answer->has_fence ? answer->fence : 0;
    }
    if (has_sent(told) && !was_asked)
        return failure_set(failure, FAIL_UNKNOWN,
                           "it sends commands while nothing is asked of it: that is not decided by "
                           "asking yet; --search random runs it");
    if (session_has_notice(seat->session, seat->client)) {
        told->has_notice = true;
        session_forget_notice(seat->session, seat->client);
    }
    told->timer_us = timer_of(asker, seat);
    *reads_clock = clock_reads(asker, seat) != reads;
    told->counts = *reads_clock || told->timer_us != TIME_NEVER;
    told->has_wall = wall_reads(seat) != of_wall;
    return FAIL_NONE;
}
