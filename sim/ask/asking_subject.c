/* asking_subject.c - the explorer's clients, answered by who was asked: what happens to one is
 * looked up in its history. */
#include "ask/asking_state.h"
#include "ask/server_order.h"

#include <string.h>

/* Field 0 of a client: its history, from here on; below stand the marks of scripts. Field 3: how
 * many ticks its wall clock has jumped since the last moment that counts, from here; 0: it has not
 * read that clock. */
enum { FIELD_NODE, FIELD_MOMENT, FIELD_ORDER, FIELD_JUMPED, NODE_BASE = 1000, JUMPED_BASE = 1000 };

/* --- clients --- */

static uint32_t node_of(const struct client_state *client_state)
{
    const int32_t field = client_state->fields[FIELD_NODE];
    return field ? (uint32_t)(field - NODE_BASE) : NODE_ROOT;
}

static int32_t meet(const struct asking *asking, int32_t order, int server)
{
    return asking->is_even_handed ? server_order_meet(order, server) : order;
}

static int named_in(const struct asking *asking, int32_t order, int server)
{
    return asking->is_even_handed ? server_order_name(order, server) : server;
}

/* Since the last moment that counts, as an edge tells it. */
static int32_t elapsed_of(const struct client_state *client_state)
{
    const int32_t moment = client_state->fields[FIELD_MOMENT];
    return moment ? (EPOCH_US - moment) * ELAPSED_EACH / TICK_US : ELAPSED_ANY;
}

static int32_t jumped_of(const struct client_state *client_state)
{
    const int32_t jumped = client_state->fields[FIELD_JUMPED];
    return jumped ? jumped - JUMPED_BASE : 0;
}

static void jump(struct subject *subject, struct client_state *client_state, int ticks)
{
    (void)subject;
    if (client_state->fields[FIELD_JUMPED])
        client_state->fields[FIELD_JUMPED] += ticks;
}

/* What it hears of a reply: a phrase, and whose token is in it. */
static enum fail fill_reply(struct asking *asking, const struct client_state *client_state,
                            const struct reply *reply, struct history_edge *edge)
{
    const struct spoken_token none = {.length = 0};
    unsigned whose;
    edge->reply = reply_number(reply->second);
    if (reply->value)
        edge->whose = reply->value == client_state->token             ? WHOSE_OWN
                      : token_position(reply->value) == POSITION_SELF ? WHOSE_EARLIER
                                                                      : WHOSE_OTHER;
    if (edge->reply)
        return FAIL_NONE;
    /* A fault: nothing was executed. */
    const char *line = command_error_line(reply->error);
    return phrase_put(&asking->book, line, strlen(line), &none, &none, &edge->reply, &whose,
                      &asking->failure);
}

/* Of servers that may change places in the learned model it happens to the first one, so that it is
 * asked once. */
static void take_place(struct asking *asking, const struct client_state *client_state, int server,
                       int32_t *order)
{
    const uint32_t node = node_of(client_state);
    struct history_class it;
    struct failure none = {0};
    if (asking->classes.learns && node != NODE_ROOT && !asking_class(asking, node, &it, &none))
        *order = server_order_first(*order, &it, server);
}

/* It happens to that server; returns what the history calls it. */
static uint32_t meet_server(struct asking *asking, struct client_state *client_state, int server)
{
    int32_t *order = &client_state->fields[FIELD_ORDER];
    take_place(asking, client_state, server, order);
    return (uint32_t)named_in(asking, *order = meet(asking, *order, server), server);
}

static enum fail edge_of(struct asking *asking, struct client_state *client_state,
                         const struct impulse *impulse, struct history_edge *edge)
{
    static const uint32_t happenings[] = {[MOMENT_REPLY] = HAPPENS_REPLY,
                                          [MOMENT_TIMEOUT] = HAPPENS_RESET,
                                          [MOMENT_LOST] = HAPPENS_RESET,
                                          [MOMENT_WAKE] = HAPPENS_TIMER};
    *edge = (struct history_edge){.from = node_of(client_state),
                                  .elapsed = elapsed_of(client_state),
                                  .jumped = jumped_of(client_state)};
    if (impulse->kind == IMPULSE_ACQUIRE)
        edge->happening = HAPPENS_ACQUIRE;
    else if (impulse->kind == IMPULSE_RELEASE)
        edge->happening = HAPPENS_RELEASE;
    else if (impulse->kind == IMPULSE_EXTEND)
        edge->happening = HAPPENS_EXTEND;
    else
        edge->happening = happenings[impulse->moment.kind];
    if (edge->happening == HAPPENS_TIMER && client_state->early == EARLY_HAS_WAITED)
        edge->elapsed -= ELAPSED_EACH; /* it has waited no longer for that */
    if (edge->happening == HAPPENS_REPLY || edge->happening == HAPPENS_RESET)
        edge->server = meet_server(asking, client_state, impulse->moment.server);
    return edge->happening == HAPPENS_REPLY
               ? fill_reply(asking, client_state, &impulse->moment.reply, edge)
               : FAIL_NONE;
}

