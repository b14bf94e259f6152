/* plugin.c - see plugin.h. */
#include "run/plugin.h"

#include "base/infile.h"
#include "base/memory.h"
#include "run/object_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const struct scheme *scheme;
    char *file;
} loaded[SCHEME_PLUGINS_MAX];
static int loaded_count;
static const char *last_file;

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
        return "has no .name, or one of more than 63 bytes";
    if (!scheme->summary || !scheme->source)
        return "has no .summary or no .source";
    if (!scheme->step)
        return "has no .step";
    if (!scheme->fields || scheme->fields_count < 1 || scheme->fields_count > SCHEME_FIELDS_MAX)
        return "has no .fields, or more than 16";
    if (scheme->fields[0] != FIELD_STEP)
        return "has a first field that is not FIELD_STEP";
    for (int i = 0; i < scheme->fields_count; i++)
        if ((unsigned)scheme->fields[i] > FIELD_VALUE)
            return "has a field of an unknown kind";
    if (scheme->unit_us < 1)
        return "has no .unit_us";
    if (scheme_named(scheme->name))
        return "has the .name of another scheme";
    return NULL;
}

/* The first name of the step interface that the object (or what it was linked with) defines itself,
 * or NULL. Its steps would ask there and not here, and the run would be of something else. */
static const char *redefined(void *object)
{
    static const char *const names[] = {
#define INTERFACE(name) #name,
#include "schemes/interface.def"
#undef INTERFACE
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dlsym(object, names[i]))
            return names[i];
    return NULL;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED
#endif

/* Its names are bound to itself before they are to the libraries of the program: a function of its
 * own that is called `index` must not be replaced in silence. The sanitizers cannot do that. */
static void *open_object(const char *path)
{
    int flags = RTLD_NOW | RTLD_LOCAL;
#ifndef IS_SANITIZED
    flags |= RTLD_DEEPBIND;
#endif
    /* Without a slash dlopen() would search the system's folders. */
    char *file = strchr(path, '/') ? memory_text(path) : memory_format("./%s", path);
    void *object = dlopen(file, flags);
    free(file);
    return object;
}

/* Before any of its code runs: what its file says of it is no scheme of ours. */
static enum fail check_file(const char *path, struct failure *failure)
{
    /* What exit() does is seen (cmd/foreign_code.h); these leave nobody to see it. */
    static const char *const leave[] = {"_exit",          "_Exit",     "quick_exit", "pthread_exit",
                                        "pthread_cancel", "thrd_exit", "execl",      "execle",
                                        "execlp",         "execv",     "execve",     "execvp",
                                        "execvpe",        "fexecve",   "syscall",    NULL};
    struct object_file object = object_file_open(path);
    const char *leaves;
    enum fail fail = FAIL_NONE;
    if (object_file_is_cut_off(&object))
        fail = failure_set(failure, FAIL_INPUT,
                           "%s: is cut off: its header describes more than the file has", path);
    else if ((leaves = object_file_takes(&object, leave)))
        fail = failure_set(failure, FAIL_INPUT,
                           "%s: calls '%s', which could end picklock, or a part of it, with "
                           "no verdict. A step returns",
                           path, leaves);
    object_file_close(&object);
    return fail;
}

static enum fail not_opened(struct failure *failure)
{
    const char *why = dlerror();
    bool is_missing = strstr(why, "undefined symbol");
    return failure_set(failure, FAIL_INPUT, "%s%s", why,
                       is_missing
                           ? "\n(a scheme can call only what schemes/scheme.h lists under \"what a "
                             "step may ask for\")"
                           : "");
}

static void remember(const struct scheme *scheme, const char *path)
{
    loaded[loaded_count].scheme = scheme;
    last_file = loaded[loaded_count++].file = memory_text(path);
}

const char *plugin_last_file(void)
{
    return last_file;
}

const char *plugin_file(const struct scheme *scheme)
{
    for (int i = 0; i < loaded_count; i++)
        if (loaded[i].scheme == scheme)
            return loaded[i].file;
    return NULL;
}

enum fail plugin_load(const char *path, const struct scheme **scheme, struct failure *failure)
{
    /* dlopen() would wait for the writer of a named pipe. What is not there, it names better. */
    if (access(path, F_OK) == 0 && infile_check(path, failure))
        return failure->code;
    if (check_file(path, failure))
        return failure->code;
    last_file = path;
    char *symbol = symbol_of(path);
    void *object = open_object(path);
    const char *ours = object ? redefined(object) : NULL;
    enum fail fail = FAIL_NONE;
    if (!object) {
        fail = not_opened(failure);
    } else if (ours) {
        fail = failure_set(failure, FAIL_INPUT,
                           "%s: defines '%s', a function of picklock that steps call. "
                           "Rename yours, or make it static",
                           path, ours);
    } else if (!(*scheme = dlsym(object, symbol))) {
        fail = failure_set(failure, FAIL_INPUT, "%s: does not define 'const struct scheme %s'",
                           path, symbol);
    } else if (plugin_file(*scheme)) {
        fail = failure_set(failure, FAIL_INPUT, "%s: is named twice", path);
    } else {
        const char *defect = find_defect(*scheme);
        if (defect)
            fail = failure_set(failure, FAIL_INPUT, "%s: %s %s", path, symbol, defect);
        else if (!scheme_add(*scheme))
            fail = failure_set(failure, FAIL_INPUT, "%s: more than %d schemes from files", path,
                               SCHEME_PLUGINS_MAX);
        else
            remember(*scheme, path);
    }
    if (fail)
        last_file = NULL;
    free(symbol);
    return fail;
}
