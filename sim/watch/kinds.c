/* kinds.c - see kinds.h. */
#include "watch/kinds.h"

#include <stddef.h>
#include <string.h>

/* What waits at the server for something to happen, or is no command on keys: never held. */
static const char *const passed[] = {
    "BLPOP",      "BRPOP",      "BLMOVE",      "BRPOPLPUSH",   "BLMPOP",       "BZPOPMIN",
    "BZPOPMAX",   "BZMPOP",     "XREAD",       "XREADGROUP",   "WAIT",         "SUBSCRIBE",
    "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "PUBLISH",
    "SPUBLISH",   "MONITOR",    "SYNC",        "PSYNC",        "WATCH",        "AUTH",
    "HELLO",      "CLIENT",     "KEYS",        "SCAN",         "SCRIPT",       "CONFIG"};

static bool is_in(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool kind_is_flush(const char *name)
{
    return strcmp(name, "FLUSHALL") == 0 || strcmp(name, "FLUSHDB") == 0 ||
           strcmp(name, "SWAPDB") == 0;
}

#define IS_IN(names, name) is_in(names, sizeof(names) / sizeof *(names), name)

bool kind_waits(const char *name)
{
    static const char *const waiting[] = {"BLPOP",  "BRPOP",      "BLMOVE",   "BRPOPLPUSH",
                                          "BLMPOP", "BZPOPMIN",   "BZPOPMAX", "BZMPOP",
                                          "XREAD",  "XREADGROUP", "WAIT"};
    return (name[0] == 'B' || name[0] == 'X' || name[0] == 'W') && IS_IN(waiting, name);
}

bool kind_is_script(const char *name)
{
    return strncmp(name, "EVAL", 4) == 0 || strncmp(name, "FCALL", 5) == 0;
}

bool kind_is_passed(const char *name)
{
    return IS_IN(passed, name);
}

bool kind_names_many(const char *name)
{
    static const char *const many[] = {"DEL", "UNLINK", "MSET", "MSETNX"};
    return IS_IN(many, name);
}

bool kind_says_no(const char *name)
{
    static const char *const writes[] = {"SET", "SETNX", "DEL", "UNLINK", "EXPIRE", "PEXPIRE"};
    return IS_IN(writes, name);
}

bool kind_is_special(const char *name)
{
    switch (name[0]) {
    case 'B':
    case 'W':
    case 'X':
        return kind_waits(name);
    case 'C':
        return strcmp(name, "CONFIG") == 0;
    case 'D':
        return strcmp(name, "DEBUG") == 0 || strcmp(name, "DISCARD") == 0;
    case 'E':
        return strcmp(name, "EXEC") == 0 || kind_is_script(name);
    case 'F':
        return kind_is_flush(name) || kind_is_script(name);
    case 'M':
        return strcmp(name, "MULTI") == 0;
    case 'Q':
        return strcmp(name, "QUIT") == 0;
    case 'R':
        return strcmp(name, "RESET") == 0;
    case 'S':
        return !(name[1] == 'E' && name[2] == 'T') &&
               (strcmp(name, "SELECT") == 0 || strcmp(name, "SCRIPT") == 0 || kind_is_flush(name));
    case 'U':
        return strcmp(name, "UNWATCH") == 0;
    default:
        return false;
    }
}
