/* html.c - one self-contained page: the template of reports/page.html, filled in. No network,
 * readable without its script. */
#include "report/html.h"

#include "base/memory.h"
#include "report/conclusion.h"
#include "report/diff.h"
#include "base/units.h"
#include "base/version.h"
#include "report/assets.h"
#include "report/report.h"
#include "report/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS_SHOWN = 5 };

void html_put(const struct page *page, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    text_format_list(page->out, TEXT_MARKUP, format, &values);
    va_end(values);
}

/* As a cell's words say it. */
static const struct {
    const char *style, *mark, *count_style;
} by_word[] = {
    [CELL_SAFE] = {"holds", "✓", "good"},        [CELL_INHERENT] = {"overrun", "△", ""},
    [CELL_BROKEN] = {"bug", "✗", "bad"},         [CELL_STUCK] = {"bug", "✗", "bad"},
    [CELL_NOT_FOUND] = {"unknown", "?", "open"}, [CELL_UNKNOWN] = {"unknown", "?", "open"}};

const char *html_verdict_class(const struct result_row *row)
{
    static const char *const by_blame[] = {[BLAME_NOBODY] = "overrun",
                                           [BLAME_SCHEME] = "bug",
                                           [BLAME_DEPLOYMENT] = "world",
                                           [BLAME_EITHER] = "world"};
    if (row->search) {
        const struct result_property *headline = view_headline(row);
        bool is_world = headline && cause_blame(headline->cause) == BLAME_DEPLOYMENT;
        return is_world ? "world" : by_word[result_cell_word(row)].style;
    }
    if (row->verdict == VERDICT_HOLDS)
        return "holds";
    if (row->verdict != VERDICT_VIOLATED || result_is_vacuous(row))
        return "unknown";
    return by_blame[view_blame(row)];
}

const char *html_verdict_mark(const struct result_row *row)
{
    if (row->is_unsupported || row->verdict == VERDICT_NOT_APPLICABLE)
        return "–";
    if (row->search)
        return by_word[result_cell_word(row)].mark;
    if (row->verdict == VERDICT_HOLDS)
        return "✓";
    if (row->verdict == VERDICT_UNKNOWN || result_is_vacuous(row))
        return "?";
    return view_blame(row) == BLAME_NOBODY ? "△" : "✗";
}

/* words with nothing in them but what may stand in an id; at is added where that had to be changed,
 * or where at is not -1 (words came before). The caller frees. */
static char *plain_id(const char *words, int at)
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
    const struct result_row *row = view->rows[at];
    struct view_names names = view_names(row);
    bool is_plain = true;
    for (int i = at - 1; i >= 0 && is_plain; i--)
        is_plain = !view->rows[i]->search != !row->search ||
                   strcmp(view->rows[i]->subject, row->subject) != 0 ||
                   strcmp(result_lock(view->rows[i]), result_lock(row)) != 0;
    char *words =
        memory_format("%s%s--%s", row->search ? "explore--" : "", names.first, names.second);
    char *id = plain_id(words, is_plain ? -1 : at); /* a second run, or names that look alike */
    free(words);
    return id;
}

void html_origin(const struct page *page, int origin)
{
    if (page->view->results->origins_count)
        html_put(page, " <small>[%d]</small>", origin + 1);
}

/* --- what the template asks for --- */

/* Takes words, which may be NULL. */
static void put_words(const struct page *page, char *words)
{
    html_put(page, "%s", words);
    free(words);
}

/* Beside an older run what has changed is said first; what the run itself says follows. */
static void put_title(const struct page *page)
{
    put_words(page, page->diff ? diff_title_words(page->diff) : view_title_words(page->view));
}

static void put_scope(const struct page *page)
{
    put_words(page, view_scope_words(page->view));
}

/* What the title does not say. */
static void put_lead(const struct page *page)
{
    char *sides = view_sides_words(page->view);
    char *words[] = {
        page->diff ? view_title_words(page->view) : NULL,
        sides || conclusion_is_told(page->view) ? view_verdict_words(page->view) : NULL,
        view_policy_words(page->view->results), view_inferred_words(page->view->results)};
    bool has_any = false;
    free(sides);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        fputs(has_any && words[i] ? " " : "", page->out);
        has_any |= words[i] != NULL;
        put_words(page, words[i]);
    }
}

static void put_mood(const struct page *page)
{
    static const char *const moods[] = {
        [FAIL_NONE] = "good", [FAIL_EXPECTATION] = "bad", [FAIL_UNKNOWN] = "open"};
    const struct results *results = page->view->results;
    enum fail status = results_status(results);
    if (page->diff && status != FAIL_INTERNAL)
        status = diff_status(page->diff, results);
    html_put(page, "%s", status == FAIL_INTERNAL ? "bad" : moods[status]);
}

