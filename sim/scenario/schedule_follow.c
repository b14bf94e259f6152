/* schedule_follow.c - see schedule_follow.h. Decides from the schedule, world_ops.messages() and
 * .client() alone. Here: operations, and all that is about no message. */
#include "scenario/follower.h"

#include "base/memory.h"
#include "scenario/naming.h"
#include "scenario/sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words --- */

const char *follower_name(const struct follower *follower, int client)
{
    return follower->schedule->names[client];
}

enum fail follower_lost(struct follower *follower, const char *format, ...)
{
    char words[FAILURE_TEXT_MAX / 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return failure_set(&follower->why, FAIL_UNKNOWN, "%s", words);
}

/* Takes words; tells them once. */
void follower_tell(struct follower *follower, char *words)
{
    struct followed *followed = follower->followed;
    for (int i = 0; i < followed->count; i++)
        if (!strcmp(followed->differences[i], words)) {
            free(words);
            return;
        }
    if (followed->count == FOLLOWED_MAX) {
        free(words);
        return;
    }
    followed->differences = memory_resize(followed->differences, (size_t)followed->count + 1,
                                          sizeof *followed->differences);
    followed->differences[followed->count++] = words;
}

const char *follower_operation(const struct follower *follower, int client)
{
    switch (follower->parts[client].begun) {
    case CHOICE_ACQUIRE:
        return "acquire";
    case CHOICE_RELEASE:
        return "release";
    case CHOICE_EXTEND:
        return "extend";
    default:
        return "critical section";
    }
}

/* --- the world --- */

struct client_view follower_view(const struct follower *follower, int client)
{
    return follower->world->ops->client(follower->world, client);
}

bool follower_is_over(const struct follower *follower, int client)
{
    const struct client_view view = follower_view(follower, client);
    const enum choice_kind begun = follower->parts[client].begun;
    return begun == CHOICE_ACQUIRE   ? view.phase != PHASE_ACQUIRING
           : begun == CHOICE_RELEASE ? view.phase != PHASE_RELEASING
                                     : !view.is_accessing;
}

static bool is_anybody_else(const struct follower *follower, int client)
{
    for (int i = 0; i < follower->schedule->clients; i++) {
        const enum phase phase = follower_view(follower, i).phase;
        if (i != client && phase != PHASE_IDLE && phase != PHASE_DEAD)
            return true;
    }
    return false;
}

/* A lock that is refused although nobody has it was never under test. */
static enum fail look_at_refusal(struct follower *follower, int client)
{
    struct actor_part *part = &follower->parts[client];
    const int64_t took_us = follower->world->ops->now_us(follower->world) - part->began_us;
    part->has_no_reason = !follower->was_struck && !is_anybody_else(follower, client) &&
                          took_us < follower->schedule->lease_us;
    if (!part->has_no_reason || follower->was_granted)
        return FAIL_NONE;
    return follower_lost(follower, "%s is refused, though nobody has the lock",
                         follower_name(follower, client));
}

enum fail follower_refuse_error(struct follower *follower, int client)
{
    const enum result last = follower_view(follower, client).last;
    if (follower->was_struck || (last != RESULT_FAILED && last != RESULT_CRASHED))
        return FAIL_NONE;
    const bool is_acquire = follower->parts[client].begun == CHOICE_ACQUIRE;
    return follower_lost(follower, "%s's %s fails now, without a fault%s",
                         follower_name(follower, client), follower_operation(follower, client),
                         is_acquire ? ""
                                    : " (of a lock that is certainly not its own any more it is to "
                                      "say so: an error leaves open what it did)");
}

static enum fail look_at_end(struct follower *follower, int client, const struct client_view *was)
{
    const struct client_view view = follower_view(follower, client);
    const struct actor_part *part = &follower->parts[client];
    const bool has_ended = was->phase != view.phase || (was->is_accessing && !view.is_accessing);
    if (!has_ended)
        return FAIL_NONE;
    follower->was_granted |= view.phase == PHASE_HOLDING;
    if (was->phase != PHASE_HOLDING && view.phase == PHASE_IDLE && view.last == RESULT_REFUSED)
        return look_at_refusal(follower, client);
    return part->is_changed ? follower_refuse_error(follower, client) : FAIL_NONE;
}

/* By a time-out of its own: it goes on, and what it waited for is still on its way. */
static bool has_given_up(const struct follower *follower, int client)
{
    struct message messages[MESSAGES_MAX];
    return follower->world->ops->messages(follower->world, client, messages) > 0;
}

enum fail follower_make(struct follower *follower, const struct choice *choice)
{
    const struct world_ops *ops = follower->world->ops;
    struct client_view was = {0};
    if (choice->client >= 0)
        was = follower_view(follower, choice->client);
    follower->why = (struct failure){.code = FAIL_UNKNOWN};
    enum fail fail = ops->can(follower->world, choice->kind, &follower->why);
    if (!fail)
        fail = ops->apply(follower->world, choice, &follower->why);
    if (fail)
        return fail;
    follower->choices.take(follower->choices.context, choice);
    follower->was_struck |= choice_is_fault(choice->kind) ||
                            (choice->kind == CHOICE_WAKE && has_given_up(follower, choice->client));
    return choice->client >= 0 ? look_at_end(follower, choice->client, &was) : FAIL_NONE;
}

/* --- what the schedule says further down --- */

bool follower_begins(enum choice_kind kind)
{
    return kind == CHOICE_ACQUIRE || kind == CHOICE_RELEASE || kind == CHOICE_EXTEND ||
           kind == CHOICE_WRITE || kind == CHOICE_READ_COUNTER || kind == CHOICE_WRITE_COUNTER;
}

/* The client's next choice behind `from`; NULL: none. */
const struct choice *follower_next(const struct follower *follower, int client, int *from)
{
    const struct schedule *schedule = follower->schedule;
    while (++*from < schedule->choices_count)
        if (schedule->choices[*from].client == client)
            return &schedule->choices[*from];
    return NULL;
}

/* --- choices about clients --- */

/* Why the client has no lock to go on with; NULL: that cannot be told. */
static const char *why_without(const struct follower *follower, int client)
{
    const struct client_view view = follower_view(follower, client);
    if (view.phase == PHASE_DEAD)
        return "has ended by itself";
    if (view.phase != PHASE_IDLE)
        return NULL;
    if (view.last == RESULT_REFUSED)
        return "is refused now";
    return view.last == RESULT_GRANTED ? "was told that its lock is gone" : NULL;
}

static enum fail begin(struct follower *follower, const struct choice *choice)
{
    const int client = choice->client;
    struct actor_part *part = &follower->parts[client];
    enum fail fail = follower_finish(follower, client);
    if (fail)
        return fail;
    const enum phase wanted = choice->kind == CHOICE_ACQUIRE ? PHASE_IDLE : PHASE_HOLDING;
    const char *why = why_without(follower, client);
    const bool is_for_nothing = part->has_no_reason;
    *part = (struct actor_part){.begun = choice->kind,
                                .operation = part->operation + 1,
                                .began_us = follower->world->ops->now_us(follower->world)};
    if (follower_view(follower, client).phase == wanted || !why)
        return follower_make(follower, choice);
    part->is_left_out = true;
    if (is_for_nothing)
        return follower_lost(follower, "%s %s, though nobody has the lock",
                             follower_name(follower, client), why);
    follower_tell(follower,
                  memory_format("%s %s: its %s is left out", follower_name(follower, client), why,
                                follower_operation(follower, client)));
    return FAIL_NONE;
}

static enum fail wake(struct follower *follower, const struct choice *choice)
{
    const int client = choice->client;
    const struct actor_part *part = &follower->parts[client];
    const bool is_due =
        follower_view(follower, client).wake_us <= follower->world->ops->now_us(follower->world);
    if (is_due || part->begun == CHOICE_COUNT ||
        !(part->is_left_out || follower_is_over(follower, client)))
        return follower_make(follower, choice);
    follower_tell(follower, memory_format("%s sets no timer in its %s any more",
                                          follower_name(follower, client),
                                          follower_operation(follower, client)));
    return FAIL_NONE;
}

/* What was in the way may be gone, and its acquire be over by now. */
static enum fail cancel(struct follower *follower, const struct choice *choice)
{
    if (follower_view(follower, choice->client).phase == PHASE_ACQUIRING)
        return follower_make(follower, choice);
    follower_tell(follower, memory_format("%s's acquire is over by now: it is not cancelled",
                                          follower_name(follower, choice->client)));
    return FAIL_NONE;
}

static enum fail follow_choice(struct follower *follower, const struct choice *choice)
{
    if (choice->client < 0)
        return follower_make(follower, choice);
    if (follower_view(follower, choice->client).phase == PHASE_DEAD &&
        !follower_begins(choice->kind) && follower->parts[choice->client].is_left_out)
        return FAIL_NONE;
    if (follower_begins(choice->kind))
        return begin(follower, choice);
    if (naming_is_about_message(choice->kind))
        return follower_message(follower, choice);
    if (choice->kind == CHOICE_CANCEL)
        return cancel(follower, choice);
    return choice->kind == CHOICE_WAKE ? wake(follower, choice) : follower_make(follower, choice);
}

/* Where the schedule lets the client begin something next, its operation has ended by now. */
static enum fail finish_in_time(struct follower *follower, int client)
{
    int at = follower->at;
    const struct choice *next = follower_next(follower, client, &at);
    return next && follower_begins(next->kind) ? follower_finish(follower, client) : FAIL_NONE;
}

/* --- all --- */

static enum fail follow_all(struct follower *follower)
{
    const struct schedule *schedule = follower->schedule;
    for (; follower->at < schedule->choices_count; follower->at++) {
        const struct choice *choice = &schedule->choices[follower->at];
        enum fail fail = follow_choice(follower, choice);
        if (!fail && choice->client >= 0)
            fail = finish_in_time(follower, choice->client);
        if (fail)
            return fail;
    }
    follower->at--;
    for (int client = 0; client < schedule->clients; client++)
        if (follower_view(follower, client).phase != PHASE_DEAD &&
            follower_finish(follower, client))
            return FAIL_UNKNOWN;
    return FAIL_NONE;
}

static enum fail say_where(const struct follower *follower, const char *path, enum fail fail,
                           struct failure *failure)
{
    const struct schedule *schedule = follower->schedule;
    const int at = follower->at;
    char line[SENTENCE_MAX];
    return failure_set(
        failure, fail, "%.600s:%d: %s: %.900s", path ? path : "schedule",
        schedule->lines[at] ? schedule->lines[at] : at + 1,
        choice_print(&schedule->choices[at], (const char(*)[64])schedule->names, line, sizeof line),
        follower->why.text);
}

enum fail schedule_follow(const struct schedule *schedule, const char *path, struct world *world,
                          struct choice_sink choices, struct followed *followed,
                          struct failure *failure)
{
    struct follower follower = {
        .schedule = schedule, .world = world, .choices = choices, .followed = followed};
    *followed = (struct followed){0};
    for (int i = 0; i < ACTORS_MAX; i++)
        follower.parts[i].begun = CHOICE_COUNT;
    enum fail fail = schedule->choices_count ? follow_all(&follower) : FAIL_NONE;
    if (fail)
        fail = say_where(&follower, path, fail, failure);
    free(follower.counterparts);
    return fail;
}

void followed_close(struct followed *followed)
{
    for (int i = 0; i < followed->count; i++)
        free(followed->differences[i]);
    free(followed->differences);
    *followed = (struct followed){0};
}
