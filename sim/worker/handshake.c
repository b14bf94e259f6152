/* handshake.c - what a connection of a worker says before it is used. See session.h. */
#include "base/memory.h"
#include "base/names.h"
#include "proxy/proxy.h"
#include "redis/resp.h"
#include "worker/session_state.h"
#include "worker/wire_words.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool session_is_handshake(const char *name)
{
    static const char *const names[] = {"HELLO", "AUTH",    "SELECT", "CLIENT",
                                        "INFO",  "COMMAND", "QUIT"};
    return NAMES_FIND(names, name) >= 0;
}

/* --- who it says that it is --- */

/* As a redis-server 7 words it. */
static const char is_who[] = "+OK\r\n",
                  is_not_who[] =
                      "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

/* An inline command, as telnet would send it, has its words in one line. */
static struct wire_words words_of(const struct proxy_request *request)
{
    struct wire_words words = wire_words_read(request->bytes, request->length);
    struct resp_span spans[WIRE_WORDS_MAX];
    if (words.count || !request->length || *request->bytes == '*')
        return words;
    const int count = resp_split_inline(request->bytes, request->length, spans, WIRE_WORDS_MAX);
    for (int i = 0; i < count && i < WIRE_WORDS_MAX; i++) {
        words.words[words.count] = request->bytes + spans[i].offset;
        words.lengths[words.count++] = spans[i].length;
    }
    return words;
}

static bool is_text(const struct wire_words *words, int at, const char *text)
{
    return words->lengths[at] == strlen(text) &&
           memcmp(words->words[at], text, words->lengths[at]) == 0;
}

/* Of AUTH the user is optional. */
static bool is_right(const struct wire_words *words, int user, int password)
{
    return (user == password || is_text(words, user, WORKER_USER)) &&
           is_text(words, password, WORKER_PASSWORD);
}

/* "HELLO 3 SETNAME me AUTH user password": where AUTH is; -1: nowhere. */
static int find_auth(const struct wire_words *words)
{
    for (int at = 2; at + 2 < words->count; at++)
        if (words->lengths[at] == 4 && strncasecmp(words->words[at], "AUTH", 4) == 0)
            return at;
    return -1;
}

const char *session_answer_handshake(const struct proxy_request *request)
{
    const struct wire_words words = words_of(request);
    if (strcmp(request->name, "AUTH") == 0 && (words.count == 2 || words.count == 3))
        return is_right(&words, 1, words.count - 1) ? is_who : is_not_who;
    if (strcmp(request->name, "HELLO") != 0)
        return NULL;
    const int at = find_auth(&words);
    return at < 0 || is_right(&words, at + 1, at + 2) ? NULL : is_not_who;
}

/* As a redis-server 7 words it; HELLO is told how. */
static const char
    who[] = "-NOAUTH Authentication required.\r\n",
    who_hello[] = "-NOAUTH HELLO must be called with the client already authenticated, otherwise "
                  "the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the "
                  "client and select the RESP protocol version at the same time\r\n";

/* Our servers have no password. But who has told one has to tell it whenever it connects. */
const char *session_hear_who(struct session *session, struct wire *wire,
                             const struct proxy_request *request)
{
    const char *answer = session_answer_handshake(request);
    const bool is_hello = strcmp(request->name, "HELLO") == 0;
    const struct wire_words words = words_of(request);
    if (answer == is_who || (!answer && is_hello && find_auth(&words) >= 0))
        session->wants_who = wire->has_said_who = true;
    if (answer || !session->wants_who || wire->has_said_who || strcmp(request->name, "QUIT") == 0)
        return answer;
    return is_hello ? who_hello : who;
}

/* --- INFO, once --- */

static struct told_info *told_info_of(struct session *session, int server,
                                      const struct proxy_request *request)
{
    struct told_info *told = session->told_info;
    while (told && (told->server != server || told->asked_length != request->length ||
                    memcmp(told->asked, request->bytes, request->length) != 0))
        told = told->next;
    if (told)
        return told;
    told = memory_new(1, sizeof *told);
    *told = (struct told_info){.next = session->told_info,
                               .server = server,
                               .asked = memory_bytes(request->bytes, request->length),
                               .asked_length = request->length};
    session->told_info = told;
    return told;
}

bool session_repeats_info(struct session *session, struct wire *wire, struct proxy_request *request)
{
    wire->has_greeted |= strcmp(request->name, "HELLO") == 0;
    if (!session->options.repeats_info || wire->has_greeted || wire->has_begun || wire->asks ||
        !request->expects_reply || strcmp(request->name, "INFO") != 0)
        return false;
    struct told_info *told = told_info_of(session, wire->server, request);
    if (told->reply)
        proxy_request_answer(request, told->reply, told->reply_length);
    else
        wire->asks = told;
    return told->reply;
}

/* One text, all of it. */
static bool is_whole_text(const char *reply, size_t length)
{
    char *end;
    if (length < 2 || *reply != '$')
        return false;
    const unsigned long long bytes = strtoull(reply + 1, &end, 10);
    return (size_t)(end - reply) + bytes + 4 == length;
}

void session_remember_info(struct wire *wire, const struct proxy_request *request,
                           const char *reply, size_t length)
{
    struct told_info *told = wire->asks;
    if (!told || strcmp(request->name, "INFO") != 0)
        return;
    wire->asks = NULL;
    if (told->reply || !is_whole_text(reply, length))
        return;
    told->reply = memory_bytes(reply, length);
    told->reply_length = length;
}

void told_info_free(struct told_info *told)
{
    while (told) {
        struct told_info *next = told->next;
        free(told->asked);
        free(told->reply);
        free(told);
        told = next;
    }
}

/* --- what it is set to --- */

/* A lock's key is looked for in one database: which one it is, is what its workers say. */
static void select_database(struct session *session, int client, int database)
{
    struct failure failure;
    if (session->has_selected && session->database != database) {
        (void)failure_set(
            &failure, FAIL_INPUT,
            "it selects database %d where database %d was selected before: a worker's "
            "lock lives in one database, and one that uses several cannot be tested "
            "yet",
            database, session->database);
        session_fail(session, client, &failure);
        return;
    }
    session->has_selected = true;
    session->database = database;
}

void session_note_handshake(struct session *session, int client,
                            const struct proxy_request *request)
{
    const struct wire_words words = wire_words_read(request->bytes, request->length);
    if (words.count < 2)
        return;
    const int number = atoi(words.words[1]);
    if (strcmp(request->name, "HELLO") == 0)
        session->protocol = number;
    else if (strcmp(request->name, "SELECT") == 0)
        select_database(session, client, number);
}

int session_protocol(const struct session *session)
{
    return session->protocol ? session->protocol : 2;
}

int session_database(const struct session *session)
{
    return session->database;
}
