/* control.c - see control.h. */
#include "live/control.h"

#include "base/monotonic.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static enum fail not_connected(const struct url *url, const redisContext *control,
                               struct failure *failure)
{
    return failure_set(failure, FAIL_UNAVAILABLE, "no connection to the server at %s: %s",
                       url->shown, control ? control->errstr : "out of memory");
}

/* What an error answer to AUTH means for us. Its first word alone is quoted: a server that does not
 * know the command repeats its arguments. */
static const char *login_meaning(const char *error)
{
    if (strncmp(error, "WRONGPASS", 9) == 0)
        return "the user or password is wrong";
    if (strstr(error, "without any password configured"))
        return "the URL has a password, but the server has none";
    return "the server refused the login";
}

void control_login_refused(const char *error, char *text, size_t size)
{
    (void)snprintf(text, size, "%s (%.*s)", login_meaning(error), (int)strcspn(error, " \t\r\n"),
                   error);
}

static enum fail login_refused(const struct url *url, const char *error, struct failure *failure)
{
    char text[128];
    control_login_refused(error, text, sizeof text);
    return failure_set(failure, FAIL_UNAVAILABLE, "server at %s: %s", url->shown, text);
}

/* --- what a server may answer --- */

enum {
    ELEMENTS_MAX = 1 << 22,
    SECONDS_DIGITS = 12, /* of a time: in microseconds it is a number of 64 bits */
    MICRO_DIGITS = 6,
};

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

static redisReplyObjectFunctions bounded;
static void *(*create_any)(const redisReadTask *, element_count);
static pthread_once_t is_bounded = PTHREAD_ONCE_INIT;

static void *create_bounded(const redisReadTask *task, element_count count)
{
    return count > ELEMENTS_MAX ? NULL : create_any(task, count);
}

static void make_bounded(void)
{
    redisReader *reader = redisReaderCreate();
    if (!reader)
        return;
    bounded = *reader->fn;
    create_any = bounded.createArray;
    bounded.createArray = create_bounded;
    redisReaderFree(reader);
}

/* hiredis makes room for all elements that are announced, before one of them has come: a server
 * that announces 2^31 of them would cost 16 GB, and the time to give them back. */
static void bound_answers(redisContext *control)
{
    (void)pthread_once(&is_bounded, make_bounded);
    if (create_any)
        control->reader->fn = &bounded;
}

static enum fail log_in(redisContext *control, const struct url *url, struct failure *failure)
{
    redisReply *reply = url->user[0] ? redisCommand(control, "AUTH %s %s", url->user, url->password)
                                     : redisCommand(control, "AUTH %s", url->password);
    if (!reply)
        return not_connected(url, control, failure);
    enum fail fail = FAIL_NONE;
    if (reply->type == REDIS_REPLY_ERROR)
        fail = login_refused(url, reply->str, failure);
    freeReplyObject(reply);
    return fail;
}

static enum fail prepare(redisContext *control, const struct url *url, struct failure *failure)
{
    if (redisSetTimeout(control, (struct timeval){.tv_sec = CONTROL_SECONDS}) != REDIS_OK)
        return not_connected(url, control, failure);
    if (url->has_login && log_in(control, url, failure))
        return failure ? failure->code : FAIL_UNAVAILABLE;
    if (url->database && control_do(control, failure, "SELECT %d", url->database))
        return failure_wrap(failure, "server at %s", url->shown);
    return FAIL_NONE;
}

enum fail control_open(redisContext **control, const struct url *url, struct failure *failure)
{
    const int64_t patience_us = control_patience_us();
    const struct timeval limit = {.tv_sec = patience_us / 1000000,
                                  .tv_usec = patience_us % 1000000};
    *control = url->path[0] ? redisConnectUnixWithTimeout(url->path, limit)
                            : redisConnectWithTimeout(url->host, url->port, limit);
    const bool is_open = *control && !(*control)->err;
    if (is_open)
        bound_answers(*control);
    enum fail fail =
        is_open ? prepare(*control, url, failure) : not_connected(url, *control, failure);
    if (fail) {
        control_shut(*control);
        *control = NULL;
    }
    return fail;
}

void control_shut(redisContext *control)
{
    if (control)
        redisFree(control);
}

int control_own_port(const redisContext *control)
{
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof own;
    if (!control || getsockname(control->fd, (struct sockaddr *)&own, &size) != 0)
        return 0;
    if (own.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&own)->sin6_port);
    return own.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&own)->sin_port) : 0;
}

