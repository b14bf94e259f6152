/* primitives.c - see primitives.h. */
#include "scenario/primitives.h"

#include "scenario/naming.h"
#include "scenario/sentence.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    /* Choices of one step: a watchdog that renews every 10 ms for two minutes, but no world that
       never ends. */
    STEP_CHOICES_MAX = 50000,
    /* Timers, one after the other, that bring nothing while a server refuses connections: many
       more than libraries dial before they give up (20 is usual). */
    VAIN_TIMERS_MAX = 30,
};

/* --- saying what went wrong --- */

const char *primitives_name(const struct interpreter *interpreter, int client)
{
    return interpreter->scenario->names[client];
}

static const char *place_of(const struct interpreter *interpreter, char *text, size_t size)
{
    char sentence[SENTENCE_MAX];
    const struct scenario *scenario = interpreter->scenario;
    step_print(interpreter->step, (const char(*)[64])scenario->names, sentence, sizeof sentence);
    snprintf(text, size, "%.600s:%d:%d: %s", scenario->path, interpreter->step->line,
             interpreter->step->column, sentence);
    return text;
}

static enum fail complain(struct interpreter *interpreter, enum fail code, const char *format,
                          va_list arguments)
{
    char words[500], place[1000];
    vsnprintf(words, sizeof words, format, arguments);
    return failure_set(interpreter->failure, code, "%s: %s",
                       place_of(interpreter, place, sizeof place), words);
}

enum fail primitives_diverged(struct interpreter *interpreter, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum fail fail = complain(interpreter, FAIL_UNKNOWN, format, arguments);
    va_end(arguments);
    return fail;
}

enum fail primitives_cannot_follow(struct interpreter *interpreter, const char *format, ...)
{
    bool is_spoken_of = scenario_expects(interpreter->scenario, interpreter->scheme);
    va_list arguments;
    va_start(arguments, format);
    enum fail fail =
        complain(interpreter, is_spoken_of ? FAIL_UNKNOWN : FAIL_NOT_APPLICABLE, format, arguments);
    va_end(arguments);
    return fail;
}

enum fail primitives_refused(struct interpreter *interpreter, const struct failure *why)
{
    char place[1000];
    return failure_set(interpreter->failure, why->code, "%s: %.900s",
                       place_of(interpreter, place, sizeof place), why->text);
}

/* --- the world --- */

struct client_view primitives_view(struct interpreter *interpreter, int client)
{
    return interpreter->world->ops->client(interpreter->world, client);
}

int64_t primitives_now_us(struct interpreter *interpreter)
{
    return interpreter->world->ops->now_us(interpreter->world);
}

int primitives_messages(struct interpreter *interpreter, int client, struct message *messages)
{
    int count = interpreter->world->ops->messages(interpreter->world, client, messages);
    assert(count >= 0 && count <= MESSAGES_MAX);
    return count;
}

/* What goes on all that time may be nothing but a timer. */
static const char *endless_advice(struct interpreter *interpreter)
{
    for (int i = 0; i < interpreter->scenario->clients; i++)
        if (primitives_view(interpreter, i).is_kept_waiting)
            return ": it waits for what does not come, while its process's timers ring; give its "
                   "commands a time-out";
    return "";
}

enum fail primitives_apply(struct interpreter *interpreter, struct choice choice)
{
    struct failure why = {.code = FAIL_UNKNOWN};
    if (interpreter->made++ >= STEP_CHOICES_MAX)
        return primitives_diverged(interpreter, "more than %d choices, and no end%s",
                                   STEP_CHOICES_MAX, endless_advice(interpreter));
    if (interpreter->world->ops->apply(interpreter->world, &choice, &why))
        return primitives_refused(interpreter, &why);
    if (interpreter->choices.take)
        interpreter->choices.take(interpreter->choices.context, &choice);
    return FAIL_NONE;
}

enum fail primitives_client(struct interpreter *interpreter, enum choice_kind kind, int client)
{
    return primitives_apply(interpreter,
                            (struct choice){.kind = kind, .client = client, .server = -1});
}

/* Where the choice means another message than this one, it would strike the wrong one. */
static enum fail check_named(struct interpreter *interpreter, const struct choice *choice,
                             const struct message *message)
{
    struct message all[MESSAGES_MAX];
    int count = primitives_messages(interpreter, message->client, all);
    int meant = naming_find(choice, all, count);
    if (meant < 0 ||
        (all[meant].lane == message->lane && all[meant].is_abandoned == message->is_abandoned &&
         all[meant].state == message->state))
        return FAIL_NONE;
    return primitives_diverged(interpreter, "an earlier %s of %s at server %d is still on its way",
                               naming_command(message),
                               primitives_name(interpreter, message->client), message->server + 1);
}

enum fail primitives_message(struct interpreter *interpreter, enum choice_kind kind,
                             const struct message *message)
{
    struct choice choice = naming_choice(kind, message);
    choice.error = kind == CHOICE_ANSWER_ERROR ? interpreter->step->error : ERROR_NONE;
    enum fail fail = check_named(interpreter, &choice, message);
    return fail ? fail : primitives_apply(interpreter, choice);
}

