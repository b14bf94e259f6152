/* html.c - one self-contained page: the template of reports/page.html, filled in. No network,
 * readable without its script. */
#include "report/html.h"

#include "base/memory.h"
#include "base/outfile.h"
#include "base/units.h"
#include "base/version.h"
#include "report/assets.h"
#include "report/report.h"
#include "report/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TROUBLES_SHOWN = 5 };

void html_text(const struct page *page, const char *text)
{
    text_print(page->out, TEXT_MARKUP, text);
}

const char *html_verdict_class(const struct run_result *row)
{
    if (row->verdict == VERDICT_HOLDS)
        return "holds";
    if (row->verdict == VERDICT_UNKNOWN || row->verdict == VERDICT_NOT_APPLICABLE ||
        result_is_vacuous(row))
        return "unknown";
    switch (view_blame(row)) {
    case BLAME_SCHEME:
        return "bug";
    case BLAME_DEPLOYMENT:
    case BLAME_EITHER:
        return "world";
    default:
        return "overrun";
    }
}

const char *html_verdict_mark(const struct run_result *row)
{
    if (row->verdict == VERDICT_HOLDS)
        return "✓";
    if (row->is_unsupported || row->verdict == VERDICT_NOT_APPLICABLE)
        return "–";
    if (row->verdict == VERDICT_UNKNOWN || result_is_vacuous(row))
        return "?";
    return view_blame(row) == BLAME_NOBODY ? "△" : "✗";
}

char *html_plain_id(const char *words, int at)
{
    char *id = memory_text(words);
    bool is_plain = at < 0;
    for (char *c = id; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c)) {
            *c = '-';
            is_plain = false;
        }
    if (is_plain)
        return id;
    char *longer = memory_format("%s--%d", id, at);
    free(id);
    return longer;
}

char *html_row_id(const struct view *view, int at)
{
    const struct run_result *row = view->rows[at];
    bool is_plain = true;
    for (int i = at - 1; i >= 0 && is_plain; i--)
        is_plain = strcmp(view->rows[i]->scenario, row->scenario) != 0 ||
                   strcmp(view->rows[i]->scheme, row->scheme) != 0;
    char *words = memory_format("%s--%s", row->scenario, row->scheme);
    char *id =
        html_plain_id(words, is_plain ? -1 : at); /* a second run, or names that look alike */
    free(words);
    return id;
}

void html_origin(const struct page *page, int origin)
{
    if (page->view->results->origins_count)
        fprintf(page->out, " <small>[%d]</small>", origin + 1);
}

/* --- what the template asks for --- */

static void put_title(const struct page *page)
{
    char *words = view_verdict_words(page->view);
    html_text(page, words);
    free(words);
}

static void put_scope(const struct page *page)
{
    char *words = view_scope_words(page->view);
    html_text(page, words);
    free(words);
}

static void put_sides(const struct page *page)
{
    char *words = view_sides_words(page->view);
    char *policy = view_policy_words(page->view->results);
    html_text(page, words);
    fputs(words && policy ? " " : "", page->out);
    html_text(page, policy);
    free(words);
    free(policy);
}

static void put_mood(const struct page *page)
{
    static const char *const moods[] = {
        [FAIL_NONE] = "good", [FAIL_EXPECTATION] = "bad", [FAIL_UNKNOWN] = "open"};
    enum fail status = results_status(page->view->results);
    fputs(status == FAIL_INTERNAL ? "bad" : moods[status], page->out);
}

static void put_cell_counts(const struct page *page)
{
    static const char *const styles[] = {[CELL_SAFE] = "good",
                                         [CELL_INHERENT] = "",
                                         [CELL_BROKEN] = "bad",
                                         [CELL_STUCK] = "bad",
                                         [CELL_UNKNOWN] = "open"};
    struct view_explored counts = view_count_explored(page->view->results);
    for (int i = CELL_SAFE; i <= CELL_UNKNOWN; i++)
        if (counts.words[i])
            fprintf(page->out, "<li class=\"%s\"><b>%d</b> cell%s: %s</li>\n", styles[i],
                    counts.words[i], units_plural(counts.words[i]), view_cell_words[i]);
}

