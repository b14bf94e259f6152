/* fuzz_rules.c - hostile rules files for the proxy. */
#include "test/fuzz.h"

#include "proxy/rules.h"

static bool fuzz_one(const uint8_t *data, size_t size)
{
    struct rules *rules;
    struct failure failure = {0};
    enum fail fail = rules_read(&rules, fuzz_file(data, size), &failure);
    if (fail)
        fuzz_must_refuse(fail, &failure);
    else
        rules_free(rules);
    return !fail;
}
