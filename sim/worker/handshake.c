/* handshake.c - what a connection of a worker says before it is used. See session.h. */
#include "base/names.h"
#include "proxy/proxy.h"
#include "worker/session_state.h"
#include "worker/wire_words.h"

#include <stdlib.h>
#include <string.h>

bool session_is_handshake(const char *name)
{
    static const char *const names[] = {"HELLO", "AUTH",    "SELECT", "CLIENT",
                                        "INFO",  "COMMAND", "QUIT"};
    return NAMES_FIND(names, name) >= 0;
}

void session_note_handshake(struct session *session, const struct proxy_request *request)
{
    const struct wire_words words = wire_words_read(request->bytes, request->length);
    if (words.count < 2)
        return;
    const int number = atoi(words.words[1]);
    if (strcmp(request->name, "HELLO") == 0)
        session->protocol = number;
    else if (strcmp(request->name, "SELECT") == 0)
        session->database = number;
}

int session_protocol(const struct session *session)
{
    return session->protocol ? session->protocol : 2;
}

int session_database(const struct session *session)
{
    return session->database;
}
