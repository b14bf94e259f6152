/* rules_read.c - reads a rules file: a rule a line, "NAME: SELECTOR... -> ACTION ARGUMENT...".
 * Strict: nothing that is not understood is skipped. */
#include "proxy/rules_words.h"

#include "base/memory.h"
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rule_text keep_text(const char *bytes, size_t length)
{
    struct rule_text kept = {memory_new(length + 1, 1), length};
    memcpy(kept.bytes, bytes, length);
    return kept;
}

static bool read_client(const struct word *word, const char *value, struct rule *rule)
{
    size_t length = word->length - (size_t)(value - word->text);
    if (isdigit((unsigned char)value[0]))
        return strlen(value) == length && word_read_count(value, &rule->client);
    if (length)
        rule->client_name = keep_text(value, length);
    return length > 0;
}

static bool read_commands(const char *value, struct rule *rule)
{
    if (!*value)
        return false;
    rule->commands = memory_format(",%s,", value);
    for (char *at = rule->commands; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return !strstr(rule->commands, ",,");
}

static bool read_time(const char *value, int64_t *us)
{
    struct failure ignored;
    return !units_read_duration(value, us, &ignored) && *us > 0;
}

static bool read_pattern(const struct word *word, const char *value, struct rule_text *text)
{
    size_t length = word->length - (size_t)(value - word->text);
    if (length)
        *text = keep_text(value, length);
    return length > 0;
}

enum selector {
    SELECT_COMMAND,
    SELECT_KEY,
    SELECT_SCRIPT,
    SELECT_REPLY,
    SELECT_CLIENT,
    SELECT_NTH,
    SELECT_EVERY,
    SELECT_FIRST,
    SELECT_BEYOND,
    SELECT_CHANCE,
    SELECT_FROM,
    SELECT_TILL,
    SELECT_ONCE,
    SELECT_EACH_CLIENT,
    SELECT_IN_MULTI,
    SELECT_OUTSIDE_MULTI,
    SELECT_BEFORE,
    SELECT_AFTER,
    SELECT_DONE,
    SELECT_COUNT
};

/* Those that end in '=' take a value; wants says of what form. */
static const char *const selectors[SELECT_COUNT] = {
    "command=", "key=",          "script=", "reply=", "client=", "nth=", "every=",
    "first=",   "beyond=",       "chance=", "from=",  "till=",   "once", "each-client",
    "in-multi", "outside-multi", "before",  "after",  "done"};
static const char *const wants[SELECT_COUNT] = {"a command or several, as in SET,DEL",
                                                "a pattern as in lock:*",
                                                "a pattern for the script's text or SHA",
                                                "a pattern for the reply's bytes, as in -OOM*",
                                                "a number from 1, or a name",
                                                "a number from 1",
                                                "a number from 1",
                                                "a number from 1",
                                                "a number from 1",
                                                "a chance such as 5% or 0.01%",
                                                "a time such as 10s",
                                                "a time such as 10s"};

/* Patterns and names are bytes; in anything else a NUL would hide what stands behind it. */
static bool is_bytes(enum selector selector)
{
    return selector == SELECT_KEY || selector == SELECT_SCRIPT || selector == SELECT_REPLY ||
           selector == SELECT_CLIENT;
}

static bool apply_selector(enum selector selector, const struct word *word, const char *value,
                           struct rule *rule)
{
    switch (selector) {
    case SELECT_COMMAND:
        return read_commands(value, rule);
    case SELECT_KEY:
        return read_pattern(word, value, &rule->key);
    case SELECT_SCRIPT:
        return read_pattern(word, value, &rule->script);
    case SELECT_REPLY:
        return read_pattern(word, value, &rule->reply);
    case SELECT_CLIENT:
        return read_client(word, value, rule);
    case SELECT_NTH:
        return word_read_count(value, &rule->nth);
    case SELECT_EVERY:
        return word_read_count(value, &rule->every);
    case SELECT_FIRST:
        return word_read_count(value, &rule->first);
    case SELECT_BEYOND:
        return word_read_count(value, &rule->beyond);
    case SELECT_CHANCE:
        rule->has_chance = true;
        return units_read_rate(value, &rule->chance_ppm);
    case SELECT_FROM:
        return read_time(value, &rule->from_us);
    case SELECT_TILL:
        return read_time(value, &rule->till_us);
    case SELECT_ONCE:
        rule->nth = 1;
        return true;
    case SELECT_EACH_CLIENT:
        rule->is_each_client = true;
        return true;
    case SELECT_IN_MULTI:
    case SELECT_OUTSIDE_MULTI:
        rule->multi = selector == SELECT_IN_MULTI ? MULTI_INSIDE : MULTI_OUTSIDE;
        return true;
    default:
        rule->point = (enum point)(selector - SELECT_BEFORE);
        return true;
    }
}

static enum fail read_selector(const struct rules_line *line, const struct word *word,
                               uint32_t *given, struct rule *rule, struct failure *failure)
{
    const char *equals = strchr(word->text, '=');
    size_t length = equals ? (size_t)(equals - word->text) + 1 : word->length;
    for (int i = 0; i < SELECT_COUNT; i++) {
        if (strlen(selectors[i]) != length || memcmp(selectors[i], word->text, length) != 0)
            continue;
        if (*given & 1u << i)
            return line_wrong(line, word->column, failure, "'%s' is given twice", selectors[i]);
        *given |= 1u << i;
        bool is_whole = is_bytes((enum selector)i) || strlen(word->text) == word->length;
        if (is_whole && apply_selector((enum selector)i, word, word->text + length, rule))
            return FAIL_NONE;
        return line_wrong(line, word->column, failure, "'%s' wants %s", selectors[i], wants[i]);
    }
    char near[512], name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), word->text);
    return line_wrong(line, word->column, failure, "unknown selector '%s'%s", name,
                      word_near(name, selectors, SELECT_COUNT, near));
}

