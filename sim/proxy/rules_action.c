/* rules_action.c - what stands behind the arrow of a rule: an action of faults.def and its
 * arguments. */
#include "proxy/rules_words.h"

#include "base/memory.h"
#include "base/names.h"
#include "base/units.h"

#include <string.h>

enum { COPIES_MAX = 100 }; /* of one request */

static bool begins(const char *word, const char *with, const char **rest)
{
    size_t length = strlen(with);
    *rest = word + length;
    return !strncmp(word, with, length);
}

static bool read_bytes(const struct word *word, bool is_reply, struct fault_arguments *arguments)
{
    bool is_nil = is_reply && !strcmp(word->text, "nil");
    const char *bytes = is_nil ? "$-1" : word->text;
    size_t length = is_nil ? 3 : word->length;
    bool is_whole = length >= 2 && !memcmp(bytes + length - 2, "\r\n", 2);
    if (!length)
        return false;
    arguments->bytes = memory_new(length + 2, 1);
    memcpy(arguments->bytes, bytes, length);
    if (is_reply && !is_whole) { /* a line of RESP ends so; nobody should have to write it */
        memcpy(arguments->bytes + length, "\r\n", 2);
        length += 2;
    }
    arguments->bytes_length = length;
    return true;
}

static bool read_label(const char *text, char *label)
{
    size_t length = strlen(text);
    if (!length || length >= NAME_MAX_BYTES)
        return false;
    memcpy(label, text, length + 1);
    return true;
}

/* "64kB/s" as bytes a second; whole numbers from 1. */
static bool read_rate(const char *text, uint64_t *rate)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {{"B/s", 1}, {"kB/s", 1000}, {"MB/s", 1000 * 1000}};
    const uint64_t most = 1000 * 1000; /* of a unit: 1 TB/s is no limit any more */
    char digits[8] = "";
    size_t length = strspn(text, "0123456789");
    if (length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    if (!word_read_count(digits, rate) || *rate > most)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(text + length, units[i].name)) {
            *rate *= units[i].bytes;
            return true;
        }
    return false;
}

/* Which argument is this word, of those that the action takes? 0: none of them. */
static unsigned read_argument(const struct word *word, unsigned takes, bool is_reply,
                              struct fault_arguments *arguments)
{
    const char *rest, *text = word->text;
    struct failure ignored;
    if (!(takes & ARGUMENT_BYTES) && strlen(text) != word->length)
        return 0; /* a NUL, and what stands behind it */
    if (takes & ARGUMENT_UNTIL && begins(text, "until=", &rest))
        return read_label(rest, arguments->label) ? ARGUMENT_UNTIL : 0;
    if (takes & ARGUMENT_BARRIER && begins(text, "barrier=", &rest))
        return word_read_count(rest, &arguments->barrier) ? ARGUMENT_BARRIER : 0;
    if (takes & ARGUMENT_BOUND && begins(text, "max=", &rest))
        return !units_read_duration(rest, &arguments->max_us, &ignored) && arguments->max_us > 0
                   ? ARGUMENT_BOUND
                   : 0;
    if (takes & ARGUMENT_JITTER && begins(text, "jitter=", &rest))
        return !units_read_duration(rest, &arguments->jitter_us, &ignored) &&
                       arguments->jitter_us > 0
                   ? ARGUMENT_JITTER
                   : 0;
    if (takes & ARGUMENT_CUT && (!strcmp(text, "fin") || !strcmp(text, "rst"))) {
        arguments->cut = text[0] == 'f' ? PROXY_FIN : PROXY_RST;
        return ARGUMENT_CUT;
    }
    if (takes & ARGUMENT_BYTES)
        return read_bytes(word, is_reply, arguments) ? ARGUMENT_BYTES : 0;
    if (takes & ARGUMENT_LABEL)
        return read_label(text, arguments->label) ? ARGUMENT_LABEL : 0;
    if (takes & ARGUMENT_SIZE && word_read_count(text, &arguments->size))
        return ARGUMENT_SIZE;
    if (takes & ARGUMENT_RATE && read_rate(text, &arguments->rate))
        return ARGUMENT_RATE;
    if (takes & ARGUMENT_TIME && !units_read_duration(text, &arguments->time_us, &ignored) &&
        arguments->time_us > 0)
        return ARGUMENT_TIME;
    return 0;
}

static const struct proxy_fault *find_fault(const char *name)
{
    int row = names_row(&faults[0].name, sizeof *faults, (size_t)faults_count, name);
    return row < 0 ? NULL : &faults[row];
}

static enum fail unknown_fault(const struct rules_line *line, const struct word *word,
                               struct failure *failure)
{
    const char *names[32];
    char near[512];
    for (int i = 0; i < faults_count; i++)
        names[i] = faults[i].name;
    return line_wrong(line, word->column, failure, "unknown action '%.100s'%s", word->text,
                      word_near(word->text, names, (size_t)faults_count, near));
}

enum fail action_read(const struct rules_line *line, int from, struct rule *rule,
                      struct failure *failure)
{
    const struct word *name = &line->words[from];
    const struct proxy_fault *fault = rule->fault = find_fault(name->text);
    struct fault_arguments *arguments = &rule->arguments;
    if (!fault || strlen(name->text) != name->length)
        return unknown_fault(line, name, failure);
    for (int i = from + 1; i < line->count; i++) {
        const struct word *word = &line->words[i];
        unsigned given = read_argument(word, (fault->needs | fault->takes) & ~arguments->given,
                                       fault->strike != fault_garbage, arguments);
        if (!given)
            return line_wrong(line, word->column, failure, "'%.100s' is no argument of %s%s%s",
                              word->text, fault->name, fault->form[0] ? ", which takes " : "",
                              fault->form);
        arguments->given |= given;
    }
    if (fault->needs & ~arguments->given)
        return line_wrong(line, name->column, failure, "%s wants %s", fault->name, fault->form);
    if ((fault->needs | fault->takes) == ARGUMENT_SIZE && arguments->size > COPIES_MAX)
        return line_wrong(line, name->column, failure, "%s makes at most %d copies", fault->name,
                          COPIES_MAX);
    return FAIL_NONE;
}
