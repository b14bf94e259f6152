/* core_faults.c - the choices that are faults: what each does to messages, connections, clients and
 * servers. See core_state.h.
 *
 * A fault is one FAULT event and one change. What a client makes of it (a time-out, a lost
 * connection) is a choice of its own (GIVE_UP), so that the moment of noticing can be chosen, too.
 * One that is refused leaves no event. The explorer states each again in explore/model/faults/. */
#include "world/core_state.h"

enum { SECOND_US = 1000000 };

/* The FAULT event of a choice; a message that it struck says the rest. */
static void write_fault(struct core *core, const struct choice *choice,
                        const struct message *struck)
{
    struct event event = core_event(core, EVENT_FAULT, choice->client, choice->server);
    if (struck)
        event = core_message_event(core, EVENT_FAULT, struck);
    else if (choice->client >= 0)
        event = core_client_event(core, EVENT_FAULT, choice->client);
    event.server = choice->server;
    event.amount_us = choice->amount_us;
    if (choice->kind == CHOICE_ANSWER_ERROR)
        event.reply = struck->reply;
    event.fault = choice_fault(choice->kind);
    core_write(core, &event);
}

/* --- of messages --- */

/* A client that times out goes on with a new connection, as libraries do: an answer that still
 * comes must not be taken for that to a later command. */
static enum fail choose_give_up(struct core *core, const struct choice *choice,
                                struct failure *failure)
{
    struct message *found = core_find(core, choice, failure);
    if (!found)
        return FAIL_UNKNOWN;
    const struct message message = *found;
    bool is_void = message.state == MESSAGE_VOID;
    write_fault(core, choice, found);
    if (!is_void)
        core_leave(core, found);
    /* What was executed can only come back to nobody; what was not may still be, but for what a
     * server that is silent, or holds it, has not executed: it goes with its connection. */
    if (message.state == MESSAGE_REQUEST)
        found->is_abandoned = true;
    else
        core_remove(core, found);
    if (message.is_silent || (message.state == MESSAGE_REQUEST &&
                              message_is_held(&message, core->reach[message.server])))
        core_break(core, &message);
    core_notify(core, &message, is_void ? MOMENT_LOST : MOMENT_TIMEOUT);
    return FAIL_NONE;
}

static enum fail choose_lose(struct core *core, const struct choice *choice,
                             struct failure *failure)
{
    const struct message *message = core_find(core, choice, failure);
    if (!message)
        return FAIL_UNKNOWN;
    write_fault(core, choice, message);
    core_break(core, message);
    return FAIL_NONE;
}

static enum fail choose_duplicate(struct core *core, const struct choice *choice,
                                  struct failure *failure)
{
    const struct message *found = core_find(core, choice, failure);
    if (!found)
        return FAIL_UNKNOWN;
    const struct message message = *found;
    write_fault(core, choice, found);
    core_send_copy(core, &message);
    return FAIL_NONE;
}

static enum fail choose_answer_error(struct core *core, const struct choice *choice,
                                     struct failure *failure)
{
    struct server_answer refusal = {0};
    struct message *message = core_find_first(core, choice, failure);
    if (!message)
        return FAIL_UNKNOWN;
    enum fail fail = core_execute(core, message, choice->error, &refusal, failure);
    if (!fail)
        write_fault(core, choice, message);
    return fail;
}

static enum fail choose_resend(struct core *core, const struct choice *choice,
                               struct failure *failure)
{
    struct message *found = core_find(core, choice, failure);
    if (!found)
        return FAIL_UNKNOWN;
    const struct message message = *found;
    write_fault(core, choice, found);
    core_remove(core, found);
    core_send(core, &message);
    return FAIL_NONE;
}

/* --- of clients --- */

static enum fail choose_crash(struct core *core, const struct choice *choice,
                              struct failure *failure)
{
    if (core_view(core, choice->client).phase == PHASE_DEAD)
        return failure_set(failure, FAIL_UNKNOWN, "%s is dead already",
                           core->run->names[choice->client]);
    write_fault(core, choice, NULL);
    core->clients->ops->crash(core->clients, choice->client);
    core_bury(core, choice->client);
    return FAIL_NONE;
}

