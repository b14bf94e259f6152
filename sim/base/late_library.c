/* late_library.c - see late_library.h. */
#include "base/late_library.h"

#include <dlfcn.h>
#include <string.h>

/* POSIX has dlsym() return an object, and no compiler takes that for a function. */
static void *bound(const struct late_function *function)
{
    void *address;
    memcpy(&address, function->at, sizeof address);
    return address;
}

enum fail late_library_bind(const char *file, const struct late_function *functions, size_t count,
                            struct failure *failure)
{
    if (bound(&functions[count - 1]))
        return FAIL_NONE;
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return failure_set(failure, FAIL_UNAVAILABLE, "a library cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address)
            return failure_set(failure, FAIL_UNAVAILABLE, "another version of a library: %s",
                               dlerror());
        memcpy(functions[i].at, &address, sizeof address);
    }
    return FAIL_NONE;
}
