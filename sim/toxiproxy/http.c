/* http.c - see http.h: libmicrohttpd on a loop of libuv. It keeps all its sockets behind one
 * descriptor of epoll, which the loop watches. */
#include "toxiproxy/http.h"

#include "base/late_library.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
    CONNECTIONS_MAX = 1000, /* of clients of the interface; of more the longest idle is ended */
    FILES_A_CONNECTION = 4, /* of the open files that there may be it takes at most a quarter */
    LEAVING_PARTS = 10,     /* beside them a tenth of so many may be on their way out */
    IDLE_S = 60,
};

static struct {
#define LATE(name) __typeof__(name) *name;
#include "toxiproxy/microhttpd.def"
#undef LATE
} mhd;

static const struct late_function functions[] = {
#define LATE(name) {#name, &mhd.name},
#include "toxiproxy/microhttpd.def"
#undef LATE
};

/* A connection; in a ring by when it was last heard of. */
struct http_client {
    struct http_client *before, *behind; /* NULL: it is on its way out */
    int descriptor;
};

struct http {
    struct collection *collection;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    int handles;
    uint64_t requests;
    struct http_client clients; /* the ring's end: behind it stands the longest idle */
    int clients_count, clients_max;
    bool has_told, has_room; /* one has left: whoever waits to be let in can be */
};

/* --- who is connected --- */

static void leave(struct http *http, struct http_client *client)
{
    if (!client->before)
        return;
    client->before->behind = client->behind;
    client->behind->before = client->before;
    client->before = client->behind = NULL;
    http->clients_count--;
}

static void come(struct http *http, struct http_client *client)
{
    client->before = http->clients.before;
    client->behind = &http->clients;
    client->before->behind = client->behind->before = client;
    http->clients_count++;
}

/* Who holds connections and says nothing on them keeps nobody out. The daemon sees its end. */
static void make_room(struct http *http)
{
    struct collection *collection = http->collection;
    struct http_client *idle = http->clients.behind;
    if (http->clients_count <= http->clients_max)
        return;
    if (!http->has_told && collection->notice) {
        char words[128];
        (void)snprintf(words, sizeof words,
                       "more than %d connections to the interface: those that are idle for the "
                       "longest are ended",
                       http->clients_max);
        collection->notice(collection->context, words);
    }
    http->has_told = true;
    (void)shutdown(idle->descriptor, SHUT_RDWR);
    http->has_room = true;
    leave(http, idle);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **of_client,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *http = context;
    struct http_client *client = *of_client;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        leave(http, client);
        free(client);
        http->has_room = true;
        return;
    }
    *of_client = client = memory_new(1, sizeof *client);
    client->descriptor =
        mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    come(http, client);
    make_room(http);
}

static void note_heard(struct http *http, struct MHD_Connection *connection)
{
    struct http_client *client =
        mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (!client->before)
        return;
    leave(http, client);
    come(http, client);
}

/* --- a request --- */

struct upload {
    char *body;
    size_t length, capacity;
    bool is_too_large;
};

/* What is too large is read to its end and thrown away: only then a client reads the answer. */
static void keep(struct upload *upload, const char *bytes, size_t length)
{
    if (upload->is_too_large || length > API_BODY_MAX - upload->length) {
        upload->is_too_large = true;
        free(upload->body);
        upload->body = NULL;
        upload->length = upload->capacity = 0;
        return;
    }
    if (upload->capacity - upload->length < length) {
        upload->capacity = (upload->length + length) * 2;
        upload->body = memory_resize(upload->body, upload->capacity, 1);
    }
    memcpy(upload->body + upload->length, bytes, length);
    upload->length += length;
}

static enum MHD_Result header(struct MHD_Response *response, const char *name, const char *value)
{
    enum MHD_Result result = mhd.MHD_add_response_header(response, name, value);
    assert(result == MHD_YES);
    return result;
}