/* The event comes first, as what it leads to may be that the client waits for ever. */
static enum fail choose_half_open(struct core *core, const struct choice *choice,
                                  struct failure *failure)
{
    struct step_result step = {0};
    if (core_view(core, choice->client).phase == PHASE_DEAD)
        return failure_set(failure, FAIL_UNKNOWN, "%s is dead", core->run->names[choice->client]);
    enum fail fail =
        core->clients->ops->silence(core->clients, choice->client, choice->server, &step, failure);
    if (fail)
        return fail;
    core_silence(core, choice->client, choice->server);
    write_fault(core, choice, NULL);
    core_take_step(core, choice->client, &step);
    return FAIL_NONE;
}

static enum fail choose_dials(struct core *core, const struct choice *choice,
                              struct failure *failure)
{
    const bool is_answered = choice->kind == CHOICE_ANSWER_DIALS;
    unsigned *held = &core->held_dials[choice->client];
    struct step_result step = {0};
    if (core_view(core, choice->client).phase == PHASE_DEAD)
        return failure_set(failure, FAIL_UNKNOWN, "%s is dead", core->run->names[choice->client]);
    if ((*held >> choice->server & 1) != is_answered)
        return failure_set(failure, FAIL_UNKNOWN, "%s %s connect to server %d already",
                           core->run->names[choice->client], is_answered ? "can" : "cannot",
                           choice->server + 1);
    enum fail fail = core->clients->ops->answer_dials(core->clients, choice->client, choice->server,
                                                      is_answered, &step, failure);
    if (fail)
        return fail;
    *held ^= 1u << choice->server;
    write_fault(core, choice, NULL);
    core_take_step(core, choice->client, &step);
    return FAIL_NONE;
}

static enum fail choose_client_clock(struct core *core, const struct choice *choice,
                                     struct failure *failure)
{
    (void)failure;
    core->clients->ops->jump_clock(core->clients, choice->client, choice->amount_us);
    write_fault(core, choice, NULL);
    return FAIL_NONE;
}

/* --- of servers --- */

/* What a server does at once, behind which the event stands: it is written when it was possible. */
static enum fail struck(struct core *core, const struct choice *choice, enum fail fail)
{
    if (!fail)
        write_fault(core, choice, NULL);
    return fail;
}

static enum fail choose_server_clock(struct core *core, const struct choice *choice,
                                     struct failure *failure)
{
    const struct backend_ops *ops = core->backend->ops;
    return struck(core, choice,
                  ops->jump_clock(core->backend, choice->server, choice->amount_us, failure));
}

static enum fail choose_evict(struct core *core, const struct choice *choice,
                              struct failure *failure)
{
    return struck(core, choice, core->backend->ops->evict(core->backend, choice->server, failure));
}

static enum fail choose_flush_all(struct core *core, const struct choice *choice,
                                  struct failure *failure)
{
    return struck(core, choice,
                  core->backend->ops->flush_keys(core->backend, choice->server, failure));
}

static enum fail choose_flush_scripts(struct core *core, const struct choice *choice,
                                      struct failure *failure)
{
    return struck(core, choice,
                  core->backend->ops->flush_scripts(core->backend, choice->server, failure));
}

/* Another process is about to take the server's place: all connections to it are broken. */
static enum fail break_server(struct core *core, int server, struct failure *failure)
{
    for (int client = 0; client < core->run->clients; client++)
        core_break_all(core, client, server);
    return core_settle(core, failure);
}

/* To clients a cluster is one server, and so it is in the history. */
static enum fail choose_slot(struct core *core, const struct choice *choice,
                             struct failure *failure)
{
    const struct backend_ops *ops = core->backend->ops;
    struct choice told = *choice;
    told.server = 0;
    if (choice->kind != CHOICE_SLOT_TAKEN)
        return struck(core, &told, ops->slot(core->backend, choice->kind, choice->server, failure));
    write_fault(core, &told, NULL);
    enum fail fail = break_server(core, told.server, failure);
    return fail ? fail : ops->slot(core->backend, choice->kind, choice->server, failure);
}

static enum fail choose_cut_replica(struct core *core, const struct choice *choice,
                                    struct failure *failure)
{
    int server = choice->server;
    if (!core->has_replica[server] || core->is_cut[server])
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no replica in step to cut off",
                           server + 1);
    enum fail fail =
        struck(core, choice, core->backend->ops->cut_replica(core->backend, server, failure));
    core->is_cut[server] = !fail;
    return fail;
}

static enum fail set_reach(struct core *core, int server, enum server_reach reach,
                           struct failure *failure)
{
    core->reach[server] = reach;
    const struct backend_ops *ops = core->backend->ops;
    return ops->set_reach ? ops->set_reach(core->backend, server, reach, failure) : FAIL_NONE;
}

