/* config.h - what the proxy that stands alone is to serve: listeners, each with its rules. Of a
 * file, or of one listener's options. */
#ifndef PICKLOCK_PROXY_CONFIG_H
#define PICKLOCK_PROXY_CONFIG_H

#include "base/limits.h"
#include "proxy/proxy.h"
#include "proxy/rules.h"

enum { LISTENERS_MAX = 64 };

struct listener_config {
    char name[NAME_MAX_BYTES]; /* "": the only one, of options */
    char *listen_text, *upstream_text;
    struct proxy_address listen, upstream;
    struct rules *rules; /* NULL: none */
};

struct proxy_config {
    struct listener_config rows[LISTENERS_MAX];
    int count;
};

/* Reads a file: "[NAME] listen=ADDR upstream=ADDR" begins a listener, and its rules follow, in the
 * form of a rules file. config: zeroed. FAIL_INPUT with file:line:column; config is to be freed in
 * any case. */
enum fail config_read(struct proxy_config *config, const char *path, struct failure *failure);
/* One listener; rules: a rules file, or NULL. */
enum fail config_of_options(struct proxy_config *config, const char *listen, const char *upstream,
                            const char *rules, struct failure *failure);
void config_free(struct proxy_config *config);

#endif
