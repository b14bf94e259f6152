/* guarded.c - see guarded.h. The same commands as of a scheme's client (world/client.c). */
#include "worker/guarded.h"

#include "worker/look.h"

struct command guarded_command(const struct guarded_section *guarded, enum choice_kind kind)
{
    if (kind == CHOICE_READ_COUNTER)
        return (struct command){.verb = VERB_GET, .key = KEY_COUNTER};
    if (kind == CHOICE_WRITE_COUNTER)
        return (struct command){
            .verb = VERB_SET, .key = KEY_COUNTER, .value = guarded->counter + 1};
    if (!guarded->has_fence)
        return (struct command){.verb = VERB_SET, .key = KEY_RESOURCE, .value = guarded->number};
    return (struct command){.verb = VERB_FENCED_SET,
                            .key = KEY_RESOURCE,
                            .value = guarded->fence,
                            .number = guarded->fence};
}

enum result guarded_ended(struct guarded_section *guarded, const struct command *command,
                          const struct reply *reply)
{
    if (!reply || reply->kind == REPLY_ERROR)
        return RESULT_FAILED;
    if (command->verb == VERB_GET)
        guarded->counter = reply->kind == REPLY_VALUE ? reply->value : 0;
    if (command->verb == VERB_FENCED_SET && reply_is_integer(reply, 0))
        return RESULT_STALE;
    return RESULT_DONE;
}

enum fail guarded_ask(struct server_wire *wire, const char *host, int port, const char *prefix,
                      const struct command *command, struct reply *reply, struct failure *failure)
{
    char bytes[COMMAND_BYTES_MAX];
    struct spoken_reply spoken;
    const size_t length = command_encode(command, prefix, bytes);
    if ((!wire->context && server_wire_open(wire, host, port, failure)) ||
        server_wire_say(wire, bytes, length, failure) ||
        server_wire_hear(wire, 1, &spoken, failure)) {
        server_wire_close(wire);
        return failure->code;
    }
    *reply = look_reply(spoken.bytes, spoken.used);
    return FAIL_NONE;
}
