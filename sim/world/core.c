/* core.c - a directed world, one choice at a time. See core.h; the contract is scenario/world.h.
 *
 * A choice takes effect, writes its events at the time it was made, and is then settled. One that
 * is not possible changes nothing. Nothing reaches a server or a client but by a choice. What
 * messages do the explorer states again: list_arrive(), actions_answered() and list_hear() of
 * explore/model/actions.c. */
#include "world/core_state.h"

#include "base/memory.h"
#include "world/rules.h"

#include <assert.h>
#include <stdlib.h>

static const struct backend_ops *ops_of(const struct core *core)
{
    return core->backend->ops;
}

static void read_clock(struct core *core)
{
    if (ops_of(core)->now_us)
        core->now_us = ops_of(core)->now_us(core->backend, core->now_us);
}

enum fail core_settle(struct core *core, struct failure *failure)
{
    const struct backend_ops *ops = ops_of(core);
    enum fail fail = ops->settle ? ops->settle(core->backend, failure) : FAIL_NONE;
    read_clock(core);
    return fail;
}

static void answered(struct message *message, const struct server_answer *answer)
{
    message->state = MESSAGE_REPLY;
    message->reply = answer->reply;
    /* A transaction, a script, FLUSHALL: what it has done shows which keys it was about. */
    for (int i = 0; answer->effects && i < answer->effects->count; i++)
        message->opaque.keys |= 1U << answer->effects->on[i].key;
}

enum fail core_execute(struct core *core, struct message *message, enum reply_error error,
                       struct server_answer *answer, struct failure *failure)
{
    enum fail fail = ops_of(core)->execute(core->backend, message, error, answer, failure);
    read_clock(core);
    if (fail)
        return fail;
    if (answer->is_waiting) {
        message->state = MESSAGE_WAITING;
        return FAIL_NONE;
    }
    answered(message, answer);
    return FAIL_NONE;
}

static void write_executed(struct core *core, const struct message *message,
                           const struct server_answer *answer)
{
    struct event executed = core_message_event(core, EVENT_EXECUTE, message);
    executed.reply = answer->reply;
    executed.effects = answer->effects;
    executed.from_us = answer->from_us;
    executed.time_us = answer->until_us;
    core_write(core, &executed);
}

/* What goes on by itself, behind a choice. */
static enum fail serve_one(struct core *core, const struct served *served, struct failure *failure)
{
    struct core_slot *slot = &core->slots[served->client];
    if (served->number < 0)
        return core_tell(core, served->client, served->server, served->name, failure);
    for (int i = 0; i < slot->messages_count; i++) {
        struct message *message = &slot->messages[i];
        if (message->number != served->number)
            continue;
        answered(message, &served->answer);
        write_executed(core, message, &served->answer);
    }
    return FAIL_NONE;
}

static enum fail serve(struct core *core, struct failure *failure)
{
    const struct backend_ops *ops = ops_of(core);
    struct served served = {.client = -1};
    do {
        enum fail fail = ops->serve ? ops->serve(core->backend, &served, failure) : FAIL_NONE;
        if (!fail && served.client >= 0)
            fail = serve_one(core, &served, failure);
        if (fail)
            return fail;
    } while (served.client >= 0);
    return FAIL_NONE;
}

/* --- what messages do, and time --- */

static enum fail choose_arrive(struct core *core, const struct choice *choice,
                               struct failure *failure)
{
    struct server_answer answer = {0};
    struct message *message = core_find_first(core, choice, failure);
    if (!message)
        return FAIL_UNKNOWN;
    enum fail fail = core_execute(core, message, ERROR_NONE, &answer, failure);
    if (fail)
        return fail;
    if (!answer.is_waiting)
        write_executed(core, message, &answer);
    if (message->is_abandoned)
        core_remove(core, message);
    return FAIL_NONE;
}

static enum fail choose_hear(struct core *core, const struct choice *choice,
                             struct failure *failure)
{
    struct message *found = core_find_first(core, choice, failure);
    if (!found)
        return FAIL_UNKNOWN;
    const struct message message = *found;
    const struct backend_ops *ops = ops_of(core);
    enum fail fail = ops->deliver ? ops->deliver(core->backend, &message, failure) : FAIL_NONE;
    read_clock(core);
    if (fail)
        return fail;
    core_remove(core, found);
    struct event heard = core_message_event(core, EVENT_HEAR, &message);
    heard.reply = message.reply;
    core_write(core, &heard);
    core_notify(core, &message, MOMENT_REPLY);
    return FAIL_NONE;
}

static enum fail choose_time(struct core *core, const struct choice *choice,
                             struct failure *failure)
{
    if (choice->amount_us <= 0)
        return failure_set(failure, FAIL_UNKNOWN, "time only passes forwards");
    const struct backend_ops *ops = ops_of(core);
    enum fail fail =
        ops->pass_time ? ops->pass_time(core->backend, choice->amount_us, failure) : FAIL_NONE;
    core->now_us += choice->amount_us;
    read_clock(core);
    if (fail)
        return fail;
    struct event passed = core_event(core, EVENT_TIME, -1, -1);
    passed.amount_us = choice->amount_us;
    core_write(core, &passed);
    return FAIL_NONE;
}

static core_choice *message_choice(enum choice_kind kind)
{
    static core_choice *const choices[CHOICE_COUNT] = {
        [CHOICE_ARRIVE] = choose_arrive,
        [CHOICE_ARRIVE_LATE] = choose_arrive,
        [CHOICE_HEAR] = choose_hear,
        [CHOICE_TIME] = choose_time,
    };
    return choices[kind];
}

