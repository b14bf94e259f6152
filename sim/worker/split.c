/* split.c - a command line as words, without a shell; see worker.h. */
#include "worker/worker.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct splitting {
    const char *from;
    char *to;
};

/* Up to the quote that ends it. False: there is none. */
static bool take_quoted(struct splitting *splitting, char quote)
{
    splitting->from++;
    for (; *splitting->from && *splitting->from != quote; splitting->from++) {
        if (quote == '"' && *splitting->from == '\\' && strchr("\"\\", splitting->from[1]) &&
            splitting->from[1])
            splitting->from++;
        *splitting->to++ = *splitting->from;
    }
    return *splitting->from++ == quote;
}

/* One word. False: a quote has no end. */
static bool take_word(struct splitting *splitting)
{
    while (*splitting->from && !strchr(" \t\n", *splitting->from)) {
        const char at = *splitting->from;
        if (at == '\'' || at == '"') {
            if (!take_quoted(splitting, at))
                return false;
            continue;
        }
        if (at == '\\' && splitting->from[1])
            splitting->from++;
        *splitting->to++ = *splitting->from++;
    }
    *splitting->to++ = '\0';
    return true;
}

/* A character outside of quotes that a shell would take for more than itself. */
static char shell_character(const char *command)
{
    char quote = '\0';
    for (const char *at = command; *at; at++) {
        if (*at == '\\' && quote != '\'' && at[1])
            at++;
        else if (quote ? *at == quote : *at == '\'' || *at == '"')
            quote = quote ? '\0' : *at;
        else if (!quote && strchr("|&;<>()$`", *at))
            return *at;
    }
    return '\0';
}

enum fail worker_split(const char *command, char *words[WORKER_WORDS_MAX + 1],
                       struct failure *failure)
{
    char *copy = memory_new(strlen(command) + 2, 1);
    struct splitting splitting = {.from = command, .to = copy};
    const char odd = shell_character(command);
    int count = 0;
    words[0] = copy;
    if (odd) {
        free(copy);
        return failure_set(
            failure, FAIL_INPUT,
            "'%s': no shell reads this, and '%c' is for one; put it into quotes, or name "
            "a shell: sh -c '...'",
            command, odd);
    }
    for (;;) {
        splitting.from += strspn(splitting.from, " \t\n");
        if (!*splitting.from)
            break;
        words[count] = splitting.to;
        if (count == WORKER_WORDS_MAX || !take_word(&splitting)) {
            free(copy);
            return failure_set(failure, FAIL_INPUT,
                               count == WORKER_WORDS_MAX ? "'%s': too many words"
                                                         : "'%s': a quote has no end",
                               command);
        }
        count++;
    }
    if (!count) {
        free(copy);
        return failure_set(failure, FAIL_INPUT, "the command of the worker is empty");
    }
    words[count] = NULL;
    return FAIL_NONE;
}
