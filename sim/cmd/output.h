/* output.h - what run, stress and replay share on the command line: which servers, which schemes,
 * where the reports go. */
#ifndef PICKLOCK_CMD_OUTPUT_H
#define PICKLOCK_CMD_OUTPUT_H

#include "cmd/options.h"
#include "cmd/places.h"
#include "report/formats.h"
#include "run/baseline.h"
#include "run/runner.h"

/* --- schemes --- */

struct scheme_list {
    const struct scheme **rows; /* owned */
    int count;
};

/* Reads "A,B,./my_lock.so" (borrowed; NULL: an empty list); a shared object is loaded
 * (run/plugin.h). FAIL_INPUT: unknown scheme, did you mean; the list is empty. Free
 * list->rows. */
enum fail scheme_list_read(const char *text, struct scheme_list *list, struct failure *failure);

/* Who names schemes beside a file (path) of the scheme `name` means that one. FAIL_INPUT: it is not
 * in the list, which is not empty. */
enum fail scheme_list_has(const struct scheme_list *list, const char *name, const char *path,
                          struct failure *failure);

/* --- servers --- */

/* The options that say where to run: given to run and replay alike. */
struct run_choices {
    const char *on, *redis, *redis_server, *fail_on, *worker;
    int64_t wait_us; /* of the worker, as in worker_world.h */
    int real_time;
};

#define RUN_CHOICES_ROWS(choices)                                                                  \
    OPTION_TEXT("--on", &(choices).on), OPTION_TEXT("--redis", &(choices).redis),                  \
        OPTION_TEXT("--redis-server", &(choices).redis_server),                                    \
        OPTION_FLAG("--real-time", &(choices).real_time),                                          \
        OPTION_TEXT("--worker", &(choices).worker), OPTION_TEXT("--fail-on", &(choices).fail_on)

/* --wait, for commands with workers. */
enum { WAIT_MAX_US = 1000000000 };
#define WAIT_HELP "  --wait TIME            so long a worker's acquire may try again (default 0)\n"

/* Fills runner's world and policy, and *live (its texts are borrowed); where no server is named,
 * the environment may name one (cmd/secrets.h). FAIL_INPUT: not a known word, or a contradiction.
 */
enum fail run_choices_read(const struct run_choices *choices, struct runner *runner,
                           struct live_options *live, struct failure *failure);

/* Makes the worker that the choices name (one is) known as a scheme, and tells the runner; worker
 * is kept by it. FAIL_INPUT: it does not go with where to run. */
enum fail run_choices_worker(const struct run_choices *choices, const struct live_options *live,
                             struct worker_scheme *worker, struct runner *runner,
                             struct failure *failure);

/* --- reports --- */

struct output {
    const char *out;                 /* --out DIR, or NULL */
    const char *files[FORMAT_COUNT]; /* --json FILE or "-", ...: further copies; or NULL */
    int wants_timeline;              /* --timeline: a diagram on stdout */
    bool is_folder_optional;         /* without --out there is none */
    const struct diff *diff;         /* what the further copies compare with, or NULL; borrowed */
    char *folder;                    /* the run folder, made by output_open(), or NULL */
    const char *baseline_path;       /* --baseline FILE, or NULL */
    int updates_baseline;            /* --update-baseline */
    const char *progress;            /* --progress HOW, or NULL */
    struct baseline *baseline;       /* from output_open() to output_write() */
    int64_t began_us;                /* monotonic */
};

#define OUTPUT_FORMAT_ROW(output, id, name, file, help)                                            \
    OPTION_TEXT("--" #name, &(output).files[FORMAT_##id]),
#define OUTPUT_FORMAT_ROWS(output) FORMATS(OUTPUT_FORMAT_ROW, output)
#define OUTPUT_ROWS(output)                                                                        \
    OUTPUT_FORMAT_ROWS(output)                                                                     \
    OPTION_TEXT("--out", &(output).out), OPTION_TEXT("--baseline", &(output).baseline_path),       \
        OPTION_TEXT("--progress", &(output).progress),                                             \
        OPTION_FLAG("--update-baseline", &(output).updates_baseline)

#define TIMELINE_ROW(output) OPTION_FLAG("--timeline", &(output).wants_timeline)

/* Clears the places of all further copies, of `more` (NULL: no other), and of no other result.
 * FAIL_INPUT, and nothing is cleared: as of places_clear(), where a baseline is read, or, where
 * it is to be updated, is a result; something would go to stdout beside a diagram; the baseline can
 * not be read, or not be written where it is to be updated. */
enum fail output_check(const struct output *output, const struct result_place *more,
                       const struct inputs *inputs, struct failure *failure);

/* Fills in results' command, started, invocation and, where it has a shard, campaign (from
 * cmd_line), and makes the run folder. FAIL_INPUT, too: a report could not be put where it is to
 * go. */
enum fail output_open(struct output *output, struct results *results, struct failure *failure);

/* Fills in results' time and writes all reports into the folder and where asked: each that can be,
 * results.json first. The failure is that of the first that cannot. */
enum fail output_write(struct output *output, struct results *results, struct failure *failure);

/* Writes the further copies alone; run_folder as in report_write(). The failure is that of the
 * first that cannot be written. */
enum fail output_write_files(const struct output *output, const struct results *results,
                             const char *run_folder, struct failure *failure);

/* Does a report go to stdout, so that nothing else may? */
bool output_takes_stdout(const struct output *output);

/* May what goes to stdout have colours? */
bool output_has_colours(void);

/* Below an empty line, the history (in folder, or NULL) as a diagram; nothing where either is NULL.
 * first_index as in report_timeline(). */
enum fail output_timeline(const char *folder, const char *history, int64_t first_index,
                          struct failure *failure);

/* Says where the page in that folder is, behind head. */
void output_print_place(const char *head, const char *folder);

/* output_write(), then, whatever could not be written, prints the summary and says where the page
 * is; frees the folder's name. */
enum fail output_close(struct output *output, struct results *results, struct failure *failure);

/* The end of a command: output_close(), and the exit status. After a failure (borrowed) it is that
 * one's, said at the end; what there is by then is reported all the same. */
enum fail output_end(struct output *output, struct results *results, enum fail fail,
                     struct failure *failure);

#endif