static void put_counts(const struct page *page)
{
    static const struct {
        enum standing standing;
        const char *style, *words;
    } shown[] = {{STANDING_EXPECTED, "good", "as expected"},
                 {STANDING_UNEXPECTED, "bad", "not as expected"},
                 {STANDING_KNOWN, "", "known"},
                 {STANDING_UNKNOWN, "open", "unknown"},
                 {STANDING_UNSTATED, "", "without failure"},
                 {STANDING_UNSUPPORTED, "", "not supported"},
                 {STANDING_NOT_APPLICABLE, "", "not applicable"}};
    struct view_counts counts = view_count(page->view);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        int count = counts.standing[shown[i].standing];
        if (count || (shown[i].standing == STANDING_UNEXPECTED && counts.rows))
            html_put(page, "<li class=\"%s\"><b>%d</b> %s</li>\n", count ? shown[i].style : "",
                     count, shown[i].words);
    }
    for (int i = CELL_SAFE; i <= CELL_UNKNOWN; i++)
        if (counts.words[i])
            html_put(page, "<li class=\"%s\"><b>%d</b> cell%s: %s</li>\n", by_word[i].count_style,
                     counts.words[i], units_plural(counts.words[i]), view_cell_words[i]);
}

static void put_problem(const struct page *page, int at)
{
    struct view_names names = view_names(page->view->rows[at]);
    char *id = html_row_id(page->view, at), *words = view_row_words(page->view->rows[at]);
    html_put(page, "<li><a href=\"#%s\">%s, %s</a>", id, names.first, names.second);
    html_origin(page, page->view->rows[at]->origin);
    html_put(page, ": %s</li>\n", words);
    free(words);
    free(id);
}

static void put_missing(const struct page *page)
{
    const struct results *results = page->view->results;
    char *interrupted = view_interrupted_words(results);
    if (!results->missing_count && !interrupted)
        return;
    html_put(page, "<div class=\"problems missing\"><ul>\n");
    if (interrupted)
        html_put(page, "<li>Interrupted: %s</li>\n", interrupted);
    free(interrupted);
    for (int i = 0; i < results->missing_count; i++)
        html_put(page, "<li>%s</li>\n", results->missing[i]);
    html_put(page, "</ul></div>\n");
}

/* What is not as expected, as links; the reader of a red CI run needs nothing else. Many of them
 * must not push the table off the first screen. */
static void put_problems(const struct page *page)
{
    const struct view *view = page->view;
    int all = 0, shown = 0;
    put_missing(page);
    for (int i = 0; i < view->count; i++)
        all += view_is_problem(view->rows[i]);
    if (all)
        html_put(page, "<div class=\"problems\"><ul>\n");
    for (int i = 0; i < view->count; i++) {
        if (!view_is_problem(view->rows[i]))
            continue;
        if (shown++ == PROBLEMS_SHOWN)
            html_put(page, "</ul><details><summary>and %d more</summary><ul>\n",
                     all - PROBLEMS_SHOWN);
        put_problem(page, i);
    }
    if (all)
        fputs(all > PROBLEMS_SHOWN ? "</ul></details></div>\n" : "</ul></div>\n", page->out);
}

static void put_properties(const struct page *page)
{
    for (int i = 0; i < PROPERTY_COUNT; i++)
        html_put(page, "<dt>%s</dt><dd>%s</dd>\n", property_name((enum property)i),
                 property_words((enum property)i));
}

static void put_causes(const struct page *page)
{
    static const char *const blames[] = {[BLAME_NOBODY] = "nobody’s fault",
                                         [BLAME_SCHEME] = "the scheme’s fault",
                                         [BLAME_DEPLOYMENT] = "the deployment’s fault",
                                         [BLAME_EITHER] =
                                             "the scheme’s, the deployment’s or the network’s"};
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
        enum cause cause = (enum cause)i;
        html_put(page, "<dt>%s</dt><dd>%s <i>(%s)</i></dd>\n", cause_name(cause),
                 cause_words(cause), blames[cause_blame(cause)]);
    }
}

static void put_origins(const struct page *page)
{
    const struct results *results = page->view->results;
    if (results->origins_count)
        html_put(page, "<ol class=\"origins\">\n");
    for (int i = 0; i < results->origins_count; i++) {
        char *words = view_origin_words(results, i);
        html_put(page, "<li>%s</li>\n", words);
        free(words);
    }
    if (results->origins_count)
        html_put(page, "</ol>\n");
    const int notes = results->notes_count - (page->diff ? page->diff->notes : 0);
    for (int i = 0; i < notes; i++) /* what has changed stands above */
        html_put(page, "<p>%s</p>\n", results->notes[i]);
}

static void put_invocation(const struct page *page)
{
    const struct results *results = page->view->results;
    put_origins(page);
    if (!results->invocation)
        return;
    html_put(page, "<p>This page was made by <code>%s</code>%s%s.</p>\n", results->invocation,
             *results->started ? " at " : "", results->started);
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
    {"lead", put_lead},
    {"mood", put_mood},
    {"counts", put_counts},
    {"problems", put_problems},
    {"conclusion", html_conclusion},
    {"scenarios", html_scenarios},
    {"cells", html_cells},
    {"diff", html_diff},
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

enum fail report_html(const struct report *report, struct failure *failure)
{
    struct view view;
    view_init(&view, report->results);
    struct page page = {.out = report->out,
                        .view = &view,
                        .run_folder = report->run_folder,
                        .diff = report->diff,
                        .is_in_folder = is_in_folder(report->path, report->run_folder)};
    enum fail fail = fill(&page, failure);
    view_close(&view);
    return fail;
}
