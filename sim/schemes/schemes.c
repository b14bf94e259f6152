/* schemes.c - the table of lock algorithms: see schemes.def. */
#include "schemes/scheme.h"

#include <string.h>

#define SCHEME(id) extern const struct scheme scheme_##id;
#include "schemes/schemes.def"
#undef SCHEME

const struct scheme *const schemes[] = {
#define SCHEME(id) &scheme_##id,
#include "schemes/schemes.def"
#undef SCHEME
};

const int schemes_count = sizeof schemes / sizeof *schemes;

/* Those that a user brought along; set before anything runs. */
static const struct scheme *plugins[SCHEME_PLUGINS_MAX];
static int plugins_count;

bool scheme_add(const struct scheme *scheme)
{
    if (plugins_count == SCHEME_PLUGINS_MAX)
        return false;
    plugins[plugins_count++] = scheme;
    return true;
}

bool scheme_is_plugin(const struct scheme *scheme)
{
    for (int i = 0; i < plugins_count; i++)
        if (plugins[i] == scheme)
            return true;
    return false;
}

const struct scheme *scheme_named(const char *name)
{
    for (int i = 0; i < schemes_count; i++) {
        if (strcmp(schemes[i]->name, name) == 0)
            return schemes[i];
    }
    for (int i = 0; i < plugins_count; i++) {
        if (strcmp(plugins[i]->name, name) == 0)
            return plugins[i];
    }
    return NULL;
}

int64_t scheme_lease_us(const struct scheme *scheme, int64_t asked_us)
{
    assert(asked_us > 0);
    int64_t units = (asked_us + scheme->unit_us - 1) / scheme->unit_us;
    return units * scheme->unit_us;
}