static enum fail restart(struct core *core, const struct choice *choice, struct failure *failure)
{
    const struct backend_ops *ops = core->backend->ops;
    if (choice->kind == CHOICE_RESTART_AOF)
        return ops->restart_with_keys(core->backend, choice->server, failure);
    if (choice->kind == CHOICE_RESTART_OLD)
        return ops->restart_with_saved(core->backend, choice->server, failure);
    core->has_saved[choice->server] = false;
    return ops->restart_empty(core->backend, choice->server, failure);
}

static enum fail choose_restart(struct core *core, const struct choice *choice,
                                struct failure *failure)
{
    if (choice->kind == CHOICE_RESTART_OLD && !core->has_saved[choice->server])
        return failure_set(failure, FAIL_UNKNOWN, "server %d has saved nothing to restart with",
                           choice->server + 1);
    write_fault(core, choice, NULL);
    enum fail fail = break_server(core, choice->server, failure);
    if (!fail) /* of the process that takes its place */
        fail = set_reach(core, choice->server, REACH_OPEN, failure);
    return fail ? fail : restart(core, choice, failure);
}

static enum fail choose_save(struct core *core, const struct choice *choice,
                             struct failure *failure)
{
    enum fail fail =
        struck(core, choice, core->backend->ops->save_keys(core->backend, choice->server, failure));
    core->has_saved[choice->server] |= !fail;
    return fail;
}

/* The connections that the server is to end are those that the core breaks behind it. */
static enum fail choose_client_kill(struct core *core, const struct choice *choice,
                                    struct failure *failure)
{
    const int server = choice->server;
    enum fail fail = FAIL_NONE;
    if (core->reach[server] != REACH_OPEN)
        return failure_set(failure, FAIL_UNKNOWN,
                           "server %d is out of reach: nobody hears that it ends connections",
                           server + 1);
    if (core->backend->ops->kill_clients)
        fail = core->backend->ops->kill_clients(core->backend, server,
                                                core_connections(core, server), failure);
    if (!fail)
        write_fault(core, choice, NULL);
    return fail ? fail : break_server(core, server, failure);
}

static enum fail choose_failover(struct core *core, const struct choice *choice,
                                 struct failure *failure)
{
    int server = choice->server;
    if (!core->has_replica[server])
        return failure_set(failure, FAIL_UNKNOWN, "server %d has no replica to promote",
                           server + 1);
    write_fault(core, choice, NULL);
    enum fail fail = break_server(core, server, failure);
    if (!fail)
        fail = set_reach(core, server, REACH_OPEN, failure);
    if (!fail)
        fail = core->backend->ops->fail_over(core->backend, server,
                                             choice->kind == CHOICE_SENTINEL ? PROMOTER_SENTINEL
                                                                             : PROMOTER_OPERATOR,
                                             core->is_cut[server], failure);
    if (!fail)
        core->has_replica[server] = core->is_cut[server] = core->has_saved[server] = false;
    return fail;
}

/* Between two choices no clock is looked at: what it gains meanwhile, it gains before the next. */
enum fail core_gain(struct core *core, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int server = 0; server < core->run->servers && !fail; server++) {
        const int64_t passed_us = core->now_us - core->gained_us[server];
        const int64_t gained_us = passed_us * core->gains_us[server] / SECOND_US;
        core->gained_us[server] = core->now_us;
        if (gained_us != 0)
            fail = core->backend->ops->jump_clock(core->backend, server, gained_us, failure);
    }
    return fail;
}

static enum fail choose_server_drift(struct core *core, const struct choice *choice,
                                     struct failure *failure)
{
    (void)failure;
    core->gains_us[choice->server] = choice->amount_us;
    core->gained_us[choice->server] = core->now_us;
    write_fault(core, choice, NULL);
    return FAIL_NONE;
}

static enum fail choose_client_drift(struct core *core, const struct choice *choice,
                                     struct failure *failure)
{
    const struct clients_ops *ops = core->clients->ops;
    if (!ops->set_rate)
        return failure_set(failure, FAIL_NOT_APPLICABLE, "%s's clock cannot run at another rate",
                           core->run->names[choice->client]);
    ops->set_rate(core->clients, choice->client, choice->amount_us, core->now_us);
    write_fault(core, choice, NULL);
    return FAIL_NONE;
}

