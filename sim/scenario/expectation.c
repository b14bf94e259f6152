/* expectation.c - see expectation.h: which verdict each scheme is expected to get, property by
 * property. */
#include "scenario/expectation.h"

#include "base/memory.h"
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

static enum fail read_verdict(const struct yaml *yaml, const struct yaml_node *key,
                              struct expectation *expectation, struct failure *failure)
{
    const char *names[PROPERTY_COUNT], *verdicts[VERDICT_COUNT];
    enum property property;
    const struct yaml_node *node = key->first;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        names[i] = property_name((enum property)i);
    for (int i = 0; i < VERDICT_COUNT; i++)
        verdicts[i] = verdict_name((enum verdict)i);
    if (!property_read(key->text, &property))
        return yaml_complain(yaml, key, 0, suggest_nearest(key->text, names, PROPERTY_COUNT),
                             failure, "unknown property '%.40s'", key->text);
    if (node->kind != YAML_SCALAR)
        return yaml_complain(yaml, node, 0, NULL, failure, "'%s' wants a verdict, not %s",
                             key->text, yaml_kind_words(node));
    if (!verdict_read(node->text, &expectation->verdicts[property]))
        return yaml_complain(
            yaml, node, 0, suggest_nearest(node->text, verdicts, VERDICT_COUNT), failure,
            "unknown verdict '%.40s': holds, violated, unknown or not_applicable", node->text);
    expectation->is_expected[property] = true;
    return FAIL_NONE;
}

/* The scheme of the table that was meant, or NULL. Only a slip of one letter counts: a name that is
 * further off may be of a scheme in a file. */
static const char *slip_of(const char *name)
{
    const char *found = NULL;
    for (int i = 0; i < schemes_count && !found; i++)
        if (suggest_is_slip(name, schemes[i]->name))
            found = schemes[i]->name;
    return found;
}

static enum fail read_scheme(const struct yaml *yaml, const struct yaml_node *key,
                             struct expectation *expectation, struct failure *failure)
{
    const struct yaml_node *node = key->first;
    expectation->scheme = scheme_named(key->text);
    if (!expectation->scheme) {
        const char *slip = slip_of(key->text);
        if (slip)
            return yaml_complain(yaml, key, 0, slip, failure, "unknown scheme '%.40s'", key->text);
        if (!*key->text || strlen(key->text) >= sizeof expectation->name)
            return yaml_complain(yaml, key, 0, NULL, failure,
                                 "the name of a scheme has 1 to %d bytes", NAME_MAX_BYTES - 1);
    }
    snprintf(expectation->name, sizeof expectation->name, "%s", key->text);
    if (node->kind == YAML_SCALAR && !strcmp(node->text, "unsupported")) {
        expectation->is_unsupported = true;
        return FAIL_NONE;
    }
    if (node->kind != YAML_MAPPING || node->count == 0) {
        static const char *const words[] = {"unsupported"};
        return yaml_complain(
            yaml, node, 0, node->kind == YAML_SCALAR ? suggest_nearest(node->text, words, 1) : NULL,
            failure, "'%s' wants { property: verdict, .. } or the word unsupported", key->text);
    }
    enum fail fail = FAIL_NONE;
    for (const struct yaml_node *at = node->first; !fail && at; at = at->next)
        fail = read_verdict(yaml, at, expectation, failure);
    return fail;
}

enum fail expectations_read(const struct yaml *yaml, const struct yaml_node *node,
                            struct scenario *scenario, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    if (node->kind != YAML_MAPPING)
        return yaml_complain(yaml, node, 0, NULL, failure,
                             "'expect' wants { scheme: { property: verdict, .. }, .. }, not %s",
                             yaml_kind_words(node));
    if (node->count == 0)
        return yaml_complain(yaml, node, 0, NULL, failure,
                             "'expect' speaks about no lock: name a scheme, or your own "
                             "lock's file, as in 'my_lock.py: { lease-exclusion: holds }'");
    scenario->expectations = memory_new((size_t)node->count, sizeof *scenario->expectations);
    for (const struct yaml_node *at = node->first; !fail && at; at = at->next)
        fail =
            read_scheme(yaml, at, &scenario->expectations[scenario->expectations_count++], failure);
    return fail;
}

const struct expectation *scenario_expects(const struct scenario *scenario,
                                           const struct scheme *scheme)
{
    for (int i = 0; i < scenario->expectations_count; i++)
        if (!strcmp(scenario->expectations[i].name, scheme->name))
            return &scenario->expectations[i];
    return NULL;
}
