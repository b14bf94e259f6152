/* calls_toxics.c - the calls about the toxics of a proxy. */
#include "toxiproxy/calls.h"

#include "base/memory.h"
#include "toxiproxy/redis_toxic.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const streams[] = {"upstream", "downstream"}; /* by enum proxy_stream */

json_t *print_toxic(const struct toxic *toxic)
{
    json_t *attributes = json_object(), *printed = json_object();
    for (int i = 0; i < ATTRIBUTES_MAX; i++)
        if (toxic->type->attributes[i][0])
            json_object_set_new(attributes, toxic->type->attributes[i],
                                json_integer(toxic->values[i]));
    if (toxic->rules)
        json_object_update(attributes, toxic->said);
    json_object_set_new(printed, "attributes", attributes);
    json_object_set_new(printed, "name", json_string(toxic->name));
    json_object_set_new(printed, "type", json_string(toxic->type->name));
    json_object_set_new(printed, "stream", json_string(streams[toxic->stream]));
    json_object_set_new(printed, "toxicity", body_print_share(toxic->toxicity));
    if (toxic->rules)
        redis_toxic_print(toxic, printed);
    return printed;
}

json_t *print_toxics(const struct proxy_entry *entry)
{
    json_t *list = json_array();
    for (int stream = 0; stream < 2; stream++)
        for (const struct toxic *toxic = entry->toxics; toxic; toxic = toxic->next)
            if ((int)toxic->stream == stream)
                json_array_append_new(list, print_toxic(toxic));
    return list;
}

static bool read_attributes(const json_t *body, const struct proxy_entry *entry,
                            struct toxic *toxic, bool is_stream_said, struct api_error *api_error)
{
    const json_t *attributes = body_field(body, "attributes");
    int64_t values[ATTRIBUTES_MAX];
    if (attributes && !json_is_object(attributes))
        return api_error_set(api_error, 400,
                             "bad request body: json: cannot unmarshal %s into Go struct field "
                             ".attributes of type toxics.Toxic",
                             body_kind(attributes));
    if (!strcmp(toxic->type->name, "redis"))
        return redis_toxic_read(toxic, entry, attributes, is_stream_said, api_error);
    memcpy(values, toxic->values, sizeof values);
    for (int i = 0; i < ATTRIBUTES_MAX; i++)
        if (toxic->type->attributes[i][0] &&
            !body_whole(attributes, ".attributes", toxic->type->attributes[i], &values[i],
                        api_error))
            return false;
    memcpy(toxic->values, values, sizeof values);
    return true;
}

struct toxic *read_toxic(const json_t *body, const struct proxy_entry *entry,
                         struct api_error *api_error)
{
    const char *owner = "ToxicWrapper", *name = "", *type = "", *stream = "downstream";
    float toxicity = 1;
    if (!body_text(body, owner, "name", &name, api_error) ||
        !body_text(body, owner, "type", &type, api_error) ||
        !body_text(body, owner, "stream", &stream, api_error) ||
        !body_share(body, owner, "toxicity", &toxicity, api_error))
        return NULL;
    int is_downstream = !strcasecmp(stream, "downstream");
    const struct toxic_type *found = toxic_type_of(type);
    if (!is_downstream && strcasecmp(stream, "upstream") != 0)
        api_error_set(api_error, 400, "stream was invalid, can be either upstream or downstream");
    else if (!found)
        api_error_set(api_error, 400, "invalid toxic type");
    if (api_error->status)
        return NULL;
    struct toxic *toxic = memory_new(1, sizeof *toxic);
    toxic->type = found;
    toxic->stream = is_downstream ? PROXY_TO_CLIENT : PROXY_TO_SERVER;
    toxic->toxicity = toxicity;
    bool is_read =
        read_attributes(body, entry, toxic, body_field(body, "stream") != NULL, api_error);
    toxic->name = name[0] ? memory_text(name)
                          : memory_format("%s_%s", type, is_read ? streams[toxic->stream] : stream);
    if (entry && entry_toxic(entry, toxic->name)) /* said first, as Toxiproxy does */
        api_error_set(api_error, 409, "toxic already exists");
    else if (is_read)
        return toxic;
    toxic_free(toxic);
    return NULL;
}

void call_toxics(struct call *call)
{
    const struct proxy_entry *entry = call_entry(call);
    if (entry)
        call_json(call, 200, print_toxics(entry));
}

void call_toxic_create(struct call *call)
{
    struct proxy_entry *entry = call_entry(call);
    json_t *body = entry ? call_read(call, "toxics.ToxicWrapper", false) : NULL;
    if (!body)
        return;
    struct toxic *toxic = read_toxic(body, entry, &call->api_error);
    json_decref(body);
    if (!toxic) {
        call_failed(call);
        return;
    }
    entry_add_toxic(call->collection, entry, toxic);
    call_json(call, 200, print_toxic(toxic));
}

/* The one of the path, or an answer and NULL. */
static struct toxic *find(struct call *call, struct proxy_entry **entry)
{
    *entry = call_entry(call);
    struct toxic *toxic = *entry ? entry_toxic(*entry, call->toxic) : NULL;
    if (*entry && !toxic) {
        api_error_set(&call->api_error, 404, "toxic not found");
        call_failed(call);
    }
    return toxic;
}

void call_toxic_show(struct call *call)
{
    struct proxy_entry *entry;
    const struct toxic *toxic = find(call, &entry);
    if (toxic)
        call_json(call, 200, print_toxic(toxic));
}

void call_toxic_update(struct call *call)
{
    struct proxy_entry *entry;
    struct toxic *toxic = find(call, &entry);
    json_t *body = toxic ? call_read(call, "toxics.ToxicWrapper", false) : NULL;
    if (!body)
        return;
    float toxicity = toxic->toxicity;
    bool is_read = body_share(body, "", "toxicity", &toxicity, &call->api_error) &&
                   read_attributes(body, entry, toxic, true, &call->api_error);
    json_decref(body);
    if (!is_read) {
        call_failed(call);
        return;
    }
    toxic->toxicity = toxicity;
    entry_toxic_changed(call->collection, entry, toxic);
    call_json(call, 200, print_toxic(toxic));
}

void call_toxic_delete(struct call *call)
{
    struct proxy_entry *entry;
    struct toxic *toxic = find(call, &entry);
    if (!toxic)
        return;
    entry_remove_toxic(entry, toxic);
    call->answer = (struct api_answer){.status = 204};
}
