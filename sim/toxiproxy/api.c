/* api.c - see api.h: which path is which call. */
#include "toxiproxy/api.h"

#include "base/memory.h"
#include "toxiproxy/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SEGMENTS_MAX = 4 };

struct call_path {
    char *text;
    char *segments[SEGMENTS_MAX];
    int count; /* -1: no path of ours */
};

static int hex(char digit)
{
    const char *digits = "0123456789abcdef", *at = digit ? strchr(digits, digit | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* False: an escape that is none, or a zero byte. */
static bool unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = hex(from[1]), low = high < 0 ? -1 : hex(from[2]);
        if (low < 0 || !(high | low))
            return false;
        *to++ = (char)(high << 4 | low);
        from += 2;
    }
    *to = 0;
    return true;
}

static struct call_path path_split(const char *text)
{
    struct call_path path = {.text = memory_text(text)};
    char *at = path.text;
    if (!unescape(path.text) || *at != '/') {
        path.count = -1;
        return path;
    }
    while (at) {
        char *slash = strchr(++at, '/');
        if (slash)
            *slash = 0;
        if (!*at || path.count == SEGMENTS_MAX) {
            path.count = -1;
            return path;
        }
        path.segments[path.count++] = at;
        at = slash;
    }
    return path;
}

/* --- which call --- */

static bool path_is(const struct call_path *path, const char *pattern)
{
    char words[64], *rest = words;
    int count = 0;
    snprintf(words, sizeof words, "%s", pattern);
    for (char *word; (word = strsep(&rest, "/")); count++)
        if (count >= path->count || (strcmp(word, "*") != 0 && strcmp(word, path->segments[count])))
            return false;
    return count == path->count;
}

static const struct {
    const char *path, *methods;
    void (*call)(struct call *call);
} calls[] = {
    {"reset", "POST", call_reset},
    {"proxies", "GET", call_list},
    {"proxies", "POST", call_create},
    {"populate", "POST", call_populate},
    {"proxies/*", "GET", call_show},
    {"proxies/*", "POST PATCH", call_update},
    {"proxies/*", "DELETE", call_delete},
    {"proxies/*/toxics", "GET", call_toxics},
    {"proxies/*/toxics", "POST", call_toxic_create},
    {"proxies/*/toxics/*", "GET", call_toxic_show},
    {"proxies/*/toxics/*", "POST PATCH", call_toxic_update},
    {"proxies/*/toxics/*", "DELETE", call_toxic_delete},
    {"version", "GET", call_version},
};

static bool is_among(const char *method, const char *methods)
{
    const char *at = strstr(methods, method);
    size_t length = strlen(method);
    return at && length && (at == methods || at[-1] == ' ') && (!at[length] || at[length] == ' ');
}

static void dispatch(struct call *call, const char *method, const struct call_path *path)
{
    bool is_path = false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!path_is(path, calls[i].path))
            continue;
        is_path = true;
        if (!is_among(method, calls[i].methods))
            continue;
        call->name = path->count > 1 ? path->segments[1] : NULL;
        call->toxic = path->count > 3 ? path->segments[3] : NULL;
        calls[i].call(call);
        return;
    }
    if (is_path)
        call->answer = (struct api_answer){.status = 405};
    else
        call_text(call, 404, "404 page not found\n");
}

struct api_answer api_answer(struct collection *collection, const struct api_request *request)
{
    struct call call = {.collection = collection, .request = request};
    if (request->agent && !strncmp(request->agent, "Mozilla/", 8)) {
        call_text(&call, 403, "User agent not allowed\n"); /* no page in a browser steers us */
        return call.answer;
    }
    struct call_path path = path_split(request->path);
    dispatch(&call, request->method, &path);
    free(path.text);
    return call.answer;
}

enum fail api_populate(struct collection *collection, const char *text, size_t length,
                       struct failure *failure)
{
    const struct api_request request = {.body = text, .length = length};
    struct call call = {.collection = collection, .request = &request};
    call_populate(&call);
    if (call.answer.status != 201)
        failure_set(failure, FAIL_INPUT, "%s", call.api_error.text);
    free(call.answer.body);
    return call.answer.status == 201 ? FAIL_NONE : FAIL_INPUT;
}
