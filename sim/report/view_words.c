/* view_words.c - what every format says in the same words, and the commands that it prints. See
 * view.h. */
#include "report/view.h"

#include "base/memory.h"
#include "base/shell.h"
#include "base/units.h"
#include "report/conclusion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const view_cell_words[] = {
    [CELL_SAFE] = "safe",   [CELL_INHERENT] = "nobody's fault", [CELL_BROKEN] = "broken",
    [CELL_STUCK] = "stuck", [CELL_NOT_FOUND] = "not found",     [CELL_UNKNOWN] = "unknown"};

/* --- of a row --- */

struct view_names view_names(const struct result_row *row)
{
    if (row->search)
        return (struct view_names){result_lock(row), row->subject};
    return (struct view_names){row->subject, result_lock(row)};
}

char *view_with_origin(const struct results *results, const char *text, int origin)
{
    return results->origins_count ? memory_format("%s [%d]", text, origin + 1) : memory_text(text);
}

const char *view_verdict(const struct result_row *row)
{
    if (row->search)
        return row->search->words;
    if (row->is_unsupported)
        return "unsupported";
    return verdict_words(result_is_vacuous(row) ? VERDICT_UNKNOWN : row->verdict);
}

const char *view_standing_words(enum standing standing)
{
    switch (standing) {
    case STANDING_EXPECTED:
        return "as expected";
    case STANDING_UNEXPECTED:
        return "NOT expected";
    case STANDING_KNOWN:
        return "known";
    case STANDING_UNKNOWN:
        return "unknown";
    case STANDING_UNSTATED:
    case STANDING_UNSUPPORTED:
    case STANDING_NOT_APPLICABLE:
    case STANDING_COUNT:
        break;
    }
    return "";
}

char *view_finding_words(const struct result_property *property)
{
    bool has_cause = property->verdict == VERDICT_VIOLATED && property->cause != CAUSE_NONE;
    return memory_format("%s %s%s%s%s%s", property_name(property->property),
                         property->verdict == VERDICT_HOLDS ? "" : "is ",
                         verdict_words(property->verdict), has_cause ? " (" : "",
                         has_cause ? cause_name(property->cause) : "", has_cause ? ")" : "");
}

char *view_row_words(const struct result_row *row)
{
    const struct result_property *headline = view_headline(row);
    const struct search_figures *search = row->search;
    if (search)
        return memory_text(result_has_defect(row) ? "a witness did not reproduce" : search->words);
    if (row->error || row->not_applicable)
        return memory_text(row->error ? row->error : row->not_applicable);
    if (!headline)
        return memory_text("nothing was checked");
    return view_told_words(row, headline);
}

char *view_property_words(const struct result_property *property)
{
    char *words = view_finding_words(property);
    if (property->verdict != VERDICT_VIOLATED)
        return words;
    char *more =
        memory_format("%s in %s%" PRId64 " step%s", words, property->is_shortest ? "" : "at most ",
                      property->steps, units_plural(property->steps));
    free(words);
    return more;
}

const char *view_confirmed_words(const struct result_property *property)
{
    if (property->verdict != VERDICT_VIOLATED)
        return "";
    if (result_property_is_defect(property))
        return "NOT CONFIRMED";
    if (!property->is_replayed)
        return "no single path shows it, so there is nothing to replay";
    if (property->confirmed == CONFIRMED_LACKS)
        return "replayed; this server does not know DELEX";
    return property->confirmed == CONFIRMED_YES ? "confirmed on real Redis" : "replayed";
}

char *view_sureness(const struct search_figures *search)
{
    return search_is_random(search)
               ? memory_format("%" PRId64 " run%s", search->runs, units_plural(search->runs))
               : memory_format("%.0e omitted", search->omissions);
}

/* --- of all rows --- */

/* Nothing was expected of any run, and none failed. What failed among cells is told elsewhere. */
static const char *unstated_words(const struct view *view)
{
    enum blame worst = BLAME_NOBODY;
    bool is_any_violated = false;
    for (int i = 0; i < view->count; i++) {
        const enum blame blame = view_blame(view->rows[i]);
        is_any_violated |= !view->rows[i]->search && view->rows[i]->verdict == VERDICT_VIOLATED;
        worst = blame > worst ? blame : worst;
    }
    return worst == BLAME_NOBODY ? "Nobody is to blame for any violation."
           : is_any_violated     ? "No violation of a run counts as a failure."
                                 : "No run failed.";
}

