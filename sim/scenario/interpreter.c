/* interpreter.c - see interpreter.h. A row of steps.def, a function; what moves messages and time
 * stands in primitives.c; a step that is one choice is one function for all. Never: a clock,
 * randomness, I/O. */
#include "scenario/naming.h"
#include "scenario/primitives.h"

#include <assert.h>
#include <string.h>

/* --- what to act on --- */

/* What the client stalled at and is in that state now; the main lane first. */
static bool stalled_as(struct interpreter *interpreter, int client, enum message_state state,
                       struct message *message)
{
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        if (primitives_find_stalled(interpreter, client, lane, message) && message->state == state)
            return true;
    return false;
}

static bool any_stalled(struct interpreter *interpreter, int client, struct message *message)
{
    return primitives_find_stalled(interpreter, client, LANE_MAIN, message) ||
           primitives_find_stalled(interpreter, client, LANE_RENEW, message);
}

static bool any_void(struct interpreter *interpreter, int client, struct message *message)
{
    struct message all[MESSAGES_MAX];
    int count = primitives_messages(interpreter, client, all);
    for (int i = 0; i < count; i++)
        if (!all[i].is_abandoned && all[i].state == MESSAGE_VOID) {
            *message = all[i];
            return true;
        }
    return false;
}

static enum fail refuse_stalled(struct interpreter *interpreter, int client, enum lane lane)
{
    const struct stalled *stalled = &interpreter->cursors[client].stalled[lane];
    if (!stalled->is_set)
        return FAIL_NONE;
    return primitives_cannot_follow(interpreter, "%s is stalled at its %s: let it go on first",
                                    primitives_name(interpreter, client), stalled->command);
}

/* Has the story itself let something of the client go wrong up to here, or held it up while time
 * passed? */
static bool was_struck(const struct interpreter *interpreter, int client)
{
    bool has_stalled = false;
    for (const struct step *at = interpreter->scenario->steps; at < interpreter->step; at++) {
        has_stalled |= at->client == client && at->stall != STALL_NONE;
        if (at->client == client &&
            (at->kind == STEP_LOSES_REQUEST || at->kind == STEP_LOSES_REPLY ||
             at->kind == STEP_GIVES_UP || at->kind == STEP_CANNOT_REACH ||
             at->kind == STEP_ANSWERS || at->kind == STEP_CANCELS))
            return true;
        if (at->kind == STEP_SILENCE || at->kind == STEP_REFUSE || at->kind == STEP_STOP ||
            at->kind == STEP_PAUSE_WRITES)
            return true;
        if (has_stalled && (at->kind == STEP_EXPIRES || at->kind == STEP_TIME_PASSES))
            return true;
    }
    return false;
}

/* The client is elsewhere than the step needs it. An error that the story did not make is no answer
 * of the scheme: nobody knows then whether it could have followed. */
static enum fail refuse_phase(struct interpreter *interpreter, int client, const char *where,
                              enum result last)
{
    const char *name = primitives_name(interpreter, client);
    if (last == RESULT_NONE)
        return primitives_cannot_follow(interpreter, "%s %s", name, where);
    if (last == RESULT_FAILED && !was_struck(interpreter, client))
        return primitives_diverged(interpreter, "%s %s (its last operation: %s)", name, where,
                                   result_name(last));
    return primitives_cannot_follow(interpreter, "%s %s (its last operation: %s)", name, where,
                                    result_name(last));
}

/* --- steps --- */

/* ACQUIRES, RELEASES, EXTENDS, WRITES, READS_COUNTER, WRITES_COUNTER: one operation, from its call
 * on. */
