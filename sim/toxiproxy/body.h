/* body.h - JSON that came: read as leniently, and refused in the same words, as Toxiproxy's decoder
 * does. Keys are found whatever their case is. */
#ifndef PICKLOCK_TOXIPROXY_BODY_H
#define PICKLOCK_TOXIPROXY_BODY_H

#include "toxiproxy/collection.h"

#include <jansson.h>

/* The first value of the bytes; NULL with a status of 400. type: of what it is to be, for the
 * words; is_list: an array, else an object; null is either. The caller gives it back. */
json_t *body_read(const char *bytes, size_t length, const char *type, bool is_list,
                  struct api_error *api_error);

/* Each leaves *value as it is where the field is missing or null. false: it is of another type.
 * owner: the type that the field is of, for the words. */
bool body_text(const json_t *object, const char *owner, const char *field, const char **value,
               struct api_error *api_error);
bool body_truth(const json_t *object, const char *owner, const char *field, bool *value,
                struct api_error *api_error);
bool body_whole(const json_t *object, const char *owner, const char *field, int64_t *value,
                struct api_error *api_error);
bool body_share(const json_t *object, const char *owner, const char *field, float *value,
                struct api_error *api_error);
/* What Go calls a value of that type. */
const char *body_kind(const json_t *value);
/* NULL: missing, or null. */
const json_t *body_field(const json_t *object, const char *field);

/* A number that is printed with no more digits than tell it from its neighbours. */
json_t *body_print_share(float value);

#endif
