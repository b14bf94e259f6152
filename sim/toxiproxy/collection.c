/* collection.c - see collection.h: proxies by name, and the toxics of each. */
#include "toxiproxy/collection.h"

#include "base/memory.h"
#include "proxy/rules.h"
#include "toxiproxy/redis_toxic.h"
#include "toxiproxy/running.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool api_error_set(struct api_error *api_error, int status, const char *format, ...)
{
    va_list arguments;
    api_error->status = status;
    va_start(arguments, format);
    vsnprintf(api_error->text, sizeof api_error->text, format, arguments);
    va_end(arguments);
    return false;
}

struct proxy_entry *collection_find(const struct collection *collection, const char *name)
{
    struct proxy_entry *entry = collection->entries;
    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    return entry;
}

struct proxy_entry *collection_add(struct collection *collection, const char *name,
                                   const char *listen, const char *upstream)
{
    struct proxy_entry *entry = memory_new(1, sizeof *entry), **at = &collection->entries;
    entry->name = memory_text(name);
    entry->listen = memory_text(listen);
    entry->upstream = memory_text(upstream);
    entry->orders = rules_orders_new();
    while (*at && strcmp((*at)->name, name) < 0)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
    return entry;
}

void collection_remove(struct collection *collection, struct proxy_entry *entry)
{
    struct proxy_entry **at = &collection->entries;
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    entry_stop(entry);
    entry_remove_toxics(entry);
    rules_orders_free(entry->orders);
    free(entry->name);
    free(entry->listen);
    free(entry->upstream);
    free(entry);
}

void collection_close(struct collection *collection)
{
    collection->is_ending = true;
    while (collection->entries)
        collection_remove(collection, collection->entries);
}

bool entry_start(struct collection *collection, struct proxy_entry *entry,
                 struct api_error *api_error)
{
    char where[300];
    if (entry->running)
        return true;
    if (!running_new(collection, entry, where, api_error))
        return false;
    free(entry->listen);
    entry->listen = memory_text(where);
    return true;
}

void entry_stop(struct proxy_entry *entry)
{
    if (entry->running)
        running_close(entry->running);
    entry->running = NULL;
}

bool entry_differs(const struct collection *collection, const struct proxy_entry *entry,
                   const char *listen, const char *upstream)
{
    struct proxy_address now, then;
    struct api_error ignored = {0};
    if (strcmp(entry->upstream, upstream) != 0)
        return true;
    if (!strcmp(entry->listen, listen))
        return false;
    return !running_address(collection, entry->listen, &now, &ignored) ||
           !running_address(collection, listen, &then, &ignored) || now.port != then.port ||
           strcmp(now.host, then.host) != 0;
}

/* --- toxics --- */

struct toxic *entry_toxic(const struct proxy_entry *entry, const char *name)
{
    struct toxic *toxic = entry->toxics;
    while (toxic && strcmp(toxic->name, name) != 0)
        toxic = toxic->next;
    return toxic;
}

/* FNV-1a over both names: a toxic made anew draws as it did. */
static uint64_t seed_of(uint64_t seed, const char *proxy, const char *toxic)
{
    uint64_t hash = 0xcbf29ce484222325u ^ seed;
    for (; *proxy; proxy++)
        hash = (hash ^ (unsigned char)*proxy) * 0x100000001b3u;
    hash *= 0x100000001b3u; /* a zero byte between them */
    for (; *toxic; toxic++)
        hash = (hash ^ (unsigned char)*toxic) * 0x100000001b3u;
    return hash;
}

void entry_add_toxic(const struct collection *collection, struct proxy_entry *entry,
                     struct toxic *toxic)
{
    struct toxic **at = &entry->toxics;
    while (*at)
        at = &(*at)->next;
    *at = toxic;
    toxic->next = NULL;
    toxic->seed = seed_of(collection->seed, entry->name, toxic->name);
    redis_toxic_start(collection, toxic);
    if (entry->running)
        running_toxic(entry->running, toxic, TOXIC_COMES);
}

void entry_toxic_changed(const struct collection *collection, struct proxy_entry *entry,
                         struct toxic *toxic)
{
    redis_toxic_start(collection, toxic);
    if (entry->running)
        running_toxic(entry->running, toxic, TOXIC_CHANGED);
}

void entry_remove_toxic(struct proxy_entry *entry, struct toxic *toxic)
{
    struct toxic **at = &entry->toxics;
    while (*at != toxic)
        at = &(*at)->next;
    *at = toxic->next;
    if (entry->running)
        running_toxic(entry->running, toxic, TOXIC_GOES);
    toxic_free(toxic);
}

void entry_remove_toxics(struct proxy_entry *entry)
{
    while (entry->toxics)
        entry_remove_toxic(entry, entry->toxics);
}
