/* address.c - where to listen and where to dial: text to address, address to socket address.
 * Resolves at once, when the proxy is made; never while links are served. */
#include "proxy/internal.h"

#include <ctype.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static enum fail read_port(const char *text, const char *whole, int *port, struct failure *failure)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || value > 65535)
        return failure_set(failure, FAIL_INPUT,
                           "'%.200s' is not an address such as 127.0.0.1:6379, 6379, [::1]:6379, "
                           "unix:/run/redis.sock or rediss://127.0.0.1:6379",
                           whole);
    *port = (int)value;
    return FAIL_NONE;
}

enum fail proxy_address_read(const char *text, struct proxy_address *address,
                             struct failure *failure)
{
    *address = (struct proxy_address){0};
    if (!strncmp(text, "unix:", 5) || text[0] == '/') {
        const char *path = text[0] == '/' ? text : text + 5;
        if (!*path || strlen(path) >= sizeof address->path)
            return failure_set(failure, FAIL_INPUT,
                               "'%.200s': a unix socket's path has 1 to %zu bytes", text,
                               sizeof address->path - 1);
        strcpy(address->path, path);
        return FAIL_NONE;
    }
    if (!strncmp(text, "redis://", 8) || !strncmp(text, "rediss://", 9)) {
        address->is_tls = text[5] == 's';
        text = strstr(text, "://") + 3;
        if (strpbrk(text, "@/?"))
            return failure_set(failure, FAIL_INPUT,
                               "the server's URL is rediss://HOST:PORT here, and no more: clients "
                               "log in and choose a database themselves");
    }
    const char *colon = strrchr(text, ':');
    if (read_port(colon ? colon + 1 : text, text, &address->port, failure))
        return failure->code;
    size_t length = colon ? (size_t)(colon - text) : 0;
    const char *host = text;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        host++;
        length -= 2;
    }
    if (length >= sizeof address->host)
        return failure_set(failure, FAIL_INPUT, "'%.40s...': the host is too long", text);
    memcpy(address->host, length ? host : "127.0.0.1", length ? length : sizeof "127.0.0.1");
    return FAIL_NONE;
}

enum fail proxy_address_check(const struct proxy_address *address, struct failure *failure)
{
    struct address resolved;
    return address_resolve(address, &resolved, failure);
}

enum fail address_resolve(const struct proxy_address *wanted, struct address *address,
                          struct failure *failure)
{
    *address = (struct address){0};
    if (wanted->path[0]) {
        memcpy(address->path, wanted->path, sizeof address->path);
        snprintf(address->text, sizeof address->text, "unix:%s", wanted->path);
        return FAIL_NONE;
    }
    const char *host = wanted->host[0] ? wanted->host : "127.0.0.1";
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char port[16];
    address->is_tls = wanted->is_tls;
    snprintf(address->host, sizeof address->host, "%s", host);
    snprintf(port, sizeof port, "%d", wanted->port);
    snprintf(address->text, sizeof address->text, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host,
             wanted->port);
    int error = getaddrinfo(host, port, &hints, &found);
    if (error)
        return failure_set(failure, FAIL_UNAVAILABLE, "cannot find %s: %s", address->text,
                           gai_strerror(error));
    memcpy(&address->storage, found->ai_addr, found->ai_addrlen);
    address->length = found->ai_addrlen;
    freeaddrinfo(found);
    return FAIL_NONE;
}
