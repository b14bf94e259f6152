/* served.h - one listener of the proxy that stands alone: its proxy, its rules, what they came to.
 */
#ifndef PICKLOCK_PROXY_SERVED_H
#define PICKLOCK_PROXY_SERVED_H

#include "proxy/config.h"
#include "proxy/log.h"
#include "proxy/standalone.h"

/* What all listeners share. */
struct serving_listeners {
    uv_loop_t *loop;
    struct log *log; /* NULL: none */
    const struct standalone_options *options;
    struct served_listener *first;
    struct tls *tls; /* once an upstream wanted it */
    int open;        /* those that are just closing, too */
    bool is_ending;
    void (*all_closed)(void *context); /* when is_ending */
    void *context;
};

struct served_listener {
    struct serving_listeners *all;
    struct served_listener *next;
    char name[NAME_MAX_BYTES];
    char *listen_text, *upstream_text;
    struct proxy_address listen;
    struct proxy *proxy;
    struct rules *rules; /* NULL: none */
    uint64_t faults;
    uint64_t number; /* of a reload: was it in what was read? */
};

/* Listens; takes row's rules. FAIL_UNAVAILABLE: why it cannot. Not among all yet. */
enum fail served_new(struct served_listener **made, struct serving_listeners *all,
                     struct listener_config *row, struct failure *failure);
/* Behind all others. */
void served_add(struct served_listener *served);
/* Does it listen where row is to? is_named: under the same name, and by the same words. Else where
 * it was bound, whatever it was called. */
bool served_listens(const struct served_listener *served, const struct listener_config *row,
                    bool is_named);
/* From here on this name, these rules and that upstream; connections that are open meet the new
 * rules from their next request on, behind what is held. Takes row's rules. */
void served_change(struct served_listener *served, struct listener_config *row);
/* Ends it and its links (of a reload: by FIN on both sides). Takes it; it is none of all any more.
 */
void served_close(struct served_listener *served);

#endif
