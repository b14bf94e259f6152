/* fault.c - the table of faults: the rows of history/faults.def, and what stands in each one's
 * file. */
#include "explore/model/faults/fault.h"

#include <assert.h>

/* How the table says it: how many choices, and which. */
#define NOTHING          0
#define ONE(first)       1, .choices[0] = CHOICE_##first
#define TWO(first, then) 2, .choices[0] = CHOICE_##first, .choices[1] = CHOICE_##then

static const struct {
    const struct fault_kind *kind;
    struct fault_text becomes, later;
} rows[FAULT_COUNT] = {
#define FAULT(id, file, name, strikes, keys, breaks, effect, becomes, later, words)                \
    [FAULT_##id] = {&fault_##file##_kind, {becomes}, {later}},
#define PART(id, name, strikes, keys, breaks, effect, words)
#include "history/faults.def"
#undef FAULT
#undef PART
};

#undef NOTHING
#undef ONE
#undef TWO

struct fault_text fault_text(enum fault fault)
{
    assert((unsigned)fault < FAULT_COUNT);
    return rows[fault].becomes;
}

struct fault_text fault_later_text(enum fault fault)
{
    assert((unsigned)fault < FAULT_COUNT);
    return rows[fault].later;
}

bool fault_hits_all_replies(enum fault fault)
{
    return (fault_blame(fault) == FAULT_OF_SERVER && fault_breaks(fault) == FAULT_BREAKS_ALL) ||
           fault_effect(fault) == FAULT_PUTS_OUT_OF_REACH;
}

bool fault_hits_them_later(enum fault fault)
{
    return fault_hits_all_replies(fault) && rows[fault].later.count > 0 &&
           fault_effect(fault) != FAULT_PUTS_OUT_OF_REACH;
}

bool fault_lets_time_pass(enum fault fault)
{
    return fault_effect(fault) == FAULT_NOT_TOLD || fault_effect(fault) == FAULT_PUTS_OUT_OF_REACH;
}

bool fault_may_end_requests(const struct explore_options *options)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (options->budget[i] > 0 && rows[i].kind->ends_requests)
            return true;
    return false;
}

int fault_becomes(enum fault fault, enum choice_kind *choices)
{
    const struct fault_text texts[] = {fault_text(fault), fault_later_text(fault)};
    int count = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < texts[i].count; k++)
            choices[count++] = texts[i].choices[k];
    assert(count <= FAULT_CHOICES_MAX);
    return count;
}

bool fault_is_applicable(enum fault fault, const struct scheme *scheme)
{
    const struct fault_kind *kind = fault_kind(fault);
    return !kind->not_of_schemes && (!kind->is_applicable || kind->is_applicable(scheme));
}

const char *fault_not_of_schemes(enum fault fault)
{
    return fault_kind(fault)->not_of_schemes;
}

void fault_prepare(struct config *config, const struct explore_options *options)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_kind *kind = fault_kind((enum fault)i);
        config->has_fault[i] =
            options->budget[i] > 0 && fault_is_applicable((enum fault)i, options->scheme);
        config->breakers |=
            (uint32_t)(config->has_fault[i] && fault_hits_all_replies((enum fault)i)) << i;
        if (config->has_fault[i] && kind->prepare)
            kind->prepare(config, options->budget[i]);
    }
    config->keeps_count = config->forgets && config->section == SECTION_COUNTER;
}

const struct fault_kind *fault_kind(enum fault fault)
{
    assert((unsigned)fault < FAULT_COUNT);
    return rows[fault].kind;
}
