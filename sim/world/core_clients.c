/* core_clients.c - what clients do in a directed world: start, go on, ring, return. See
 * core_state.h. The explorer states it again, over packed states: explore/model/actions.c,
 * list_*() and actions_end(). */
#include "world/core_state.h"

#include "world/rules.h"

#include <string.h>

struct client_view core_view(const struct core *core, int client)
{
    return core->clients->ops->view(core->clients, client);
}

/* --- what a step leads to --- */

static void send_request(struct core *core, int client, const struct request *request)
{
    const struct client_view view = core_view(core, client);
    const struct message message = {.client = client,
                                    .server = request->server,
                                    .lane = request->lane,
                                    .command = request->command,
                                    .opaque = request->opaque,
                                    .is_silent = request->is_silent,
                                    .op = request->op,
                                    .attempt = view.attempt,
                                    .token = view.token,
                                    .token_text = view.token_text};
    core_send(core, &message);
}

void core_take_step(struct core *core, int client, const struct step_result *step)
{
    struct step_event events[STEP_EVENTS_MAX];
    int count = step_events(step, events);
    const unsigned left = step->left | step->left_silent;
    for (int server = 0; server < SERVERS_MAX && left; server++)
        for (int lane = 0; lane < LANE_COUNT; lane++) {
            if (step->left & channel_bit(server, lane))
                core_leave_by_itself(core, client, server, lane);
            if (step->left_silent & channel_bit(server, lane))
                core_leave_silent(core, client, server, lane);
        }
    for (int i = 0; i < count; i++) {
        const struct step_event *event = &events[i];
        if (event->kind == EVENT_SEND)
            send_request(core, client, event->request);
        else
            core_write_operation(core, event->kind, client, event->op, event->result);
    }
    if (step->has_exited) {
        struct event exits = core_client_event(core, EVENT_EXIT, client);
        core_write(core, &exits);
        core_bury(core, client);
    }
}

/* A step that goes wrong ends the run, behind the choice. */
static void make_step(struct core *core, int client, enum moment_kind kind,
                      const struct message *message, struct step_result *step)
{
    struct failure why;
    memset(step, 0, sizeof *step);
    if (core->clients->ops->step(core->clients, client, kind, message, core->now_us, step, &why) &&
        !core->error.code)
        core->error = why;
}

void core_notify(struct core *core, const struct message *message, enum moment_kind kind)
{
    struct step_result step;
    if (message->op == OP_ACCESS) {
        enum result result =
            core->clients->ops->accessed(core->clients, message->client, kind, message);
        core_write_operation(core, EVENT_RETURN, message->client, OP_ACCESS, result);
        return;
    }
    make_step(core, message->client, kind, message, &step);
    core_take_step(core, message->client, &step);
}

/* --- choices --- */

static enum fail want_phase(const struct core *core, const struct choice *choice, enum phase phase,
                            struct failure *failure)
{
    const struct client_view view = core_view(core, choice->client);
    return rules_want_phase(core->run, choice, &view, phase, failure);
}

static enum fail choose_acquire(struct core *core, const struct choice *choice,
                                struct failure *failure)
{
    struct step_result step;
    if (want_phase(core, choice, PHASE_IDLE, failure))
        return FAIL_UNKNOWN;
    make_step(core, choice->client, MOMENT_START, NULL, &step);
    core_write_operation(core, EVENT_CALL, choice->client, OP_ACQUIRE, RESULT_NONE);
    core_take_step(core, choice->client, &step);
    return FAIL_NONE;
}

static enum fail choose_lease(struct core *core, const struct choice *choice,
                              struct failure *failure)
{
    if (want_phase(core, choice, PHASE_IDLE, failure))
        return FAIL_UNKNOWN;
    if (choice->amount_us <= 0)
        return failure_set(failure, FAIL_UNKNOWN, "a lease must be longer than 0");
    core->clients->ops->set_lease(core->clients, choice->client, choice->amount_us);
    return FAIL_NONE;
}

static enum fail choose_release(struct core *core, const struct choice *choice,
                                struct failure *failure)
{
    struct step_result step;
    if (want_phase(core, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    core_write_operation(core, EVENT_CALL, choice->client, OP_RELEASE, RESULT_NONE);
    make_step(core, choice->client, MOMENT_RELEASE, NULL, &step);
    core_take_step(core, choice->client, &step);
    return FAIL_NONE;
}

static enum fail choose_extend(struct core *core, const struct choice *choice,
                               struct failure *failure)
{
    struct step_result step = {0};
    struct failure why;
    if (want_phase(core, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    core_write_operation(core, EVENT_CALL, choice->client, OP_EXTEND, RESULT_NONE);
    if (core->clients->ops->extend(core->clients, choice->client, &step, &why) && !core->error.code)
        core->error = why;
    core_take_step(core, choice->client, &step);
    return FAIL_NONE;
}

static enum fail choose_cancel(struct core *core, const struct choice *choice,
                               struct failure *failure)
{
    struct step_result step = {0};
    struct failure why;
    if (want_phase(core, choice, PHASE_ACQUIRING, failure))
        return FAIL_UNKNOWN;
    struct event cancelled = core_client_event(core, EVENT_FAULT, choice->client);
    cancelled.fault = FAULT_CANCEL;
    cancelled.op = OP_ACQUIRE;
    core_write(core, &cancelled);
    if (core->clients->ops->cancel(core->clients, choice->client, &step, &why) && !core->error.code)
        core->error = why;
    core_take_step(core, choice->client, &step);
    return FAIL_NONE;
}

/* WRITE, READ_COUNTER, WRITE_COUNTER: the critical section's own commands. */
static enum fail choose_access(struct core *core, const struct choice *choice,
                               struct failure *failure)
{
    if (want_phase(core, choice, PHASE_HOLDING, failure))
        return FAIL_UNKNOWN;
    const struct request request =
        core->clients->ops->access(core->clients, choice->client, choice->kind);
    core_write_operation(core, EVENT_CALL, choice->client, OP_ACCESS, RESULT_NONE);
    send_request(core, choice->client, &request);
    return FAIL_NONE;
}

static enum fail choose_wake(struct core *core, const struct choice *choice,
                             struct failure *failure)
{
    const struct client_view view = core_view(core, choice->client);
    struct step_result step;
    if (rules_want_timer(core->run, choice, &view, core->now_us, failure))
        return FAIL_UNKNOWN;
    struct event rings = core_client_event(core, EVENT_WAKE, choice->client);
    core_write(core, &rings);
    make_step(core, choice->client, MOMENT_WAKE, NULL, &step);
    core_take_step(core, choice->client, &step);
    return FAIL_NONE;
}

core_choice *core_client_choice(enum choice_kind kind)
{
    static core_choice *const choices[CHOICE_COUNT] = {
        [CHOICE_ACQUIRE] = choose_acquire,      [CHOICE_LEASE] = choose_lease,
        [CHOICE_RELEASE] = choose_release,      [CHOICE_WRITE] = choose_access,
        [CHOICE_EXTEND] = choose_extend,        [CHOICE_READ_COUNTER] = choose_access,
        [CHOICE_WRITE_COUNTER] = choose_access, [CHOICE_WAKE] = choose_wake,
        [CHOICE_CANCEL] = choose_cancel,
    };
    return choices[kind];
}
