/* guest.c - see guest.h. */
#include "run/guest.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "dir/my-lock.so" -> "scheme_my_lock"; the caller frees. */
static char *symbol_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *symbol = memory_format("scheme_%s", slash ? slash + 1 : path);
    char *dot = strrchr(symbol, '.');
    if (dot)
        *dot = 0;
    for (char *at = symbol; *at; at++)
        if (*at == '-' || *at == '.')
            *at = '_';
    return symbol;
}

/* What is wrong with a descriptor, or NULL. */
static const char *find_defect(const struct scheme *scheme)
{
    if (!scheme->name || !*scheme->name || strlen(scheme->name) >= NAME_MAX_BYTES)
        return "has no .name, or one of 64 bytes and more";
    if (!scheme->summary || !scheme->source)
        return "has no .summary or no .source";
    if (!scheme->step)
        return "has no .step";
    if (!scheme->fields || scheme->fields_count < 1 || scheme->fields_count > SCHEME_FIELDS_MAX)
        return "has no .fields, or more than 16";
    if (scheme->fields[0] != FIELD_STEP)
        return "has a first field that is not FIELD_STEP";
    if (scheme->unit_us < 1)
        return "has no .unit_us";
    if (scheme_named(scheme->name))
        return "has the .name of another scheme";
    return NULL;
}

enum fail guest_load(const char *path, const struct scheme **scheme, struct failure *failure)
{
    /* Without a slash dlopen() would search the system's folders. */
    char *file = strchr(path, '/') ? memory_text(path) : memory_format("./%s", path);
    char *symbol = symbol_of(path);
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    enum fail fail = FAIL_NONE;
    if (!object) {
        fail = failure_set(failure, FAIL_INPUT, "%s", dlerror());
    } else if (!(*scheme = dlsym(object, symbol))) {
        fail = failure_set(failure, FAIL_INPUT, "%s: does not define 'const struct scheme %s'",
                           path, symbol);
    } else {
        const char *defect = find_defect(*scheme);
        if (defect)
            fail = failure_set(failure, FAIL_INPUT, "%s: %s %s", path, symbol, defect);
        else if (!scheme_add(*scheme))
            fail = failure_set(failure, FAIL_INPUT, "%s: more than %d schemes from files", path,
                               SCHEME_GUESTS_MAX);
    }
    free(file);
    free(symbol);
    return fail;
}
