/* fail_on.c - see fail_on.h. */
#include "run/fail_on.h"

#include "base/names.h"
#include "base/suggest.h"

#include <assert.h>

static const char *const names[FAIL_ON_COUNT] = {
    [FAIL_ON_NEVER] = "never", [FAIL_ON_SCHEME] = "scheme", [FAIL_ON_DEPLOYMENT] = "deployment",
    [FAIL_ON_BUG] = "bug",     [FAIL_ON_ANY] = "any",
};

enum fail fail_on_read(const char *text, enum fail_on *fail_on, struct failure *failure)
{
    *fail_on = FAIL_ON_UNSAID;
    if (!text)
        return FAIL_NONE;
    int row = NAMES_FIND(names, text);
    if (row >= 0) {
        *fail_on = (enum fail_on)row;
        return FAIL_NONE;
    }
    char suggestion[SUGGEST_BYTES];
    const char *nearest =
        suggest_nearest(text, names + FAIL_ON_NEVER, FAIL_ON_COUNT - FAIL_ON_NEVER);
    return failure_set(failure, FAIL_INPUT,
                       "--fail-on wants scheme, deployment, bug (either of them), any or never, "
                       "not '%s'%s",
                       text, suggest_words(nearest, "", suggestion));
}

const char *fail_on_name(enum fail_on fail_on)
{
    assert((unsigned)fail_on < FAIL_ON_COUNT);
    return names[fail_on];
}

enum fail_on fail_on_for(enum fail_on said, const struct scheme *scheme, enum fail_on otherwise)
{
    if (said != FAIL_ON_UNSAID)
        return said;
    return scheme && scheme_is_plugin(scheme) ? FAIL_ON_SCHEME : otherwise;
}

bool fail_on_counts(enum fail_on fail_on, unsigned blames)
{
    /* What may be either's fault may be that of the one that is asked for. */
    enum {
        OF_SCHEME = 1 << BLAME_SCHEME | 1 << BLAME_EITHER,
        OF_DEPLOYMENT = 1 << BLAME_DEPLOYMENT | 1 << BLAME_EITHER,
    };
    static const unsigned counted[FAIL_ON_COUNT] = {
        [FAIL_ON_SCHEME] = OF_SCHEME,
        [FAIL_ON_DEPLOYMENT] = OF_DEPLOYMENT,
        [FAIL_ON_BUG] = OF_SCHEME | OF_DEPLOYMENT,
        [FAIL_ON_ANY] = OF_SCHEME | OF_DEPLOYMENT | 1 << BLAME_NOBODY,
    };
    assert((unsigned)fail_on < FAIL_ON_COUNT);
    return (counted[fail_on] & blames) != 0;
}