static const char *error_meaning(const char *error)
{
    static const struct {
        const char *prefix, *words;
    } rows[] = {
        {"NOAUTH", "it wants a password, and the URL has none"},
        {"NOPERM", "this user may not do that"},
        {"LOADING", "it is still loading its data; try again when it has done so"},
        {"READONLY", "it is a replica, which takes no writes; name its primary"},
        {"MASTERDOWN", "it is a replica that has lost its primary"},
        {"OOM", "it is out of memory (maxmemory) and takes no writes"},
        {"MISCONF", "it cannot save to disk and takes no writes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(error, rows[i].prefix, strlen(rows[i].prefix)) == 0)
            return rows[i].words;
    return "it answered with an error";
}

/* --- asking --- */

enum {
    QUOTED_MAX = 48,
    LOOK_MS = 100,                  /* how often one that waits looks whether it is to end */
    HURRIED_MS = 500,               /* how long an answer may take when it is */
    NOT_ANSWERED = REDIS_ERR_OTHER, /* which hiredis says of no connection that is open */
};

/* What has come of an answer, up to its first line end, with what cannot be printed as dots:
 * hiredis forgets what it cannot read. */
static void quote(const redisReader *reader, char text[QUOTED_MAX + 1])
{
    const char *bytes = reader->buf + reader->pos;
    const size_t length = reader->len - reader->pos;
    size_t i = 0;
    for (; i < length && i < QUOTED_MAX && bytes[i] != '\r' && bytes[i] != '\n'; i++)
        text[i] = (char)(bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '.');
    text[i] = '\0';
}

static enum fail not_answered(const redisContext *control, const char *what, const char *said,
                              struct failure *failure)
{
    if (control->err == REDIS_ERR_PROTOCOL)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s was answered with something that is not Redis: \"%s\"", what, said);
    if (control->err == REDIS_ERR_OOM)
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s was answered with more than there is room for: \"%s\"", what, said);
    if (control->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK))
        return failure_set(failure, FAIL_UNAVAILABLE, "%s was not answered within %d s", what,
                           CONTROL_SECONDS);
    return failure_set(failure, FAIL_UNAVAILABLE, "%s was not answered: %s", what, control->errstr);
}

bool control_is_mute(const redisContext *control)
{
    return control && control->err == NOT_ANSWERED;
}

bool control_is_garbage(const redisContext *control)
{
    return control && control->err == REDIS_ERR_PROTOCOL;
}

static _Atomic(const volatile int *) heeded; /* other threads ask, too */

void control_heed(const volatile int *stop)
{
    heeded = stop;
}

bool control_is_hurried(void)
{
    const volatile int *stop = heeded;
    return stop && *stop;
}

int64_t control_patience_us(void)
{
    return (control_is_hurried() ? HURRIED_MS : CONTROL_SECONDS * 1000) * (int64_t)1000;
}

enum fail control_not_in_time(const char *what, const char *how, struct failure *failure)
{
    if (control_is_hurried())
        return failure_set(failure, FAIL_UNAVAILABLE,
                           "%s was not answered before the run was told to end", what);
    return failure_set(failure, FAIL_UNAVAILABLE, "%s was not answered within %d s%s", what,
                       CONTROL_SECONDS, how);
}

/* As long as the connection may wait (redisSetTimeout()), less when whoever asks is to end. */
static int64_t limit_us(const redisContext *control)
{
    struct timeval limit = {0};
    socklen_t size = sizeof limit;
    if (control_is_hurried())
        return control_patience_us();
    if (getsockopt(control->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) != 0 ||
        (!limit.tv_sec && !limit.tv_usec))
        limit.tv_sec = CONTROL_SECONDS;
    return (int64_t)limit.tv_sec * 1000000 + limit.tv_usec;
}

/* Is there something to read, or an error, before the limit of what was asked then? What is there
 * already is taken late, too, but for the rest of an answer that does not end. */
static bool has_come(const redisContext *control, int64_t asked_us, bool has_begun)
{
    struct pollfd answer = {.fd = control->fd, .events = POLLIN};
    for (;;) {
        const int ready = poll(&answer, 1, LOOK_MS);
        const bool is_there = ready > 0 || (ready < 0 && errno != EINTR);
        if (is_there && !has_begun)
            return true;
        if (monotonic_us() - asked_us >= limit_us(control))
            return false;
        if (is_there)
            return true;
    }
}

enum fail control_await(redisContext *control, int64_t asked_us, bool has_begun, const char *what,
                        struct failure *failure)
{
    if (has_come(control, asked_us, has_begun))
        return FAIL_NONE;
    /* Nothing is read from it any more: what came later would be taken for another answer. */
    control->err = NOT_ANSWERED;
    (void)snprintf(control->errstr, sizeof control->errstr, "an earlier question was not answered");
    return control_not_in_time(what, has_begun ? ": its answer had begun, and did not end" : "",
                               failure);
}

/* As redisGetReply(), but for a server that never ends its answer, too long or too slow, and for
 * whoever is to end meanwhile. */
