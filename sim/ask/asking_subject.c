/* asking_subject.c - the explorer's clients and its server, answered by who was asked. */
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
        edge->whose = reply->value == client_state->token ? WHOSE_OWN : WHOSE_OTHER;
    if (edge->reply)
        return FAIL_NONE;
    /* A fault: nothing was executed. */
    const char *line = command_error_line(reply->error);
    return phrase_put(&asking->book, line, strlen(line), &none, &none, &edge->reply, &whose,
                      &asking->failure);
}

/* It happens to that server; returns what the history calls it. */
static uint32_t meet_server(const struct asking *asking, struct client_state *client_state,
                            int server)
{
    int32_t *order = &client_state->fields[FIELD_ORDER];
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

static void take_time(const struct asking *asking, const struct remembered_step *told,
                      enum happening happening, struct client_state *client_state)
{
    const int64_t up_us = told->timer_us == TIME_NEVER ? 0 : told->timer_us + asking->tick_us - 1;
    client_state_set_timer(client_state, up_us ? up_us / asking->tick_us : NO_TIME);
    if (happening == HAPPENS_CUT || happening == HAPPENS_RESET)
        client_state->connects = true;
    else if (happening == HAPPENS_TIMER)
        client_state->connects = false;
    if (!told->counts)
        return;
    client_state->fields[FIELD_MOMENT] = EPOCH_US;
    client_state->fields[FIELD_JUMPED] = told->has_wall ? JUMPED_BASE : 0;
}

/* Who was refused may have the attempt back (is_as_before() of explore/model/actions.c). */
static bool may_attempt(const struct client_state *client_state, const struct step_result *step)
{
    return client_state->rounds > 0 || (step->has_returned && step->result == RESULT_REFUSED);
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
    /* Until its timer has rung it is another one. */
    if (told->timer_us != TIME_NEVER)
        return join_end(asking, node, step, client_state);
    if (may_attempt(client_state, step) ? asking_compare_end(asking, node, &asking->failure)
                                        : asking_last_end(asking, node, &asking->failure))
        return FAIL_UNKNOWN;
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
    if (take_history(asking, &told, client_state, &class_of))
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

/* --- the server --- */

/* The lock key's type in a server state is its form, from FORM_BASE + 1 on; its value a token. */
enum { FORM_BASE = MODEL_LIST, NOBODYS = 1 };
_Static_assert(FORM_BASE + FORMS_MAX <= UINT8_MAX, "a form fits where the type of a key is kept");

static struct kept kept_of(const struct server_state *server_state, const struct command *command)
{
    const struct keyspace *keyspace = &server_state->keyspace;
    struct kept kept = {.left = NO_TICKS,
                        .scripts = server_state->knows_script,
                        .beside = (uint32_t)keyspace->fence};
    if (keyspace->type == MODEL_ABSENT)
        return kept;
    kept.left = keyspace->left == NO_TIME ? NO_TICKS : keyspace->left;
    kept.form = (uint32_t)(keyspace->type - FORM_BASE);
    if (!is_token(keyspace->value))
        kept.value = KEPT_LITERAL;
    else
        kept.value = keyspace->value == command->value ? KEPT_OWN : KEPT_OTHER;
    return kept;
}

static void take_kept(const struct kept *kept, const struct command *command,
                      struct server_state *server_state)
{
    struct keyspace *keyspace = &server_state->keyspace;
    server_state->knows_script = (uint8_t)kept->scripts;
    keyspace->fence = (int32_t)kept->beside; /* of a foreign program: all keys but the lock's */
    if (kept->value == KEPT_ABSENT) {
        keyspace->type = MODEL_ABSENT;
        keyspace->value = 0;
        keyspace->left = NO_TIME;
        memset(&keyspace->ghost, 0, sizeof keyspace->ghost);
        return;
    }
    keyspace->type = (uint8_t)(FORM_BASE + (int)kept->form);
    keyspace->left = (int16_t)(kept->left == NO_TICKS ? NO_TIME : kept->left);
    if (kept->value == KEPT_OWN)
        keyspace->value = narrow(command->value);
    else if (kept->value == KEPT_LITERAL)
        keyspace->value = NOBODYS;
}

static int64_t wrote(uint32_t writes)
{
    return (writes & LOOK_WROTE_VALUE ? REPLY_WROTE_VALUE : 0) |
           (writes & LOOK_WROTE_EXPIRY ? REPLY_WROTE_EXPIRY : 0);
}

/* What the connection of that client watches; position SERVER_NO_WATCH: it is another one. */
static int32_t watching_of(const struct server_state *server_state, int position)
{
    if (position == SERVER_NO_WATCH || !(server_state->watching >> position & 1))
        return WATCHING_NOTHING;
    return server_state->changed >> position & 1 ? WATCHING_CHANGED : WATCHING_KEY;
}

/* As watch_from_model() of explore/model/server_state.c. */
static void take_watch(struct server_state *server_state, int position, enum command_kind kind,
                       bool has_written)
{
    const uint8_t bit = (uint8_t)(position == SERVER_NO_WATCH ? 0 : 1u << position);
    if (has_written)
        server_state->changed |= server_state->watching;
    if (kind == COMMAND_ORDINARY || (kind == COMMAND_WATCH && server_state->watching & bit))
        return;
    server_state->watching &= (uint8_t)~bit;
    server_state->changed &= (uint8_t)~bit;
    if (kind == COMMAND_WATCH)
        server_state->watching |= bit;
}

static struct reply execute(struct subject *subject, const struct config *config,
                            struct server_state *server_state, int position,
                            const struct command *command)
{
    struct asking *asking = (struct asking *)subject;
    const int32_t value = server_state->keyspace.value;
    struct server_told told;
    if (command->verb < VERB_COUNT)
        return asking_execute_section(config, server_state, command);
    const enum command_kind kind = server_command_kind(&asking->server, (uint32_t)command->number);
    const struct server_question question = {
        .kept = kept_of(server_state, command),
        .command = (uint32_t)command->number,
        .watching = kind == COMMAND_TRANSACTION ? watching_of(server_state, position) : 0};
    if (asking->failure.code || server_ask(&asking->server, &question, &told, &asking->failure))
        return (struct reply){.kind = REPLY_ERROR, .error = ERROR_OTHER};
    take_kept(&told.kept, command, server_state);
    take_watch(server_state, position, kind, told.writes != 0);
    return (struct reply){.kind = told.kind,
                          .error = told.error,
                          .value = told.whose == WHOSE_OWN     ? command->value
                                   : told.whose == WHOSE_OTHER ? value
                                                               : 0,
                          .second = told.reply | wrote(told.writes)};
}

static void begin(struct subject *subject, struct server_state *server_state)
{
    const struct asking *asking = (const struct asking *)subject;
    server_state->knows_script = (uint8_t)((1u << asking->server.scripts_first) - 1);
}

static void pass(struct subject *subject, struct server_state *server_state, int ticks)
{
    struct server_asker *asker = &((struct asking *)subject)->server;
    struct keyspace *keyspaces[] = {&server_state->keyspace, &server_state->replica,
                                    &server_state->saved};
    for (size_t i = 0; i < sizeof keyspaces / sizeof *keyspaces; i++)
        keyspaces[i]->fence = (int32_t)keys_beside_age(asker, (uint32_t)keyspaces[i]->fence, ticks);
}

static const char *name(struct subject *subject, int verb)
{
    const struct asking *asking = (const struct asking *)subject;
    return asking->worker.names[verb - VERB_COUNT];
}

const struct subject asking_subject_ops = {.step = step,
                                           .execute = execute,
                                           .lose = lose,
                                           .jump = jump,
                                           .begin = begin,
                                           .pass = pass,
                                           .are_sections_apart = true,
                                           .name = name,
                                           .rename_servers = rename_servers,
                                           .part_of_server = part_of_server};
