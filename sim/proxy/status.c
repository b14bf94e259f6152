/* status.c - see status.h. Who connects is told, and the connection ends: nothing is read. */
#include "proxy/status.h"

#include "base/memory.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ASK_S = 10, ASKERS_MAX = 16 };

struct status_asker {
    uv_pipe_t pipe;
    uv_write_t write;
    struct status *status;
    struct status_asker *next;
    char *text;
};

struct status {
    uv_pipe_t listener;
    const struct serving_listeners *all;
    struct status_asker *askers;
    int askers_count;
    bool is_closing, is_closed;
};

/* --- what is told --- */

void status_words(const struct served_listener *served, char *words, size_t size)
{
    char looked_at[120] = "";
    const struct proxy_traffic traffic = proxy_traffic(served->proxy);
    if (served->rules || served->all->log)
        snprintf(looked_at, sizeof looked_at,
                 "; %" PRIu64 " request%s, %" PRIu64 " repl%s, %" PRIu64 " fault%s",
                 traffic.requests, units_plural((int64_t)traffic.requests), traffic.replies,
                 traffic.replies == 1 ? "y" : "ies", served->faults,
                 units_plural((int64_t)served->faults));
    snprintf(words, size,
             "%s%s%" PRIu64 " connection%s so far, %" PRId64 " open; %" PRIu64
             " byte%s from clients, %" PRIu64 " to them%s",
             served->name, served->name[0] ? ": " : "", traffic.links,
             units_plural((int64_t)traffic.links), proxy_links_count(served->proxy), traffic.read,
             units_plural((int64_t)traffic.read), traffic.written, looked_at);
}

static void put(json_t *object, const char *name, uint64_t number)
{
    json_object_set_new(object, name, json_integer((json_int_t)number));
}