static enum fail take_answer(redisContext *control, void **got, const char *what,
                             struct failure *failure)
{
    const int64_t asked_us = monotonic_us();
    char said[QUOTED_MAX + 1] = "";
    for (bool has_begun = false;; has_begun = true) {
        if (redisGetReplyFromReader(control, got) != REDIS_OK)
            return not_answered(control, what, said, failure);
        if (*got)
            return FAIL_NONE;
        if (control->reader->len > CONTROL_ANSWER_MAX)
            return failure_set(failure, FAIL_UNAVAILABLE,
                               "%s was answered with more than %d MB, and that was not the end: "
                               "that is no answer of Redis",
                               what, CONTROL_ANSWER_MAX >> 20);
        if (!control->err && control_await(control, asked_us, has_begun, what, failure))
            return FAIL_UNAVAILABLE;
        if (redisBufferRead(control) != REDIS_OK)
            return not_answered(control, what, said, failure);
        if (!has_begun)
            quote(control->reader, said);
    }
}

redisReply *control_reply(redisContext *control, const char *what, struct failure *failure)
{
    void *got = NULL;
    int is_sent = 0;
    if (!control) {
        failure_set(failure, FAIL_UNAVAILABLE, "%s: there is no connection to the server", what);
        return NULL;
    }
    while (!is_sent && redisBufferWrite(control, &is_sent) == REDIS_OK)
        ;
    return take_answer(control, &got, what, failure) ? NULL : got;
}

redisReply *control_answer(redisContext *control, const char *what, struct failure *failure)
{
    redisReply *reply = control_reply(control, what, failure);
    if (!reply || reply->type != REDIS_REPLY_ERROR)
        return reply;
    failure_set(failure, FAIL_UNAVAILABLE, "%s: %s (%.200s)", what, error_meaning(reply->str),
                reply->str);
    freeReplyObject(reply);
    return NULL;
}

void control_append(redisContext *control, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (control)
        (void)redisvAppendCommand(control, format, values);
    va_end(values);
}

static redisReply *ask(redisContext *control, struct failure *failure, const char *format,
                       va_list values)
{
    char what[16];
    (void)snprintf(what, sizeof what, "%.*s", (int)strcspn(format, " "), format);
    if (control)
        (void)redisvAppendCommand(control, format, values);
    return control_answer(control, what, failure);
}

redisReply *control_ask(redisContext *control, struct failure *failure, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = ask(control, failure, format, values);
    va_end(values);
    return reply;
}

enum fail control_do(redisContext *control, struct failure *failure, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = ask(control, failure, format, values);
    va_end(values);
    if (!reply)
        return FAIL_UNAVAILABLE;
    freeReplyObject(reply);
    return FAIL_NONE;
}

int64_t control_integer(redisContext *control, struct failure *failure, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    redisReply *reply = ask(control, failure, format, values);
    va_end(values);
    if (!reply)
        return INT64_MIN;
    int64_t value = INT64_MIN;
    if (reply->type == REDIS_REPLY_INTEGER)
        value = reply->integer;
    else
        failure_set(failure, FAIL_UNAVAILABLE, "%.*s was not answered with a number",
                    (int)strcspn(format, " "), format);
    freeReplyObject(reply);
    return value;
}

/* A text of digits alone, at most so many: a whole number. */
static bool is_whole(const redisReply *reply, size_t digits_max)
{
    return reply->type == REDIS_REPLY_STRING && reply->len > 0 && reply->len <= digits_max &&
           strspn(reply->str, "0123456789") == reply->len;
}

enum fail control_read_time(const redisReply *reply, int64_t *now_us, struct failure *failure)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !is_whole(reply->element[0], SECONDS_DIGITS) || !is_whole(reply->element[1], MICRO_DIGITS))
        return failure_set(failure, FAIL_UNAVAILABLE, "it answers TIME with no time");
    *now_us = atoll(reply->element[0]->str) * 1000000 + atoll(reply->element[1]->str);
    return FAIL_NONE;
}

enum fail control_time_us(redisContext *control, int64_t *now_us, struct failure *failure)
{
    redisReply *reply = control_ask(control, failure, "TIME");
    if (!reply)
        return FAIL_UNAVAILABLE;
    const enum fail fail = control_read_time(reply, now_us, failure);
    freeReplyObject(reply);
    return fail;
}

void control_field(const char *info, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);
    value[0] = '\0';
    for (const char *line = info; line && *line; line = strchr(line, '\n')) {
        if (*line == '\n')
            line++;
        if (strncmp(line, name, length) != 0 || line[length] != ':')
            continue;
        line += length + 1;
        (void)snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
        return;
    }
}

int64_t control_info_number(redisContext *control, const char *section, const char *field,
                            struct failure *failure)
{
    char value[24] = "";
    redisReply *info = control_ask(control, failure, "INFO %s", section);
    if (!info)
        return -1;
    if (info->type == REDIS_REPLY_STRING)
        control_field(info->str, field, value, sizeof value);
    freeReplyObject(info);
    return *value ? atoll(value) : -1;
}