static char *runs_words(const struct view *view, struct view_counts counts)
{
    int not = counts.standing[STANDING_UNEXPECTED], open = counts.standing[STANDING_UNKNOWN];
    if (counts.rows == 0)
        return memory_text("Nothing ran.");
    /* Of what did not apply, or could not be run, there is no verdict. */
    counts.rows -= counts.standing[STANDING_NOT_APPLICABLE] + counts.standing[STANDING_UNSUPPORTED];
    if (counts.rows == 0)
        return memory_text(counts.standing[STANDING_UNSUPPORTED]
                               ? "Nothing was run, so nothing was concluded."
                               : "Nothing applied, so nothing was concluded.");
    if (not == 0 && open == 0 && counts.standing[STANDING_EXPECTED] == counts.rows)
        return counts.rows == 1 ? memory_text("The verdict is as expected.")
                                : memory_format("All %d verdicts are as expected.", counts.rows);
    if (not == 0 && open == 0 && counts.standing[STANDING_UNSTATED] == counts.rows)
        return memory_text(unstated_words(view));
    int known = counts.standing[STANDING_KNOWN];
    if (not == 0 && open == 0 && known)
        return memory_format("%d of %d verdict%s %s known, and nothing is new.", known, counts.rows,
                             units_plural(counts.rows), known == 1 ? "is" : "are");
    if (not == 0 && open == 0)
        return memory_text("Nothing is other than expected.");
    if (not &&counts.stress == counts.rows)
        return memory_format("%d of %d stress run%s failed.", not, counts.rows,
                             units_plural(counts.rows));
    char *more =
        open ? memory_format("%s%d could not be judged", not ? ", " : "", open) : memory_text("");
    char *words =
        not ? memory_format("%d of %d verdict%s %s not as expected%s.", not, counts.rows,
                            units_plural(counts.rows), not == 1 ? "is" : "are", more)
            : memory_format("%s of %d verdict%s.", more, counts.rows, units_plural(counts.rows));
    free(more);
    return words;
}

static char *unsupported_words(const struct view_counts *counts)
{
    const int count = counts->standing[STANDING_UNSUPPORTED];
    return count ? memory_format("%d run%s %s not supported by this server.", count,
                                 units_plural(count), count == 1 ? "is" : "are")
                 : memory_text("");
}

static char *cells_words(struct view_counts counts)
{
    const char *s = units_plural(counts.cells);
    if (!counts.cells)
        return memory_text("");
    if (counts.defects)
        return memory_format(
            "A witness of %d of %d cell%s did not reproduce: a defect of picklock.", counts.defects,
            counts.cells, s);
    if (counts.failed)
        return memory_format("%d of %d cell%s failed.", counts.failed, counts.cells, s);
    if (counts.open)
        return memory_format("%d of %d cell%s could not be searched to the end.", counts.open,
                             counts.cells, s);
    return memory_format("%d cell%s: %d safe up to %s bounds, %d not.", counts.cells, s,
                         counts.words[CELL_SAFE], counts.cells == 1 ? "its" : "their",
                         counts.cells - counts.words[CELL_SAFE]);
}

static char *runs_scope(const struct results *results, struct view_counts counts)
{
    char *server = !strcmp(results->world, "mixed") ? memory_text("in several worlds")
                   : !strcmp(results->world, "sim")
                       ? memory_text("in the simulated world")
                       : memory_format("on redis-server%s%s", *results->server_version ? " " : "",
                                       results->server_version);
    int directed = counts.rows - counts.stress;
    char *runs = directed
                     ? memory_format("%d run%s of %d scenario%s", directed, units_plural(directed),
                                     counts.scenarios, units_plural(counts.scenarios))
                     : memory_text("");
    char *stress = counts.stress ? memory_format("%s%d stress run%s", directed ? " and " : "",
                                                 counts.stress, units_plural(counts.stress))
                                 : memory_text("");
    char *seed =
        results->origins_count ? memory_text("") : memory_format(", seed %" PRIu64, results->seed);
    char *words = memory_format("%s%s with %d scheme%s %s%s.", runs, stress, counts.schemes,
                                units_plural(counts.schemes), server, seed);
    free(seed);
    free(server);
    free(runs);
    free(stress);
    return words;
}

/* Two sentences, either of which may be empty; takes both. */
static char *joined(char *first, char *second)
{
    char *words = memory_format("%s%s%s", first, *first && *second ? " " : "", second);
    free(first);
    free(second);
    return words;
}

char *view_interrupted_words(const struct results *results)
{
    const struct interruption *interrupted = &results->interrupted;
    if (!interrupted->why)
        return NULL;
    return memory_format("%" PRId64 " of %" PRId64 " %s%s (%s)", interrupted->done, interrupted->of,
                         interrupted->unit, interrupted->of == 1 ? "" : "s", interrupted->why);
}

/* What is missing comes first: whatever else is said is not the whole. */
char *view_title_words(const struct view *view)
{
    const struct results *results = view->results;
    char *interrupted = view_interrupted_words(results);
    char *whole = conclusion_is_told(view) ? conclusion_title(view) : view_sides_words(view);
    char *missing = results->missing_count ? memory_text("The report is incomplete.")
                    : interrupted          ? memory_format("Interrupted: %s.", interrupted)
                                           : memory_text("");
    free(interrupted);
    return joined(missing, whole ? whole : view_verdict_words(view));
}