/* --- messages --- */

void primitives_note_reach(struct interpreter *interpreter, int server, enum choice_kind kind)
{
    enum server_reach *reach = &interpreter->reach[server];
    if (kind == CHOICE_SILENCE || kind == CHOICE_STOP)
        *reach = REACH_SILENT;
    else if (kind == CHOICE_REFUSE)
        *reach = REACH_REFUSED;
    else if (kind == CHOICE_PAUSE_WRITES)
        *reach = REACH_READ_ONLY;
    else if (choice_fault(kind) != FAULT_NONE && fault_ends_outage(choice_fault(kind)))
        *reach = REACH_OPEN;
}

/* It does not come as long as its server is as it is. One that refuses connections has none: what
 * was on them is void by itself. */
static bool is_held(const struct interpreter *interpreter, const struct message *message)
{
    const enum server_reach reach = interpreter->reach[message->server];
    return reach != REACH_REFUSED && message_is_held(message, reach);
}

/* A time-out comes when all else has come. */
static enum message_state state_to_move(const struct interpreter *interpreter,
                                        const struct message *message)
{
    return is_held(interpreter, message) ? MESSAGE_VOID : message->state;
}

/* Whether candidate moves before best: requests, replies, void; by server; then the oldest. */
static bool is_before(const struct interpreter *interpreter, const struct message *candidate,
                      const struct message *best)
{
    enum message_state state = state_to_move(interpreter, candidate);
    enum message_state best_state = state_to_move(interpreter, best);
    if (state != best_state)
        return state < best_state;
    return candidate->server < best->server;
}

/* The next message of the client to move; false when none is left but what is stalled or abandoned.
 */
static bool next_message(struct interpreter *interpreter, int client, struct message *next)
{
    struct message all[MESSAGES_MAX];
    int count = primitives_messages(interpreter, client, all);
    bool has_next = false;
    for (int i = 0; i < count; i++) {
        if (all[i].is_abandoned || interpreter->cursors[client].stalled[all[i].lane].is_set ||
            all[i].is_silent || state_to_move(interpreter, &all[i]) == MESSAGE_WAITING)
            continue;
        if (!has_next || is_before(interpreter, &all[i], next))
            *next = all[i];
        has_next = true;
    }
    return has_next;
}

enum fail primitives_one(struct interpreter *interpreter, const struct message *message)
{
    bool is_cut_off = interpreter->cursors[message->client].cannot_reach[message->server];
    if (is_held(interpreter, message))
        return primitives_message(interpreter, CHOICE_GIVE_UP, message);
    if (message->state == MESSAGE_REPLY)
        return primitives_message(interpreter, CHOICE_HEAR, message);
    if (message->state == MESSAGE_REQUEST && !is_cut_off)
        return primitives_message(interpreter, CHOICE_ARRIVE, message);
    if (message->state == MESSAGE_REQUEST &&
        primitives_message(interpreter, CHOICE_LOSE_REQUEST, message))
        return interpreter->failure->code;
    struct message lost = *message;
    lost.state = MESSAGE_VOID;
    return primitives_message(interpreter, CHOICE_GIVE_UP, &lost);
}

static bool stalls_here(const struct step *step, const struct message *message)
{
    enum message_state state = step->stall == STALL_BEFORE ? MESSAGE_REQUEST : MESSAGE_REPLY;
    if (step->stall == STALL_NONE || message->state != state)
        return false;
    if (!step->stalls_at_effect)
        return naming_is_command(message, verb_name(step->stall_verb));
    return naming_effect(message) == step->stall_effect;
}

enum fail primitives_all(struct interpreter *interpreter, int client, const struct step *stall,
                         bool *is_stalled)
{
    struct message message;
    *is_stalled = false;
    while (next_message(interpreter, client, &message)) {
        if (stall && stalls_here(stall, &message)) {
            struct stalled *stalled = &interpreter->cursors[client].stalled[message.lane];
            *stalled = (struct stalled){.is_set = true, .server = message.server};
            snprintf(stalled->command, sizeof stalled->command, "%s", naming_command(&message));
            *is_stalled = true;
            return FAIL_NONE;
        }
        enum fail fail = primitives_one(interpreter, &message);
        if (fail)
            return fail;
    }
    return FAIL_NONE;
}

/* --- time --- */

enum fail primitives_wake(struct interpreter *interpreter, int client)
{
    const struct client_view view = primitives_view(interpreter, client);
    if (view.wake_us > primitives_now_us(interpreter))
        return FAIL_NONE;
    return primitives_client(interpreter, CHOICE_WAKE, client);
}

/* A timer rings; what it sends runs to its end, unless its client stands still. */
static enum fail ring(struct interpreter *interpreter, int client)
{
    bool is_stalled;
    enum fail fail = primitives_wake(interpreter, client);
    if (fail || interpreter->cursors[client].stalled[LANE_MAIN].is_set)
        return fail;
    return primitives_all(interpreter, client, NULL, &is_stalled);
}

