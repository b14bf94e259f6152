/* mutants.h - schemes with a bug planted in them, and the same code without it.
 *
 * Each file here is a scheme that is right, with places where one slip can be planted:
 *
 *     if (MUTANT(release_by_del))
 *         out_del(out, SERVER_ONE);
 *     else
 *         out_compare_and_delete(out, SERVER_ONE, lease);
 *
 * A row of mutants.def is a scheme, scheme_<id>: that code with that one slip, or (a base) with
 * none. Linked into test_mutants; harness/test_mutants.py builds all of them as one shared object
 * for `picklock explore --scheme ID.so`. */
#ifndef PICKLOCK_TEST_MUTANTS_MUTANTS_H
#define PICKLOCK_TEST_MUTANTS_MUTANTS_H

#include "schemes/parts.h"

enum planted {
#define BASE(id, words)                                      PLANTED_##id,
#define PLANT(id, base, faults, broken, cause, events, slip) PLANTED_##id,
#define STORY(id, base, property, cause, slip)               PLANTED_##id,
#define SILENT(id, base, change)                             PLANTED_##id,
#include "test/mutants/mutants.def"
#undef BASE
#undef PLANT
#undef STORY
#undef SILENT
};

/* Is that slip planted? In a function with a parameter `enum planted planted`. */
#define MUTANT(id) (planted == PLANTED_##id)

/* A step function of its own for run(), with the slip of that name. */
#define MUTANT_STEP(id, run)                                                                       \
    static void step_##id(void *state, const struct lease *lease, const struct moment *in,         \
                          struct outbox *out)                                                      \
    {                                                                                              \
        run(state, PLANTED_##id, lease, in, out);                                                  \
    }

#endif
