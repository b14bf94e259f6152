/* url.c - see url.h. Source: the IANA registration of the redis scheme; redis-cli -u. */
#include "live/url.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PORT_DEFAULT = 6379, PORT_MAX = 65535, DATABASE_MAX = 1000000 };

static enum fail wrong(struct failure *failure, const char *words)
{
    return failure_set(failure, FAIL_INPUT,
                       "the server's URL %s; write it as redis://[user[:password]@]host[:port]"
                       "[/database] or unix://[user:password@]path[?db=database]",
                       words);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies text[0..length) with its %XX made into bytes. */
static bool decode(const char *text, size_t length, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        if (byte == '%') {
            int high = i + 2 < length ? hex_digit(text[i + 1]) : -1;
            int low = high < 0 ? -1 : hex_digit(text[i + 2]);
            if (low < 0)
                return false;
            byte = (char)(high * 16 + low);
            i += 2;
        }
        if (byte == '\0' || used + 1 >= size)
            return false;
        out[used++] = byte;
    }
    out[used] = '\0';
    return true;
}

static bool read_number(const char *text, size_t length, int max, int *number)
{
    if (length == 0 || length > 7)
        return false;
    int value = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *number = value;
    return value <= max;
}

/* "user:password@", "user@" or ":password@"; moves *text behind it. */
static enum fail read_login(const char **text, size_t length, struct url *url,
                            struct failure *failure)
{
    const char *end = memrchr(*text, '@', length);
    if (!end)
        return FAIL_NONE;
    size_t login = (size_t)(end - *text);
    const char *colon = memchr(*text, ':', login);
    size_t user = colon ? (size_t)(colon - *text) : login;
    bool read = decode(*text, user, url->user, sizeof url->user);
    if (read && colon)
        read = decode(colon + 1, login - user - 1, url->password, sizeof url->password);
    if (!read)
        return wrong(failure, "has a user or password that cannot be read");
    url->has_login = login > 0;
    *text = end + 1;
    return FAIL_NONE;
}

static enum fail read_host(const char *text, size_t length, struct url *url,
                           struct failure *failure)
{
    const char *end = text + length, *host = text, *host_end;
    if (length && *text == '[') {
        host = text + 1;
        host_end = memchr(text, ']', length);
        if (!host_end)
            return wrong(failure, "has a [ without a ]");
        text = host_end + 1;
    } else {
        host_end = memchr(text, ':', length);
        text = host_end = host_end ? host_end : end;
    }
    url->port = PORT_DEFAULT;
    if (text < end &&
        (*text != ':' || !read_number(text + 1, (size_t)(end - text) - 1, PORT_MAX, &url->port) ||
         url->port == 0))
        return wrong(failure, "has a port that is not a number from 1 to 65535");
    if (host_end == host || !decode(host, (size_t)(host_end - host), url->host, sizeof url->host))
        return wrong(failure, "names no host");
    return FAIL_NONE;
}

static enum fail read_tcp(const char *text, struct url *url, struct failure *failure)
{
    size_t authority = strcspn(text, "/?#");
    const char *rest = text + authority, *start = text;
    if (read_login(&start, authority, url, failure) ||
        read_host(start, (size_t)(rest - start), url, failure))
        return failure ? failure->code : FAIL_INPUT;
    if (*rest == '/')
        rest++;
    if (*rest && !read_number(rest, strlen(rest), DATABASE_MAX, &url->database))
        return wrong(failure, "has a database that is not a number");
    (void)snprintf(url->shown, sizeof url->shown,
                   strchr(url->host, ':') ? "[%s]:%d/%d" : "%s:%d/%d", url->host, url->port,
                   url->database);
    return FAIL_NONE;
}

static enum fail read_unix(const char *text, struct url *url, struct failure *failure)
{
    size_t path = strcspn(text, "?");
    const char *query = text + path, *start = text;
    /* A login stands before the first slash; an @ behind it belongs to the path. */
    if (read_login(&start, strcspn(text, "/?"), url, failure))
        return failure ? failure->code : FAIL_INPUT;
    if (query == start)
        return wrong(failure, "names no socket");
    /* A login whose / is not written as %2F would be taken for a path, and shown. */
    if (*start != '/' && memchr(start, '@', (size_t)(query - start)))
        return wrong(failure, "has a / before its @; in a user or password it is written as %2F");
    if (!decode(start, (size_t)(query - start), url->path, sizeof url->path))
        return wrong(failure, "has a path that is longer than a socket's may be");
    if (*query && (strncmp(query, "?db=", 4) != 0 ||
                   !read_number(query + 4, strlen(query + 4), DATABASE_MAX, &url->database)))
        return wrong(failure, "has something other than ?db=NUMBER behind its path");
    (void)snprintf(url->shown, sizeof url->shown, "%s?db=%d", url->path, url->database);
    return FAIL_NONE;
}

enum fail url_read(const char *text, struct url *url, struct failure *failure)
{
    memset(url, 0, sizeof *url);
    if (strncasecmp(text, "redis://", 8) == 0)
        return read_tcp(text + 8, url, failure);
    if (strncasecmp(text, "unix://", 7) == 0)
        return read_unix(text + 7, url, failure);
    if (strncasecmp(text, "rediss://", 9) == 0)
        return wrong(
            failure,
            "asks for TLS, which only picklock proxy --upstream rediss://HOST:PORT speaks: "
            "let one stand between, and give its address here");
    return wrong(failure, "starts with neither redis:// nor unix://");
}