/* It keeps what it has, and its clock runs on; of a silent one the connections stay, too. */
static enum fail choose_out_of_reach(struct core *core, const struct choice *choice,
                                     struct failure *failure)
{
    const enum server_reach reach = choice->kind == CHOICE_REFUSE ? REACH_REFUSED : REACH_SILENT;
    enum fail fail = FAIL_NONE;
    if (core->reach[choice->server] != REACH_OPEN)
        return failure_set(failure, FAIL_UNKNOWN, "server %d is out of reach already",
                           choice->server + 1);
    write_fault(core, choice, NULL);
    if (reach == REACH_REFUSED)
        fail = break_server(core, choice->server, failure);
    return fail ? fail : set_reach(core, choice->server, reach, failure);
}

/* Silent to all, and to us as well. */
static enum fail choose_stop(struct core *core, const struct choice *choice,
                             struct failure *failure)
{
    const struct backend_ops *ops = core->backend->ops;
    const int server = choice->server;
    enum fail fail = FAIL_NONE;
    if (core->reach[server] != REACH_OPEN)
        return failure_set(failure, FAIL_UNKNOWN, "server %d is out of reach already", server + 1);
    if (ops->stop)
        fail = struck(core, choice, ops->stop(core->backend, server, failure));
    else
        write_fault(core, choice, NULL);
    if (fail)
        return fail;
    core->is_stopped[server] = true;
    core->reach[server] = REACH_SILENT;
    return FAIL_NONE;
}

/* It executes what it lets pass; of that the backend sees to nothing, but holds the rest. */
static enum fail choose_pause_writes(struct core *core, const struct choice *choice,
                                     struct failure *failure)
{
    const int server = choice->server;
    if (core->reach[server] != REACH_OPEN)
        return failure_set(failure, FAIL_UNKNOWN, "server %d is out of reach already", server + 1);
    return struck(core, choice, set_reach(core, server, REACH_READ_ONLY, failure));
}

static enum fail choose_reach(struct core *core, const struct choice *choice,
                              struct failure *failure)
{
    if (core->reach[choice->server] == REACH_OPEN)
        return failure_set(failure, FAIL_UNKNOWN, "server %d is within reach", choice->server + 1);
    write_fault(core, choice, NULL);
    core->is_stopped[choice->server] = false;
    return set_reach(core, choice->server, REACH_OPEN, failure);
}

core_choice *core_fault_choice(enum choice_kind kind)
{
    static core_choice *const choices[CHOICE_COUNT] = {
        [CHOICE_GIVE_UP] = choose_give_up,
        [CHOICE_LOSE_REQUEST] = choose_lose,
        [CHOICE_LOSE_REPLY] = choose_lose,
        [CHOICE_RESEND] = choose_resend,
        [CHOICE_DUPLICATE] = choose_duplicate,
        [CHOICE_ANSWER_ERROR] = choose_answer_error,
        [CHOICE_CRASH] = choose_crash,
        [CHOICE_HALF_OPEN] = choose_half_open,
        [CHOICE_HOLD_DIALS] = choose_dials,
        [CHOICE_ANSWER_DIALS] = choose_dials,
        [CHOICE_CLIENT_CLOCK] = choose_client_clock,
        [CHOICE_SERVER_CLOCK] = choose_server_clock,
        [CHOICE_CLIENT_DRIFT] = choose_client_drift,
        [CHOICE_SERVER_DRIFT] = choose_server_drift,
        [CHOICE_RESTART] = choose_restart,
        [CHOICE_RESTART_AOF] = choose_restart,
        [CHOICE_RESTART_OLD] = choose_restart,
        [CHOICE_SAVE] = choose_save,
        [CHOICE_FLUSH_ALL] = choose_flush_all,
        [CHOICE_CLIENT_KILL] = choose_client_kill,
        [CHOICE_CUT_REPLICA] = choose_cut_replica,
        [CHOICE_FAILOVER] = choose_failover,
        [CHOICE_SENTINEL] = choose_failover,
        [CHOICE_SLOT_BEGIN] = choose_slot,
        [CHOICE_SLOT_KEYS] = choose_slot,
        [CHOICE_SLOT_END] = choose_slot,
        [CHOICE_SLOT_DROP] = choose_slot,
        [CHOICE_SLOT_TAKEN] = choose_slot,
        [CHOICE_EVICT] = choose_evict,
        [CHOICE_FLUSH_SCRIPTS] = choose_flush_scripts,
        [CHOICE_SILENCE] = choose_out_of_reach,
        [CHOICE_REFUSE] = choose_out_of_reach,
        [CHOICE_STOP] = choose_stop,
        [CHOICE_PAUSE_WRITES] = choose_pause_writes,
        [CHOICE_REACH] = choose_reach,
    };
    return choices[kind];
}