char *view_verdict_words(const struct view *view)
{
    struct view_counts counts = view_count(view);
    char *runs = counts.rows || !counts.cells ? runs_words(view, counts) : memory_text("");
    return joined(joined(runs, unsupported_words(&counts)), cells_words(counts));
}

struct extent {
    int64_t least, most;
};

static void extent_add(struct extent *extent, int64_t number, bool is_first)
{
    extent->least = is_first || number < extent->least ? number : extent->least;
    extent->most = is_first || number > extent->most ? number : extent->most;
}

/* "2 to 3 clients"; the caller frees. */
static char *extent_words(struct extent extent, const char *unit)
{
    return extent.least == extent.most
               ? memory_format("%" PRId64 " %s%s", extent.most, unit, units_plural(extent.most))
               : memory_format("%" PRId64 " to %" PRId64 " %ss", extent.least, extent.most, unit);
}

/* How far the cells were searched, of all together; each says it of itself. The caller frees. */
static char *cells_scope(const struct view *view, struct view_counts counts)
{
    struct extent extents[3] = {0};
    bool is_first = true, is_all = true;
    for (int i = 0; i < view->count; i++) {
        const struct search_figures *search = view->rows[i]->search;
        if (!search)
            continue;
        extent_add(&extents[0], search->clients, is_first);
        extent_add(&extents[1], search->rounds, is_first);
        extent_add(&extents[2], search->servers, is_first);
        is_all &= search->is_complete && !search_is_random(search);
        is_first = false;
    }
    char *clients = extent_words(extents[0], "client"), *rounds = extent_words(extents[1], "round");
    char *servers = extent_words(extents[2], "server");
    char *words = memory_format("%s of %s with %s on %s: %d cell%s of %d scheme%s.",
                                is_all ? "Every interleaving" : "Interleavings", clients, rounds,
                                servers, counts.cells, units_plural(counts.cells),
                                counts.cell_schemes, units_plural(counts.cell_schemes));
    free(clients);
    free(rounds);
    free(servers);
    return words;
}

char *view_scope_words(const struct view *view)
{
    struct view_counts counts = view_count(view);
    char *runs = counts.rows || !counts.cells ? runs_scope(view->results, counts) : memory_text("");
    return joined(runs, counts.cells ? cells_scope(view, counts) : memory_text(""));
}

char *view_origin_words(const struct results *results, int origin)
{
    const struct results *of = &results->origins[origin];
    bool is_sim = !strcmp(of->world, "sim");
    return memory_format("%s (picklock %s, %s%s, seed %" PRIu64 ", %s)",
                         of->invocation ? of->invocation : of->command, of->picklock,
                         is_sim ? "simulated world" : "redis-server ",
                         is_sim ? "" : of->server_version, of->seed, of->started);
}

char *view_policy_words(const struct results *results)
{
    bool is_used[FAIL_ON_COUNT] = {0}, has_runs = false;
    char *words = NULL;
    for (int i = 0; i < results->rows_count; i++) {
        is_used[results->rows[i].fail_on] = true;
        has_runs |= !results->rows[i].search;
    }
    if (!has_runs)
        is_used[FAIL_ON_NEVER] = false; /* of the explorer's cells that is understood */
    for (int i = FAIL_ON_NEVER; i < FAIL_ON_COUNT; i++) {
        if (!is_used[i])
            continue;
        char *longer =
            memory_format("%s%s%s", words ? words : "Where nothing was expected, --fail-on ",
                          words ? " and " : "", fail_on_name((enum fail_on)i));
        free(words);
        words = longer;
    }
    char *sentence = words ? memory_format("%s said what counts as a failure.", words) : NULL;
    free(words);
    return sentence;
}

char *view_inferred_words(const struct results *results)
{
    char *locks = NULL;
    for (int i = 0; i < results->rows_count; i++) {
        const struct result_row *row = &results->rows[i];
        int before = 0;
        while (before < i && !(results->rows[before].is_inferred &&
                               !strcmp(result_lock(&results->rows[before]), result_lock(row))))
            before++;
        if (!row->is_inferred || before < i)
            continue;
        char *longer =
            memory_format("%s%s%s", locks ? locks : "", locks ? ", " : "", result_lock(row));
        free(locks);
        locks = longer;
    }
    char *sentence =
        locks ? memory_format("Holds are inferred from commands, since nobody told of them: %s.",
                              locks)
              : NULL;
    free(locks);
    return sentence;
}

/* --- commands --- */

/* What says which lock it was: --scheme with its file, quoted for a shell, or its name; or
 * --worker.
 */
