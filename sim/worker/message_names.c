/* message_names.c - what messages of workers are called: "A's 2nd EVALSHA to server 1". */
#include "base/memory.h"
#include "worker/session_state.h"

#include <stdio.h>
#include <string.h>

int session_next_ordinal(struct session *session, int client, int server, const char *name)
{
    for (int i = 0; i < session->names_count; i++) {
        struct name_count *row = &session->names[i];
        if (row->client == client && row->server == server && strcmp(row->name, name) == 0)
            return ++row->count;
    }
    session->names =
        memory_resize(session->names, (size_t)session->names_count + 1, sizeof *session->names);
    struct name_count *row = &session->names[session->names_count++];
    *row = (struct name_count){.client = client, .server = server, .count = 1};
    (void)snprintf(row->name, sizeof row->name, "%s", name);
    return 1;
}

void session_forget_names(struct session *session)
{
    session->names_count = 0;
}

static const char *ending(int ordinal)
{
    const int last = ordinal % 10;
    if (ordinal / 10 % 10 == 1 || last == 0 || last > 3)
        return "th";
    return last == 1 ? "st" : last == 2 ? "nd" : "rd";
}

const char *session_name_message(const char (*names)[NAME_MAX_BYTES],
                                 const struct wire_message *message, char *text, size_t size)
{
    (void)snprintf(text, size, "%s's %d%s %s to server %d", names[message->client],
                   message->ordinal, ending(message->ordinal), message->name, message->server + 1);
    return text;
}
