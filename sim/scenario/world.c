/* world.c - see world.h. */
#include "scenario/world.h"

#include "redis/model.h"

#include <stdio.h>
#include <string.h>

struct history_head run_head(const struct run *run, const char *world)
{
    const bool is_real = strcmp(world, "sim") != 0; /* there all is so without a word */
    struct history_head head = {.clients = run->clients,
                                .servers = run->servers,
                                .locks = 1,
                                .names = run->names,
                                .lease_us = run->lease_us,
                                .unit_us = run->scheme->unit_us,
                                .seed = run->seed,
                                .is_directed = is_real,
                                .has_all_commands = is_real}; /* a scheme sends nothing beside it */
    (void)snprintf(head.scheme, sizeof head.scheme, "%s", run->scheme->name);
    (void)snprintf(head.world, sizeof head.world, "%s", world);
    return head;
}

bool message_is_held(const struct message *message, enum server_reach reach)
{
    if (reach != REACH_READ_ONLY)
        return reach != REACH_OPEN;
    return message->state == MESSAGE_REQUEST &&
           (message->opaque.name[0] || model_may_write(message->command.verb));
}
