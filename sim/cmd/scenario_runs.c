/* scenario_runs.c - see scenario_runs.h. */
#include "cmd/scenario_runs.h"

#include "base/memory.h"
#include "base/place.h"
#include "base/suggest.h"
#include "cmd/cmd.h"
#include "cmd/file_kind.h"
#include "cmd/progress.h"
#include "cmd/scenario_files.h"
#include "scenario/interpreter.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- reading --- */

/* Default: scenarios/ here, else those that come with the program. */
static enum fail find_scenarios(struct scenario_files *found, struct failure *failure)
{
    char folder[PLACE_BYTES];
    if (scenario_files_add(found, "scenarios") ||
        (place_shared("scenarios", folder) && scenario_files_add(found, folder)))
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT, "no scenario was named, and scenarios/ has none");
}

/* A pattern for all of scenarios/ brings along the explorer's matrix. Moves it to the end of the
 * list; returns how many stand before it. */
static int leave_out_matrix(char **paths, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        char *path = paths[i];
        if (scenario_files_is_matrix(path)) {
            cmd_say("left out %s: the explorer's matrix, not a scenario", path);
            continue;
        }
        paths[i] = paths[kept];
        paths[kept++] = path;
    }
    return kept;
}

/* A word that is no file here may be a scenario's name: the caller frees the path. NULL: it is
 * none either. */
static char *path_named(const char *name)
{
    char folder[PLACE_BYTES];
    char *path = memory_format("scenarios/%s.yaml", name);
    if (access(path, R_OK) != 0 && place_shared("scenarios", folder)) {
        free(path);
        path = memory_format("%s/%s.yaml", folder, name);
    }
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static enum fail refuse_name(const char *name, struct failure *failure)
{
    char folder[PLACE_BYTES], suggestion[SUGGEST_BYTES];
    struct scenario_files found = {0};
    (void)scenario_files_add(&found, "scenarios");
    if (place_shared("scenarios", folder))
        (void)scenario_files_add(&found, folder);
    for (int i = 0; i < found.count; i++) {
        char *base = strrchr(found.paths[i], '/') + 1;
        *strrchr(base, '.') = '\0';
        memmove(found.paths[i], base, strlen(base) + 1);
    }
    const char *nearest =
        suggest_nearest(name, (const char *const *)found.paths, (size_t)found.count);
    failure_set(failure, FAIL_INPUT, "%s: there is no such file, and no scenario of that name%s",
                name, suggest_words(nearest, "; `picklock list scenarios` lists them", suggestion));
    scenario_files_free(&found);
    return failure->code;
}

/* The file that a word stands for, which the caller frees; NULL: none. */
static char *file_of(const char *word)
{
    return strchr(word, '/') || access(word, F_OK) == 0 ? memory_text(word) : path_named(word);
}

/* Behind why it cannot be read: what somebody who wrote that most likely meant. */
static enum fail say_meant(const char *word, struct failure *failure)
{
    const struct failure why = *failure;
    const char *slash = strrchr(word, '/'), *file = slash ? slash + 1 : word;
    const bool is_there = access(word, F_OK) == 0;
    const int stem = (int)scenario_files_stem(file);
    char *name = memory_format("%.*s", stem, file);
    char *ours = stem && !is_there ? path_named(name) : NULL;
    if (ours)
        (void)failure_set(failure, why.code, "%s; picklock has a scenario of that name: %s",
                          why.text, name);
    else if (!stem && is_there)
        (void)failure_set(
            failure, why.code,
            "%s\nA scenario's file ends with .yaml. If %s belongs to a command, quote "
            "that as one word: '.. %s'",
            why.text, word, word);
    free(ours);
    free(name);
    return failure->code;
}

static enum fail read_one(const char *word, struct scenario **scenario, struct failure *failure)
{
    char *file = file_of(word);
    if (!file)
        return refuse_name(word, failure);
    const enum fail fail = scenario_read(file, scenario, failure);
    const size_t length = fail ? strlen(failure->text) : 0;
    if (fail && file_kind_hint(FILE_SCENARIO, file, failure) && strlen(failure->text) == length)
        (void)say_meant(file, failure);
    free(file);
    return fail;
}

/* Reads every scenario before anything runs, so that all that is wrong is said at once. */
static enum fail read_all(char **paths, int count, struct scenario **scenarios,
                          struct failure *failure)
{
    struct failure one;
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < count; i++) {
        one = (struct failure){0};
        if (!read_one(paths[i], &scenarios[i], &one))
            continue;
        if (fail)
            cmd_failed(failure);
        *failure = one;
        fail = one.code;
    }
    return fail;
}