static enum MHD_Result send_answer(struct http *http, struct MHD_Connection *connection,
                                   const struct api_answer *answer)
{
    char number[32];
    size_t length = answer->body ? strlen(answer->body) : 0;
    struct MHD_Response *response = mhd.MHD_create_response_from_buffer(
        length, answer->body ? answer->body : "", MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    snprintf(number, sizeof number, "%020llu", (unsigned long long)++http->requests);
    header(response, "X-Toxiproxy-Request-Id", number);
    if (answer->is_error) {
        header(response, "Content-Type", "text/plain; charset=utf-8");
        header(response, "X-Content-Type-Options", "nosniff");
    } else if (answer->type) {
        header(response, "Content-Type", answer->type);
    }
    enum MHD_Result result = mhd.MHD_queue_response(connection, (unsigned)answer->status, response);
    mhd.MHD_destroy_response(response);
    return result;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *length, void **of_request)
{
    struct http *http = context;
    struct upload *upload = *of_request;
    (void)version;
    note_heard(http, connection);
    if (!upload) {
        *of_request = memory_new(1, sizeof *upload);
        return MHD_YES;
    }
    if (*length) {
        keep(upload, bytes, *length);
        *length = 0;
        return MHD_YES;
    }
    const struct api_request request = {
        .method = method,
        .path = url,
        .agent = mhd.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "User-Agent"),
        .body = upload->body ? upload->body : "",
        .length = upload->length,
        .is_too_large = upload->is_too_large,
    };
    struct api_answer answer = api_answer(http->collection, &request);
    enum MHD_Result result = send_answer(http, connection, &answer);
    free(answer.body);
    return result;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **of_request,
                         enum MHD_RequestTerminationCode how)
{
    struct upload *upload = *of_request;
    (void)context, (void)connection, (void)how;
    if (upload)
        free(upload->body);
    free(upload);
    *of_request = NULL;
}

/* Escapes are resolved where a path is taken apart. */
static size_t leave_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context, (void)connection;
    return strlen(text);
}

/* --- on the loop --- */

static void on_timer(uv_timer_t *timer);

static void turn(struct http *http)
{
    MHD_UNSIGNED_LONG_LONG ms;
    do {
        http->has_room = false;
        mhd.MHD_run(http->daemon);
    } while (http->has_room);
    if (mhd.MHD_get_timeout(http->daemon, &ms) == MHD_YES) {
        int error = uv_timer_start(&http->timer, on_timer, ms, 0);
        assert(!error);
    } else {
        uv_timer_stop(&http->timer);
    }
}

static void on_timer(uv_timer_t *timer)
{
    turn(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    turn(poll->data);
}

static void on_closed(uv_handle_t *handle)
{
    struct http *http = handle->data;
    if (--http->handles == 0)
        free(http);
}

void http_close(struct http *http)
{
    uv_close((uv_handle_t *)&http->poll, on_closed);
    uv_close((uv_handle_t *)&http->timer, on_closed);
    mhd.MHD_stop_daemon(http->daemon);
}

static struct MHD_Daemon *start(struct http *http, const struct proxy_address *listen)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char port[16];
    snprintf(port, sizeof port, "%d", listen->port);
    if (listen->path[0] || getaddrinfo(listen->host, port, &hints, &found))
        return NULL;
    unsigned flags = MHD_USE_EPOLL | (found->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    struct MHD_Daemon *daemon = mhd.MHD_start_daemon(
        flags, (uint16_t)listen->port, NULL, NULL, on_request, http, MHD_OPTION_SOCK_ADDR,
        found->ai_addr, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, NULL, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, http, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(http->clients_max + http->clients_max / LEAVING_PARTS + 1),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_END);
    freeaddrinfo(found);
    return daemon;
}

static int room_for_clients(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur / FILES_A_CONNECTION >= CONNECTIONS_MAX)
        return CONNECTIONS_MAX;
    return (int)(limit.rlim_cur / FILES_A_CONNECTION) + 1;
}

enum fail http_new(struct http **made, uv_loop_t *loop, const struct proxy_address *listen,
                   struct collection *collection, int *port, struct failure *failure)
{
    if (late_library_bind("libmicrohttpd.so.12", functions, sizeof functions / sizeof *functions,
                          failure))
        return failure->code;
    struct http *http = memory_new(1, sizeof *http);
    http->collection = collection;
    http->clients.before = http->clients.behind = &http->clients;
    http->clients_max = room_for_clients();
    http->daemon = start(http, listen);
    if (!http->daemon) {
        free(http);
        return failure_set(failure, FAIL_UNAVAILABLE, "cannot listen on %s:%d: %s",
                           listen->path[0] ? listen->path : listen->host, listen->port,
                           strerror(errno));
    }
    *port = mhd.MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    int descriptor = mhd.MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int error = uv_poll_init(loop, &http->poll, descriptor) | uv_timer_init(loop, &http->timer);
    http->handles = 2;
    http->poll.data = http->timer.data = http;
    error |= uv_poll_start(&http->poll, UV_READABLE, on_poll);
    assert(!error);
    *made = http;
    return FAIL_NONE;
}
