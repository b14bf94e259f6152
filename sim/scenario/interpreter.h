/* interpreter.h - drives a world through the steps of a scenario, choice by choice.
 *
 * Pure but for the world that it drives: it decides from world_ops.messages() and .client() alone,
 * always in the same order, so that the same scenario makes the same schedule in both worlds. */
#ifndef PICKLOCK_SCENARIO_INTERPRETER_H
#define PICKLOCK_SCENARIO_INTERPRETER_H

#include "scenario/scenario.h"

/* Keeps the choices as they are made: a schedule. */
struct choice_sink {
    void (*take)(void *context, const struct choice *choice);
    void *context;
};

/* Runs all steps. FAIL_UNKNOWN with "file:line:column: step: what happened instead" when the world
 * did not follow; FAIL_NOT_APPLICABLE with the same when the scheme cannot follow, and the scenario
 * does not speak about it; or as the world refused. */
enum fail interpreter_run(const struct scenario *scenario, const struct scheme *scheme,
                          struct world *world, struct choice_sink choices, struct failure *failure);

/* About how much world time passes in it. */
int64_t interpreter_takes_us(const struct scenario *scenario, const struct scheme *scheme);

#endif