static bool is_name(const struct word *word)
{
    if (word->length < 2 || word->length >= NAME_MAX_BYTES || word->text[word->length - 1] != ':')
        return false;
    for (size_t i = 0; i + 1 < word->length; i++)
        if (!isalnum((unsigned char)word->text[i]) && !strchr("-_.", word->text[i]))
            return false;
    return true;
}

static enum fail check_points(const struct rules_line *line, int action, uint32_t given,
                              struct rule *rule, struct failure *failure)
{
    const uint32_t all_points = 7u << SELECT_BEFORE, choosing = given & all_points;
    if (choosing & (choosing - 1))
        return line_wrong(line, 1, failure, "one of before, after and done, not several");
    if (!choosing)
        rule->point = rule->fault->usual;
    if (!(rule->fault->points & 1u << rule->point))
        return line_wrong(line, line->words[action].column, failure, "%s cannot strike %s",
                          rule->fault->name, point_name(rule->point));
    if (rule->reply.bytes && rule->point == POINT_BEFORE)
        return line_wrong(line, line->words[action].column, failure,
                          "reply= needs 'after' or 'done': before, there is no reply");
    if (given & 1u << SELECT_ONCE && given & 1u << SELECT_NTH)
        return line_wrong(line, 1, failure, "once and nth= exclude each other");
    return FAIL_NONE;
}

static enum fail read_rule(const struct rules_line *line, const struct rules *rules,
                           struct rule *rule, struct failure *failure)
{
    uint32_t given = 0;
    const struct word *name = &line->words[0];
    if (!is_name(name))
        return line_wrong(line, name->column, failure,
                          "a rule begins with its name and a colon, as in lose-first: not '%.60s'",
                          name->text);
    memcpy(rule->name, name->text, name->length - 1);
    rule->stream = names_stream(rule->name);
    for (int i = 0; i < rules->count; i++)
        if (!strcmp(rules->rules[i].name, rule->name))
            return line_wrong(line, name->column, failure, "a second rule named '%s'", rule->name);
    int at = 1;
    for (; at < line->count && strcmp(line->words[at].text, "->") != 0; at++)
        if (read_selector(line, &line->words[at], &given, rule, failure))
            return FAIL_INPUT;
    if (at + 1 >= line->count)
        return line_wrong(line, line->words[line->count - 1].column, failure,
                          "a rule wants '->' and an action");
    if (action_read(line, at + 1, rule, failure))
        return FAIL_INPUT;
    int scripts = rule->script.bytes != NULL;
    for (int i = 0; i < rules->count; i++)
        scripts += rules->rules[i].script.bytes != NULL;
    rule->script_bit = -1;
    if (scripts > SCRIPTS_MAX)
        return line_wrong(line, 1, failure, "more than %d rules with script=", SCRIPTS_MAX);
    return check_points(line, at + 1, given, rule, failure);
}

enum fail rules_add(struct rules *rules, const struct rules_line *line, struct failure *failure)
{
    if (rules->count == RULES_MAX)
        return line_wrong(line, 0, failure, "more than %d rules", RULES_MAX);
    /* A broken one is counted, too: rules_free() gives back what it holds. */
    struct rule *rule = &rules->rules[rules->count];
    enum fail fail = read_rule(line, rules, rule, failure);
    rules->count++;
    return fail;
}

struct rules *rules_new(void)
{
    struct rules *rules = memory_new(1, sizeof *rules);
    rules->rules = memory_new(RULES_MAX, sizeof *rules->rules);
    rules->references = 1;
    return rules;
}

static enum fail add(void *context, const struct rules_line *line, struct failure *failure)
{
    return rules_add(context, line, failure);
}

enum fail rules_read(struct rules **made, const char *path, struct failure *failure)
{
    struct rules *rules = rules_new();
    enum fail fail = lines_read(path, add, rules, failure);
    if (fail)
        rules_free(rules);
    else
        *made = rules;
    return fail;
}

static enum fail words_of(struct rules_line *line, const char *const *asked, size_t count,
                          const char *action, struct failure *failure)
{
    enum fail fail = line_word(line, "rule:", failure);
    for (size_t i = 0; i < count && !fail; i++)
        fail = line_word(line, asked[i], failure);
    if (!fail)
        fail = line_word(line, "->", failure);
    return fail ? fail : line_split_more(line, action, strlen(action), failure);
}

enum fail rules_of(struct rules **made, const char *const *asked, size_t count, const char *action,
                   struct failure *failure)
{
    struct rules *rules = rules_new();
    struct rules_line *line = memory_new(1, sizeof *line);
    enum fail fail = words_of(line, asked, count, action, failure);
    if (!fail)
        fail = rules_add(rules, line, failure);
    free(line);
    if (fail)
        rules_free(rules);
    else
        *made = rules;
    return fail;
}