static enum fail begin(struct interpreter *interpreter, int client, enum choice_kind kind,
                       enum phase wanted)
{
    static const char *const words[] = {
        [PHASE_IDLE] = "does not hold the lock",
        [PHASE_ACQUIRING] = "is still acquiring",
        [PHASE_HOLDING] = "still holds the lock",
        [PHASE_RELEASING] = "is still releasing",
        [PHASE_DEAD] = "has crashed",
    };
    struct client_view view = primitives_view(interpreter, client);
    enum fail fail = refuse_stalled(interpreter, client, LANE_MAIN);
    if (fail)
        return fail;
    if (view.phase != wanted)
        return refuse_phase(interpreter, client, words[view.phase], view.last);
    if (view.is_accessing)
        return primitives_cannot_follow(interpreter,
                                        "%s still waits for a command while it holds the lock",
                                        primitives_name(interpreter, client));
    fail = primitives_client(interpreter, kind, client);
    return fail ? fail : primitives_operation(interpreter, client);
}

/* What it stalled at it may leave by itself then: so this goes on with whatever is there. */
static enum fail cancel(struct interpreter *interpreter, int client)
{
    const enum phase phase = primitives_view(interpreter, client).phase;
    struct failure why = {.code = FAIL_UNKNOWN};
    if (interpreter->world->ops->can(interpreter->world, CHOICE_CANCEL, &why))
        return primitives_refused(interpreter, &why);
    if (phase != PHASE_ACQUIRING)
        return primitives_cannot_follow(interpreter, "%s is not acquiring",
                                        primitives_name(interpreter, client));
    enum fail fail = primitives_client(interpreter, CHOICE_CANCEL, client);
    for (enum lane lane = 0; lane < LANE_COUNT; lane++)
        interpreter->cursors[client].stalled[lane].is_set = false;
    return fail ? fail : primitives_operation(interpreter, client);
}

/* Nothing of the client stalls: what it gave up on may be under way still, and arrives now. */
static enum fail arrive_late(struct interpreter *interpreter, int client)
{
    struct message all[MESSAGES_MAX];
    int count = primitives_messages(interpreter, client, all), late = 0;
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < count && !fail; i++) {
        if (!all[i].is_abandoned || all[i].state == MESSAGE_VOID)
            continue;
        late++;
        if (all[i].state == MESSAGE_REPLY)
            fail = primitives_message(interpreter, CHOICE_HEAR, &all[i]);
        else if (interpreter->cursors[client].cannot_reach[all[i].server])
            fail = primitives_message(interpreter, CHOICE_LOSE_REQUEST, &all[i]);
        else
            fail = primitives_message(interpreter, CHOICE_ARRIVE_LATE, &all[i]);
    }
    if (!fail && !late)
        return primitives_cannot_follow(interpreter, "%s is not stalled",
                                        primitives_name(interpreter, client));
    return fail ? fail : primitives_operation(interpreter, client);
}

static enum fail go_on(struct interpreter *interpreter, int client)
{
    struct cursor *cursor = &interpreter->cursors[client];
    struct message message;
    bool was_stalled = false;
    for (enum lane lane = 0; lane < LANE_COUNT; lane++) {
        if (!cursor->stalled[lane].is_set)
            continue;
        was_stalled = true;
        bool is_there = primitives_find_stalled(interpreter, client, lane, &message);
        if (is_there && message.state == MESSAGE_VOID)
            return primitives_cannot_follow(
                interpreter, "its %s at server %d is lost: say '%s gives up' or '%s resends'",
                naming_command(&message), message.server + 1, primitives_name(interpreter, client),
                primitives_name(interpreter, client));
        cursor->stalled[lane].is_set = false;
        enum fail fail = is_there ? primitives_one(interpreter, &message) : FAIL_NONE;
        if (fail)
            return fail;
    }
    return was_stalled ? primitives_operation(interpreter, client)
                       : arrive_late(interpreter, client);
}

