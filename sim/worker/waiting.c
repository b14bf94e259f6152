/* waiting.c - commands that wait at their server: pops that block, and WAIT. See session.h.
 *
 * Within a transaction nothing waits: a server answers at once, as if the time were over (Redis
 * documentation, BLPOP, "within a MULTI / EXEC transaction"). So each is tried as one, over a
 * connection of our own, and where there is nothing for it, it stands here until something was
 * executed at that server, or its time is over. Who came first is tried first, as by a server. */
#include "base/memory.h"
#include "worker/session_state.h"
#include "worker/wire_words.h"

#include <stdlib.h>
#include <string.h>

/* Which word says for how long; LAST: the last one. */
enum { LAST = -1, SECOND_US = 1000000, MILLISECOND_US = 1000 };

static const struct waiting_command {
    const char *name;
    int limit_word, unit_us;
} commands[] = {
    {"BLPOP", LAST, SECOND_US},      {"BRPOP", LAST, SECOND_US},    {"BLMOVE", LAST, SECOND_US},
    {"BRPOPLPUSH", LAST, SECOND_US}, {"BZPOPMIN", LAST, SECOND_US}, {"BZPOPMAX", LAST, SECOND_US},
    {"BLMPOP", 1, SECOND_US},        {"BZMPOP", 1, SECOND_US},      {"WAIT", LAST, MILLISECOND_US},
};

static const char acknowledges[] = "WAIT";

/* A number of the server's, as far as it is one: what is none it refuses. */
static double number_at(const struct wire_words *words, int at)
{
    char text[64] = "";
    if (at < words->count && words->lengths[at] < sizeof text)
        memcpy(text, words->words[at], words->lengths[at]);
    return strtod(text, NULL);
}

void waiting_fill(struct wire_message *message)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(message->name, commands[i].name) != 0)
            continue;
        const struct wire_words words = wire_words_read(message->bytes, message->length);
        const int at = commands[i].limit_word == LAST ? words.count - 1 : commands[i].limit_word;
        const double limit = number_at(&words, at) * commands[i].unit_us;
        message->can_wait = true;
        message->limit_us = limit > 0 && limit < 1e15 ? (int64_t)limit : TIME_NEVER;
    }
}

/* --- tried --- */

static void keep_reply(struct wire_message *message, const struct spoken_reply *spoken, size_t from)
{
    free(message->reply);
    message->reply_length = spoken->used - from;
    message->reply = memory_new(message->reply_length + 1, 1);
    memcpy(message->reply, spoken->bytes + from, message->reply_length);
}

/* Its answer without those to MULTI and EXEC. */
static enum fail ask_at_once(struct server_wire *wire, struct wire_message *message,
                             struct failure *failure)
{
    static const char multi[] = "*1\r\n$5\r\nMULTI\r\n", exec[] = "*1\r\n$4\r\nEXEC\r\n",
                      one[] = "*1\r\n";
    struct spoken_reply queued, spoken;
    if (server_wire_say(wire, multi, sizeof multi - 1, failure) ||
        server_wire_say(wire, message->bytes, message->length, failure) ||
        server_wire_hear(wire, 2, &queued, failure) ||
        server_wire_say(wire, exec, sizeof exec - 1, failure) ||
        server_wire_hear(wire, 1, &spoken, failure))
        return failure->code;
    const bool is_one = spoken.used > sizeof one - 1 && !memcmp(spoken.bytes, one, sizeof one - 1);
    if (*queued.bytes == '-')
        keep_reply(message, &queued, 0);
    else
        keep_reply(message, &spoken, is_one ? sizeof one - 1 : 0);
    return FAIL_NONE;
}

/* Is that what it waits for? */
static bool is_enough(const struct wire_message *message)
{
    const char *reply = message->reply;
    if (strcmp(message->name, acknowledges) == 0 && *reply == ':') {
        const struct wire_words words = wire_words_read(message->bytes, message->length);
        return strtod(reply + 1, NULL) >= number_at(&words, 1);
    }
    return *reply != '_' && strncmp(reply, "*-1", 3) != 0 && strncmp(reply, "$-1", 3) != 0;
}

static enum fail try(struct session *session, struct wire_message *message, struct failure *failure)
{
    struct server_wire wire = {0};
    enum fail fail = FAIL_NONE;
    /* In a transaction nobody asks the replica: it tells, as it would when asked. */
    if (strcmp(message->name, acknowledges) == 0)
        fail = replica_acknowledge(session_servers(session), message->server, failure);
    if (!fail)
        fail = session_open_beside(session, message->server, &wire, failure);
    if (!fail)
        fail = ask_at_once(&wire, message, failure);
    server_wire_close(&wire);
    if (fail)
        return failure_wrap(failure, "%s to server %d", message->name, message->server + 1);
    if (is_enough(message))
        message->transit = TRANSIT_REPLY;
    return FAIL_NONE;
}

enum fail waiting_execute(struct session *session, struct wire_message *message,
                          struct failure *failure)
{
    message->is_beside = true;
    if (try(session, message, failure))
        return failure->code;
    if (message->transit == TRANSIT_REPLY)
        return FAIL_NONE;
    /* A server forgets who waits when the connection ends. */
    message->transit = message->held ? TRANSIT_WAITING : TRANSIT_REPLY;
    message->turn = ++session->turns;
    message->until_us =
        message->limit_us == TIME_NEVER ? TIME_NEVER : session->now_us + message->limit_us;
    return FAIL_NONE;
}

/* --- served --- */

static struct wire_message *next_waiting(const struct session *session, int server, int64_t behind)
{
    struct wire_message *next = NULL;
    for (struct wire_message *it = session->first; it; it = it->next)
        if (it->transit == TRANSIT_WAITING && !it->is_gone && it->server == server &&
            it->turn > behind && (!next || it->turn < next->turn))
            next = it;
    return next;
}

bool session_has_waiting(const struct session *session, int server)
{
    return next_waiting(session, server, 0) != NULL;
}

enum fail session_serve(struct session *session, int server, struct wire_message **served,
                        struct failure *failure)
{
    *served = NULL;
    for (struct wire_message *it = next_waiting(session, server, 0); it;
         it = next_waiting(session, server, it->turn)) {
        if (try(session, it, failure))
            return failure->code;
        if (it->until_us <= session->now_us)
            it->transit = TRANSIT_REPLY;
        if (it->transit != TRANSIT_REPLY)
            continue;
        *served = it;
        if (session->events.executed)
            session->events.executed(session->events.context, it);
        return ears_listen(session, server, failure);
    }
    return FAIL_NONE;
}

enum fail session_serve_all(struct session *session, struct failure *failure)
{
    for (int server = 0; server < session->options.servers; server++) {
        struct wire_message *served = NULL;
        do {
            if (session_serve(session, server, &served, failure))
                return failure->code;
        } while (served);
    }
    return FAIL_NONE;
}
