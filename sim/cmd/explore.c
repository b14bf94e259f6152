/* explore.c - `picklock explore`: every interleaving up to a bound, the matrix scheme x faults, the
 * shortest witnesses. */
#include "cmd/cmd.h"
#include "cmd/explore_args.h"
#include "cmd/explore_asking.h"
#include "cmd/explore_cells.h"
#include "cmd/explore_minimal_faults.h"
#include "cmd/explore_print.h"
#include "cmd/explore_witness.h"

#include "base/memory.h"
#include "base/units.h"
#include "report/report.h"
#include "report/text.h"
#include "report/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- files --- */

/* Histories are drawn from files: without a run folder they stand in one that goes again. */
static enum fail make_scratch(char **folder, struct failure *failure)
{
    const char *under = getenv("TMPDIR");
    *folder = memory_format("%s/picklock-XXXXXX", under && *under ? under : "/tmp");
    if (mkdtemp(*folder))
        return FAIL_NONE;
    failure_set(failure, FAIL_INTERNAL, "%s: no folder for the diagrams: %s", *folder,
                strerror(errno));
    free(*folder);
    *folder = NULL;
    return failure->code;
}

static void remove_part(const char *folder, const char *part)
{
    char *path = memory_format("%s/%s", folder, part);
    remove(path); /* what stays behind in the temporary folder does no harm */
    free(path);
}

/* Nobody replays from there. */
static void drop_schedules(const char *folder, const struct results *results)
{
    for (int i = 0; i < results->rows_count; i++)
        for (int p = 0; p < results->rows[i].properties_count; p++) {
            struct result_property *property = &results->rows[i].properties[p];
            if (property->schedule)
                remove_part(folder, property->schedule);
            free(property->schedule);
            property->schedule = NULL;
        }
    remove_part(folder, "schedules");
}

static void drop_scratch(const char *folder, const struct results *results)
{
    for (int i = 0; i < results->rows_count; i++)
        for (int p = 0; p < results->rows[i].properties_count; p++) {
            const struct result_property *property = &results->rows[i].properties[p];
            if (property->history)
                remove_part(folder, property->history);
        }
    remove_part(folder, "histories");
    remove(folder);
}

/* --- the command --- */

static struct worker_program *program_of(const struct explore_args *args)
{
    return args->program ? &args->program->program : NULL;
}

static struct worker_replays *replays_of(const struct explore_args *args)
{
    return args->asking ? args->asking->replays : NULL;
}

/* Behind all other reports, none of which tells of files that go again: the page, or NULL, and the
 * witnesses, where they are printed. */
static enum fail draw_from_scratch(const struct cells *cells, struct results *results,
                                   const struct explore_args *args, const char *page,
                                   bool is_printed, struct failure *failure)
{
    const struct output output = {.files = {[FORMAT_HTML] = page}};
    char *scratch = NULL;
    struct failure also;
    enum fail fail = make_scratch(&scratch, failure);
    if (!fail)
        fail = explore_witness_write(cells, results, program_of(args), replays_of(args), scratch,
                                     failure);
    if (!fail && is_printed)
        fail = explore_print_witnesses(results, scratch, failure);
    if (scratch)
        drop_schedules(scratch, results);
    /* A page without diagrams is better than none. */
    results->scratch = scratch;
    const enum fail unwritten = output_write_files(&output, results, fail ? NULL : scratch, &also);
    results->scratch = NULL;
    if (unwritten && !fail)
        *failure = also;
    if (scratch)
        drop_scratch(scratch, results);
    free(scratch);
    return fail ? fail : unwritten;
}

static void show(const struct cells *cells, struct results *results,
                 const struct explore_args *args, bool is_written)
{
    const char *folder = args->output.folder;
    char *interrupted = args->minimal ? view_interrupted_words(results) : NULL;
    if (args->minimal)
        explore_minimal_faults_print(stdout, cells->minimals, cells->minimals_count);
    for (int i = 0; args->minimal && i < results->notes_count; i++)
        text_format(stdout, TEXT_PLAIN, "\nnote: %s\n", results->notes[i]);
    if (interrupted)
        printf("\nINTERRUPTED: %s\n", interrupted);
    free(interrupted);
    if (!args->minimal)
        report_terminal(stdout, results, output_has_colours());
    if (folder && is_written)
        output_print_place("report: ", folder);
}

/* A witness that does not replay is a defect of picklock; what was not finished is unknown. */
static enum fail sum_up(const struct results *results, struct failure *failure)
{
    int defects = 0;
    bool is_random = false;
    enum fail status = results_status(results);
    for (int i = 0; i < results->rows_count; i++) {
        defects += result_has_defect(&results->rows[i]);
        is_random |= search_is_random(results->rows[i].search);
    }
    if (status == FAIL_INTERNAL)
        failure_set(failure, status,
                    "the witnesses of %d cell%s did not reproduce: a defect of picklock", defects,
                    units_plural(defects));
    if (status == FAIL_UNKNOWN)
        failure_set(failure, status,
                    results->interrupted.why ? "interrupted: what was not done is unknown"
                    : is_random
                        ? "a random search: what was not found is unknown"
                        : "not every cell was searched to its end, with two clients or more");
    return status;
}