enum fail scenario_list_read(struct scenario_list *list, char **paths, int count,
                             struct failure *failure)
{
    struct scenario_files found = {0};
    *list = (struct scenario_list){0};
    if (count == 0 && find_scenarios(&found, failure))
        return failure->code;
    list->count = count > 0 ? leave_out_matrix(paths, count) : found.count;
    list->rows = memory_new((size_t)list->count + 1, sizeof *list->rows);
    enum fail fail = read_all(count > 0 ? paths : found.paths, list->count, list->rows, failure);
    scenario_files_free(&found);
    return fail;
}

enum fail scenario_list_check(const struct output *output, const struct inputs *inputs,
                              struct failure *failure)
{
    struct scenario_files found = {0};
    struct failure none;
    struct inputs read = *inputs;
    if (!inputs->count && !find_scenarios(&found, &none)) {
        read.paths = found.paths;
        read.count = found.count;
    }
    char **files = memory_new((size_t)read.count + 1, sizeof *files);
    for (int i = 0; i < read.count; i++) {
        char *file = file_of(read.paths[i]);
        files[i] = file ? file : memory_text(read.paths[i]);
    }
    read.paths = files;
    const enum fail fail = output_check(output, NULL, &read, failure);
    for (int i = 0; i < read.count; i++)
        free(files[i]);
    free(files);
    scenario_files_free(&found);
    return fail;
}

void scenario_list_close(struct scenario_list *list)
{
    for (int i = 0; i < list->count; i++)
        scenario_free(list->rows[i]);
    free(list->rows);
    *list = (struct scenario_list){0};
}

/* --- running --- */

/* The schemes asked for, or those that the scenario speaks about. */
static int count_schemes(const struct scenario *scenario, const struct scheme_list *wanted)
{
    return wanted->count ? wanted->count : scenario->expectations_count;
}

/* Of a scheme of the table nothing can fail that the scenario does not speak about, unless the user
 * says what. One from a file is what he wants to know about. */
static int has_question(const struct runner *runner, const struct scenario *scenario,
                        const struct scheme *scheme)
{
    return scheme &&
           (scenario_expects(scenario, scheme) || runner->fail_on || scheme_is_plugin(scheme));
}

/* Is one of these named? */
static bool is_named(const char *faults, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = faults; at; at = strpbrk(at, ",+"), at += at != NULL)
        if (!strncmp(at, name, length) && (!at[length] || strchr(",+", at[length])))
            return true;
    return false;
}

/* Faults that come to the same for whoever asks for one: a pause keeps what would be late. */
static bool is_asked_for(const char *faults, enum fault fault)
{
    static const struct {
        enum fault fault, same;
    } rows[] = {{FAULT_STALL, FAULT_LATE_REQUEST},
                {FAULT_STALL, FAULT_LATE_REPLY},
                {FAULT_CUT_REPLICA, FAULT_FAILOVER},
                {FAULT_SENTINEL, FAULT_FAILOVER},
                {FAULT_STOPPED_SERVER, FAULT_SILENT_SERVER}};
    bool is = is_named(faults, fault_name(fault));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is |= rows[i].fault == fault && is_named(faults, fault_name(rows[i].same));
    return is;
}

/* Whose messages stand still (bit a client) behind the step. */
static unsigned stalled_behind(const struct step *step, unsigned stalled)
{
    if (step->client < 0)
        return stalled;
    const unsigned bit = 1u << step->client;
    return step->stall == STALL_NONE ? stalled & ~bit : stalled | bit;
}

/* The first fault that nobody asked for, or FAULT_NONE. */
static enum fault strikes_else(const struct scenario *scenario, const char *faults)
{
    unsigned stalled = 0;
    if (!faults)
        return FAULT_NONE;
    for (int i = 0; i < scenario->steps_count; i++) {
        const struct step *step = &scenario->steps[i];
        const bool passes = step->kind == STEP_TIME_PASSES || step->kind == STEP_EXPIRES;
        const enum fault fault = stalled && passes ? FAULT_STALL : step_strikes(step);
        if (fault != FAULT_NONE && !is_asked_for(faults, fault))
            return fault;
        stalled = stalled_behind(step, stalled);
    }
    return scenario->same_token && !is_asked_for(faults, FAULT_SAME_TOKEN) ? FAULT_SAME_TOKEN
                                                                           : FAULT_NONE;
}

