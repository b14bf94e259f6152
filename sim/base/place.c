/* place.c - see place.h. */
#include "base/place.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static_assert(PLACE_BYTES >= PATH_MAX, "a path of the system fits");

void place_program(char path[PLACE_BYTES])
{
    assert(path); /* or gcc warns, where it looks for what is not there (sanitizers) */
    ssize_t length = readlink("/proc/self/exe", path, PLACE_BYTES - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
}

/* The folder of the program has no dots and no links in it: a "../" takes its last name away. */
static bool find(const char *const *places, const char *name, char path[PLACE_BYTES])
{
    char program[PLACE_BYTES];
    place_program(program);
    for (; *places; places++) {
        int length = (int)strlen(program);
        const char *place = *places;
        for (; !strncmp(place, "../", 3); place += 3)
            while (length > 0 && program[--length] != '/')
                ;
        int printed = snprintf(path, PLACE_BYTES, "%.*s/%s%s", length, program, place, name);
        if (printed > 0 && printed < PLACE_BYTES && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

bool place_library(const char *name, char path[PLACE_BYTES])
{
    /* The second is where the tests' programs look: they are in a folder of the build folder. */
    static const char *const places[] = {"", "../", "../lib/picklock/", NULL};
    return find(places, name, path);
}

bool place_shared(const char *name, char path[PLACE_BYTES])
{
    static const char *const places[] = {"../share/picklock/", "../", NULL};
    return find(places, name, path);
}

/* The folder that holds name, which is a file or a folder in it. */
static bool find_folder(const char *const *places, const char *name, char path[PLACE_BYTES])
{
    if (!find(places, name, path))
        return false;
    path[strlen(path) - strlen(name) - 1] = '\0';
    return true;
}

bool place_documents(char path[PLACE_BYTES])
{
    static const char *const places[] = {"../share/doc/picklock/", NULL};
    return find_folder(places, "sim/docs", path);
}

bool place_headers(char path[PLACE_BYTES])
{
    static const char *const places[] = {"../include/picklock/", "../sim/", "../../sim/", NULL};
    return find_folder(places, "schemes/parts.h", path);
}
