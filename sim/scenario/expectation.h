/* expectation.h - the "expect" part of a scenario file. */
#ifndef PICKLOCK_SCENARIO_EXPECTATION_H
#define PICKLOCK_SCENARIO_EXPECTATION_H

#include "scenario/scenario.h"
#include "scenario/yaml.h"

/* Fills scenario->expectations from the node under "expect". FAIL_INPUT with place, caret and "did
 * you mean". */
enum fail expectations_read(const struct yaml *yaml, const struct yaml_node *node,
                            struct scenario *scenario, struct failure *failure);

#endif
