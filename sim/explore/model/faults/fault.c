/* fault.c - the table of faults: the rows of faults.def, and what stands in each one's file. */
#include "explore/model/faults/fault.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *name;
    enum fault_blame blame;
    const char *words;
    const struct fault_kind *kind;
} rows[] = {
#define FAULT(id, file, name, struck, words) {name, struck, words, &fault_##file##_kind},
#include "explore/model/faults/faults.def"
#undef FAULT
};

const char *fault_name(enum fault fault)
{
    assert((unsigned)fault < FAULT_COUNT);
    return rows[fault].name;
}

const char *fault_words(enum fault fault)
{
    assert((unsigned)fault < FAULT_COUNT);
    return rows[fault].words;
}

enum fault_blame fault_blame(enum fault fault)
{
    assert((unsigned)fault < FAULT_COUNT);
    return rows[fault].blame;
}

const char *fault_struck(enum fault fault)
{
    static const char *const words[] = {
        [FAULT_OF_CLIENT] = "client", [FAULT_OF_SERVER] = "server", [FAULT_OF_RUN] = "run"};
    return words[fault_blame(fault)];
}

int fault_becomes(enum fault fault, enum choice_kind *choices)
{
    const struct fault_kind *kind = fault_kind(fault);
    const struct fault_text *texts[] = {&kind->becomes, &kind->delayed};
    int count = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < texts[i]->count; k++)
            choices[count++] = texts[i]->choices[k];
    assert(count <= FAULT_CHOICES_MAX);
    return count;
}

bool fault_is_applicable(enum fault fault, const struct scheme *scheme)
{
    const struct fault_kind *kind = fault_kind(fault);
    return !kind->is_applicable || kind->is_applicable(scheme);
}

bool fault_read(const char *name, enum fault *fault)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        *fault = (enum fault)i;
        return true;
    }
    return false;
}

void fault_prepare(struct config *config, const struct explore_options *options)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        const struct fault_kind *kind = fault_kind((enum fault)i);
        config->has_fault[i] =
            options->budget[i] > 0 && fault_is_applicable((enum fault)i, options->scheme);
        config->breakers |= (uint32_t)(config->has_fault[i] && kind->hits_all_replies) << i;
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
