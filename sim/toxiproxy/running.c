/* running.c - see running.h. Addresses are read as Toxiproxy reads them, with its words for what is
 * wrong with them. */
#include "toxiproxy/running.h"

#include "base/memory.h"
#include "toxiproxy/redis_toxic.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct toxic_link {
    struct running_proxy *running;
    struct toxic_link *next, *previous;
    struct proxy_link *link;
    struct pipe *pipes[2]; /* enum proxy_stream */
    struct redis_stage *redis;
};

struct running_proxy {
    struct collection *collection;
    struct proxy_entry *entry; /* NULL: it is closing */
    struct proxy *proxy;
    struct toxic_link *connections;
};

/* --- links --- */

static void change_link(struct toxic_link *connection, struct toxic *toxic,
                        enum toxic_change change)
{
    if (toxic->rules && change == TOXIC_GOES)
        redis_stages_remove(&connection->redis, toxic);
    else if (toxic->rules)
        redis_stages_update(&connection->redis, toxic, connection->link);
    for (int i = 0; i < 2 && !toxic->rules; i++) {
        if (change == TOXIC_COMES)
            pipe_add(connection->pipes[i], toxic);
        else if (change == TOXIC_CHANGED)
            pipe_update(connection->pipes[i], toxic);
        else
            pipe_remove(connection->pipes[i], toxic);
    }
}

static void on_opened(void *context, struct proxy_link *link, int peer_port, void **owner)
{
    struct running_proxy *running = context;
    struct toxic_link *connection = *owner = memory_new(1, sizeof *connection);
    (void)peer_port;
    connection->running = running;
    connection->link = link;
    connection->next = running->connections;
    if (connection->next)
        connection->next->previous = connection;
    running->connections = connection;
    for (int i = 0; i < 2; i++)
        connection->pipes[i] = pipe_new(running->collection->loop, link, (enum proxy_stream)i);
    for (struct toxic *toxic = running->entry->toxics; toxic; toxic = toxic->next)
        change_link(connection, toxic, TOXIC_COMES);
}

static enum proxy_decision on_request(void *context, void *owner, struct proxy_request *request)
{
    const struct toxic_link *connection = owner;
    (void)context;
    return redis_stages_request(connection->redis, request);
}

static enum proxy_decision on_reply(void *context, void *owner, struct proxy_request *request,
                                    const char *bytes, size_t length)
{
    const struct toxic_link *connection = owner;
    (void)context;
    return redis_stages_reply(connection->redis, request, bytes, length);
}

static void on_passed(void *context, void *owner, enum proxy_stream stream, const char *bytes,
                      size_t length)
{
    struct toxic_link *connection = owner;
    (void)context;
    pipe_take(connection->pipes[stream], bytes, length);
}

static void on_ended(void *context, void *owner, enum proxy_stream stream)
{
    struct toxic_link *connection = owner;
    (void)context;
    pipe_end(connection->pipes[stream]);
}

static void on_closed(void *context, void *owner)
{
    struct toxic_link *connection = owner;
    struct running_proxy *running = context;
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        running->connections = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    redis_stages_free(&connection->redis);
    pipe_free(connection->pipes[PROXY_TO_SERVER]);
    pipe_free(connection->pipes[PROXY_TO_CLIENT]);
    free(connection);
}

static void on_notice(void *context, void *owner, const char *words)
{
    struct running_proxy *running = context;
    const struct collection *collection = running->collection;
    char text[600];
    (void)owner;
    snprintf(text, sizeof text, "%.60s: %s", running->entry ? running->entry->name : "proxy",
             words);
    if (collection->notice)
        collection->notice(collection->context, text);
}

void running_toxic(struct running_proxy *running, struct toxic *toxic, enum toxic_change change)
{
    for (struct toxic_link *at = running->connections; at; at = at->next)
        change_link(at, toxic, change);
}

/* --- addresses --- */

/* "host:port" and "[host]:port"; host of 256 bytes. NULL, or what is wrong with it. */
static const char *split(const char *text, char *host, const char **port)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    const char *begin = text;
    if (!colon)
        return "missing port in address";
    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        if (!end)
            return "missing ']' in address";
        if (end + 1 != colon)
            return end[1] == ':' ? "too many colons in address" : "missing port in address";
        begin++;
        length -= 2;
    } else if (memchr(text, ':', length)) {
        return "too many colons in address";
    }
    if (length > 255)
        return "no such host";
    memcpy(host, begin, length);
    host[length] = 0;
    *port = colon + 1;
    return NULL;
}

