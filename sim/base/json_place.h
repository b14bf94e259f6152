/* json_place.h - where in a JSON text a value stands, so that one that is refused can be shown.
 *
 * No parser: the text has been one's already, and is well-formed. Of any other text it finds some
 * place in it. */
#ifndef PICKLOCK_BASE_JSON_PLACE_H
#define PICKLOCK_BASE_JSON_PLACE_H

#include <stddef.h>

/* path says the way as in "results[3].properties[0]"; "": the whole. name: of a member of what is
 * there; NULL: none. A member stands where its name does. Of what is not there it is the innermost
 * object or list on the way to it. */
const char *json_place_find(const char *text, size_t size, const char *path, const char *name);

#endif
