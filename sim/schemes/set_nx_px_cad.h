/* set_nx_px_cad.h - one step function for three descriptors that differ in their token only. */
#ifndef PICKLOCK_SCHEMES_SET_NX_PX_CAD_H
#define PICKLOCK_SCHEMES_SET_NX_PX_CAD_H

#include "schemes/parts.h"

struct set_nx_px_cad {
    int64_t at; /* enum step of set_nx_px_cad.c */
};

static const enum scheme_field set_nx_px_cad_fields[] = {FIELD_STEP};
FIELDS_FIT(struct set_nx_px_cad, set_nx_px_cad_fields);

/* SET key token NX PX ttl; released by compare-and-delete. See struct scheme. */
void set_nx_px_cad_step(void *state, const struct lease *lease, const struct moment *in,
                        struct outbox *out);

#endif
