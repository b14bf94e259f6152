/* json_place.c - see json_place.h. */
#include "base/json_place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    const char *at, *end;
};

static bool is_one_of(const struct scan *scan, const char *bytes)
{
    return scan->at < scan->end && *scan->at && strchr(bytes, *scan->at);
}

/* To where the next name or value begins, or what is open ends. */
static void skip_between(struct scan *scan)
{
    while (is_one_of(scan, " \t\r\n,:"))
        scan->at++;
}

static void skip_text(struct scan *scan)
{
    for (scan->at++; scan->at < scan->end && *scan->at != '"'; scan->at++)
        if (*scan->at == '\\' && scan->at + 1 < scan->end)
            scan->at++;
    if (scan->at < scan->end)
        scan->at++;
}

static void skip_value(struct scan *scan)
{
    int depth = 0;
    while (scan->at < scan->end && (depth > 0 || !is_one_of(scan, " \t\r\n,]}"))) {
        depth += is_one_of(scan, "[{") - is_one_of(scan, "]}");
        if (*scan->at == '"')
            skip_text(scan);
        else
            scan->at++;
    }
}

/* Where the member of that name of the object in hand stands, whose value is in hand then; NULL:
 * it has none. */
static const char *find_member(struct scan *scan, const char *name, size_t length)
{
    if (!is_one_of(scan, "{"))
        return NULL;
    scan->at++;
    for (skip_between(scan); is_one_of(scan, "\""); skip_between(scan)) {
        const char *member = scan->at;
        skip_text(scan);
        const bool is_it = scan->at == member + length + 2 && !memcmp(member + 1, name, length);
        skip_between(scan);
        if (is_it)
            return member;
        skip_value(scan);
    }
    return NULL;
}

/* The same of an element, from 0, of the list in hand. */
static const char *find_element(struct scan *scan, long number)
{
    if (!is_one_of(scan, "["))
        return NULL;
    scan->at++;
    for (skip_between(scan); number > 0 && !is_one_of(scan, "]"); skip_between(scan)) {
        const char *element = scan->at;
        skip_value(scan);
        if (scan->at == element)
            return NULL;
        number--;
    }
    return scan->at < scan->end && !is_one_of(scan, "]") ? scan->at : NULL;
}

const char *json_place_find(const char *text, size_t size, const char *path, const char *name)
{
    struct scan scan = {text, text + size};
    skip_between(&scan);
    const char *found = scan.at;
    while (*path) {
        char *behind = NULL;
        const bool is_element = *path == '[';
        const size_t length = strcspn(path, ".[");
        const char *outer = scan.at;
        const char *inner = is_element ? find_element(&scan, strtol(path + 1, &behind, 10))
                                       : find_member(&scan, path, length);
        if (!inner)
            return outer;
        found = inner;
        path = is_element ? behind + (*behind == ']') : path + length;
        path += *path == '.';
    }
    const char *outer = scan.at;
    const char *member = name ? find_member(&scan, name, strlen(name)) : found;
    return member ? member : outer;
}