static enum operation operation_of(const struct client_state *client_state)
{
    if (client_state->extend == EXTEND_UNDER_WAY)
        return OP_EXTEND;
    return client_state->phase == PHASE_RELEASING ? OP_RELEASE : OP_ACQUIRE;
}

static enum result result_of(enum answer_kind answer, enum operation op)
{
    static const enum result done[] = {
        [OP_ACQUIRE] = RESULT_GRANTED, [OP_RELEASE] = RESULT_RELEASED, [OP_EXTEND] = RESULT_DONE};
    if (answer == ANSWER_OK)
        return done[op];
    if (answer == ANSWER_NOT_OK)
        return op == OP_ACQUIRE ? RESULT_REFUSED : RESULT_NOT_MINE;
    return RESULT_FAILED;
}

/* Who is told nothing of its extend knows no more than before. */
static enum phase phase_behind(enum operation op, enum result result)
{
    const bool holds = op == OP_EXTEND ? result != RESULT_NOT_MINE : result == RESULT_GRANTED;
    return holds ? PHASE_HOLDING : PHASE_IDLE;
}

static void take_end(struct asking *asking, const struct remembered_step *told,
                     struct client_state *client_state, struct step_result *step)
{
    if (told->has_ended) {
        step->has_returned = true;
        step->op = operation_of(client_state);
        step->result = result_of((enum answer_kind)told->answer, step->op);
        client_state->phase = (uint8_t)phase_behind(step->op, step->result);
        if (step->op == OP_EXTEND)
            client_state->extend = EXTEND_OVER;
    }
    if (told->has_notice && client_state->phase == PHASE_HOLDING) {
        step->has_noticed_loss = true;
        client_state->phase = PHASE_IDLE;
    }
    asking_take_fence(asking, told, step, client_state);
    step->is_stranded = told->is_asked && !told->waits && told->timer_us == TIME_NEVER;
}

static struct packed_message message_of(const struct asking *asking,
                                        const struct sent_command *sent, int server,
                                        const struct client_state *client_state)
{
    static const int32_t kinds[] = {[COMMAND_ORDINARY] = OPAQUE_ORDINARY,
                                    [COMMAND_WATCH] = OPAQUE_WATCH,
                                    [COMMAND_UNWATCH] = OPAQUE_WATCH,
                                    [COMMAND_TRANSACTION] = OPAQUE_TRANSACTION};
    return (struct packed_message){.state = MESSAGE_REQUEST,
                                   .flags = MESSAGE_CURRENT,
                                   .server = (uint8_t)server,
                                   .lane = LANE_MAIN,
                                   .op = (uint8_t)operation_of(client_state),
                                   .verb = (uint8_t)(VERB_COUNT + sent->name),
                                   .key = sent->names_key ? KEY_LOCK : KEY_LIST,
                                   .value = sent->whose ? client_state->token : 0,
                                   .number = (int32_t)sent->command,
                                   .opaque_kind =
                                       kinds[server_command_kind(&asking->server, sent->command)]};
}

/* Each try has a token of its own: what an earlier one has written is there under another one. */
static enum fail draw_again(struct asking *asking, struct client_state *client_state)
{
    const int64_t next =
        asking->token == TOKEN_UNIQUE ? token_of_next_try(widen(client_state->token)) : 0;
    if (!next)
        return failure_set(&asking->failure, FAIL_UNKNOWN,
                           "it draws another token for a further try of the same attempt%s: that "
                           "is not decided by asking; --search random runs it",
                           asking->token == TOKEN_UNIQUE ? ", too often"
                                                         : ", and the same for each attempt");
    client_state->token = narrow(next);
    return FAIL_NONE;
}

static enum fail take_messages(struct asking *asking, const struct remembered_step *told,
                               struct client_state *client_state, struct step_result *step)
{
    for (int s = 0; s < asking->servers; s++) {
        const struct sent_command *sent =
            &told->sent[named_in(asking, client_state->fields[FIELD_ORDER], s)];
        if (!sent->command)
            continue;
        if (client_state->count == CLIENT_MESSAGES_MAX)
            return failure_set(&asking->failure, FAIL_UNKNOWN,
                               "more than %d of its commands are on their way at once",
                               CLIENT_MESSAGES_MAX);
        const struct packed_message message = message_of(asking, sent, s, client_state);
        client_state_add(client_state, &message);
        step->requests_count++;
    }
    return FAIL_NONE;
}

