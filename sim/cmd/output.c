/* output.c - see output.h. */
#include "cmd/output.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/outfile.h"
#include "base/place.h"
#include "base/shell.h"
#include "base/suggest.h"
#include "base/version.h"
#include "cmd/charset.h"
#include "cmd/cmd.h"
#include "cmd/heartbeat.h"
#include "cmd/secrets.h"
#include "report/report.h"
#include "report/text.h"
#include "run/plugin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum fail unknown_scheme(const char *word, struct failure *failure)
{
    if (access(word, F_OK) == 0)
        return failure_set(failure, FAIL_INPUT,
                           "%s is no scheme: one from a file is FILE.so; a lock program in any "
                           "language goes with --worker 'COMMAND'",
                           word);
    const char **names = memory_new((size_t)schemes_count, sizeof *names);
    for (int i = 0; i < schemes_count; i++)
        names[i] = schemes[i]->name;
    char suggestion[SUGGEST_BYTES];
    const char *nearest = suggest_nearest(word, names, (size_t)schemes_count);
    free(names);
    return failure_set(failure, FAIL_INPUT, "unknown scheme '%s'%s", word,
                       suggest_words(nearest, "; `picklock list schemes` lists them", suggestion));
}

static bool has_ending(const char *word, const char *ending)
{
    size_t length = strlen(word), tail = strlen(ending);
    return length > tail && !strcmp(word + length - tail, ending);
}

/* The source was named in the place of what is built from it. */
static enum fail not_built(const char *word, struct failure *failure)
{
    char headers[PLACE_BYTES];
    char *object = memory_format("%.*s.so", (int)strlen(word) - 2, word);
    char *to = shell_word(object), *from = shell_word(word);
    char *folder = shell_word(place_headers(headers) ? headers : "sim");
    failure_set(failure, FAIL_INPUT,
                "--scheme %s: is C source. Build it with\n"
                "  cc -std=c17 -I%s -shared -fPIC -o %s %s\nand name %s",
                word, folder, to, from, object);
    free(folder);
    free(to);
    free(from);
    free(object);
    return failure->code;
}

enum fail scheme_list_read(const char *text, struct scheme_list *list, struct failure *failure)
{
    char *copy = memory_text(text ? text : ""), *rest = text ? copy : NULL, *word;
    enum fail fail = FAIL_NONE;
    list->count = 0;
    list->rows = memory_new(strlen(copy) / 2 + 2, sizeof(void *));
    while (!fail && (word = strsep(&rest, ","))) {
        const struct scheme *scheme = NULL;
        if (!*word)
            fail = failure_set(failure, FAIL_INPUT, "--scheme '%s' has an empty item", text);
        else if (has_ending(word, ".so"))
            fail = plugin_load(word, &scheme, failure);
        else if (has_ending(word, ".c"))
            fail = not_built(word, failure);
        else if (!(scheme = scheme_named(word)))
            fail = unknown_scheme(word, failure);
        list->rows[list->count++] = scheme;
    }
    free(copy);
    if (fail) {
        free(list->rows);
        *list = (struct scheme_list){0};
    }
    return fail;
}

enum fail scheme_list_has(const struct scheme_list *list, const char *name, const char *path,
                          struct failure *failure)
{
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->rows[i]->name, name))
            return FAIL_NONE;
    if (!list->count)
        return FAIL_NONE;
    return failure_set(failure, FAIL_INPUT,
                       "%s: belongs to the scheme '%s', not to the one that --scheme names", path,
                       name);
}

enum fail run_choices_read(const struct run_choices *choices, struct runner *runner,
                           struct live_options *live, struct failure *failure)
{
    const char *on = choices->on ? choices->on : "redis";
    const bool is_simulated = !strcmp(on, world_name(WORLD_SIM));
    if (!is_simulated && strcmp(on, world_name(WORLD_REDIS)) != 0)
        return failure_set(failure, FAIL_INPUT, "--on wants redis or sim, not '%s'", on);
    if (fail_on_read(choices->fail_on, &runner->fail_on, failure))
        return failure->code;
    runner->world = is_simulated ? WORLD_SIM : WORLD_REDIS;
    *live = (struct live_options){.redis_server = choices->redis_server,
                                  .url = secrets_reveal(choices->redis),
                                  .steering = choices->real_time ? REAL_TIME : STEERED,
                                  .stop = &cmd_stop};
    if (runner->world == WORLD_SIM &&
        (choices->redis || choices->redis_server || choices->real_time))
        return failure_set(failure, FAIL_INPUT,
                           "--redis, --redis-server and --real-time need --on redis");
    if (choices->redis && choices->redis_server)
        return failure_set(failure, FAIL_INPUT, "--redis and --redis-server exclude each other");
    /* What is said on the command line goes before what stands in the environment. */
    if (runner->world == WORLD_REDIS && !choices->redis && !choices->redis_server &&
        !choices->worker)
        live->url = secrets_environment();
    return FAIL_NONE;
}