static void put_counts(const struct page *page)
{
    static const struct {
        enum standing standing;
        const char *style, *words;
    } shown[] = {{STANDING_EXPECTED, "good", "as expected"},
                 {STANDING_UNEXPECTED, "bad", "not as expected"},
                 {STANDING_UNKNOWN, "open", "unknown"},
                 {STANDING_UNSTATED, "", "without expectation"},
                 {STANDING_NOT_APPLICABLE, "", "not applicable"}};
    struct view_counts counts = view_count(page->view);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        int count = counts.standing[shown[i].standing];
        if (count || (shown[i].standing == STANDING_UNEXPECTED && counts.rows))
            fprintf(page->out, "<li class=\"%s\"><b>%d</b> %s</li>\n", count ? shown[i].style : "",
                    count, shown[i].words);
    }
    put_cell_counts(page);
}

static bool is_trouble(const struct run_result *row)
{
    return view_is_trouble(result_standing(row));
}

static void put_trouble(const struct page *page, int at)
{
    const struct run_result *row = page->view->rows[at];
    char *id = html_row_id(page->view, at), *words = view_row_words(row);
    fprintf(page->out, "<li><a href=\"#%s\">", id);
    html_text(page, row->scenario);
    fputs(", ", page->out);
    html_text(page, row->scheme);
    fputs("</a>: ", page->out);
    html_text(page, words);
    fputs("</li>\n", page->out);
    free(id);
    free(words);
}

static bool is_cell_trouble(const struct explored *cell)
{
    return explored_has_failure(cell) || explored_is_open(cell) || explored_has_defect(cell);
}

static void put_cell_trouble(const struct page *page, int at)
{
    const struct explored *cell = &page->view->results->cells[at];
    char *id = html_cell_id(page->view->results, at);
    fprintf(page->out, "<li><a href=\"#%s\">", id);
    html_text(page, cell->scheme);
    fputs(", ", page->out);
    html_text(page, cell->faults);
    fputs("</a>: ", page->out);
    html_text(page, explored_has_defect(cell) ? "a witness did not reproduce" : cell->words);
    fputs("</li>\n", page->out);
    free(id);
}

static void put_missing(const struct page *page)
{
    const struct results *results = page->view->results;
    char *interrupted = view_interrupted_words(results);
    if (!results->missing_count && !interrupted)
        return;
    fputs("<div class=\"troubles missing\"><ul>\n", page->out);
    if (interrupted) {
        fputs("<li>Interrupted: ", page->out);
        html_text(page, interrupted);
        fputs("</li>\n", page->out);
    }
    free(interrupted);
    for (int i = 0; i < results->missing_count; i++) {
        fputs("<li>", page->out);
        html_text(page, results->missing[i]);
        fputs("</li>\n", page->out);
    }
    fputs("</ul></div>\n", page->out);
}

/* What is not as expected, as links; the reader of a red CI run needs nothing else. Many of them
 * must not push the table off the first screen. */
static void put_troubles(const struct page *page)
{
    const struct results *results = page->view->results;
    int rows = page->view->count, all = 0, shown = 0;
    put_missing(page);
    for (int i = 0; i < rows + results->cells_count; i++)
        all +=
            i < rows ? is_trouble(page->view->rows[i]) : is_cell_trouble(&results->cells[i - rows]);
    if (all)
        fputs("<div class=\"troubles\"><ul>\n", page->out);
    for (int i = 0; i < rows + results->cells_count; i++) {
        if (i < rows ? !is_trouble(page->view->rows[i])
                     : !is_cell_trouble(&results->cells[i - rows]))
            continue;
        if (shown++ == TROUBLES_SHOWN)
            fprintf(page->out, "</ul><details><summary>and %d more</summary><ul>\n",
                    all - TROUBLES_SHOWN);
        if (i < rows)
            put_trouble(page, i);
        else
            put_cell_trouble(page, i - rows);
    }
    if (all)
        fprintf(page->out, "</ul>%s</div>\n", all > TROUBLES_SHOWN ? "</details>" : "");
}

static void put_properties(const struct page *page)
{
    for (int i = 0; i < PROPERTY_COUNT; i++) {
        fprintf(page->out, "<dt>%s</dt><dd>", property_name((enum property)i));
        html_text(page, property_words((enum property)i));
        fputs("</dd>\n", page->out);
    }
}

