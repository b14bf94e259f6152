/* scenario.h - a scenario file: one story, its steps, and what is expected of every scheme it
 * speaks about.
 *
 * The reader is strict (STYLE of the house): anything unknown is FAIL_INPUT with file:line:column,
 * a caret under the spot and "did you mean". YAML by libyaml (events, so that every node knows its
 * place). */
#ifndef PICKLOCK_SCENARIO_SCENARIO_H
#define PICKLOCK_SCENARIO_SCENARIO_H

#include "checks/checks.h"
#include "scenario/step.h"
#include "scenario/world.h"

struct expectation {
    char name[NAME_MAX_BYTES];   /* of the scheme, which may be in a file that is not loaded: */
    const struct scheme *scheme; /* then NULL */
    bool is_expected[PROPERTY_COUNT];
    enum verdict verdicts[PROPERTY_COUNT]; /* where is_expected */
    bool is_unsupported;                   /* "scheme: unsupported": this server cannot run it */
};

struct scenario {
    char path[4096];
    char name[NAME_MAX_BYTES];
    char source[256];
    char *story;      /* the comment on top, without the #s; "" when there is none */
    int64_t lease_us; /* as asked for; each scheme rounds it up to its unit */
    int clients, servers;
    char names[ACTORS_MAX][NAME_MAX_BYTES];
    uint32_t same_token; /* bit per client; see struct run */
    bool has_replica, is_cluster;
    struct step *steps;
    int steps_count;
    struct expectation *expectations;
    int expectations_count;
};

/* Reads path. *scenario: scenario_free. */
enum fail scenario_read(const char *path, struct scenario **scenario, struct failure *failure);
void scenario_free(struct scenario *scenario);

/* What is expected of a scheme, or NULL: the scenario does not speak about it. */
const struct expectation *scenario_expects(const struct scenario *scenario,
                                           const struct scheme *scheme);

#endif
