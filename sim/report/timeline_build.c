/* timeline_build.c - lays a history out: rows of text, bars of holds and keys, arrows of messages.
 *
 * A row is an event, or several of one client at one instant, or a deadline that passes between two
 * events. */
#include "report/timeline.h"

#include "report/timeline_polls.h"
#include "report/timeline_words.h"

#include <assert.h>
#include <string.h>

enum {
    NONE = -1,
    ROUNDS_FOLDED = 4, /* so many equal ones are, and more */
};

/* What a client believes while the events go by. */
struct belief {
    int bar;           /* of its hold, or NONE */
    int64_t called_us; /* its last acquire; where each grant has a lease of its own: its request */
    int64_t lease_end_us; /* of its hold; INT64_MAX: told already, or it has none */
    int64_t renewal_us;   /* when its last renewal was sent */
    int64_t given_us;     /* how long the lock key was to live by its last command; 0: for ever */
};

/* What the lock key at a server is. */
struct standing_key {
    int bar;           /* or NONE: no key */
    int client;        /* who wrote it */
    int64_t expiry_us; /* INT64_MAX: none */
};

struct builder {
    struct timeline *timeline;
    struct belief beliefs[TIMELINE_CLIENTS_MAX];
    struct standing_key keys[SERVERS_MAX];
    struct timeline_message {
        int client, server;
        const struct event *event; /* that tells of its command and attempt */
        int row;                   /* at which it left, or was executed */
        bool is_unheard;           /* nobody waits for its reply: given up on, or a copy */
        enum { MESSAGE_OVER, MESSAGE_SENT, MESSAGE_EXECUTED } state;
    } messages[TIMELINE_EVENTS_MAX];
    int messages_count;
    const struct event *last; /* merged into the last row, or NULL */
};

/* --- rows, bars, arrows --- */

static int add_row(struct builder *builder, int64_t time_us, enum row_kind kind)
{
    struct timeline *timeline = builder->timeline;
    assert(timeline->rows_count < TIMELINE_ROWS_MAX);
    timeline->rows[timeline->rows_count] = (struct timeline_row){.time_us = time_us, .kind = kind};
    builder->last = NULL;
    return timeline->rows_count++;
}

static int last_row(const struct builder *builder)
{
    return builder->timeline->rows_count - 1;
}

static int start_bar(struct builder *builder, enum bar_kind kind, int column, int client)
{
    struct timeline *timeline = builder->timeline;
    assert(timeline->bars_count < TIMELINE_BARS_MAX);
    timeline->bars[timeline->bars_count] = (struct timeline_bar){.kind = kind,
                                                                 .column = column,
                                                                 .client = client,
                                                                 .from = last_row(builder),
                                                                 .late_from = NONE,
                                                                 .is_open = true};
    return timeline->bars_count++;
}

static void end_bar(struct builder *builder, int *bar)
{
    if (*bar == NONE)
        return;
    builder->timeline->bars[*bar].to = last_row(builder);
    builder->timeline->bars[*bar].is_open = false;
    *bar = NONE;
}

static void add_arrow(struct builder *builder, enum arrow_kind kind,
                      const struct timeline_message *message, int to)
{
    struct timeline *timeline = builder->timeline;
    int client = timeline_column_of_client(timeline, message->client);
    int server = timeline_column_of_server(timeline, message->server);
    bool is_reply = kind == ARROW_REPLY || kind == ARROW_REPLY_LOST;
    if (client == NONE || server == NONE)
        return;
    assert(timeline->arrows_count < TIMELINE_ARROWS_MAX);
    timeline->arrows[timeline->arrows_count++] =
        (struct timeline_arrow){.kind = kind,
                                .client = message->client,
                                .from_column = is_reply ? server : client,
                                .from = message->row,
                                .to_column = is_reply ? client : server,
                                .to = to};
}

/* --- messages --- */

/* The oldest message of that client, server and command in that state. */
static struct timeline_message *find_message(struct builder *builder, const struct event *event,
                                             int state)
{
    for (int i = 0; i < builder->messages_count; i++) {
        struct timeline_message *message = &builder->messages[i];
        if ((int)message->state == state && message->client == event->client &&
            message->server == event->server && event_is_same_command(message->event, event) &&
            message->event->attempt == event->attempt)
            return message;
    }
    return NULL;
}

static void message_sent(struct builder *builder, const struct event *event)
{
    assert(builder->messages_count < TIMELINE_EVENTS_MAX);
    builder->messages[builder->messages_count++] =
        (struct timeline_message){.client = event->client,
                                  .server = event->server,
                                  .event = event,
                                  .row = last_row(builder),
                                  .state = MESSAGE_SENT};
}

