/* judge.c - holds what was found against what was expected. */
#include "run/result.h"

#include "base/memory.h"
#include "checks/finding.h"
#include "run/plugin.h"
#include "run/worker_scheme.h"

#include <stdio.h>

static const char *const unsupported = "not supported by this server";

void result_name_row(struct result_row *row, const char *subject, const struct scheme *scheme)
{
    snprintf(row->subject, sizeof row->subject, "%s", subject);
    snprintf(row->scheme, sizeof row->scheme, "%s", scheme->name);
    const char *file = plugin_file(scheme);
    row->scheme_file = file ? memory_text(file) : NULL;
    const char *worker = worker_scheme_command(scheme);
    row->worker = worker ? memory_text(worker) : NULL;
    bool is_ours = scheme_named(scheme->name) == scheme && !scheme_is_plugin(scheme);
    row->is_unrated = !is_ours;
    row->is_naive = scheme->is_naive && !row->is_unrated;
}

static void add_property(struct result_row *row, enum property property,
                         const struct finding *finding, const struct expectation *expectation)
{
    row->properties =
        memory_resize(row->properties, (size_t)row->properties_count + 1, sizeof *row->properties);
    struct result_property *made = &row->properties[row->properties_count++];
    *made = (struct result_property){.property = property,
                                     .verdict = finding->verdict,
                                     .expected = EXPECTED_NOTHING,
                                     .count = finding->count,
                                     .cause = finding->cause,
                                     .causes = finding->causes,
                                     .first_index = finding->first_index,
                                     .witness_lines = finding->witness_lines};
    if (expectation && expectation->is_expected[property])
        made->expected = (int)expectation->verdicts[property];
    made->witness = memory_new((size_t)finding->witness_lines, sizeof *made->witness);
    for (int i = 0; i < finding->witness_lines; i++)
        made->witness[i] = memory_text(finding->witness[i]);
}

/* Expected: all that is listed, and no violation that is not listed. A violation too many is not
 * expected whatever else is; but where something listed could not be decided, that something else
 * is missing says nothing: the row is open. */
static void compare(struct result_row *row)
{
    bool is_violated = false, is_open = false, is_missed = false;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        int wanted = property->expected;
        if (wanted == EXPECTED_NOTHING)
            wanted = VERDICT_HOLDS;
        bool is_undecided =
            property->verdict == VERDICT_UNKNOWN || property->verdict == VERDICT_NOT_APPLICABLE;
        if ((int)property->verdict == wanted || (is_undecided && wanted == VERDICT_UNKNOWN))
            continue;
        if (is_undecided)
            is_open |= property->expected != EXPECTED_NOTHING;
        else if (property->verdict == VERDICT_VIOLATED)
            is_violated = true;
        else
            is_missed = true;
    }
    row->as_expected = is_violated ? AS_EXPECTED_NO
                       : is_open   ? AS_EXPECTED_NONE
                       : is_missed ? AS_EXPECTED_NO
                                   : AS_EXPECTED_YES;
}

static bool has_failure(const struct finding *findings, enum fail_on fail_on)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (findings[i].verdict == VERDICT_VIOLATED && fail_on_counts(fail_on, findings[i].blames))
            return true;
    return false;
}

/* Nothing was stated: what the policy calls a failure is not as expected. */
static void apply_policy(struct result_row *row, const struct finding *findings,
                         enum fail_on fail_on)
{
    row->as_expected = has_failure(findings, fail_on) ? AS_EXPECTED_NO : AS_EXPECTED_NONE;
    row->fail_on = fail_on;
}

void result_set_not_applicable(struct result_row *row, const char *reason)
{
    row->verdict = VERDICT_NOT_APPLICABLE;
    row->not_applicable = memory_text(reason);
    row->as_expected = AS_EXPECTED_NONE;
}

static void set_error(struct result_row *row, const struct judging *judging)
{
    bool is_foreseen = judging->expectation && judging->expectation->is_unsupported;
    row->verdict = VERDICT_UNKNOWN;
    row->error = memory_text(judging->is_unsupported ? unsupported : judging->error);
    row->as_expected = judging->is_unsupported && is_foreseen ? AS_EXPECTED_YES : AS_EXPECTED_NONE;
}