/* --- scenario/world.h --- */

static core_choice *find_choice(enum choice_kind kind)
{
    core_choice *choice = core_client_choice(kind);
    if (!choice)
        choice = message_choice(kind);
    return choice ? choice : core_fault_choice(kind);
}

static enum fail core_can(struct world *world, enum choice_kind kind, struct failure *failure)
{
    const struct core *core = (const struct core *)world;
    if (choice_needs_replica(kind) && !core->run->has_replica)
        return failure_set(failure, FAIL_UNKNOWN, "this run has no replicas");
    if (choice_needs_cluster(kind) && !core->run->is_cluster)
        return failure_set(failure, FAIL_UNKNOWN, "this run has no cluster");
    if (core->run->is_cluster && choice_is_fault(kind) && !choice_needs_cluster(kind) &&
        fault_blame(choice_fault(kind)) == FAULT_OF_SERVER)
        return failure_set(failure, FAIL_UNKNOWN, "of a cluster only the slot is struck");
    if (kind == CHOICE_EXTEND && !core->clients->ops->extend)
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "nobody asks a scheme to extend: it does so by itself, or not at all");
    if (kind == CHOICE_CANCEL && !core->clients->ops->cancel)
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "nobody cancels a scheme's acquire: it tries once");
    if (kind == CHOICE_HALF_OPEN && !core->clients->ops->silence)
        return failure_set(failure, FAIL_NOT_APPLICABLE,
                           "a scheme has no connections and no time-outs of its own");
    if ((kind == CHOICE_HOLD_DIALS || kind == CHOICE_ANSWER_DIALS) &&
        !core->clients->ops->answer_dials)
        return failure_set(failure, FAIL_NOT_APPLICABLE, "a scheme makes no connections");
    return ops_of(core)->can ? ops_of(core)->can(core->backend, kind, failure) : FAIL_NONE;
}

static bool choice_is_of_server(enum choice_kind kind)
{
    return choice_names_server(kind) && !choice_names_client(kind);
}

static enum fail look_at_choice(struct core *core, const struct choice *choice,
                                struct failure *failure)
{
    enum fail fail = rules_names_somebody(core->run, choice, failure);
    if (!fail && choice_names_client(choice->kind))
        fail =
            rules_have_room(core->run, choice, core->slots[choice->client].messages_count, failure);
    /* Nobody, and we neither, can ask anything of a process that stands still. */
    if (!fail && choice_is_of_server(choice->kind) && core->is_stopped[choice->server] &&
        choice->kind != CHOICE_REACH && choice->kind != CHOICE_STOP)
        fail = failure_set(failure, FAIL_UNKNOWN, "server %d is stopped", choice->server + 1);
    if (!fail && choice_is_of_server(choice->kind) &&
        core->reach[choice->server] == REACH_READ_ONLY && choice->kind != CHOICE_REACH)
        fail = failure_set(failure, FAIL_UNKNOWN, "server %d holds writes", choice->server + 1);
    return fail ? fail : core_can(&core->world, choice->kind, failure);
}

static enum fail core_apply(struct world *world, const struct choice *choice,
                            struct failure *failure)
{
    struct core *core = (struct core *)world;
    struct failure local, *why = failure ? failure : &local;
    assert((int)choice->kind >= 0 && choice->kind < CHOICE_COUNT);
    core_choice *choose = find_choice(choice->kind);
    assert(choose);
    enum fail fail = look_at_choice(core, choice, why);
    if (fail)
        return fail;
    read_clock(core);
    ops_of(core)->begin(core->backend, core->now_us);
    fail = core_gain(core, why);
    if (!fail)
        fail = choose(core, choice, why);
    if (!fail)
        fail = serve(core, why);
    if (!fail && core->error.code)
        fail = failure_set(why, core->error.code, "%s", core->error.text);
    if (!fail)
        fail = core_settle(core, why);
    if (!fail && choice->kind != CHOICE_TIME)
        core->now_us += CHOICE_TAKES_US;
    return fail;
}

static struct client_view core_client(struct world *world, int client)
{
    return core_view((const struct core *)world, client);
}

static int core_messages(struct world *world, int client, struct message *messages)
{
    const struct core *core = (const struct core *)world;
    const struct core_slot *slot = &core->slots[client];
    for (int i = 0; i < slot->messages_count; i++)
        messages[i] = slot->messages[i];
    return slot->messages_count;
}

static int64_t core_now_us(struct world *world)
{
    struct core *core = (struct core *)world;
    read_clock(core);
    return core->now_us;
}

static void core_free(struct world *world)
{
    struct core *core = (struct core *)world;
    for (int client = 0; client < core->run->clients; client++)
        core_bury(core, client);
    core->clients->ops->free(core->clients);
    ops_of(core)->free(core->backend);
    free(core);
}

static const struct world_ops core_ops = {
    .apply = core_apply,
    .can = core_can,
    .client = core_client,
    .messages = core_messages,
    .now_us = core_now_us,
    .free = core_free,
};

struct world *core_new(const struct run *run, struct backend *backend, struct clients *clients)
{
    assert(run->clients > 0 && run->clients <= ACTORS_MAX);
    assert(run->servers > 0 && run->servers <= SERVERS_MAX);
    struct core *core = memory_new(1, sizeof *core);
    core->world.ops = &core_ops;
    core->backend = backend;
    core->clients = clients;
    core->run = run;
    for (int i = 0; i < run->servers; i++)
        core->has_replica[i] = run->has_replica;
    return &core->world;
}

const struct clients *core_clients(const struct world *world)
{
    return ((const struct core *)world)->clients;
}