static enum fail lose(struct interpreter *interpreter, int client, enum choice_kind kind,
                      enum message_state wanted)
{
    const char *what = wanted == MESSAGE_REQUEST ? "request" : "reply";
    struct message message;
    if (stalled_as(interpreter, client, wanted, &message))
        return primitives_message(interpreter, kind, &message);
    if (!any_stalled(interpreter, client, &message))
        return primitives_cannot_follow(interpreter, "%s is not stalled: there is no %s to lose",
                                        primitives_name(interpreter, client), what);
    return primitives_cannot_follow(interpreter, "%s's %s is %s: there is no %s to lose",
                                    primitives_name(interpreter, client), naming_command(&message),
                                    message.state == MESSAGE_VOID    ? "lost already"
                                    : message.state == MESSAGE_REPLY ? "executed"
                                                                     : "not executed yet",
                                    what);
}

/* RESENDS: a void message. GIVES_UP: a void one, or the stalled one: a time-out. */
static enum fail give_up_or_resend(struct interpreter *interpreter, int client,
                                   enum choice_kind kind)
{
    struct message message;
    bool is_resend = kind == CHOICE_RESEND;
    bool is_found = stalled_as(interpreter, client, MESSAGE_VOID, &message) ||
                    (!is_resend && any_stalled(interpreter, client, &message)) ||
                    any_void(interpreter, client, &message);
    if (!is_found)
        return primitives_cannot_follow(interpreter, "%s has nothing %s",
                                        primitives_name(interpreter, client),
                                        is_resend ? "lost to resend" : "in flight to give up on");
    enum fail fail = primitives_message(interpreter, kind, &message);
    interpreter->cursors[client].stalled[message.lane].is_set = false;
    return fail ? fail : primitives_operation(interpreter, client);
}

/* SENT_TWICE: the stalled request. */
static enum fail send_twice(struct interpreter *interpreter, int client)
{
    struct message message;
    if (!stalled_as(interpreter, client, MESSAGE_REQUEST, &message))
        return primitives_cannot_follow(interpreter, "%s is not stalled before a request",
                                        primitives_name(interpreter, client));
    return primitives_message(interpreter, CHOICE_DUPLICATE, &message);
}

/* ARRIVES_LATE: the oldest of them, whatever the client does meanwhile. */
static enum fail arrive_one_late(struct interpreter *interpreter, int client)
{
    struct message all[MESSAGES_MAX];
    int count = primitives_messages(interpreter, client, all);
    for (int i = 0; i < count; i++)
        if (all[i].is_abandoned && all[i].state == MESSAGE_REQUEST)
            return primitives_message(interpreter, CHOICE_ARRIVE_LATE, &all[i]);
    return primitives_cannot_follow(interpreter, "%s has no late request on its way",
                                    primitives_name(interpreter, client));
}

/* ANSWERS: a request to that server, of those that stall. */
static enum fail answer(struct interpreter *interpreter, int client, int server)
{
    struct stalled *stalled = interpreter->cursors[client].stalled;
    struct message all[MESSAGES_MAX];
    int count = primitives_messages(interpreter, client, all);
    for (int i = 0; i < count; i++) {
        if (all[i].server != server || all[i].state != MESSAGE_REQUEST || all[i].is_abandoned ||
            !stalled[all[i].lane].is_set)
            continue;
        enum fail fail = primitives_message(interpreter, CHOICE_ANSWER_ERROR, &all[i]);
        stalled[all[i].lane].is_set = false;
        return fail ? fail : primitives_operation(interpreter, client);
    }
    return primitives_cannot_follow(interpreter, "%s is not stalled before a request to server %d",
                                    primitives_name(interpreter, client), server + 1);
}

static enum fail renew(struct interpreter *interpreter, int client)
{
    struct client_view view = primitives_view(interpreter, client);
    bool is_stalled;
    enum fail fail = refuse_stalled(interpreter, client, LANE_RENEW);
    if (fail)
        return fail;
    if (view.wake_us == INT64_MAX)
        return primitives_cannot_follow(interpreter,
                                        "%s has no timer: its scheme does not renew (now)",
                                        primitives_name(interpreter, client));
    fail = primitives_time(interpreter, view.wake_us, client);
    if (!fail)
        fail = primitives_wake(interpreter, client);
    if (!fail)
        fail = primitives_all(interpreter, client, interpreter->step, &is_stalled);
    if (!fail && interpreter->step->stall != STALL_NONE && !is_stalled)
        return primitives_never_stalled(interpreter, client);
    return fail;
}

