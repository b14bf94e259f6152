/* judge_history.c - see judge_history.h. */
#include "run/judge_history.h"

#include "base/infile.h"
#include "base/memory.h"
#include "history/follow.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of a scheme that no table knows only its name is known; a foreign program is its own lock. */
static void name_row(struct result_row *row, const struct history_head *head)
{
    const struct scheme *scheme = scheme_named(head->scheme);
    const struct scheme foreign = {.name = head->scheme[0]    ? head->scheme
                                           : head->program[0] ? head->program
                                                              : "foreign"};
    result_name_row(row, head->scenario, scheme ? scheme : &foreign);
    row->worker = *head->program ? memory_text(head->program) : NULL;
}

/* Of a Jepsen history in which nothing was found: that is the best that can be said of it. */
static const char no_proof[] =
    "nothing that its clients were told contradicts such a lock; what the servers did is in no "
    "Jepsen history, so that it is no proof";

/* Whoever follows a history, and what was judged of it. */
struct judged_so_far {
    const struct history_judging *judging;
    const struct checks *checks;
};

static void look(void *context)
{
    const struct judged_so_far *so_far = context;
    so_far->judging->caught_up(so_far->judging->shown, so_far->checks);
}

static void add_row(const struct history_judging *judging, const struct history_head *head,
                    const struct history_doubts *end, const char *cut, const char *gap,
                    const struct finding *findings, const struct counters *counters,
                    struct results *results)
{
    bool is_stress = strcmp(head->scenario, "stress") == 0;
    const char *vacuity = is_stress ? result_vacuity(counters, false) : NULL;
    snprintf(results->world, sizeof results->world, "%s", head->world);
    snprintf(results->server_version, sizeof results->server_version, "%s", head->server_version);
    results->seed = head->seed;
    result_judge(&results->rows[results->rows_count - 1], findings,
                 &(struct judging){.fail_on = fail_on_for(judging->fail_on,
                                                          scheme_named(head->scheme), FAIL_ON_BUG),
                                   .interrupted = judging->interrupted  ? judging->interrupted
                                                  : cut                 ? cut
                                                  : head->incomplete[0] ? head->incomplete
                                                  : end->incomplete[0]  ? end->incomplete
                                                                        : NULL,
                                   .is_unsupported = *head->scheme && counters->unsupported > 0,
                                   .gap = gap,
                                   .tells_all = head->has_promises,
                                   .vacuity = end->vacuous[0] ? end->vacuous : vacuity});
}

#define WHOLE INT64_MAX

/* Only what the first of them say, where the history's end says so. */
static enum fail judge_first(int64_t events, const struct history_judging *judging,
                             struct results *results, struct history_judged *judged,
                             struct failure *failure)
{
    struct history_source *source;
    struct history_head head;
    struct event event;
    bool is_end = false, is_inferred = false;
    int64_t last_us = 0;
    *judged = (struct history_judged){0};
    enum fail fail = history_source_new(&source, judging->path, &judging->source, &head, failure);
    if (fail)
        return fail;
    if (judging->accept && judging->accept(judging->context, &head, failure)) {
        history_source_free(source);
        return failure->code;
    }
    if (judging->lease_us)
        head.lease_us = judging->lease_us;
    if (scheme_named(head.scheme) && head.lease_us == 0) {
        history_source_free(source);
        return failure_set(failure, FAIL_INPUT,
                           "%s:1:1: 'lease_us' is 0, and every lock of '%s' has a lease",
                           judging->path, head.scheme);
    }
    struct checks *checks = checks_new(&head);
    struct follow *follow = judging->source.follow;
    struct judged_so_far so_far = {.judging = judging, .checks = checks};
    if (follow && judging->caught_up) {
        follow->caught_up = look;
        follow->context = &so_far;
    }
    while (!(fail = history_source_next(source, &event, &is_end, failure)) && !is_end) {
        if (event.index >= events)
            continue;
        checks_event(checks, &event);
        last_us = event.time_us;
        is_inferred |= event.is_inferred;
    }
    const struct history_doubts end = *history_source_end(source);
    const bool is_cut = follow && follow->ended && history_source_was_cut(source);
    const bool is_readable = !fail || is_cut || fail == FAIL_UNKNOWN;
    if (is_readable && events == WHOLE && end.is_partly_proved) {
        struct history_judging again = *judging;
        again.source.follow = NULL; /* it has ended */
        if (is_cut)
            again.interrupted = follow->ended;
        checks_free(checks);
        history_source_free(source);
        if (infile_is_pipe(judging->path))
            return failure_set(failure, FAIL_INPUT,
                               "%s: only the first %" PRId64 " events of it count, so it is read "
                               "twice, and a pipe can be read once",
                               judging->path, end.proved);
        return judge_first(end.proved, &again, results, judged, failure);
    }
    if (!fail && history_source_note(source))
        results_note(results, memory_text(history_source_note(source)));
    if (is_cut)
        results_note(results, memory_format("The history is not whole: %s.", follow->ended));
    /* Where what happened cannot be told: what was violated before is. */
    const char *ended = is_cut ? follow->ended : fail == FAIL_UNKNOWN ? failure->text : NULL;
    if (!fail || ended) {
        fail = FAIL_NONE;
        struct finding findings[PROPERTY_COUNT];
        struct result_row *row = results_add(results);
        if (events == WHOLE)
            checks_finish(checks, last_us, findings, &judged->counters);
        else
            checks_break_off(checks, findings, &judged->counters);
        name_row(row, &head);
        row->is_inferred = is_inferred;
        const char *gap = checks_gap(checks);
        if (gap && judging->source.format != SOURCE_OURS)
            gap = no_proof;
        gap = gap ? gap : result_gap(findings, checks);
        add_row(judging, &head, &end, ended, gap, findings, &judged->counters, results);
        judged->gap = gap ? memory_text(gap) : NULL;
    }
    checks_free(checks);
    history_source_free(source);
    return fail;
}

enum fail judge_history(const struct history_judging *judging, struct results *results,
                        struct history_judged *judged, struct failure *failure)
{
    return judge_first(WHOLE, judging, results, judged, failure);
}
