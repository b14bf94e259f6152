/* collection.h - the proxies that the interface knows, their toxics, and what of them runs. Every
 * change is done when the function returns; whoever is connected feels it at once. */
#ifndef PICKLOCK_TOXIPROXY_COLLECTION_H
#define PICKLOCK_TOXIPROXY_COLLECTION_H

#include "toxiproxy/pipe.h"

#include <uv.h>

/* What went wrong, in the words of Toxiproxy. status 0: nothing. */
struct api_error {
    int status; /* of HTTP */
    char text[600];
};

/* Returns false, so that a caller can write `return api_error_set(...)`. */
bool api_error_set(struct api_error *api_error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct running_proxy; /* a listener and its links */

struct proxy_entry {
    struct proxy_entry *next; /* by name */
    char *name, *listen, *upstream;
    struct running_proxy *running; /* NULL: it is not enabled */
    struct toxic *toxics;
    struct rules_orders *orders; /* of its toxics of type redis */
};

struct collection {
    uv_loop_t *loop;
    uint64_t seed;
    bool takes_any_host; /* else it listens on loopback only */
    bool is_ending;      /* nobody waits for farewells any more */
    struct proxy_entry *entries;
    void (*notice)(void *context, const char *words);
    void *context;
};

struct proxy_entry *collection_find(const struct collection *collection, const char *name);
/* Stopped, without toxics. The name is nobody's yet; all texts are copied. */
struct proxy_entry *collection_add(struct collection *collection, const char *name,
                                   const char *listen, const char *upstream);
/* Stops it and forgets it. Takes entry. */
void collection_remove(struct collection *collection, struct proxy_entry *entry);

/* Listens; entry->listen becomes where. Nothing to do when it runs. */
bool entry_start(struct collection *collection, struct proxy_entry *entry,
                 struct api_error *api_error);
/* Whoever connects is refused, whoever is connected sees the end. */
void entry_stop(struct proxy_entry *entry);
/* Would it listen and dial elsewhere than it does? */
bool entry_differs(const struct collection *collection, const struct proxy_entry *entry,
                   const char *listen, const char *upstream);

struct toxic *entry_toxic(const struct proxy_entry *entry, const char *name);
/* Takes toxic; its seed is set here. */
void entry_add_toxic(const struct collection *collection, struct proxy_entry *entry,
                     struct toxic *toxic);
void entry_toxic_changed(const struct collection *collection, struct proxy_entry *entry,
                         struct toxic *toxic);
/* Takes toxic. */
void entry_remove_toxic(struct proxy_entry *entry, struct toxic *toxic);
void entry_remove_toxics(struct proxy_entry *entry);

/* Stops and forgets all; what runs is gone after a few turns of the loop. */
void collection_close(struct collection *collection);

#endif
