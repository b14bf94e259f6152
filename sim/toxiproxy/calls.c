/* calls.c - the calls about proxies, and how each call answers. */
#include "toxiproxy/calls.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void call_text(struct call *call, int status, const char *text)
{
    call->answer =
        (struct api_answer){.status = status, .is_error = true, .body = memory_text(text)};
}

static char *print(json_t *value, const char *end)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    assert(text); /* nothing in it that JSON could not say */
    char *printed = memory_format("%s%s", text, end);
    free(text);
    json_decref(value);
    return printed;
}

void call_json(struct call *call, int status, json_t *value)
{
    call->answer =
        (struct api_answer){.status = status, .type = "application/json", .body = print(value, "")};
}

static json_t *print_error(const struct api_error *api_error)
{
    json_t *printed = json_object();
    json_object_set_new(printed, "error", json_string(api_error->text));
    json_object_set_new(printed, "status", json_integer(api_error->status));
    return printed;
}

void call_failed(struct call *call)
{
    call->answer = (struct api_answer){.status = call->api_error.status,
                                       .is_error = true,
                                       .body = print(print_error(&call->api_error), "\n")};
}

/* As call_read(), without an answer. */
static json_t *read_body(struct call *call, const char *type, bool is_list)
{
    if (!call->request->is_too_large)
        return body_read(call->request->body, call->request->length, type, is_list,
                         &call->api_error);
    api_error_set(&call->api_error, 400, "bad request body: http: request body too large");
    return NULL;
}

json_t *call_read(struct call *call, const char *type, bool is_list)
{
    json_t *read = read_body(call, type, is_list);
    if (!read)
        call_failed(call);
    return read;
}

struct proxy_entry *call_entry(struct call *call)
{
    struct proxy_entry *entry = collection_find(call->collection, call->name);
    if (!entry) {
        api_error_set(&call->api_error, 404, "proxy not found");
        call_failed(call);
    }
    return entry;
}

void call_version(struct call *call)
{
    call->answer = (struct api_answer){.status = 200,
                                       .type = "application/json;charset=utf-8",
                                       .body = memory_text("{\"version\": \"2.12.0\"}\n")};
}

static json_t *print_entry(const struct proxy_entry *entry)
{
    json_t *printed = json_object();
    json_object_set_new(printed, "name", json_string(entry->name));
    json_object_set_new(printed, "listen", json_string(entry->listen));
    json_object_set_new(printed, "upstream", json_string(entry->upstream));
    json_object_set_new(printed, "enabled", json_boolean(entry->running != NULL));
    json_object_set_new(printed, "Logger", json_object());
    json_object_set_new(printed, "toxics", print_toxics(entry));
    return printed;
}

void call_list(struct call *call)
{
    json_t *all = json_object();
    for (const struct proxy_entry *entry = call->collection->entries; entry; entry = entry->next)
        json_object_set_new(all, entry->name, print_entry(entry));
    call_json(call, 200, all);
}

void call_show(struct call *call)
{
    const struct proxy_entry *entry = call_entry(call);
    if (entry)
        call_json(call, 200, print_entry(entry));
}

/* --- making --- */

/* What a body says of a proxy; borrows from it. */
struct wanted_proxy {
    const char *name, *listen, *upstream;
    bool is_enabled;
};

static bool read_wanted(const json_t *body, const char *owner, struct wanted_proxy *wanted,
                        struct api_error *api_error)
{
    return body_text(body, owner, "name", &wanted->name, api_error) &&
           body_text(body, owner, "listen", &wanted->listen, api_error) &&
           body_text(body, owner, "upstream", &wanted->upstream, api_error) &&
           body_truth(body, owner, "enabled", &wanted->is_enabled, api_error);
}

/* Better than Toxiproxy (D8): toxics that are said with a proxy are there before its first link. */
static bool add_toxics(const struct collection *collection, struct proxy_entry *entry,
                       const json_t *body, struct api_error *api_error)
{
    const json_t *toxics = body_field(body, "toxics");
    for (size_t i = 0; i < json_array_size(toxics); i++) {
        struct toxic *toxic = read_toxic(json_array_get(toxics, i), entry, api_error);
        if (!toxic)
            return false;
        entry_add_toxic(collection, entry, toxic);
    }
    return true;
}

/* NULL: why not, and nothing was made. */
static struct proxy_entry *make(struct collection *collection, const struct wanted_proxy *wanted,
                                const json_t *body, struct api_error *api_error)
{
    struct proxy_entry *entry =
        collection_add(collection, wanted->name, wanted->listen, wanted->upstream);
    if (add_toxics(collection, entry, body, api_error) &&
        (!wanted->is_enabled || entry_start(collection, entry, api_error)))
        return entry;
    collection_remove(collection, entry);
    return NULL;
}