static enum fail crash(struct interpreter *interpreter, int client)
{
    enum fail fail = primitives_client(interpreter, CHOICE_CRASH, client);
    memset(interpreter->cursors[client].stalled, 0, sizeof interpreter->cursors[client].stalled);
    return fail;
}

/* What a duration of a scenario is for this scheme: as it stands, or so much of its lease. */
static int64_t amount_of_step(const struct step *step, int64_t lease_us)
{
    return step->leases_milli ? lease_us / 1000 * step->leases_milli : step->amount_us;
}

static int64_t lease_of(const struct interpreter *interpreter)
{
    return scheme_lease_us(interpreter->scheme, interpreter->scenario->lease_us);
}

static int64_t amount_of(const struct interpreter *interpreter)
{
    return amount_of_step(interpreter->step, lease_of(interpreter));
}

/* A lock that connects for each command anew has none between them. */
static bool is_without_connection(struct interpreter *interpreter, const struct choice *choice)
{
    const struct client_view view = primitives_view(interpreter, choice->client);
    return view.phase != PHASE_DEAD && !(view.connected >> choice->server & 1);
}

/* A step that is one choice, where the world can make it. */
static enum fail strike(struct interpreter *interpreter, enum choice_kind kind)
{
    const struct step *step = interpreter->step;
    struct choice choice = {.kind = kind,
                            .client = step->client,
                            .server = step->server,
                            .amount_us = amount_of(interpreter)};
    struct failure why = {.code = FAIL_UNKNOWN};
    if (kind == CHOICE_LEASE) /* clients ask for what the scheme can count */
        choice.amount_us = scheme_lease_us(interpreter->scheme, choice.amount_us);
    if (interpreter->world->ops->can(interpreter->world, kind, &why))
        return primitives_refused(interpreter, &why);
    if (kind == CHOICE_HALF_OPEN && is_without_connection(interpreter, &choice))
        return primitives_cannot_follow(interpreter,
                                        "%s keeps no connection to server %d that could fall "
                                        "silent",
                                        primitives_name(interpreter, choice.client),
                                        choice.server + 1);
    enum fail fail = primitives_apply(interpreter, choice);
    if (!fail && kind == CHOICE_ANSWER_DIALS)
        fail = primitives_operation(interpreter, choice.client);
    if (!fail && choice.server >= 0)
        primitives_note_reach(interpreter, choice.server, kind);
    return fail;
}

/* How long past its end a lease is when it has expired: more than the checks allow any clock to be
 * wrong by, so that what comes then comes too late in real time as well. */
enum { EXPIRED_BY_US = 10000 };

static int64_t expiry_us(const struct scheme *scheme, int64_t lease_us)
{
    /* stamps count whole units, rounded up, and are compared with ">" */
    return lease_us + (scheme->uses_client_clock ? 2 * scheme->unit_us : EXPIRED_BY_US);
}

static enum fail expire(struct interpreter *interpreter)
{
    int64_t long_us = expiry_us(interpreter->scheme, lease_of(interpreter));
    return primitives_time(interpreter, primitives_now_us(interpreter) + long_us, -1);
}

static enum fail time_passes(struct interpreter *interpreter)
{
    return primitives_time(interpreter, primitives_now_us(interpreter) + amount_of(interpreter),
                           -1);
}