/* The client whose timer is due next and by until, or -1. Ties go to the first. but: left out. */
static int next_timer(struct interpreter *interpreter, int64_t until_us, int but, int64_t *due_us)
{
    int next = -1;
    *due_us = until_us;
    for (int i = 0; i < interpreter->scenario->clients; i++) {
        struct client_view view = primitives_view(interpreter, i);
        if (i == but || view.phase == PHASE_DEAD || view.wake_us == INT64_MAX)
            continue;
        if (next < 0 ? view.wake_us <= *due_us : view.wake_us < *due_us) {
            *due_us = view.wake_us;
            next = i;
        }
    }
    return next;
}

static enum fail pass_to(struct interpreter *interpreter, int64_t due_us)
{
    int64_t left_us = due_us - primitives_now_us(interpreter);
    if (left_us <= 0)
        return FAIL_NONE;
    return primitives_apply(
        interpreter,
        (struct choice){.kind = CHOICE_TIME, .client = -1, .server = -1, .amount_us = left_us});
}

enum fail primitives_time(struct interpreter *interpreter, int64_t until_us, int but)
{
    enum fail fail = FAIL_NONE;
    while (!fail) {
        int64_t due_us;
        int client = next_timer(interpreter, until_us, but, &due_us);
        fail = pass_to(interpreter, due_us);
        if (client < 0)
            break;
        if (!fail)
            fail = ring(interpreter, client);
    }
    return fail;
}

/* --- operations --- */

static bool is_over(const struct client_view *view)
{
    return view->phase != PHASE_ACQUIRING && view->phase != PHASE_RELEASING && !view->is_accessing;
}

enum fail primitives_never_stalled(struct interpreter *interpreter, int client)
{
    const struct step *step = interpreter->step;
    struct client_view view = primitives_view(interpreter, client);
    return primitives_cannot_follow(
        interpreter, "%s went on to the end (%s) and no %s came to stall %s",
        primitives_name(interpreter, client), result_name(view.last),
        step->stalls_at_effect ? effect_name(step->stall_effect) : verb_name(step->stall_verb),
        step->stall == STALL_BEFORE ? "before" : "after");
}

/* Is anything of it on a connection that is half-open? */
static bool has_silent(struct interpreter *interpreter, int client)
{
    struct message all[MESSAGES_MAX];
    bool has = false;
    for (int i = primitives_messages(interpreter, client, all) - 1; i >= 0; i--)
        has |= all[i].is_silent;
    return has;
}

/* Has it dialled in vain for so long that it may do so until there is somebody again? */
static bool is_shut_out(const struct interpreter *interpreter, int vain)
{
    bool is_refused = false;
    for (int i = 0; i < interpreter->scenario->servers; i++)
        is_refused |= interpreter->reach[i] == REACH_REFUSED;
    return is_refused && vain >= VAIN_TIMERS_MAX;
}

enum fail primitives_operation(struct interpreter *interpreter, int client)
{
    const struct step *step = interpreter->step;
    struct message all[MESSAGES_MAX];
    for (int vain = 0;;) {
        bool is_stalled;
        vain = primitives_messages(interpreter, client, all) ? 0 : vain + 1;
        enum fail fail = primitives_all(interpreter, client, step, &is_stalled);
        if (fail || is_stalled)
            return fail;
        struct client_view view = primitives_view(interpreter, client);
        if (is_over(&view) || interpreter->cursors[client].stalled[LANE_MAIN].is_set)
            return step->stall == STALL_NONE ? FAIL_NONE
                                             : primitives_never_stalled(interpreter, client);
        if (view.wake_us == INT64_MAX && (view.connecting || has_silent(interpreter, client)))
            return FAIL_NONE; /* for ever, or until it is answered: the story goes on */
        if (view.wake_us == INT64_MAX)
            return primitives_diverged(
                interpreter,
                "%s waits for ever: nothing of it moves by itself, and no timer sends anything",
                primitives_name(interpreter, client));
        if (is_shut_out(interpreter, vain))
            return FAIL_NONE; /* it tries again by its timers, and is let in when it can be */
        /* a scheme that sleeps between two tries of one attempt */
        fail = primitives_time(interpreter, view.wake_us, client);
        if (!fail)
            fail = primitives_wake(interpreter, client);
        if (fail)
            return fail;
    }
}

bool primitives_find_stalled(struct interpreter *interpreter, int client, enum lane lane,
                             struct message *message)
{
    const struct stalled *stalled = &interpreter->cursors[client].stalled[lane];
    struct message all[MESSAGES_MAX];
    int count = primitives_messages(interpreter, client, all);
    for (int i = 0; i < count && stalled->is_set; i++)
        if (!all[i].is_abandoned && all[i].lane == lane && all[i].server == stalled->server &&
            naming_is_command(&all[i], stalled->command)) {
            *message = all[i];
            return true;
        }
    return false;
}