static void message_executed(struct builder *builder, const struct event *event)
{
    struct timeline_message *message = find_message(builder, event, MESSAGE_SENT);
    if (!message)
        return;
    add_arrow(builder, ARROW_REQUEST, message, last_row(builder));
    message->state = message->is_unheard ? MESSAGE_OVER : MESSAGE_EXECUTED;
    message->row = last_row(builder);
}

static void message_heard(struct builder *builder, const struct event *event)
{
    struct timeline_message *message = find_message(builder, event, MESSAGE_EXECUTED);
    if (!message)
        return;
    add_arrow(builder, ARROW_REPLY, message, last_row(builder));
    message->state = MESSAGE_OVER;
}

static void message_lost(struct builder *builder, const struct event *event, int state,
                         enum arrow_kind kind)
{
    struct timeline_message *message = find_message(builder, event, state);
    if (!message)
        return;
    add_arrow(builder, kind, message, last_row(builder));
    message->state = MESSAGE_OVER;
}

/* It may still arrive, for nobody; what was executed already comes back to nobody. */
static void message_given_up(struct builder *builder, const struct event *event)
{
    struct timeline_message *message = find_message(builder, event, MESSAGE_EXECUTED);
    if (message)
        message->state = MESSAGE_OVER;
    else if ((message = find_message(builder, event, MESSAGE_SENT)))
        message->is_unheard = true;
}

static void message_copied(struct builder *builder, const struct event *event)
{
    message_sent(builder, event);
    builder->messages[builder->messages_count - 1].is_unheard = true;
}

/* What is still under way when the history ends. */
static void leave_pending(struct builder *builder)
{
    for (int i = 0; i < builder->messages_count; i++)
        if (builder->messages[i].state == MESSAGE_SENT &&
            builder->messages[i].row < last_row(builder))
            add_arrow(builder, ARROW_PENDING, &builder->messages[i], last_row(builder));
}

/* --- holds --- */

static void end_hold(struct builder *builder, struct belief *belief)
{
    end_bar(builder, &belief->bar);
    belief->lease_end_us = INT64_MAX;
}

static bool has_leases(const struct builder *builder)
{
    return builder->timeline->head.promises & PROMISE_LEASES;
}

static int64_t lease_end_us(const struct builder *builder, const struct belief *belief,
                            int64_t asked_us)
{
    const int64_t lease_us =
        has_leases(builder) ? belief->given_us : builder->timeline->head.lease_us;
    return lease_us > 0 ? asked_us + lease_us : INT64_MAX;
}

/* An answer, or whoever has understood one, says so. */
static bool has_renewed(const struct builder *builder, const struct event *event)
{
    if (event->kind == EVENT_HEAR)
        return words_is_renewal(event) && words_is_yes(&event->reply);
    return has_leases(builder) && event->kind == EVENT_RETURN && event->op == OP_EXTEND &&
           event->result == RESULT_DONE;
}

/* What a lease counts from, and how long the key was to live. */
static void note_asked(const struct builder *builder, struct belief *belief,
                       const struct event *event)
{
    int64_t ttl_us;
    const bool is_renewal = words_is_renewal(event);
    if (event->kind == EVENT_CALL && event->op == OP_ACQUIRE)
        belief->called_us = event->time_us;
    if (event->kind == EVENT_SEND && is_renewal)
        belief->renewal_us = event->time_us;
    if (event->kind == EVENT_SEND && !is_renewal && has_leases(builder))
        belief->called_us = event->time_us;
    if (event->kind == EVENT_EXECUTE && event_is_on(event, KEY_LOCK) &&
        (words_key_change(event) == KEY_WRITTEN || words_key_change(event) == KEY_EXTENDED))
        belief->given_us = words_expiry(event, &ttl_us) ? ttl_us : 0;
}

static void granted(struct builder *builder, struct belief *belief, const struct event *event,
                    int column)
{
    end_bar(builder, &belief->bar);
    belief->bar = start_bar(builder, BAR_HOLD, column, event->client);
    belief->lease_end_us = lease_end_us(builder, belief, belief->called_us);
    if (belief->lease_end_us <= event->time_us) { /* behind its own end */
        builder->timeline->bars[belief->bar].late_from = last_row(builder);
        belief->lease_end_us = INT64_MAX;
    }
}

static void client_event(struct builder *builder, const struct event *event, int column)
{
    struct belief *belief = &builder->beliefs[column];
    note_asked(builder, belief, event);
    if (belief->bar != NONE && has_renewed(builder, event)) {
        belief->lease_end_us = lease_end_us(builder, belief, belief->renewal_us);
        builder->timeline->bars[belief->bar].late_from = NONE;
    }
    if (event->kind == EVENT_RETURN && event->op == OP_ACQUIRE && event->result == RESULT_GRANTED)
        granted(builder, belief, event, column);
    if ((event->kind == EVENT_CALL && event->op == OP_RELEASE) || event->kind == EVENT_NOTICE ||
        (event->kind == EVENT_FAULT && fault_effect(event->fault) == FAULT_KILLS))
        end_hold(builder, belief);
}

