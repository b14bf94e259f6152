/* secrets.c - see secrets.h. */
#include "cmd/secrets.h"

#include "base/memory.h"
#include "live/url.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct secret {
    const char *blotted; /* in argv */
    char *whole;
};

static struct secret *secrets;
static int secrets_count;

static struct {
    char *whole, *blotted;
    bool is_used;
} environment;

static void blot(char *from, const char *to)
{
    if (to > from)
        memset(from, '*', (size_t)(to - from));
}

/* What stands for a URL, whatever its scheme: all between "://" and the last @, so that a password
 * with an @ or a / of its own goes too. One that cannot be read is nobody's use: all of it goes,
 * since a password may stand anywhere. */
static void blot_url(char *text)
{
    struct url url;
    char *start = strstr(text, "://"), *at = strrchr(text, '@');
    start = start ? start + 3 : text;
    if (url_read(text, &url, NULL))
        blot(start, text + strlen(text));
    else if (url.has_login)
        blot(start, at);
}

/* Any other argument may hold one by mistake: an operand, a misspelt option's value. */
static void blot_stray(char *text)
{
    char *start = strstr(text, "://"), *at = strrchr(text, '@');
    if (start && at)
        blot(start + 3, at);
}

static void keep(const char *blotted)
{
    secrets = memory_resize(secrets, (size_t)secrets_count + 1, sizeof *secrets);
    secrets[secrets_count++] = (struct secret){.blotted = blotted, .whole = memory_text(blotted)};
}

static void hide_environment(void)
{
    char *value = getenv(SECRETS_VARIABLE);
    if (!value)
        return;
    if (*value) {
        environment.whole = memory_text(value);
        environment.blotted = memory_text(value);
        blot_url(environment.blotted);
    }
    /* In its place too: /proc shows the memory that the program was started with. */
    memset(value, 0, strlen(value));
    (void)unsetenv(SECRETS_VARIABLE);
}

void secrets_hide(int argc, char **argv)
{
    static const char option[] = "--redis";
    const size_t length = sizeof option - 1;
    hide_environment();
    for (int i = 1; i < argc; i++) {
        char *text = argv[i];
        bool is_value = strcmp(argv[i - 1], option) == 0;
        bool has_value = strncmp(text, option, length) == 0 && text[length] == '=';
        if (!is_value && !has_value && !strstr(text, "://"))
            continue;
        keep(text);
        if (is_value || has_value)
            blot_url(has_value ? text + length + 1 : text);
        else
            blot_stray(text);
    }
}

const char *secrets_reveal(const char *argument)
{
    for (int i = 0; argument && i < secrets_count; i++) {
        const char *start = secrets[i].blotted;
        /* "--redis=URL" is handed on as a pointer into the argument. */
        if (argument >= start && argument <= start + strlen(start))
            return secrets[i].whole + (argument - start);
    }
    return argument;
}

const char *secrets_environment(void)
{
    environment.is_used = environment.whole != NULL;
    return environment.whole;
}

const char *secrets_environment_shown(void)
{
    return environment.is_used ? environment.blotted : NULL;
}
