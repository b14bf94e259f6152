/* list.c - `picklock list`: schemes, faults, choices, properties, causes, scenarios; for people and
 * for programs. */
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/scenario_files.h"

#include "base/memory.h"
#include "base/place.h"
#include "base/suggest.h"
#include "explore/search/explore.h"
#include "report/text.h"
#include "scenario/scenario.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
const char cmd_list_help[] =
    "\n"
    "  --json                 print one JSON document\n"
    "  --names                print the names alone, one a line\n"
    "  --dir DIR              folder of the scenarios (default: scenarios here, or else\n"
    "                         the program's own)\n";
/* clang-format on */

struct listing {
    const char *dir;
    struct failure failure;
};

static json_t *list_schemes(struct listing *listing)
{
    json_t *rows = json_array();
    (void)listing;
    for (int i = 0; i < schemes_count; i++) {
        const struct scheme *scheme = schemes[i];
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:s, s:b, s:s?}", "name", scheme->name,
                                        "summary", scheme->summary, "source", scheme->source,
                                        "naive", scheme->is_naive, "weakness", scheme->weakness));
    }
    return rows;
}

/* What the explorer may let go wrong, and which choices that is in a schedule. */
static json_t *list_faults(struct listing *listing)
{
    json_t *rows = json_array();
    (void)listing;
    for (int i = 0; i < FAULT_COUNT; i++) {
        enum fault fault = (enum fault)i;
        enum choice_kind choices[FAULT_CHOICES_MAX];
        int count = fault_becomes(fault, choices);
        json_t *becomes = json_array();
        for (int k = 0; k < count; k++)
            json_array_append_new(becomes, json_string(choice_name(choices[k])));
        json_array_append_new(rows, json_pack("{s:s, s:s, s:b, s:s, s:o}", "name",
                                              fault_name(fault), "strikes", fault_struck(fault),
                                              "schemes", fault_not_of_schemes(fault) == NULL,
                                              "summary", fault_words(fault), "choices", becomes));
    }
    return rows;
}

/* What schedules are made of. */
static json_t *list_choices(struct listing *listing)
{
    json_t *rows = json_array();
    (void)listing;
    for (int i = 0; i < CHOICE_COUNT; i++) {
        enum choice_kind kind = (enum choice_kind)i;
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:b}", "name", choice_name(kind), "summary",
                                        choice_words(kind), "fault", choice_is_fault(kind)));
    }
    return rows;
}

static json_t *list_properties(struct listing *listing)
{
    json_t *rows = json_array();
    (void)listing;
    for (int i = 0; i < PROPERTY_COUNT; i++)
        json_array_append_new(rows, json_pack("{s:s, s:s}", "name", property_name((enum property)i),
                                              "summary", property_words((enum property)i)));
    return rows;
}

/* Whose fault it is: as --fail-on has it. */
static json_t *list_causes(struct listing *listing)
{
    static const char *const blames[] = {[BLAME_NOBODY] = "nobody",
                                         [BLAME_DEPLOYMENT] = "deployment",
                                         [BLAME_EITHER] = "either",
                                         [BLAME_SCHEME] = "scheme"};
    json_t *rows = json_array();
    (void)listing;
    for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
        const enum cause cause = (enum cause)i;
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:s}", "name", cause_name(cause), "summary",
                                        cause_words(cause), "blame", blames[cause_blame(cause)]));
    }
    return rows;
}

enum { SUMMARY_BYTES = 250 };

static json_t *scenario_row(const char *path, const struct scenario *scenario)
{
    json_t *asked = json_array();
    char first[SUMMARY_BYTES + sizeof " ..."];
    size_t length = strcspn(scenario->story, "\n");
    bool is_cut = length && scenario->story[length] && scenario->story[length - 1] != '.';
    size_t kept = length < SUMMARY_BYTES ? length : SUMMARY_BYTES;
    while (kept < length && kept > 0 && (scenario->story[kept] & 0xC0) == 0x80)
        kept--; /* no half a letter */
    for (int i = 0; i < scenario->expectations_count; i++)
        json_array_append_new(asked, json_string(scenario->expectations[i].name));
    snprintf(first, sizeof first, "%.*s%s", (int)kept, scenario->story,
             is_cut || kept < length ? " ..." : "");
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", scenario->name, "path", path, "summary",
                     first, "source", scenario->source, "schemes", asked);
}