/* What is judged of a run that did not come to its end: what is violated stays so, and what holds
 * did so far only. Both say where it ended. */
static void cut_short(struct finding *finding, const char *why)
{
    if (finding->verdict == VERDICT_NOT_APPLICABLE)
        return;
    if (finding->verdict == VERDICT_HOLDS)
        finding->verdict = VERDICT_UNKNOWN;
    finding_say(finding, "Not all of it could be judged: %s.", why);
}

static void take_findings(struct result_row *row, const struct finding *findings,
                          const struct judging *judging)
{
    const struct expectation *expectation = judging->expectation;
    const char *ended = judging->interrupted ? judging->interrupted : judging->not_applicable;
    bool is_any_judged = false;
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        struct finding finding = findings[i];
        bool is_listed = expectation && expectation->is_expected[i];
        bool is_judged = finding.verdict != VERDICT_NOT_APPLICABLE;
        if (ended)
            cut_short(&finding, ended);
        if (judging->vacuity && property_is_exclusion((enum property)i) &&
            finding.verdict == VERDICT_HOLDS) {
            finding.verdict = VERDICT_UNKNOWN;
            finding_say(&finding, "%s.", judging->vacuity);
        }
        is_any_judged |= is_judged;
        if (is_judged && finding.verdict > row->verdict)
            row->verdict = finding.verdict;
        if (is_judged || is_listed || judging->tells_all)
            add_property(row, (enum property)i, &finding, expectation);
    }
    if (!is_any_judged)
        result_set_not_applicable(row, "no property applies to it");
}

void result_sum_up_cell(struct result_row *row)
{
    row->as_expected = AS_EXPECTED_NONE;
    row->verdict = VERDICT_NOT_APPLICABLE;
    for (int i = 0; i < row->properties_count; i++) {
        const struct result_property *property = &row->properties[i];
        if (property->is_failure)
            row->as_expected = AS_EXPECTED_NO;
        if (property->verdict != VERDICT_NOT_APPLICABLE &&
            (row->verdict == VERDICT_NOT_APPLICABLE || property->verdict > row->verdict))
            row->verdict = property->verdict;
    }
    if (row->verdict == VERDICT_NOT_APPLICABLE)
        row->verdict = VERDICT_UNKNOWN;
}

const char *result_vacuity(const struct counters *counters, bool wants_faults)
{
    if ((!wants_faults && counters->faults == 0) || counters->faults_in_hold > 0 ||
        counters->stalls_in_release > 0)
        return NULL;
    return "no fault struck inside a hold: a longer run, higher rates or longer holds may find "
           "something";
}

const char *result_gap(const struct finding *findings, const struct checks *checks)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        if (findings[i].is_unproved)
            return findings[i].witness[0];
    return checks_contradiction(checks);
}

/* Why the row is unknown where nothing was stated, and nothing failed; NULL: it is not. */
static const char *trouble_of(const struct result_row *row, const struct judging *judging)
{
    if (judging->interrupted || judging->fail_on == FAIL_ON_NEVER)
        return judging->interrupted;
    if (judging->gap)
        return judging->gap;
    /* What is nobody's fault hides that nothing else could be found. */
    return row->verdict == VERDICT_VIOLATED ? judging->vacuity : NULL;
}

void result_judge(struct result_row *row, const struct finding *findings,
                  const struct judging *judging)
{
    const struct expectation *expectation = judging->expectation;
    row->is_unsupported = judging->is_unsupported;
    if (judging->is_unsupported || judging->error) {
        set_error(row, judging);
        return;
    }
    if (judging->not_applicable && !has_failure(findings, judging->fail_on)) {
        result_set_not_applicable(row, judging->not_applicable);
        return;
    }
    take_findings(row, findings, judging);
    if (row->verdict == VERDICT_NOT_APPLICABLE)
        return;
    if (expectation && !expectation->is_unsupported)
        compare(row);
    else
        apply_policy(row, findings, judging->fail_on);
    const char *trouble = trouble_of(row, judging);
    if (trouble && row->as_expected == AS_EXPECTED_NONE)
        row->error = memory_text(trouble);
}
