/* redis_toxic.h - toxics of type "redis": each is one rule of a rules file (proxy/README.md), its
 * selectors and its action said as attributes. They stand in front of the pipes, where frames are
 * still known; of several that strike one request or reply the one that was made first acts, and
 * all count. */
#ifndef PICKLOCK_TOXIPROXY_REDIS_TOXIC_H
#define PICKLOCK_TOXIPROXY_REDIS_TOXIC_H

#include "toxiproxy/collection.h"

#include <jansson.h>

/* Reads attributes (borrowed, may be NULL) on top of what the toxic has; null takes one away. Its
 * rules are new then, and count anew. false: 400, and nothing is changed. Without a stream that was
 * said, the action's own becomes the toxic's. */
bool redis_toxic_read(struct toxic *toxic, const struct proxy_entry *entry,
                      const json_t *attributes, bool is_stream_said, struct api_error *api_error);
/* Adds what it came to: how often it matched, and struck. */
void redis_toxic_print(const struct toxic *toxic, json_t *printed);
/* Its rules run from here on, unless they do already or it is of another type. */
void redis_toxic_start(const struct collection *collection, const struct toxic *toxic);

/* Of one link: the toxics that strike it, in the order in which they were made. NULL: none. */
struct redis_stage;
/* It came, or was changed. */
void redis_stages_update(struct redis_stage **stages, struct toxic *toxic, struct proxy_link *link);
/* What it holds goes on at once. */
void redis_stages_remove(struct redis_stage **stages, const struct toxic *toxic);
void redis_stages_free(struct redis_stage **stages);
/* For the proxy's hooks of these names. */
enum proxy_decision redis_stages_request(const struct redis_stage *stages,
                                         struct proxy_request *request);
enum proxy_decision redis_stages_reply(const struct redis_stage *stages,
                                       struct proxy_request *request, const char *bytes,
                                       size_t length);

#endif