static json_t *list_scenarios(struct listing *listing)
{
    struct scenario_files found = {0};
    json_t *rows = json_array();
    if (!scenario_files_add(&found, listing->dir))
        failure_set(&listing->failure, FAIL_INPUT, "no scenario matches %s/*.yaml", listing->dir);
    for (int i = 0; i < found.count && !listing->failure.code; i++) {
        struct scenario *scenario;
        if (scenario_read(found.paths[i], &scenario, &listing->failure))
            break;
        json_array_append_new(rows, scenario_row(found.paths[i], scenario));
        scenario_free(scenario);
    }
    scenario_files_free(&found);
    return rows;
}

static const struct {
    const char *name;
    json_t *(*list)(struct listing *listing);
} sections[] = {{"schemes", list_schemes}, {"faults", list_faults},
                {"choices", list_choices}, {"properties", list_properties},
                {"causes", list_causes},   {"scenarios", list_scenarios}};
enum { SECTIONS_COUNT = sizeof sections / sizeof sections[0] };

/* Where there is no room beside a name, what it is stands below it. */
enum { NAME_COLUMNS = 33, BELOW_COLUMNS = 6, WIDE_COLUMNS = 80 };

static void print_row(const json_t *row)
{
    const char *name = json_string_value(json_object_get(row, "name"));
    const char *summary = json_string_value(json_object_get(row, "summary"));
    const char *strikes = json_string_value(json_object_get(row, "strikes"));
    const char *blame = json_string_value(json_object_get(row, "blame"));
    const char *first = strikes ? strikes : blame;
    const char *source = json_string_value(json_object_get(row, "source"));
    const bool is_wide = text_room(stdout) >= WIDE_COLUMNS;
    const int indent = is_wide ? NAME_COLUMNS : BELOW_COLUMNS;
    char *named = memory_format("  %s", name);
    char *says = first ? memory_format("%s: %s", first, summary) : memory_text(summary);
    if (is_wide) {
        text_print_beside(stdout, named, says, indent);
    } else {
        text_format(stdout, TEXT_PLAIN, "  %s\n", name);
        text_print_wrapped(stdout, says, indent, text_room(stdout));
    }
    free(says);
    free(named);
    if (!source || !*source)
        return;
    says = memory_format("from: %s", source);
    text_print_wrapped(stdout, says, indent, text_room(stdout));
    free(says);
}

static void print_rows(const char *title, const json_t *rows)
{
    size_t i;
    json_t *row;
    printf("%s\n", title);
    json_array_foreach(rows, i, row) print_row(row);
    printf("\n");
}

static void print_names(const json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) puts(json_string_value(json_object_get(row, "name")));
}

int cmd_list(int argc, char **argv)
{
    char shipped[PLACE_BYTES];
    bool is_here = access("scenarios", R_OK) == 0 || !place_shared("scenarios", shipped);
    struct listing listing = {.dir = is_here ? "scenarios" : shipped};
    const char *names[SECTIONS_COUNT];
    int operands, as_json = 0, as_names = 0, matched = 0;
    const struct option_row rows[] = {OPTION_FLAG("--json", &as_json),
                                      OPTION_FLAG("--names", &as_names),
                                      OPTION_TEXT("--dir", &listing.dir)};
    if (options_parse(argc, argv, rows, 3, &operands, &listing.failure))
        return cmd_failed(&listing.failure);
    if (operands > 1)
        return cmd_refuse("list takes one kind of thing, not %d", operands);
    if (as_json && as_names)
        return cmd_refuse("list prints --json or --names, not both");
    json_t *all = json_object();
    for (int i = 0; i < SECTIONS_COUNT; i++) {
        names[i] = sections[i].name;
        if (operands && strcmp(argv[1], sections[i].name) != 0)
            continue;
        matched++;
        json_object_set_new(all, sections[i].name, sections[i].list(&listing));
        const json_t *found = json_object_get(all, sections[i].name);
        if (as_names && !listing.failure.code)
            print_names(found);
        else if (!as_json && !listing.failure.code)
            print_rows(sections[i].name, found);
    }
    if (!matched) {
        char suggestion[SUGGEST_BYTES];
        const char *nearest = suggest_nearest(argv[1], names, SECTIONS_COUNT);
        failure_set(
            &listing.failure, FAIL_INPUT,
            "list knows schemes, faults, choices, properties, causes and scenarios, not '%s'%s",
            argv[1], suggest_words(nearest, "", suggestion));
    }
    if (as_json && !listing.failure.code) {
        json_dumpf(all, stdout, JSON_INDENT(1));
        printf("\n");
    }
    json_decref(all);
    return listing.failure.code ? cmd_failed(&listing.failure) : FAIL_NONE;
}
