/* scripts.c - see scripts.h. Sources: Redis documentation, "Distributed locks with Redis"; the lock
 * of redis-py. */
#include "watch/scripts.h"

#include "live/control.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Without blanks, in lower case, with one kind of quotes. Whatever else becomes the same by that is
 * the same program, or one that Redis refuses to run. */
static const char *const releases[] = {
    "ifredis.call('get',keys[1])==argv[1]thenreturnredis.call('del',keys[1])elsereturn0end",
    "localtoken=redis.call('get',keys[1])ifnottokenortoken~=argv[1]thenreturn0end"
    "redis.call('del',keys[1])return1",
};

static bool is_release(const char *text, size_t length)
{
    char plain[SCRIPT_TEXT_MAX];
    size_t used = 0;
    if (length >= sizeof plain)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isspace((unsigned char)text[i]))
            plain[used++] = text[i] == '"' ? '\'' : (char)tolower((unsigned char)text[i]);
    plain[used] = '\0';
    for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
        if (strlen(plain) == used && strcmp(plain, releases[i]) == 0)
            return true;
    return false;
}

bool scripts_is_release(struct scripts *scripts, redisContext *control, const char *text,
                        size_t length)
{
    struct failure failure;
    for (int i = 0; i < scripts->count; i++)
        if (scripts->known[i].length == length && !memcmp(scripts->known[i].text, text, length))
            return true;
    if (!is_release(text, length))
        return false;
    if (scripts->count == SCRIPTS_MAX)
        return true;
    struct known_script *known = &scripts->known[scripts->count++];
    memcpy(known->text, text, length);
    known->length = length;
    redisReply *reply = control_ask(control, &failure, "SCRIPT LOAD %b", text, length);
    if (reply && reply->type == REDIS_REPLY_STRING && reply->len == SCRIPT_DIGEST)
        memcpy(known->digest, reply->str, SCRIPT_DIGEST);
    if (reply)
        freeReplyObject(reply);
    return true;
}

bool scripts_is_release_digest(const struct scripts *scripts, const char *digest, size_t length)
{
    for (int i = 0; i < scripts->count && length == SCRIPT_DIGEST; i++)
        if (strncasecmp(scripts->known[i].digest, digest, SCRIPT_DIGEST) == 0)
            return true;
    return false;
}

void scripts_granted(struct scripts *scripts, const char *text, int token_at)
{
    if (scripts->granting_count == SCRIPTS_MAX || scripts_token_at(scripts, text))
        return;
    struct granting_script *made = &scripts->granting[scripts->granting_count++];
    (void)strcpy(made->text, text);
    made->token_at = token_at;
}

int scripts_token_at(const struct scripts *scripts, const char *text)
{
    for (int i = 0; i < scripts->granting_count; i++)
        if (strcmp(scripts->granting[i].text, text) == 0)
            return scripts->granting[i].token_at;
    return 0;
}