/* Reports are written whatever became of the witnesses: perhaps to another disk. The failure is the
 * first one; the other is told, too. */
static enum fail write_reports(struct output *output, struct results *results, enum fail fail,
                               struct failure *failure)
{
    struct failure also;
    if (!fail)
        return output_write(output, results, failure);
    results_note(results, memory_format("Not every witness was kept: %s.", failure->text));
    if (output_write(output, results, &also))
        (void)cmd_failed(&also);
    return fail;
}

static enum fail report(const struct cells *cells, struct results *results,
                        const struct explore_args *args, struct failure *failure)
{
    struct output output = args->output;
    const bool has_stdout = !output_takes_stdout(&output), is_printed = args->witness && has_stdout;
    const char *page = output.folder ? NULL : output.files[FORMAT_HTML];
    enum fail fail = FAIL_NONE;
    if (page)
        output.files[FORMAT_HTML] = NULL;
    if (output.folder)
        fail = explore_witness_write(cells, results, program_of(args), replays_of(args),
                                     output.folder, failure);
    fail = write_reports(&output, results, fail, failure);
    /* What was found is told even where it cannot be kept. */
    if (has_stdout)
        show(cells, results, args, !fail);
    if (fail)
        return fail;
    if (output.folder)
        return is_printed ? explore_print_witnesses(results, output.folder, failure) : FAIL_NONE;
    return page || is_printed ? draw_from_scratch(cells, results, args, page, is_printed, failure)
                              : FAIL_NONE;
}

/* What was found without a server is reported even when the one to confirm it on is not there. */
static enum fail explore_and_report(const struct scheme_list *wanted, struct explore_args *args,
                                    struct results *results, struct failure *failure)
{
    struct cells cells = {0};
    enum fail fail = cells_fill(&cells, args, wanted, &results->shard, &results->whole, failure);
    if (!fail) {
        struct failure why = {0};
        cells_note_interruption(&cells, args, results);
        enum fail unconfirmed =
            args->confirm ? explore_witness_confirm(&cells, args, results, &why) : FAIL_NONE;
        cells_add_rows(&cells, args, results);
        fail = report(&cells, results, args, failure);
        if (unconfirmed && !fail)
            *failure = why;
        fail = unconfirmed ? unconfirmed : fail;
    }
    cells_close(&cells);
    return fail;
}

/* Those that were named, or every scheme of the table; or the worker. */
static enum fail read_schemes(struct explore_args *args, struct worker_scheme *program,
                              struct scheme_list *wanted, struct failure *failure)
{
    enum fail fail = scheme_list_read(args->scheme, wanted, failure);
    if (!fail && args->worker) {
        wanted->rows = memory_resize(wanted->rows, 1, sizeof *wanted->rows);
        wanted->rows[wanted->count++] = &program->scheme;
        args->program = program;
        fail = worker_scheme_init(program, args->worker, args->redis_server, failure);
        program->program.wait_us = args->wait_us;
        program->program.skips_extend = args->no_extend;
        program->program.stop = &cmd_stop;
        return fail;
    }
    if (fail || wanted->count > 0)
        return fail;
    wanted->rows = memory_resize(wanted->rows, (size_t)schemes_count, sizeof *wanted->rows);
    for (int i = 0; i < schemes_count; i++)
        wanted->rows[wanted->count++] = schemes[i];
    return FAIL_NONE;
}

int cmd_explore(int argc, char **argv)
{
    struct failure failure = {0};
    struct scheme_list wanted = {0};
    struct results results = {.world = "sim"};
    struct explore_args args;
    struct worker_scheme program;
    struct explore_asking asking = {.replays = NULL};
    if (explore_args_parse(argc, argv, &args, &failure))
        return cmd_failed(&failure);
    cmd_catch_signals();
    results.seed = (uint64_t)args.seed;
    results.shard = args.shard;
    results.is_by_scheme = args.minimal;
    if (args.worker && args.search == SEARCH_EXHAUSTIVE)
        args.asking = &asking;
    if (args.worker)
        snprintf(results.world, sizeof results.world, "redis");
    enum fail fail = read_schemes(&args, &program, &wanted, &failure);
    if (!fail)
        fail = output_open(&args.output, &results, &failure);
    if (!fail)
        fail = explore_and_report(&wanted, &args, &results, &failure);
    int status = fail ? (int)fail : (int)sum_up(&results, &failure);
    if (status && status != FAIL_EXPECTATION)
        cmd_failed(&failure);
    explore_asking_close(&asking);
    results_free(&results);
    free(args.output.folder);
    free(wanted.rows);
    return status;
}