/* --- keys --- */

static void key_expiry(struct builder *builder, const struct event *event, int64_t ttl_us)
{
    struct standing_key *key = &builder->keys[event->server];
    if (key->bar != NONE)
        key->expiry_us = event->time_us + ttl_us;
}

static void key_gone(struct builder *builder, int server)
{
    struct standing_key *key = &builder->keys[server];
    end_bar(builder, &key->bar);
    key->client = NONE;
    key->expiry_us = INT64_MAX;
}

static void key_executed(struct builder *builder, const struct event *event)
{
    struct standing_key *key = &builder->keys[event->server];
    switch (words_key_change(event)) {
    case KEY_WRITTEN:
        if (key->bar != NONE && key->client == event->client) {
            key->expiry_us = INT64_MAX; /* its own again: the bar goes on */
            break;
        }
        key_gone(builder, event->server);
        key->bar =
            start_bar(builder, BAR_KEY, timeline_column_of_server(builder->timeline, event->server),
                      event->client);
        key->client = event->client;
        break;
    case KEY_REMOVED:
        key_gone(builder, event->server);
        break;
    case KEY_EXTENDED:
    case KEY_KEPT:
        break;
    }
    int64_t ttl_us;
    if (words_expiry(event, &ttl_us))
        key_expiry(builder, event, ttl_us);
}

static void server_fault(struct builder *builder, const struct event *event)
{
    int server = event->server;
    if (fault_blame(event->fault) != FAULT_OF_SERVER)
        return;
    if (fault_keys(event->fault) != FAULT_KEYS_KEPT)
        key_gone(builder, server);
    if (fault_effect(event->fault) == FAULT_STEPS_CLOCK &&
        builder->keys[server].expiry_us != INT64_MAX)
        builder->keys[server].expiry_us -= event->amount_us;
}

/* --- deadlines: leases that end and keys that expire between two events --- */

struct deadline {
    int64_t time_us;
    int client, server; /* one of them NONE */
};

static struct deadline next_deadline(const struct builder *builder)
{
    struct deadline next = {.time_us = INT64_MAX, .client = NONE, .server = NONE};
    for (int i = 0; i < builder->timeline->clients_count; i++)
        if (builder->beliefs[i].bar != NONE && builder->beliefs[i].lease_end_us < next.time_us)
            next = (struct deadline){builder->beliefs[i].lease_end_us, i, NONE};
    for (int i = 0; i < builder->timeline->servers_count; i++)
        if (builder->keys[i].bar != NONE && builder->keys[i].expiry_us < next.time_us)
            next = (struct deadline){builder->keys[i].expiry_us, NONE, i};
    return next;
}

static void pass_deadline(struct builder *builder, const struct deadline *deadline)
{
    struct timeline *timeline = builder->timeline;
    /* a clock that jumped puts a deadline into the past: it passes now */
    int64_t now_us = last_row(builder) < 0 ? 0 : timeline->rows[last_row(builder)].time_us;
    int row = add_row(builder, deadline->time_us > now_us ? deadline->time_us : now_us, ROW_QUIET);
    char *text = timeline->rows[row].text;
    if (deadline->server != NONE) {
        words_key_expires(timeline, deadline->server, builder->keys[deadline->server].client, text);
        key_gone(builder, deadline->server);
        return;
    }
    struct belief *belief = &builder->beliefs[deadline->client];
    timeline->bars[belief->bar].late_from = row;
    belief->lease_end_us = INT64_MAX;
    words_lease_ends(timeline, timeline->clients[deadline->client], text);
}

static void pass_deadlines(struct builder *builder, int64_t time_us)
{
    for (struct deadline next = next_deadline(builder); next.time_us <= time_us;
         next = next_deadline(builder))
        pass_deadline(builder, &next);
}

/* --- events --- */

static bool is_drawn(const struct event *event)
{
    return event->kind != EVENT_TIME && !(event->kind == EVENT_CALL && event->op == OP_ACCESS);
}

/* What a client does at one instant is one row: it hears, returns, sends. */
static bool can_join(const struct event *last, const struct event *event)
{
    return last && last->kind != EVENT_EXECUTE && last->kind != EVENT_FAULT &&
           event->kind != EVENT_EXECUTE && event->kind != EVENT_FAULT &&
           event->kind != EVENT_HEAR && last->client == event->client &&
           last->time_us == event->time_us;
}

