/* toxic.h - one toxic of a proxy: its type and what was asked of it. Words and defaults are
 * Toxiproxy's. */
#ifndef PICKLOCK_TOXIPROXY_TOXIC_H
#define PICKLOCK_TOXIPROXY_TOXIC_H

#include "proxy/proxy.h"

#include <stdbool.h>
#include <stdint.h>

enum { ATTRIBUTES_MAX = 3 };

struct pipe_stage;
struct chunk;

/* A row of toxics.def. */
struct toxic_type {
    const char *name;
    size_t keeps; /* bytes */
    const char *attributes[ATTRIBUTES_MAX];
    const char *words;
    /* Looks at the first chunk that waits (NULL: none does). True: it went on, or is gone: there
     * may be another. False: nothing to do before stage->due_us. */
    bool (*step)(struct pipe_stage *stage, struct chunk *first, int64_t now_us);
};

extern const struct toxic_type toxic_types[];
/* NULL: there is none of that name. */
const struct toxic_type *toxic_type_of(const char *name);

struct toxic {
    struct toxic *next; /* of its proxy, in the order in which they were made */
    char *name;
    const struct toxic_type *type;
    enum proxy_stream stream;
    float toxicity; /* the share of links that it strikes; whatever was said, 7 as well */
    int64_t values[ATTRIBUTES_MAX];
    uint64_t seed;       /* of all that is drawn for it */
    struct rules *rules; /* of type redis; NULL: it is of bytes, in a pipe */
    struct json_t *said; /* its attributes, of type redis */
};

/* Frees it. */
void toxic_free(struct toxic *toxic);

/* Does it strike this link? A function of its seed and the link's number alone: whatever else comes
 * and goes, a link stays struck. */
bool toxic_strikes(const struct toxic *toxic, uint64_t link_number);

#endif
