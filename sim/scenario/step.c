/* step.c - see step.h. The tables are the whole grammar: sentence.c reads and prints their form
 * column. */
#include "scenario/step.h"

#include "scenario/sentence.h"

#include <assert.h>
#include <stdio.h>

static const enum choice_kind choices[STEP_COUNT] = {
#define STEP(id, form, words) CHOICE_COUNT,
#include "scenario/steps.def"
#undef STEP
#define STEP_CHOICE(id, name, fault, form, words) CHOICE_##id,
#include "scenario/choices.def"
};

static const char *const forms[STEP_COUNT] = {
#define STEP(id, form, words) form,
#include "scenario/steps.def"
#undef STEP
#define STEP_CHOICE(id, name, fault, form, words) form,
#include "scenario/choices.def"
};

/* What the sentence says is possible, but not with this amount. */
static const char *step_objects(enum step_kind kind, const struct holes *holes)
{
    const enum choice_kind choice = kind == STEP_TIME_PASSES ? CHOICE_TIME : step_choice(kind);
    const enum fault fault = choice == CHOICE_COUNT ? FAULT_NONE : choice_fault(choice);
    const enum fault_effect effect = fault == FAULT_NONE ? FAULT_NOT_TOLD : fault_effect(fault);
    const bool is_share = holes->leases_milli != 0;
    if (choice == CHOICE_COUNT)
        return NULL;
    if (effect == FAULT_STEPS_CLOCK && !holes->amount_us && !is_share)
        return "a jump of nothing: a clock jumps by 10s or -10s";
    if (is_share && effect == FAULT_SETS_RATE) /* a lease is no rate */
        return choice_objects(choice, INT64_MAX);
    return choice_objects(choice, is_share ? holes->leases_milli : holes->amount_us);
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
    assert((unsigned)kind < STEP_COUNT);
    return choices[kind];
}

enum fault step_strikes(const struct step *step)
{
    static const struct {
        enum step_kind kind;
        enum fault fault;
    } rows[] = {{STEP_CRASHES, FAULT_CRASH},
                {STEP_LOSES_REQUEST, FAULT_LOSE_REQUEST},
                {STEP_LOSES_REPLY, FAULT_LOSE_REPLY},
                {STEP_RESENDS, FAULT_RESEND},
                {STEP_SENT_TWICE, FAULT_DUPLICATE},
                {STEP_ANSWERS, FAULT_ANSWER_ERROR},
                {STEP_ARRIVES_LATE, FAULT_LATE_REQUEST},
                {STEP_CANNOT_REACH, FAULT_LOSE_REQUEST}};
    const enum choice_kind choice = step_choice(step->kind);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == step->kind)
            return rows[i].fault;
    if (choice != CHOICE_COUNT && choice_fault(choice) != FAULT_NONE &&
        fault_is_strike(choice_fault(choice)))
        return choice_fault(choice);
    return FAULT_NONE;
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
