/* status.h - the counters of a running proxy, for whoever asks: as JSON over a unix socket, as a
 * line a listener on a signal. */
#ifndef PICKLOCK_PROXY_STATUS_H
#define PICKLOCK_PROXY_STATUS_H

#include "proxy/served.h"

struct status;

/* Answers whoever connects to path, which only its owner may; it is there while the proxy is.
 * Borrows all. */
enum fail status_new(struct status **made, const struct serving_listeners *all, const char *path,
                     struct failure *failure);
/* Takes status; its handles are closed in the loop's next turns. */
void status_close(struct status *status);

/* A line for people. words: of size bytes. */
void status_words(const struct served_listener *served, char *words, size_t size);

/* What the proxy that answers at path says, as it came; the caller frees. FAIL_UNAVAILABLE: there
 * is none. */
enum fail status_ask(const char *path, char **text, struct failure *failure);

#endif