enum fail run_choices_worker(const struct run_choices *choices, const struct live_options *live,
                             struct worker_scheme *worker, struct runner *runner,
                             struct failure *failure)
{
    if (runner->world != WORLD_REDIS || live->url || live->steering == REAL_TIME)
        return failure_set(
            failure, FAIL_INPUT,
            "--worker runs on private redis-servers in virtual time: leave out --on sim, "
            "--redis and --real-time");
    if (worker_scheme_init(worker, choices->worker, live->redis_server, failure))
        return FAIL_INPUT;
    worker->program.stop = &cmd_stop;
    worker->program.wait_us = choices->wait_us;
    runner->worker = worker;
    return FAIL_NONE;
}

/* The line with one more word, quoted where a shell needs it. Takes line. */
static char *with_word(char *line, const char *word)
{
    char *quoted = shell_word(word);
    char *longer = memory_format("%s %s", line, quoted);
    free(quoted);
    free(line);
    return longer;
}

/* The command line that makes this again, quoted where a shell needs it. */
static char *invocation(int count, char *const *words)
{
    const char *url = secrets_environment_shown();
    char *line = memory_text("picklock");
    for (int i = 0; i < count; i++)
        line = with_word(line, words[i]);
    return url ? with_word(with_word(line, "--redis"), url) : line;
}

/* Does the word name an option (of such a length) that differs from shard to shard? */
static bool is_differing(const char *word, size_t length)
{
    static const char *const others[] = {"--shard", "--out", "--jobs"};
    enum { OTHERS = sizeof others / sizeof others[0] };
    for (int i = 0; i < OTHERS + FORMAT_COUNT; i++) {
        const char *option = i < OTHERS ? others[i] : report_option((enum format)(i - OTHERS));
        if (strlen(option) == length && !strncmp(word, option, length))
            return true;
    }
    return false;
}

/* The command line without what differs from shard to shard: which one it is, where its reports go,
 * how many processors it uses. */
static char *campaign(int words_count, char *const *words)
{
    char **kept = memory_new((size_t)words_count + 1, sizeof *kept);
    int count = 0;
    for (int i = 0; i < words_count; i++) {
        size_t length = strcspn(words[i], "=");
        if (!is_differing(words[i], length))
            kept[count++] = words[i];
        else if (!words[i][length])
            i++; /* its value is the next word */
    }
    char *line = invocation(count, kept);
    free(kept);
    return line;
}

/* Where a report could not be put at the end, nothing is begun, and no empty folder is left. */
static enum fail check_places(struct output *output, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < FORMAT_COUNT && !fail; i++)
        if (output->files[i])
            fail = outfile_check(output->files[i], failure);
    if (fail && output->folder) {
        (void)rmdir(output->folder);
        free(output->folder);
        output->folder = NULL;
    }
    return fail;
}

/* One that can not be read, or not be written where it is to be, is told before any work. */
static enum fail check_baseline(const struct output *output, struct failure *failure)
{
    struct baseline *baseline;
    if (!output->baseline_path)
        return FAIL_NONE;
    if (baseline_read(output->baseline_path, output->updates_baseline, &baseline, failure))
        return failure_wrap(failure, "--baseline");
    baseline_free(baseline);
    return output->updates_baseline ? outfile_check(output->baseline_path, failure) : FAIL_NONE;
}

enum fail output_open(struct output *output, struct results *results, struct failure *failure)
{
    const char *command = cmd_line.words[0];
    time_t now = time(NULL);
    if (output->baseline_path &&
        baseline_read(output->baseline_path, output->updates_baseline, &output->baseline, failure))
        return failure_wrap(failure, "--baseline");
    output->began_us = monotonic_us();
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(results->started, sizeof results->started, "%Y-%m-%dT%H:%M:%SZ", &parts);
    snprintf(results->picklock, sizeof results->picklock, "%s", PICKLOCK_VERSION);
    snprintf(results->command, sizeof results->command, "%s", command);
    results->invocation = invocation(cmd_line.count, cmd_line.words);
    if (results->shard.count)
        results->campaign = campaign(cmd_line.count, cmd_line.words);
    if ((output->out || !output->is_folder_optional) &&
        report_folder_new(output->out, command, &output->folder, failure))
        return failure->code;
    return check_places(output, failure);
}

/* Nothing is removed before it is known that all may be. */
static enum fail clear_places(const struct output *output, const struct result_place *more,
                              const struct inputs *inputs, struct failure *failure)
{
    struct result_place places[FORMAT_COUNT + 2];
    struct inputs all = *inputs;
    int count = 0;
    for (int i = 0; i < FORMAT_COUNT; i++)
        places[count++] = (struct result_place){.option = report_option((enum format)i),
                                                .path = output->files[i]};
    if (more)
        places[count++] = *more;
    if (output->updates_baseline) /* it is read, and a result all the same */
        places[count++] = (struct result_place){
            .option = "--baseline", .path = output->baseline_path, .is_kept = true};
    else
        all.words[INPUT_TEXTS - 1] = output->baseline_path; /* no command names so many */
    return places_clear(places, count, &all, failure);
}