/* A run of the list. */
struct planned {
    const struct scenario *scenario;
    const struct scheme *scheme; /* NULL: it is in a file that is not loaded, */
    const char *name;            /* and called so */
    int round;
};

struct plan {
    const struct scenario_runs *runs;
    struct results *results;
    struct progress progress;
    bool is_cut; /* the last row stands for a run that a signal ended */
};

typedef enum fail planned_function(struct plan *plan, const struct planned *planned,
                                   struct failure *failure);

/* All runs that fall to this shard, one after the other, until one fails or somebody says stop. */
static enum fail for_all(struct plan *plan, planned_function *take, struct failure *failure)
{
    int64_t index = 0;
    enum fail fail = FAIL_NONE;
    for (int64_t round = 1; round <= plan->runs->repeat; round++)
        for (int i = 0; i < plan->runs->scenarios->count; i++) {
            const struct scenario *scenario = plan->runs->scenarios->rows[i];
            int columns = count_schemes(scenario, plan->runs->wanted);
            for (int j = 0; !fail && !cmd_stop && j < columns; j++) {
                const struct planned planned = {
                    .scenario = scenario,
                    .scheme = plan->runs->wanted->count ? plan->runs->wanted->rows[j]
                                                        : scenario->expectations[j].scheme,
                    .name = plan->runs->wanted->count ? plan->runs->wanted->rows[j]->name
                                                      : scenario->expectations[j].name,
                    .round = (int)round};
                if (shard_has(&plan->results->shard, index++))
                    fail = take(plan, &planned, failure);
            }
        }
    return fail;
}

static enum fail count_one(struct plan *plan, const struct planned *planned,
                           struct failure *failure)
{
    (void)failure;
    struct failure why;
    bool applies = has_question(plan->runs->runner, planned->scenario, planned->scheme) &&
                   strikes_else(planned->scenario, plan->runs->faults) == FAULT_NONE &&
                   !runner_suits(plan->runs->runner, planned->scenario, &why);
    plan->progress.left_out += !applies;
    plan->progress.runs += applies;
    if (applies && plan->progress.is_real_time)
        plan->progress.takes_us += interpreter_takes_us(planned->scenario, planned->scheme);
    return FAIL_NONE;
}

static enum fail run_one(struct plan *plan, const struct planned *planned, struct failure *failure)
{
    const struct scenario *scenario = planned->scenario;
    struct failure why;
    if (!has_question(plan->runs->runner, scenario, planned->scheme)) {
        const struct scheme absent = {.name = planned->name};
        runner_skip(scenario, planned->scheme ? planned->scheme : &absent,
                    planned->scheme ? "the scenario does not speak about it"
                                    : "no such lock is loaded: --scheme FILE.so or --worker does",
                    plan->results);
        return FAIL_NONE;
    }
    const enum fault other = strikes_else(scenario, plan->runs->faults);
    if (other != FAULT_NONE) {
        char *reason =
            memory_format("it strikes by %s, which --fault does not name", fault_name(other));
        runner_skip(scenario, planned->scheme, reason, plan->results);
        free(reason);
        return FAIL_NONE;
    }
    if (!runner_suits(plan->runs->runner, scenario, &why))
        progress_next(&plan->progress, scenario->name,
                      interpreter_takes_us(scenario, planned->scheme));
    plan->runs->runner->round = planned->round;
    const enum fail fail =
        runner_scenario(plan->runs->runner, scenario, planned->scheme, plan->results, failure);
    plan->is_cut = !fail && cmd_stop &&
                   plan->results->rows[plan->results->rows_count - 1].verdict == VERDICT_UNKNOWN;
    return fail;
}

enum fail scenario_runs_make(const struct scenario_runs *runs, struct results *results,
                             struct failure *failure)
{
    const struct runner *runner = runs->runner;
    struct plan plan = {.runs = runs,
                        .results = results,
                        .progress.is_real_time =
                            runner->world == WORLD_REDIS && live_is_real_time(runner->live)};
    for (int i = 0; i < runs->scenarios->count; i++)
        results->whole += count_schemes(runs->scenarios->rows[i], runs->wanted) * runs->repeat;
    (void)for_all(&plan, count_one, failure);
    progress_begin(&plan.progress);
    enum fail fail = for_all(&plan, run_one, failure);
    progress_end();
    int64_t all = shard_size(&results->shard, results->whole);
    const int64_t done = results->rows_count - plan.is_cut;
    if (done < all)
        results_interrupt(results, fail ? failure->text : cmd_stop_name(), "run", done, all);
    return fail;
}