void call_create(struct call *call)
{
    struct wanted_proxy wanted = {"", "", "", true};
    json_t *body = call_read(call, "toxiproxy.Proxy", false);
    struct api_error *api_error = &call->api_error;
    struct proxy_entry *made = NULL;
    if (!body)
        return;
    if (!read_wanted(body, "Proxy", &wanted, api_error)) {
    } else if (!wanted.name[0]) {
        api_error_set(api_error, 400, "missing required field: name");
    } else if (!wanted.upstream[0]) {
        api_error_set(api_error, 400, "missing required field: upstream");
    } else if (collection_find(call->collection, wanted.name)) {
        api_error_set(api_error, 409, "proxy already exists");
    } else {
        made = make(call->collection, &wanted, body, api_error);
    }
    json_decref(body);
    if (made)
        call_json(call, 201, print_entry(made));
    else
        call_failed(call);
}

/* --- changing --- */

static void move(struct proxy_entry *entry, const struct wanted_proxy *wanted)
{
    char *listen = memory_text(wanted->listen), *upstream = memory_text(wanted->upstream);
    entry_stop(entry);
    free(entry->listen);
    free(entry->upstream);
    entry->listen = listen;
    entry->upstream = upstream;
}

void call_update(struct call *call)
{
    struct proxy_entry *entry = call_entry(call);
    json_t *body = entry ? call_read(call, "toxiproxy.Proxy", false) : NULL;
    if (!body)
        return;
    struct wanted_proxy wanted = {entry->name, entry->listen, entry->upstream,
                                  entry->running != NULL};
    bool is_read = read_wanted(body, "Proxy", &wanted, &call->api_error);
    if (is_read && entry_differs(call->collection, entry, wanted.listen, wanted.upstream))
        move(entry, &wanted);
    json_decref(body);
    if (is_read && !wanted.is_enabled)
        entry_stop(entry);
    if (is_read && (!wanted.is_enabled || entry_start(call->collection, entry, &call->api_error)))
        call_json(call, 200, print_entry(entry));
    else
        call_failed(call);
}

void call_delete(struct call *call)
{
    struct proxy_entry *entry = call_entry(call);
    if (!entry)
        return;
    collection_remove(call->collection, entry);
    call->answer = (struct api_answer){.status = 204};
}

void call_reset(struct call *call)
{
    for (struct proxy_entry *entry = call->collection->entries; entry; entry = entry->next) {
        if (!entry_start(call->collection, entry, &call->api_error)) {
            call_failed(call);
            return;
        }
        entry_remove_toxics(entry);
    }
    call->answer = (struct api_answer){.status = 204};
}

/* --- many at once --- */

static bool check_wanted(const json_t *body, struct api_error *api_error)
{
    for (size_t i = 0; i < json_array_size(body); i++) {
        struct wanted_proxy wanted = {"", "", "", true};
        const json_t *one = json_array_get(body, i);
        if (!json_is_object(one) && !json_is_null(one))
            return api_error_set(
                api_error, 400,
                "bad request body: json: cannot unmarshal value into Go value of "
                "type struct { toxiproxy.Proxy; Enabled *bool \"json:\\\"enabled\\\"\" }");
        if (!read_wanted(one, "Proxy", &wanted, api_error))
            return false;
    }
    for (size_t i = 0; i < json_array_size(body); i++) {
        struct wanted_proxy wanted = {"", "", "", true};
        read_wanted(json_array_get(body, i), "Proxy", &wanted, api_error);
        if (!wanted.name[0] || !wanted.upstream[0])
            return api_error_set(api_error, 400, "missing required field: %s at proxy %zu",
                                 wanted.name[0] ? "upstream" : "name", i + 1);
    }
    return true;
}

static struct proxy_entry *make_or_replace(struct collection *collection, const json_t *body,
                                           struct api_error *api_error)
{
    struct wanted_proxy wanted = {"", "", "", true};
    read_wanted(body, "Proxy", &wanted, api_error);
    struct proxy_entry *there = collection_find(collection, wanted.name);
    if (there && !entry_differs(collection, there, wanted.listen, wanted.upstream))
        return there;
    if (there)
        collection_remove(collection, there);
    return make(collection, &wanted, body, api_error);
}

void call_populate(struct call *call)
{
    static const char type[] = /* as Go writes what it is read into */
        "[]struct { toxiproxy.Proxy; Enabled *bool \"json:\\\"enabled\\\"\" }";
    struct api_error *api_error = &call->api_error;
    json_t *made = json_array(), *body = read_body(call, type, true);
    if (body && check_wanted(body, api_error))
        for (size_t i = 0; i < json_array_size(body) && !api_error->status; i++) {
            const struct proxy_entry *entry =
                make_or_replace(call->collection, json_array_get(body, i), api_error);
            if (entry)
                json_array_append_new(made, print_entry(entry));
        }
    json_t *all = api_error->status ? print_error(api_error) : json_object();
    bool is_none = !json_array_size(made);
    json_object_set_new(all, "proxies", is_none ? json_null() : json_incref(made));
    json_decref(made);
    json_decref(body);
    call_json(call, api_error->status ? api_error->status : 201, all);
}