enum fail output_check(const struct output *output, const struct result_place *more,
                       const struct inputs *inputs, struct failure *failure)
{
    if (heartbeat_read(output->progress, failure))
        return failure->code;
    if (output->updates_baseline && !output->baseline_path)
        return failure_set(failure, FAIL_INPUT, "--update-baseline goes with --baseline FILE");
    if (output->wants_timeline && output_takes_stdout(output))
        return failure_set(failure, FAIL_INPUT,
                           "--timeline prints on stdout: only one thing can go there");
    return check_baseline(output, failure) ? failure->code
                                           : clear_places(output, more, inputs, failure);
}

/* The failure stays that of the first. */
static void note_failure(struct failure *failure, const struct failure *one)
{
    if (!failure->code)
        *failure = *one;
}

/* A report that cannot be written keeps no other from it: what fits on a full disk is there, the
 * data first. */
static void write_folder(const struct output *output, const struct results *results,
                         struct failure *failure)
{
    struct failure one;
    for (int i = 0; i < FORMAT_COUNT; i++) {
        enum format format = (enum format)i;
        char *path = memory_format("%s/%s", output->folder, report_file(format));
        if (report_write(format, path, results, output->folder, &one))
            note_failure(failure, &one);
        else if (format == FORMAT_JSON && report_folder_latest(output->folder, &one))
            note_failure(failure, &one);
        free(path);
    }
}

enum fail output_write_files(const struct output *output, const struct results *results,
                             const char *run_folder, struct failure *failure)
{
    struct failure first = {0}, one;
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (output->files[i] && report_write_diff((enum format)i, output->files[i], results,
                                                  run_folder, output->diff, &one))
            note_failure(&first, &one);
    if (first.code)
        *failure = first;
    return first.code;
}

/* What is written into it is known from then on. */
static enum fail apply_baseline(struct output *output, struct results *results,
                                struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    if (!output->baseline)
        return FAIL_NONE;
    if (output->updates_baseline)
        fail = baseline_update(output->baseline_path, results, failure);
    if (output->updates_baseline && !fail) {
        baseline_free(output->baseline);
        fail = baseline_read(output->baseline_path, false, &output->baseline, failure);
    }
    if (!fail)
        baseline_apply(output->baseline, results);
    baseline_free(output->baseline);
    output->baseline = NULL;
    return fail;
}

enum fail output_write(struct output *output, struct results *results, struct failure *failure)
{
    struct failure first = {0}, one;
    results->elapsed_us = monotonic_us() - output->began_us;
    if (results->shard.count && !results->rows_count && !results->interrupted.why)
        results_note(results,
                     memory_format("Nothing falls to shard %d of %d, which so judges nothing: "
                                   "the verdict is that of all shards (`picklock report`).",
                                   results->shard.number, results->shard.count));
    if (apply_baseline(output, results, &one))
        note_failure(&first, &one);
    if (output->folder)
        write_folder(output, results, &first);
    if (output_write_files(output, results, output->folder, &one))
        note_failure(&first, &one);
    if (first.code)
        *failure = first;
    return first.code;
}

bool output_takes_stdout(const struct output *output)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (output->files[i] && !strcmp(output->files[i], "-"))
            return true;
    return false;
}

bool output_has_colours(void)
{
    return text_can_draw(stdout) && !getenv("NO_COLOR");
}

enum fail output_timeline(const char *folder, const char *history, int64_t first_index,
                          struct failure *failure)
{
    if (!folder || !history)
        return FAIL_NONE;
    char *path = memory_format("%s/%s", folder, history);
    putchar('\n');
    enum fail fail = report_timeline(stdout, path, first_index, charset_of_locale(), failure);
    free(path);
    return fail;
}

void output_print_place(const char *head, const char *folder)
{
    text_format(stdout, TEXT_PLAIN, "%s%s/index.html\n", head, folder);
}

enum fail output_close(struct output *output, struct results *results, struct failure *failure)
{
    enum fail fail = output_write(output, results, failure);
    if (!output_takes_stdout(output)) {
        report_terminal(stdout, results, output_has_colours());
        printf("seed %" PRIu64, results->seed);
        if (fail)
            putchar('\n');
        else
            output_print_place(", report: ", output->folder);
    }
    free(output->folder);
    output->folder = NULL;
    return fail;
}

enum fail output_end(struct output *output, struct results *results, enum fail fail,
                     struct failure *failure)
{
    struct failure also;
    /* Whoever reads the folder later has not seen what went wrong. */
    if (fail && fail != FAIL_UNKNOWN && results->rows_count > 0)
        results_interrupt(results, failure->text, "run", results->rows_count - 1,
                          results->rows_count);
    if (!fail)
        fail = output_close(output, results, failure);
    else if (results->rows_count > 0 && output_close(output, results, &also) &&
             strcmp(also.text, failure->text))
        cmd_failed(&also);
    return fail ? (enum fail)cmd_failed(failure) : results_status(results);
}
