/* file_kind.c - see file_kind.h. Of what a file begins with; a file that could be something else is
 * of no kind. */
#include "cmd/file_kind.h"

#include "base/infile.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT_BYTES = 8192 };

static const char *const reads_it[FILE_KIND_COUNT] = {
    [FILE_SCHEDULE] = "a recorded schedule; `picklock replay FILE` plays it",
    [FILE_SCENARIO] = "a scenario; `picklock run FILE` plays it",
    [FILE_HISTORY] = "a history; `picklock check FILE` judges it",
    [FILE_RESULTS] = "what `picklock report RUN-DIR` reads: the results in a run folder",
};

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static const char *past_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Is it JSON whose first field is this one? Both with the quote that they begin with. */
static bool has_first(const char *text, const char *name, const char *value)
{
    const char *at = past_blanks(text);
    if (*at != '{' || !begins(at = past_blanks(at + 1), name))
        return false;
    at = past_blanks(at + strlen(name));
    return *at == ':' && begins(past_blanks(at + 1), value);
}

/* Every key that a scenario must have, but the last: that may be far down. Above the steps is
 * nothing but keys and comments. */
static bool is_scenario(const char *text)
{
    static const char *const keys[] = {"name:", "source:", "lease:", "clients:", "steps:"};
    enum { KEYS_COUNT = sizeof keys / sizeof keys[0] };
    static const char *const others[] = {"servers:", "replica:", "same-token:"};
    unsigned found = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        bool is_known = strchr("# \t\r\n-", *line) != NULL;
        for (int i = 0; i < KEYS_COUNT; i++) {
            if (!begins(line, keys[i]))
                continue;
            is_known = true;
            found |= 1u << i;
        }
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            is_known = is_known || begins(line, others[i]);
        if (found == (1u << KEYS_COUNT) - 1)
            return true;
        if (!is_known)
            return false;
    }
    return false;
}

static enum file_kind kind_of(const char *text)
{
    return begins(text, "picklock schedule ")                      ? FILE_SCHEDULE
           : has_first(text, "\"history\"", "\"picklock.history/") ? FILE_HISTORY
           : has_first(text, "\"schema\"", "\"picklock.results/")  ? FILE_RESULTS
           : is_scenario(text)                                     ? FILE_SCENARIO
                                                                   : FILE_KIND_COUNT;
}

enum fail file_kind_hint(enum file_kind wanted, const char *path, struct failure *failure)
{
    char text[LOOKED_AT_BYTES + 1];
    infile_beginning(path, text, sizeof text);
    const enum file_kind kind = kind_of(text);
    if (failure->code != FAIL_INPUT || kind == wanted || kind == FILE_KIND_COUNT)
        return failure->code;
    char *said = memory_text(failure->text);
    failure_set(failure, FAIL_INPUT, "%s\nthis is %s", said, reads_it[kind]);
    free(said);
    return failure->code;
}
