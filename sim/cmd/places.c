/* places.c - see places.h. */
#include "cmd/places.h"

#include "base/memory.h"
#include "base/outfile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum fail check_differ(const struct result_place *one, const struct result_place *other,
                              struct failure *failure)
{
    if (!one->path || !other->path || !outfile_is_same(one->path, other->path))
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "%s and %s both go to %s: one would replace the other",
                       one->option, other->option,
                       strcmp(other->path, "-") == 0 ? "stdout" : other->path);
}

/* A word that is no file is no input: it may be a name. */
static enum fail check_spares(const char *path, const char *read, struct failure *failure)
{
    if (!read || !strcmp(path, "-") || access(read, F_OK) != 0 || !outfile_is_same(path, read))
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "%s is read, and would be replaced by a result", path);
}

static enum fail check_spares_words(const char *path, const char *text, struct failure *failure)
{
    char *copy = memory_text(text), *rest = copy, *word;
    enum fail fail = FAIL_NONE;
    while (!fail && (word = strsep(&rest, " ,'\"")))
        fail = check_spares(path, word, failure);
    free(copy);
    return fail;
}

static enum fail check_spares_all(const char *path, const struct inputs *inputs,
                                  struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; !fail && i < inputs->count; i++)
        fail = check_spares(path, strcmp(inputs->paths[i], "-") ? inputs->paths[i] : "/dev/stdin",
                            failure);
    for (int i = 0; !fail && i < INPUT_TEXTS; i++)
        if (inputs->words[i] && !(fail = check_spares(path, inputs->words[i], failure)))
            fail = check_spares_words(path, inputs->words[i], failure);
    return fail;
}

enum fail places_clear(const struct result_place *places, int count, const struct inputs *inputs,
                       struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; !fail && i < count; i++)
        for (int k = i + 1; !fail && k < count; k++)
            fail = check_differ(&places[i], &places[k], failure);
    for (int i = 0; !fail && i < count; i++)
        if (places[i].path)
            fail = check_spares_all(places[i].path, inputs, failure);
    for (int i = 0; !fail && i < count; i++)
        if (places[i].path && !places[i].is_kept)
            fail = outfile_clear(places[i].path, failure);
    return fail;
}
