/* names.c - the words of properties, verdicts and causes; see checks.h. */
#include "checks/checks.h"

#include "base/names.h"

#include <assert.h>

enum { PROMISE_NOTHING };
enum parties { ONE, TWO };

static const struct {
    const char *name, *words;
    unsigned promise; /* enum promise */
    enum parties parties;
} properties[PROPERTY_COUNT] = {
#define PROPERTY(id, file, name, promise, workload, parties, words)                                \
    {name, words, PROMISE_##promise, parties},
#include "checks/properties.def"
#undef PROPERTY
};

static const struct {
    const char *name, *title, *words, *advice;
    enum blame blame;
    enum harm harm;
} causes[CAUSE_COUNT] = {
#define CAUSE(id, name, blame, harm, title, words, advice)                                         \
    {name, title, words, advice, blame, harm},
#include "checks/causes.def"
#undef CAUSE
};

static const struct {
    const char *name, *words;
} verdicts[VERDICT_COUNT] = {
    [VERDICT_HOLDS] = {"holds", "holds"},
    [VERDICT_UNKNOWN] = {"unknown", "unknown"},
    [VERDICT_VIOLATED] = {"violated", "violated"},
    [VERDICT_NOT_APPLICABLE] = {"not_applicable", "not applicable"},
};

const char *property_name(enum property property)
{
    assert((unsigned)property < PROPERTY_COUNT);
    return properties[property].name;
}

const char *property_words(enum property property)
{
    assert((unsigned)property < PROPERTY_COUNT);
    return properties[property].words;
}

unsigned property_promise(enum property property)
{
    assert((unsigned)property < PROPERTY_COUNT);
    return properties[property].promise;
}

bool property_is_promised(enum property property, const struct scheme *scheme)
{
    switch (property_promise(property)) {
    case PROMISE_NOTHING:
        return true;
    case PROMISE_EXPIRY:
        return scheme->promises_expiry;
    case PROMISE_TOKEN:
        return scheme->promises_token;
    case PROMISE_NOTICE:
        return scheme->promises_notice;
    case PROMISE_FENCE:
        return scheme->mints_fence;
    default:
        return false;
    }
}

bool property_needs_two(enum property property)
{
    assert((unsigned)property < PROPERTY_COUNT);
    return properties[property].parties == TWO;
}

bool property_is_exclusion(enum property property)
{
    return property == PROPERTY_MUTUAL_EXCLUSION || property == PROPERTY_LEASE_EXCLUSION;
}

const char *verdict_name(enum verdict verdict)
{
    assert((unsigned)verdict < VERDICT_COUNT);
    return verdicts[verdict].name;
}

const char *verdict_words(enum verdict verdict)
{
    assert((unsigned)verdict < VERDICT_COUNT);
    return verdicts[verdict].words;
}

const char *cause_name(enum cause cause)
{
    assert((unsigned)cause < CAUSE_COUNT);
    return causes[cause].name;
}

const char *cause_title(enum cause cause)
{
    assert((unsigned)cause < CAUSE_COUNT);
    return causes[cause].title;
}

const char *cause_words(enum cause cause)
{
    assert((unsigned)cause < CAUSE_COUNT);
    return causes[cause].words;
}

const char *cause_advice(enum cause cause)
{
    assert((unsigned)cause < CAUSE_COUNT);
    return causes[cause].advice;
}

enum blame cause_blame(enum cause cause)
{
    assert((unsigned)cause < CAUSE_COUNT);
    return causes[cause].blame;
}

enum harm cause_harm(enum cause cause)
{
    assert((unsigned)cause < CAUSE_COUNT);
    return causes[cause].harm;
}

bool property_read(const char *name, enum property *property)
{
    return names_read(NAMES_FIND_ROW(properties, name), property);
}

bool verdict_read(const char *name, enum verdict *verdict)
{
    return names_read(NAMES_FIND_ROW(verdicts, name), verdict);
}

bool cause_read(const char *name, enum cause *cause)
{
    return names_read(NAMES_FIND_ROW(causes, name), cause);
}