static char *lock_argument(const struct result_row *row)
{
    const char *named = row->worker ? row->worker : row->scheme_file;
    char *quoted = named ? shell_word(named) : memory_text(row->scheme);
    char *words = memory_format("--%s %s", row->worker ? "worker" : "scheme", quoted);
    free(quoted);
    return words;
}

static char *run_command(const struct results *results, const struct result_row *row)
{
    /* Somebody's own program ran by itself, or a schedule, which is no scenario. */
    if ((!strcmp(results->command, "watch") || !strcmp(results->command, "replay")) &&
        results->invocation)
        return memory_text(results->invocation);
    const char *on = !strcmp(results->world, "sim") ? " --on sim" : "";
    char *seed =
        results->seed == 1 ? memory_text("") : memory_format(" --seed %" PRIu64, results->seed);
    char *scheme = lock_argument(row);
    char *named =
        row->path ? memory_text(row->path) : memory_format("scenarios/%s.yaml", row->subject);
    char *path = shell_word(named);
    char *words = memory_format("picklock run %s%s%s %s", scheme, on, seed, path);
    free(path);
    free(named);
    free(scheme);
    free(seed);
    return words;
}

/* " --NAME VALUE", or nothing where it is the default; the caller frees. */
static char *option_if(bool is_given, const char *name, const char *value)
{
    return is_given ? memory_format(" --%s %s", name, value) : memory_text("");
}

static char *explore_command(const struct result_row *row)
{
    const struct search_figures *cell = row->search;
    bool is_random = search_is_random(cell);
    /* A worker that promises no fence has none in it, unless one is asked for. */
    bool has_section = cell->has_one_section && !(row->worker && cell->section == SECTION_NOTHING);
    char *section = option_if(has_section, "section", search_section(cell));
    char *search = option_if(is_random, "search", cell->method);
    char *seed = is_random ? memory_format(" --seed %" PRId64, cell->seed) : memory_text("");
    /* Of a program that runs it is no option. */
    char *ticks = row->worker && is_random
                      ? memory_format(" --runs %" PRId64, cell->runs)
                      : memory_format(" --lease-ticks %" PRId64, cell->lease_ticks);
    char *scheme = lock_argument(row);
    char *command = memory_format("picklock explore %s --fault %s --clients %" PRId64
                                  " --rounds %" PRId64 " --servers %" PRId64 "%s%s%s%s --witness",
                                  scheme, row->subject, cell->clients, cell->rounds, cell->servers,
                                  ticks, section, search, seed);
    free(ticks);
    free(scheme);
    free(section);
    free(search);
    free(seed);
    return command;
}

char *view_command(const struct results *all, const struct result_row *row)
{
    const struct results *results = results_origin(all, row->origin);
    if (row->stress)
        return results->invocation ? memory_text(results->invocation) : NULL;
    return row->search ? explore_command(row) : run_command(results, row);
}

char *view_replay_command(const struct result_row *row, const struct result_property *property,
                          const char *run_folder)
{
    const char *folder = row->folder ? row->folder : run_folder;
    if (!property->schedule)
        return NULL;
    char *named = folder ? memory_format("%s/%s", folder, property->schedule)
                         : memory_text(property->schedule);
    char *path = shell_word(named);
    const bool is_of_table = !row->worker && !row->scheme_file;
    char *scheme = is_of_table ? memory_text("") : lock_argument(row);
    char *command = memory_format("picklock replay %s%s%s", scheme, is_of_table ? "" : " ", path);
    free(named);
    free(path);
    free(scheme);
    return command;
}

/* --- what struck a stress run --- */

char *view_struck(const struct stress_figures *figures)
{
    char *each = memory_text("");
    for (int i = 0; i < FAULT_ROWS; i++) {
        if (!figures->struck[i])
            continue;
        char *longer = memory_format("%s%s%" PRId64 " %s", each, each[0] ? ", " : " (",
                                     figures->struck[i], fault_name((enum fault)i));
        free(each);
        each = longer;
    }
    char *words = figures->faults > 0
                      ? memory_format("%" PRId64 " fault%s%s%s, %" PRId64 " inside a hold",
                                      figures->faults, units_plural(figures->faults), each,
                                      each[0] ? ")" : "", figures->faults_in_hold)
                      : memory_text("without any fault");
    free(each);
    return words;
}

char *view_kept_waiting(const struct result_row *row)
{
    const struct stress_figures *figures = row->stress;
    char waited[UNITS_TEXT_MAX], whole[UNITS_TEXT_MAX];
    if (!figures->injected_wait_us)
        return NULL;
    return memory_format("faults kept clients waiting for %s of their %s",
                         units_print_rounded(figures->injected_wait_us, waited),
                         units_print_rounded(figures->clients * row->elapsed_us, whole));
}