/* Who was refused may have the attempt back (is_as_before() of explore/model/actions.c). */
static bool may_attempt(const struct client_state *client_state, const struct step_result *step)
{
    return client_state->rounds > 0 || (step->has_returned && step->result == RESULT_REFUSED);
}

/* He acts no more: what he goes on like need not be asked. */
static bool is_over(const struct remembered_step *told, const struct client_state *client_state,
                    const struct step_result *step)
{
    return client_state->phase == PHASE_IDLE && !told->waits && told->timer_us == TIME_NEVER &&
           !may_attempt(client_state, step);
}

static enum fail take_history(struct asking *asking, const struct remembered_step *told,
                              struct client_state *client_state, struct history_class *it)
{
    int32_t *order = &client_state->fields[FIELD_ORDER];
    if (asking_class(asking, told->node, it, &asking->failure))
        return FAIL_UNKNOWN;
    client_state->fields[FIELD_NODE] = (int32_t)(NODE_BASE + it->node);
    *order = server_order_in_class(*order, it);
    return FAIL_NONE;
}

/* A wait that takes no tick may come to its end behind one; not where one has taken some before:
 * what a tick more would show, it shows where as many have passed before it. */
static void take_early(const struct asking *asking, const struct remembered_step *told,
                       struct client_state *client_state)
{
    const bool may_wait = client_state->early == EARLY_NOT || client_state->early == EARLY_MAY_WAIT;
    if (!asking->adds_waits || (may_wait && told->timer_us == TIME_NEVER))
        client_state->early = EARLY_NOT;
    else
        client_state->early = may_wait && told->timer_us == 0 ? EARLY_MAY_WAIT : EARLY_NO_MORE;
}

static void take_time(const struct asking *asking, const struct remembered_step *told,
                      enum happening happening, struct client_state *client_state)
{
    const int64_t up_us = told->timer_us == TIME_NEVER ? 0 : told->timer_us + asking->tick_us - 1;
    client_state_set_timer(client_state, up_us ? up_us / asking->tick_us : NO_TIME);
    take_early(asking, told, client_state);
    if (happening == HAPPENS_CUT || happening == HAPPENS_RESET)
        client_state->connects = true;
    else if (happening == HAPPENS_TIMER)
        client_state->connects = false;
    if (!told->counts)
        return;
    client_state->fields[FIELD_MOMENT] = EPOCH_US;
    client_state->fields[FIELD_JUMPED] = told->has_wall ? JUMPED_BASE : 0;
}

static enum fail join_end(struct asking *asking, uint32_t node, const struct step_result *step,
                          struct client_state *client_state)
{
    uint32_t like;
    if (!may_attempt(client_state, step))
        return FAIL_NONE;
    if (asking_end_with_timer(asking, node, &like, &asking->failure))
        return FAIL_UNKNOWN;
    client_state->fields[FIELD_NODE] = (int32_t)(NODE_BASE + like);
    return FAIL_NONE;
}

/* An attempt that is over leaves a new worker: that was asked, where another one may follow. */
static enum fail forget_history(struct asking *asking, const struct remembered_step *told,
                                uint32_t node, const struct step_result *step,
                                struct client_state *client_state)
{
    if (client_state->phase != PHASE_IDLE)
        return FAIL_NONE;
    if (told->waits)
        return asking_refuse_open_reply(asking, node);
    if (may_attempt(client_state, step) && asking_compare_memory(asking, node, &asking->failure))
        return FAIL_UNKNOWN;
    /* Until its timer has rung it is another one. */
    if (told->timer_us != TIME_NEVER)
        return join_end(asking, node, step, client_state);
    if (may_attempt(client_state, step) ? asking_compare_end(asking, node, &asking->failure)
                                        : asking_last_end(asking, node, &asking->failure))
        return FAIL_UNKNOWN;
    asking_note_attempt(asking, node);
    memset(client_state->fields, 0, sizeof client_state->fields);
    return FAIL_NONE;
}

