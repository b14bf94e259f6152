/* rules.c - see rules.h. */
#include "world/rules.h"

#include "scenario/naming.h"

#include <inttypes.h>

enum fail rules_names_somebody(const struct run *run, const struct choice *choice,
                               struct failure *failure)
{
    if (choice_names_client(choice->kind) && (choice->client < 0 || choice->client >= run->clients))
        return failure_set(failure, FAIL_UNKNOWN, "there is no client %d", choice->client + 1);
    if (choice_names_server(choice->kind) && (choice->server < 0 || choice->server >= run->servers))
        return failure_set(failure, FAIL_UNKNOWN, "there is no server %d", choice->server + 1);
    return FAIL_NONE;
}

/* A step may send to every server on both lanes. */
enum fail rules_have_room(const struct run *run, const struct choice *choice, int messages,
                          struct failure *failure)
{
    if (messages + LANE_COUNT * run->servers <= MESSAGES_MAX)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNKNOWN, "%s has too many messages in flight (at most %d)",
                       run->names[choice->client], MESSAGES_MAX);
}

enum fail rules_want_phase(const struct run *run, const struct choice *choice,
                           const struct client_view *client, enum phase phase,
                           struct failure *failure)
{
    static const char *const words[] = {
        [PHASE_IDLE] = "idle",       [PHASE_ACQUIRING] = "acquiring",
        [PHASE_HOLDING] = "holding", [PHASE_RELEASING] = "releasing",
        [PHASE_DEAD] = "dead",
    };
    const char *name = run->names[choice->client];
    if (client->phase != phase)
        return failure_set(failure, FAIL_UNKNOWN, "%s is %s, not %s", name, words[client->phase],
                           words[phase]);
    if (client->is_accessing)
        return failure_set(failure, FAIL_UNKNOWN,
                           "%s still waits for a command while it holds the lock", name);
    return FAIL_NONE;
}

enum fail rules_want_timer(const struct run *run, const struct choice *choice,
                           const struct client_view *client, int64_t now_us,
                           struct failure *failure)
{
    const char *name = run->names[choice->client];
    if (client->wake_us == INT64_MAX)
        return failure_set(failure, FAIL_UNKNOWN, "%s has no timer", name);
    if (client->wake_us > now_us)
        return failure_set(failure, FAIL_UNKNOWN, "%s's timer is due in %" PRId64 " us", name,
                           client->wake_us - now_us);
    return FAIL_NONE;
}

enum fail rules_refuse_turn(const struct choice *choice, const struct message *first,
                            struct failure *failure)
{
    return failure_set(failure, FAIL_UNKNOWN,
                       "%s to server %d comes before it on the same connection",
                       naming_command(first), choice->server + 1);
}

enum fail rules_let_pass(enum server_reach reach, const struct message *message,
                         struct failure *failure)
{
    if (!message_is_held(message, reach))
        return FAIL_NONE;
    if (reach != REACH_READ_ONLY)
        return failure_set(failure, FAIL_UNKNOWN,
                           "server %d is silent: nothing passes between it and its clients",
                           message->server + 1);
    return failure_set(failure, FAIL_UNKNOWN, "server %d holds writes, and %s may write",
                       message->server + 1, naming_command(message));
}
