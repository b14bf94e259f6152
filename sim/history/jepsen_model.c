/* jepsen_model.c - what a lock of somebody else's history is; see jepsen.h. */
#include "history/jepsen.h"

#include "base/names.h"

#include <stdio.h>

static const char *const models[] = {
#define MODEL(id, name, words) name,
#include "history/models.def"
#undef MODEL
};

bool lock_model_read(const char *name, enum lock_model *model)
{
    return names_read(NAMES_FIND(models, name), model);
}

const char *lock_model_name(enum lock_model model)
{
    return models[model];
}

static const struct {
    const char *name;
    int64_t ns;
} units[TIME_UNITS] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

bool time_unit_read(const char *name, enum jepsen_unit *unit)
{
    return names_read(NAMES_FIND_ROW(units, name), unit);
}

const char *time_unit_name(enum jepsen_unit unit)
{
    return units[unit].name;
}

int64_t time_unit_ns(enum jepsen_unit unit)
{
    return units[unit].ns;
}

void lock_model_head(const struct jepsen_options *options, struct history_head *head)
{
    *head = (struct history_head){.scenario = "history",
                                  .world = "redis",
                                  .clients = 1,
                                  .servers = 1,
                                  .locks = 1,
                                  .lease_us = options->lease_us,
                                  .unit_us = 1,
                                  .has_promises = true,
                                  .refuses_holder = true,
                                  .anybody_releases = options->model == MODEL_MUTEX};
    snprintf(head->program, sizeof head->program, "the Jepsen test (%s)",
             lock_model_name(options->model));
    if (options->lease_us)
        head->promises |= PROMISE_EXPIRY;
    if (options->model == MODEL_FENCED)
        head->promises |= PROMISE_FENCE;
}
