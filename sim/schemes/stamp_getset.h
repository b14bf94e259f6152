/* stamp_getset.h - what stamp-getset and stamp-getset-inverted share: the state, and how they
 * acquire. */
#ifndef PICKLOCK_SCHEMES_STAMP_GETSET_H
#define PICKLOCK_SCHEMES_STAMP_GETSET_H

#include "schemes/parts.h"

struct stamp_getset {
    int64_t at;    /* enum stamp_getset_step */
    int64_t stamp; /* what this attempt writes: its clock at the start + ttl + 1, in units */
};

static const enum scheme_field stamp_getset_fields[] = {FIELD_STEP, FIELD_STAMP};
FIELDS_FIT(struct stamp_getset, stamp_getset_fields);

/* The one release check that the two differ in. */
enum stamp_check {
    DELETE_BEFORE_STAMP, /* "my stamp has not passed, so it is still mine" */
    DELETE_AFTER_STAMP,  /* the retelling taken literally: "if it has expired, delete it" */
};

/* A step of either: see struct scheme. */
void stamp_getset_run(struct stamp_getset *self, enum stamp_check check, const struct lease *lease,
                      const struct moment *in, struct outbox *out);

#endif
