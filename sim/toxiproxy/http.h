/* http.h - the interface over HTTP, on the caller's loop. */
#ifndef PICKLOCK_TOXIPROXY_HTTP_H
#define PICKLOCK_TOXIPROXY_HTTP_H

#include "toxiproxy/api.h"

struct http;

/* Listens there; *port becomes where. FAIL_UNAVAILABLE: why it cannot. Collection is kept. */
enum fail http_new(struct http **http, uv_loop_t *loop, const struct proxy_address *listen,
                   struct collection *collection, int *port, struct failure *failure);
/* Ends every connection. Takes http; what it has on the loop is closed in later turns. */
void http_close(struct http *http);

#endif