static json_t *rules_told(const struct rules *rules)
{
    json_t *list = json_array();
    for (int i = 0; rules && i < rules_count(rules); i++) {
        const struct rule_counts counts = rules_counts(rules, i);
        json_t *row = json_object();
        json_object_set_new(row, "rule", json_string(counts.name));
        json_object_set_new(row, "action", json_string(counts.fault));
        put(row, "matches", counts.matches);
        put(row, "strikes", counts.strikes);
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *notices_told(const struct proxy *proxy)
{
    json_t *told = json_object();
    for (int kind = 0; kind < NOTICE_COUNT; kind++)
        put(told, proxy_notice_name((enum notice)kind), proxy_noticed(proxy, (enum notice)kind));
    return told;
}

static json_t *listener_told(const struct served_listener *served)
{
    json_t *told = json_object();
    const struct proxy_traffic traffic = proxy_traffic(served->proxy);
    json_object_set_new(told, "name", json_string(served->name));
    json_object_set_new(told, "listen", json_string(served->listen_text));
    put(told, "port", (uint64_t)proxy_port(served->proxy));
    json_object_set_new(told, "upstream", json_string(served->upstream_text));
    put(told, "connections", traffic.links);
    put(told, "open", (uint64_t)proxy_links_count(served->proxy));
    put(told, "bytes_from_clients", traffic.read);
    put(told, "bytes_to_clients", traffic.written);
    if (served->rules || served->all->log || served->all->options->observer) {
        put(told, "requests", traffic.requests);
        put(told, "replies", traffic.replies);
        put(told, "faults", served->faults);
    }
    json_object_set_new(told, "rules", rules_told(served->rules));
    json_object_set_new(told, "notices", notices_told(served->proxy));
    return told;
}

static char *all_told(const struct serving_listeners *all)
{
    json_t *told = json_object(), *list = json_array();
    for (const struct served_listener *served = all->first; served; served = served->next)
        json_array_append_new(list, listener_told(served));
    json_object_set_new(told, "listeners", list);
    if (all->log)
        put(told, "log_events_lost", log_lost(all->log));
    char *text = json_dumps(told, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(told);
    return text;
}

/* --- whom --- */

static void free_if_closed(struct status *status)
{
    if (status->is_closed && !status->askers)
        free(status);
}

static void on_asker_closed(uv_handle_t *handle)
{
    struct status_asker *asker = handle->data;
    struct status *status = asker->status;
    struct status_asker **at = &status->askers;
    while (*at != asker)
        at = &(*at)->next;
    *at = asker->next;
    status->askers_count--;
    free(asker->text);
    free(asker);
    free_if_closed(status);
}

static void on_told(uv_write_t *write, int error)
{
    struct status_asker *asker = write->data;
    (void)error; /* who asked may have gone */
    if (!uv_is_closing((uv_handle_t *)&asker->pipe))
        uv_close((uv_handle_t *)&asker->pipe, on_asker_closed);
}

static void on_asked(uv_stream_t *listener, int error)
{
    struct status *status = listener->data;
    if (error)
        return;
    struct status_asker *asker = memory_new(1, sizeof *asker);
    asker->status = status;
    asker->pipe.data = asker->write.data = asker;
    asker->next = status->askers;
    status->askers = asker;
    status->askers_count++;
    error = uv_pipe_init(listener->loop, &asker->pipe, 0);
    assert(!error);
    error = uv_accept(listener, (uv_stream_t *)&asker->pipe);
    if (!error && status->askers_count <= ASKERS_MAX) {
        asker->text = all_told(status->all);
        uv_buf_t buffer = uv_buf_init(asker->text, (unsigned)strlen(asker->text));
        error = uv_write(&asker->write, (uv_stream_t *)&asker->pipe, &buffer, 1, on_told);
    } else {
        error = UV_EMFILE; /* those who ask and do not read must not take all descriptors */
    }
    if (error)
        uv_close((uv_handle_t *)&asker->pipe, on_asker_closed);
}

/* --- its life --- */

static void on_closed(uv_handle_t *handle)
{
    struct status *status = handle->data;
    status->is_closed = true;
    free_if_closed(status);
}

enum fail status_new(struct status **made, const struct serving_listeners *all, const char *path,
                     struct failure *failure)
{
    struct status *status = memory_new(1, sizeof *status);
    status->all = all;
    int error = uv_pipe_init(all->loop, &status->listener, 0);
    assert(!error);
    status->listener.data = status;
    const mode_t mask = umask(0177);
    error = strlen(path) < sizeof((struct sockaddr_un *)NULL)->sun_path
                ? uv_pipe_bind(&status->listener, path)
                : UV_ENAMETOOLONG;
    (void)umask(mask);
    if (!error)
        error = uv_listen((uv_stream_t *)&status->listener, ASKERS_MAX, on_asked);
    if (!error) {
        *made = status;
        return FAIL_NONE;
    }
    status_close(status);
    return failure_set(failure, FAIL_UNAVAILABLE, "cannot answer at %s: %s%s", path,
                       uv_strerror(error),
                       error == UV_EADDRINUSE ? "; remove it if nobody answers there" : "");
}

void status_close(struct status *status)
{
    for (struct status_asker *asker = status->askers; asker; asker = asker->next)
        if (!uv_is_closing((uv_handle_t *)&asker->pipe))
            uv_close((uv_handle_t *)&asker->pipe, on_asker_closed);
    uv_close((uv_handle_t *)&status->listener, on_closed);
}

/* --- who asks --- */

static char *read_all(int fd)
{
    char *text = memory_new(1, 1);
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0) {
        text = memory_resize(text, length + 4096 + 1, 1);
        got = read(fd, text + length, 4096);
        length += got > 0 ? (size_t)got : 0;
    }
    text[length] = 0;
    return text;
}

enum fail status_ask(const char *path, char **text, struct failure *failure)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = ASK_S};
    if (strlen(path) >= sizeof address.sun_path)
        return failure_set(failure, FAIL_INPUT, "%.200s: a unix socket's path is shorter", path);
    memcpy(address.sun_path, path, strlen(path));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        failure_set(failure, FAIL_UNAVAILABLE, "no proxy answers at %s: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return FAIL_UNAVAILABLE;
    }
    *text = read_all(fd);
    (void)close(fd);
    json_t *said = json_loads(*text, 0, NULL);
    if (said) {
        json_decref(said);
        return FAIL_NONE;
    }
    free(*text);
    *text = NULL;
    return failure_set(failure, FAIL_UNAVAILABLE, "what answers at %s is no proxy of ours", path);
}
