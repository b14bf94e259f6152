/* step.c - see step.h. The table is the whole grammar: sentence.c reads and prints its form column.
 */
#include "scenario/step.h"

#include "scenario/sentence.h"

#include <assert.h>
#include <stdio.h>

static const char *const forms[STEP_COUNT] = {
#define STEP(id, form, words) form,
#include "scenario/steps.def"
#undef STEP
};

/* What the sentence says is possible, but not with this amount or in this cast. */
static const char *step_objects(enum step_kind kind, const struct holes *holes)
{
    bool is_jump = kind == STEP_CLIENT_CLOCK || kind == STEP_SERVER_CLOCK;
    bool is_positive = holes->amount_us > 0 || holes->leases_milli > 0;
    if (kind == STEP_TIME_PASSES && !is_positive)
        return "time passes by a duration above 0";
    if (kind == STEP_LEASE && !is_positive)
        return "a lease is a duration above 0";
    if ((kind == STEP_CLIENT_DRIFT || kind == STEP_SERVER_DRIFT) &&
        (holes->leases_milli || !choice_is_drift(holes->amount_us)))
        return "a clock gains from -999.999ms to 9s a second";
    if (is_jump && !holes->amount_us && !holes->leases_milli)
        return "a jump of nothing: a clock jumps by 10s or -10s";
    return NULL;
}

enum fail step_read(const char *text, const struct cast *cast, struct step *step,
                    struct mishap *mishap)
{
    struct holes holes;
    int kind = sentence_read(forms, STEP_COUNT, "step", text, cast, &holes, mishap);
    if (kind < 0)
        return FAIL_INPUT;
    const char *objection = step_objects((enum step_kind)kind, &holes);
    if (objection) {
        *mishap = (struct mishap){0};
        snprintf(mishap->words, sizeof mishap->words, "%s", objection);
        return FAIL_INPUT;
    }
    *step = (struct step){.kind = (enum step_kind)kind,
                          .client = holes.client,
                          .server = holes.server,
                          .amount_us = holes.amount_us,
                          .leases_milli = holes.leases_milli,
                          .error = holes.error,
                          .stall = holes.stall,
                          .stalls_at_effect = holes.stalls_at_effect,
                          .stall_verb = holes.stall_verb,
                          .stall_effect = holes.stall_effect};
    return FAIL_NONE;
}

enum choice_kind step_choice(enum step_kind kind)
{
    static const struct {
        enum step_kind step;
        enum choice_kind choice;
    } rows[] = {
        {STEP_LEASE, CHOICE_LEASE},
        {STEP_CLIENT_CLOCK, CHOICE_CLIENT_CLOCK},
        {STEP_SERVER_CLOCK, CHOICE_SERVER_CLOCK},
        {STEP_CLIENT_DRIFT, CHOICE_CLIENT_DRIFT},
        {STEP_SERVER_DRIFT, CHOICE_SERVER_DRIFT},
        {STEP_RESTARTS, CHOICE_RESTART},
        {STEP_CUTS_REPLICA, CHOICE_CUT_REPLICA},
        {STEP_FAILS_OVER, CHOICE_FAILOVER},
        {STEP_EVICTS, CHOICE_EVICT},
        {STEP_FLUSHES, CHOICE_FLUSH_SCRIPTS},
        {STEP_FALLS_SILENT, CHOICE_SILENCE},
        {STEP_REFUSES, CHOICE_REFUSE},
        {STEP_IS_BACK, CHOICE_REACH},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].step == kind)
            return rows[i].choice;
    return CHOICE_COUNT;
}

const char *step_print(const struct step *step, const char (*names)[64], char *text, size_t size)
{
    assert((unsigned)step->kind < STEP_COUNT);
    struct holes holes = {.client = step->client,
                          .server = step->server,
                          .amount_us = step->amount_us,
                          .leases_milli = step->leases_milli,
                          .error = step->error,
                          .stall = step->stall,
                          .stalls_at_effect = step->stalls_at_effect,
                          .stall_verb = step->stall_verb,
                          .stall_effect = step->stall_effect};
    return sentence_print(forms[step->kind], &holes, names, text, size);
}