static void put_causes(const struct page *page)
{
    static const char *const blames[] = {[BLAME_NOBODY] = "nobody’s fault",
                                         [BLAME_SCHEME] = "the scheme’s fault",
                                         [BLAME_DEPLOYMENT] = "the deployment’s fault",
                                         [BLAME_EITHER] = "the scheme’s or the deployment’s"};
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
        enum cause cause = (enum cause)i;
        fprintf(page->out, "<dt>%s</dt><dd>", cause_name(cause));
        html_text(page, cause_words(cause));
        fprintf(page->out, " <i>(%s)</i></dd>\n", blames[cause_blame(cause)]);
    }
}

static void put_origins(const struct page *page)
{
    const struct results *results = page->view->results;
    if (results->origins_count)
        fputs("<ol class=\"origins\">\n", page->out);
    for (int i = 0; i < results->origins_count; i++) {
        char *words = view_origin_words(results, i);
        fputs("<li>", page->out);
        html_text(page, words);
        fputs("</li>\n", page->out);
        free(words);
    }
    if (results->origins_count)
        fputs("</ol>\n", page->out);
    for (int i = 0; i < results->notes_count; i++) {
        fputs("<p>", page->out);
        html_text(page, results->notes[i]);
        fputs("</p>\n", page->out);
    }
}

static void put_invocation(const struct page *page)
{
    const struct results *results = page->view->results;
    put_origins(page);
    if (!results->invocation)
        return;
    fputs("<p>This page was made by <code>", page->out);
    html_text(page, results->invocation);
    fputs("</code>", page->out);
    if (*results->started) {
        fputs(" at ", page->out);
        html_text(page, results->started);
    }
    fputs(".</p>\n", page->out);
}

static void put_version(const struct page *page)
{
    fputs(PICKLOCK_VERSION, page->out);
}

static void put_style(const struct page *page)
{
    fputs(asset_style, page->out);
}

static void put_script(const struct page *page)
{
    fputs(asset_script, page->out);
}

static const struct {
    const char *name;
    void (*put)(const struct page *page);
} blanks[] = {
    {"title", put_title},
    {"scope", put_scope},
    {"sides", put_sides},
    {"mood", put_mood},
    {"counts", put_counts},
    {"troubles", put_troubles},
    {"matrix", html_matrix},
    {"explored", html_explored},
    {"explored-details", html_explored_details},
    {"stress", html_stress},
    {"details", html_details},
    {"causes", put_causes},
    {"properties", put_properties},
    {"invocation", put_invocation},
    {"version", put_version},
    {"style", put_style},
    {"script", put_script},
};

/* Copies the template; "{{name}}" is filled in. An unknown name is a defect of the template. */
static enum fail fill(const struct page *page, struct failure *failure)
{
    const char *at = asset_page;
    for (const char *open = strstr(at, "{{"); open; open = strstr(at, "{{")) {
        const char *close = strstr(open, "}}");
        size_t size = close ? (size_t)(close - open) - 2 : 0, i = 0;
        while (i < sizeof blanks / sizeof blanks[0] &&
               (strlen(blanks[i].name) != size || memcmp(blanks[i].name, open + 2, size) != 0))
            i++;
        if (i == sizeof blanks / sizeof blanks[0])
            return failure_set(failure, FAIL_INTERNAL,
                               "reports/page.html: nothing is known for '%.20s'", open);
        fwrite(at, 1, (size_t)(open - at), page->out);
        blanks[i].put(page);
        at = close + 2;
    }
    fputs(at, page->out);
    return FAIL_NONE;
}

/* Does the page lie in the run folder, so that its paths hold as links? */
static bool is_in_folder(const char *path, const char *folder)
{
    if (!folder)
        return false;
    size_t size = strlen(folder);
    while (size > 1 && folder[size - 1] == '/')
        size--;
    const char *slash = strrchr(path, '/');
    return slash && (size_t)(slash - path) == size && !strncmp(path, folder, size);
}

enum fail report_html(const char *path, const struct results *results, const char *run_folder,
                      struct failure *failure)
{
    struct outfile file;
    struct view view;
    enum fail fail = outfile_open(&file, path, failure);
    if (fail)
        return fail;
    view_init(&view, results);
    struct page page = {.out = file.stream,
                        .view = &view,
                        .run_folder = run_folder,
                        .is_in_folder = is_in_folder(path, run_folder)};
    fail = fill(&page, failure);
    view_close(&view);
    if (fail) {
        outfile_abandon(&file);
        return fail;
    }
    return outfile_shut(&file, failure);
}