static bool read_port(const char *text, int *port, struct api_error *api_error)
{
    char *end;
    long value = *text ? strtol(text, &end, 10) : 0;
    for (const char *at = text; *at; at++)
        if (!isdigit((unsigned char)*at))
            return api_error_set(api_error, 500, "listen tcp: lookup tcp/%.100s: unknown port",
                                 text);
    if (strlen(text) > 9 || value > 65535)
        return api_error_set(api_error, 500, "listen tcp: address %.100s: invalid port", text);
    *port = (int)value;
    return true;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
}

bool running_address(const struct collection *collection, const char *text,
                     struct proxy_address *address, struct api_error *api_error)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[256];
    const char *port, *wrong = split(text[0] ? text : ":0", host, &port);
    *address = (struct proxy_address){0};
    if (wrong)
        return api_error_set(api_error, 500, "listen tcp: address %.200s: %s", text, wrong);
    if (!read_port(port, &address->port, api_error))
        return false;
    if (getaddrinfo(host[0] ? host : "127.0.0.1", NULL, &hints, &found))
        return api_error_set(api_error, 500, "listen tcp: lookup %.200s: no such host", host);
    const struct addrinfo *best = found;
    for (const struct addrinfo *at = found; at; at = at->ai_next)
        if (at->ai_family == AF_INET && best->ai_family != AF_INET)
            best = at;
    bool is_told = !getnameinfo(best->ai_addr, best->ai_addrlen, address->host,
                                sizeof address->host, NULL, 0, NI_NUMERICHOST);
    bool is_ours = collection->takes_any_host || is_loopback(best->ai_addr);
    freeaddrinfo(found);
    if (!is_told || !is_ours)
        return api_error_set(api_error, 500,
                             "listen tcp %.200s: bind: only loopback addresses are listened on, "
                             "unless picklock is started with --any-host",
                             text);
    return true;
}

/* --- life --- */

static void on_proxy_closed(void *context)
{
    struct running_proxy *running = context;
    free(running);
}

/* The words behind the last colon are the system's. */
static bool cannot_listen(const struct proxy_address *at, const struct failure *failure,
                          struct api_error *api_error)
{
    const char *words = failure->text;
    for (const char *next; (next = strstr(words, ": "));)
        words = next + 2;
    if (!strcmp(words, "address not available"))
        words = "cannot assign requested address";
    return api_error_set(api_error, 500,
                         strchr(at->host, ':') ? "listen tcp [%s]:%d: bind: %.200s"
                                               : "listen tcp %s:%d: bind: %.200s",
                         at->host, at->port, words);
}

bool running_new(struct collection *collection, struct proxy_entry *entry, char *where,
                 struct api_error *api_error)
{
    struct proxy_address at, upstream;
    struct failure failure = {0};
    const struct proxy_address nowhere = {.host = "127.0.0.1", .port = 1};
    if (!running_address(collection, entry->listen, &at, api_error))
        return false;
    struct running_proxy *running = memory_new(1, sizeof *running);
    running->collection = collection;
    running->entry = entry;
    const struct proxy_hooks hooks = {
        .opened = on_opened,
        .request = on_request,
        .reply = on_reply,
        .passed = on_passed,
        .ended = on_ended,
        .closed = on_closed,
        .notice = on_notice,
        .context = running,
    };
    if (proxy_new(&running->proxy, collection->loop, &at, &nowhere, &hooks, &failure)) {
        free(running);
        return cannot_listen(&at, &failure, api_error);
    }
    proxy_take_any_protocol(running->proxy);
    if (proxy_address_read(entry->upstream, &upstream, &failure))
        on_notice(running, NULL, failure.text);
    else
        proxy_set_upstream(running->proxy, &upstream);
    snprintf(where, 300, strchr(at.host, ':') ? "[%s]:%d" : "%s:%d", at.host,
             proxy_port(running->proxy));
    entry->running = running;
    return true;
}

void running_close(struct running_proxy *running)
{
    running->entry = NULL;
    for (struct toxic_link *at = running->connections; at; at = at->next) {
        pipe_clear(at->pipes[PROXY_TO_SERVER]);
        pipe_clear(at->pipes[PROXY_TO_CLIENT]);
    }
    if (running->collection->is_ending)
        proxy_close(running->proxy, on_proxy_closed, running);
    else
        proxy_leave(running->proxy, on_proxy_closed, running);
}