static void message_fault(struct builder *builder, const struct event *event)
{
    switch (fault_effect(event->fault)) {
    case FAULT_LOSES_REQUEST:
        message_lost(builder, event, MESSAGE_SENT, ARROW_REQUEST_LOST);
        break;
    case FAULT_LOSES_REPLY:
        message_lost(builder, event, MESSAGE_EXECUTED, ARROW_REPLY_LOST);
        break;
    case FAULT_GIVES_UP:
        message_given_up(builder, event);
        break;
    case FAULT_COPIES:
        message_copied(builder, event);
        break;
    case FAULT_REFUSES: /* it got there, and its answer is on its way */
        message_executed(builder, event);
        break;
    default:
        break;
    }
}

static void apply(struct builder *builder, const struct event *event)
{
    int column = timeline_column_of_client(builder->timeline, event->client);
    bool has_server = timeline_column_of_server(builder->timeline, event->server) != NONE;
    if (column != NONE)
        client_event(builder, event, column);
    if (event->kind == EVENT_SEND)
        message_sent(builder, event);
    if (event->kind == EVENT_HEAR)
        message_heard(builder, event);
    if (event->kind == EVENT_EXECUTE && has_server) {
        message_executed(builder, event);
        if (event_is_on(event, KEY_LOCK))
            key_executed(builder, event);
    }
    if (event->kind != EVENT_FAULT)
        return;
    if (has_server)
        server_fault(builder, event);
    message_fault(builder, event);
}

static void take(struct builder *builder, const struct event *event)
{
    struct timeline *timeline = builder->timeline;
    pass_deadlines(builder, event->time_us);
    bool is_joined = can_join(builder->last, event);
    int row = is_joined ? last_row(builder)
                        : add_row(builder, event->time_us,
                                  event->kind == EVENT_FAULT ? ROW_FAULT : ROW_PLAIN);
    struct timeline_row *line = &timeline->rows[row];
    int holder = event->kind == EVENT_EXECUTE && event->server >= 0 &&
                         event->server < timeline->servers_count
                     ? builder->keys[event->server].client
                     : NONE;
    words_event(timeline, event, is_joined ? builder->last : NULL, line->text);
    if (words_foreign_key(timeline, event, holder, line->text))
        line->kind = ROW_ALERT;
    if (timeline->first_index > 0 && event->index == timeline->first_index)
        line->is_violation = true;
    apply(builder, event);
    builder->last = event;
}

/* Of rounds that are equal the first and the last are drawn. */
static void take_all(struct builder *builder)
{
    struct timeline *timeline = builder->timeline;
    const struct event *drawn[TIMELINE_EVENTS_MAX];
    int count = 0, length;
    for (int i = 0; i < timeline->events_count; i++)
        if (is_drawn(&timeline->events[i]))
            drawn[count++] = &timeline->events[i];
    for (int i = 0; i < count; i++) {
        const int rounds = timeline_polls(drawn + i, count - i, next_deadline(builder).time_us,
                                          timeline->first_index, &length);
        take(builder, drawn[i]);
        if (rounds < ROUNDS_FOLDED)
            continue;
        for (int first = i++; i < first + length; i++)
            take(builder, drawn[i]);
        i += (rounds - 2) * length - 1;
        const int row = add_row(builder, drawn[i]->time_us, ROW_QUIET);
        snprintf(timeline->rows[row].text, TIMELINE_TEXT_MAX, "... %d more of these", rounds - 2);
        for (const int last = i + length; i < last;)
            take(builder, drawn[++i]);
    }
}

/* Behind the last one that anything is told of no server has a column: the story may have more of
 * them than the lock. */
static int servers_told(const struct timeline *timeline)
{
    const int all = timeline->head.servers < SERVERS_MAX ? timeline->head.servers : SERVERS_MAX;
    int told = 1;
    for (int i = 0; i < timeline->events_count; i++)
        if (timeline->events[i].server >= told)
            told = timeline->events[i].server + 1;
    return told < all ? told : all;
}

void timeline_build(struct timeline *timeline)
{
    struct builder builder = {.timeline = timeline};
    timeline->servers_count = servers_told(timeline);
    for (int i = 0; i < TIMELINE_CLIENTS_MAX; i++)
        builder.beliefs[i] = (struct belief){.bar = NONE, .lease_end_us = INT64_MAX};
    for (int i = 0; i < SERVERS_MAX; i++)
        builder.keys[i] =
            (struct standing_key){.bar = NONE, .client = NONE, .expiry_us = INT64_MAX};
    take_all(&builder);
    leave_pending(&builder);
    for (int i = 0; i < timeline->bars_count; i++)
        if (timeline->bars[i].is_open)
            timeline->bars[i].to = last_row(&builder);
}
