/* proxied.h - `picklock proxy --history`: what goes through the proxy's rules is watched, and
 * becomes a history, to be judged like any other. */
#ifndef PICKLOCK_WATCH_PROXIED_H
#define PICKLOCK_WATCH_PROXIED_H

#include "proxy/standalone.h"
#include "watch/watch.h"

struct watched_proxy;

/* options: pattern, url, history, program and hides_values count; they and outcome are kept. The
 * server is asked who it is. FAIL_UNAVAILABLE: it does not answer. What stands where the history
 * goes stays, or is given back, where anything else cannot begin. */
enum fail watched_proxy_new(struct watched_proxy **made, const struct watch_options *options,
                            struct watch_outcome *outcome, struct failure *failure);
const struct standalone_observer *watched_proxy_observer(struct watched_proxy *watched);
/* Writes the history to its end, whatever else went wrong by then. FAIL_INTERNAL: it cannot be
 * written. FAIL_UNAVAILABLE, without words: the proxy has not begun, and there is none. Takes
 * watched. */
enum fail watched_proxy_close(struct watched_proxy *watched, struct failure *failure);

#endif