static enum fail take_step(struct interpreter *interpreter)
{
    const struct step *step = interpreter->step;
    int client = step->client;
    if (client >= 0 && primitives_view(interpreter, client).phase == PHASE_DEAD)
        return primitives_cannot_follow(interpreter, "%s has crashed",
                                        primitives_name(interpreter, client));
    switch (step->kind) {
    case STEP_ACQUIRES:
        return begin(interpreter, client, CHOICE_ACQUIRE, PHASE_IDLE);
    case STEP_RELEASES:
        return begin(interpreter, client, CHOICE_RELEASE, PHASE_HOLDING);
    case STEP_EXTENDS:
        return begin(interpreter, client, CHOICE_EXTEND, PHASE_HOLDING);
    case STEP_CANCELS:
        return cancel(interpreter, client);
    case STEP_WRITES:
        return begin(interpreter, client, CHOICE_WRITE, PHASE_HOLDING);
    case STEP_READS_COUNTER:
        return begin(interpreter, client, CHOICE_READ_COUNTER, PHASE_HOLDING);
    case STEP_WRITES_COUNTER:
        return begin(interpreter, client, CHOICE_WRITE_COUNTER, PHASE_HOLDING);
    case STEP_GOES_ON:
        return go_on(interpreter, client);
    case STEP_WAITS:
        return renew(interpreter, client);
    case STEP_CRASHES:
        return crash(interpreter, client);
    case STEP_LOSES_REQUEST:
        return lose(interpreter, client, CHOICE_LOSE_REQUEST, MESSAGE_REQUEST);
    case STEP_LOSES_REPLY:
        return lose(interpreter, client, CHOICE_LOSE_REPLY, MESSAGE_REPLY);
    case STEP_RESENDS:
        return give_up_or_resend(interpreter, client, CHOICE_RESEND);
    case STEP_GIVES_UP:
        return give_up_or_resend(interpreter, client, CHOICE_GIVE_UP);
    case STEP_SENT_TWICE:
        return send_twice(interpreter, client);
    case STEP_ARRIVES_LATE:
        return arrive_one_late(interpreter, client);
    case STEP_ANSWERS:
        return answer(interpreter, client, step->server);
    case STEP_CANNOT_REACH:
    case STEP_CAN_REACH:
        interpreter->cursors[client].cannot_reach[step->server] = step->kind == STEP_CANNOT_REACH;
        return FAIL_NONE;
    case STEP_EXPIRES:
        return expire(interpreter);
    case STEP_TIME_PASSES:
        return time_passes(interpreter);
#define STEP_CHOICE(id, name, fault, form, words) case STEP_##id:
#include "scenario/choices.def"
        return strike(interpreter, step_choice(step->kind));
    case STEP_COUNT:
        break;
    }
    assert(step->kind < STEP_COUNT); /* each row of the tables has its case above */
    return FAIL_INTERNAL;
}

int64_t interpreter_takes_us(const struct scenario *scenario, const struct scheme *scheme)
{
    int64_t takes_us = 0, lease_us = scheme_lease_us(scheme, scenario->lease_us);
    for (int i = 0; i < scenario->steps_count; i++) {
        const struct step *step = &scenario->steps[i];
        if (step->kind == STEP_EXPIRES)
            takes_us += expiry_us(scheme, lease_us);
        else if (step->kind == STEP_TIME_PASSES)
            takes_us += amount_of_step(step, lease_us);
        else if (step->kind == STEP_WAITS)
            takes_us += lease_us / 2; /* a renewal stands somewhere within its lease */
    }
    return takes_us;
}

enum fail interpreter_run(const struct scenario *scenario, const struct scheme *scheme,
                          struct world *world, struct choice_sink choices, struct failure *failure)
{
    struct failure unread;
    struct interpreter interpreter = {.scenario = scenario,
                                      .scheme = scheme,
                                      .world = world,
                                      .choices = choices,
                                      .failure = failure ? failure : &unread};
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < scenario->steps_count && !fail; i++) {
        interpreter.step = &scenario->steps[i];
        interpreter.made = 0;
        fail = take_step(&interpreter);
    }
    return fail;
}