static enum fail answer(struct asking *asking, struct client_state *client_state,
                        const struct impulse *impulse, struct step_result *step)
{
    struct history_edge edge;
    struct remembered_step told;
    struct history_class class_of;
    if (edge_of(asking, client_state, impulse, &edge) ||
        history_ask(&asking->worker, &edge, &told, &asking->failure))
        return FAIL_UNKNOWN;
    asking_note_long_ago(asking, told.node);
    if (impulse->kind == IMPULSE_ACQUIRE) {
        client_state->phase = PHASE_ACQUIRING;
        client_state->token = narrow(impulse->token);
    } else if (impulse->kind == IMPULSE_RELEASE) {
        client_state->phase = PHASE_RELEASING;
    }
    if (told.has_notice && !told.has_ended && client_state->extend == EXTEND_UNDER_WAY)
        return failure_set(&asking->failure, FAIL_UNKNOWN,
                           "it says that its lock is lost while it is asked to extend, and goes "
                           "on: that is not decided by asking yet; --search random runs it");
    step->left = told.left;
    client_state_leave(client_state, told.left);
    if ((told.draws && draw_again(asking, client_state)) ||
        take_messages(asking, &told, client_state, step))
        return FAIL_UNKNOWN;
    take_end(asking, &told, client_state, step);
    take_time(asking, &told, (enum happening)edge.happening, client_state);
    asking_note_wait(asking, &told);
    if (is_over(&told, client_state, step))
        class_of = asking_class_alone(asking, told.node);
    else if (take_history(asking, &told, client_state, &class_of))
        return FAIL_UNKNOWN;
    if (class_of.node == told.node && client_state->phase != PHASE_IDLE)
        asking_go_ahead(asking, told.node, client_state);
    if (forget_history(asking, &told, class_of.node, step, client_state))
        return FAIL_UNKNOWN;
    return edge.from != NODE_ROOT ? asking_compare_cut(asking, &edge, &asking->failure) : FAIL_NONE;
}

static unsigned step(struct subject *subject, const struct config *config,
                     struct client_state *client_state, const struct impulse *impulse,
                     struct step_result *step)
{
    struct asking *asking = (struct asking *)subject;
    const struct client_state before = *client_state;
    (void)config;
    memset(step, 0, sizeof *step);
    if (!asking->failure.code && !answer(asking, client_state, impulse, step))
        return 0;
    /* Nothing that follows is true; the search must only end. */
    *client_state = before;
    memset(step, 0, sizeof *step);
    return 0;
}

/* A library that looks after its connections by itself connects anew: it has a timer then. */
static void lose(struct subject *subject, const struct config *config,
                 struct client_state *client_state, int server)
{
    struct asking *asking = (struct asking *)subject;
    const int32_t order = client_state->fields[FIELD_ORDER];
    struct history_edge edge = {.from = node_of(client_state),
                                .happening = HAPPENS_CUT,
                                .server = meet_server(asking, client_state, server),
                                .elapsed = elapsed_of(client_state),
                                .jumped = jumped_of(client_state)};
    struct remembered_step told;
    struct history_class class_of;
    (void)config;
    if (!asking->failure.code && !history_ask(&asking->worker, &edge, &told, &asking->failure) &&
        asking_is_moved_by_cut(asking, &edge, &told) &&
        !asking_check_cut(asking, &edge, &told, &asking->failure)) {
        take_time(asking, &told, HAPPENS_CUT, client_state);
        asking_note_delay(asking, &told);
        (void)take_history(asking, &told, client_state, &class_of);
    } else {
        client_state->fields[FIELD_ORDER] = order;
    }
}

/* --- servers change places --- */

static void rename_servers(struct subject *subject, struct client_state *client_state,
                           const uint8_t *new_number)
{
    struct asking *asking = (struct asking *)subject;
    int32_t *order = &client_state->fields[FIELD_ORDER], renamed = 0;
    struct history_class it;
    struct failure none = {0};
    for (int i = 0; i < server_order_count(*order); i++)
        renamed = server_order_meet(renamed, new_number[server_order_at(*order, i)]);
    *order = renamed;
    if (node_of(client_state) != NODE_ROOT &&
        !asking_class(asking, node_of(client_state), &it, &none))
        *order = server_order_in_class(renamed, &it);
}

/* What the history calls it, from 1: those that have said the same are one. 0: it was not met. */
static int32_t part_of_server(struct subject *subject, const struct client_state *client_state,
                              int server)
{
    struct asking *asking = (struct asking *)subject;
    const int place = server_order_place(client_state->fields[FIELD_ORDER], server);
    struct history_class it;
    struct failure none = {0};
    if (place < 0)
        return 0;
    if (asking_class(asking, node_of(client_state), &it, &none))
        return place + 1;
    return it.like[place] + 1;
}

static const char *name(struct subject *subject, int verb)
{
    const struct asking *asking = (const struct asking *)subject;
    return asking->worker.names[verb - VERB_COUNT];
}

const struct subject asking_subject_ops = {.step = step,
                                           .execute = asking_execute,
                                           .lose = lose,
                                           .jump = jump,
                                           .begin = asking_begin,
                                           .pass = asking_pass,
                                           .are_sections_apart = true,
                                           .name = name,
                                           .rename_servers = rename_servers,
                                           .part_of_server = part_of_server};
