/* running.h - an enabled proxy: its listener, and the toxics on each of its links. */
#ifndef PICKLOCK_TOXIPROXY_RUNNING_H
#define PICKLOCK_TOXIPROXY_RUNNING_H

#include "toxiproxy/collection.h"

/* Listens for entry, whose running becomes this; where: 300 bytes, where it listens. */
bool running_new(struct collection *collection, struct proxy_entry *entry, char *where,
                 struct api_error *api_error);
/* Reads an address to listen on; its host becomes numeric. */
bool running_address(const struct collection *collection, const char *text,
                     struct proxy_address *address, struct api_error *api_error);
/* Forgets its entry, and ends every link by FIN. Takes running. */
void running_close(struct running_proxy *running);
enum toxic_change { TOXIC_COMES, TOXIC_CHANGED, TOXIC_GOES };
/* Every link feels it. */
void running_toxic(struct running_proxy *running, struct toxic *toxic, enum toxic_change change);

#endif
