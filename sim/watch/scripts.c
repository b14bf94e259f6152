/* scripts.c - see scripts.h. Sources: Redis documentation, "Distributed locks with Redis"; the lock
 * of redis-py. */
#include "watch/scripts.h"

#include "live/control.h"
#include "watch/words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* As scripts_plain() writes them. What else becomes the same by that does the same to the key, or
 * is none that Redis runs: the words of Lua run into each other only where it is an error, and so
 * do the names of commands. */
#define COMPARES "localtoken=redis.call('get',keys[1])ifnottokenortoken~=argv[1]thenreturn0end"
#define IF_IT_IS "ifredis.call('get',keys[1])==argv[1]thenreturn"
static const struct {
    enum script_kind kind;
    const char *plain;
} usual[] = {
    {SCRIPT_RELEASES, IF_IT_IS "redis.call('del',keys[1])elsereturn0end"},
    {SCRIPT_RELEASES, COMPARES "redis.call('del',keys[1])return1"},
    {SCRIPT_EXTENDS, IF_IT_IS "redis.call('pexpire',keys[1],argv[2])elsereturn0end"},
    {SCRIPT_EXTENDS, IF_IT_IS "redis.call('expire',keys[1],argv[2])elsereturn0end"},
    {SCRIPT_EXTENDS, COMPARES "redis.call('pexpire',keys[1],argv[2])return1"},
    {SCRIPT_EXTENDS, COMPARES "localexpiration=redis.call('pttl',keys[1])"
                              "ifnotexpirationthenexpiration=0endifexpiration<0thenreturn0end"
                              "localnewttl=argv[2]ifargv[3]=='0'thennewttl=argv[2]+expirationend"
                              "redis.call('pexpire',keys[1],newttl)return1"},
};

bool scripts_plain(const char *text, size_t length, char *plain)
{
    size_t used = 0;
    if (length >= SCRIPT_TEXT_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isspace((unsigned char)text[i]))
            plain[used++] = text[i] == '"' ? '\'' : (char)tolower((unsigned char)text[i]);
    plain[used] = '\0';
    return strlen(plain) == used;
}

static enum script_kind kind_of(const char *text, size_t length)
{
    char plain[SCRIPT_TEXT_MAX];
    if (!scripts_plain(text, length, plain))
        return SCRIPT_OTHER;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(plain, usual[i].plain) == 0)
            return usual[i].kind;
    return SCRIPT_OTHER;
}

enum script_kind scripts_kind(struct scripts *scripts, redisContext *control, const char *text,
                              size_t length)
{
    struct failure failure;
    for (int i = 0; i < scripts->count; i++)
        if (scripts->known[i].length == length && !memcmp(scripts->known[i].text, text, length))
            return scripts->known[i].kind;
    const enum script_kind kind = kind_of(text, length);
    if (kind == SCRIPT_OTHER || scripts->count == SCRIPTS_MAX || !control)
        return kind;
    struct known_script *known = &scripts->known[scripts->count++];
    memcpy(known->text, text, length);
    known->length = length;
    known->kind = kind;
    redisReply *reply = control_ask(control, &failure, "SCRIPT LOAD %b", text, length);
    if (reply && reply->type == REDIS_REPLY_STRING && reply->len == SCRIPT_DIGEST)
        memcpy(known->digest, reply->str, SCRIPT_DIGEST);
    if (reply)
        freeReplyObject(reply);
    return kind;
}

static enum script_kind kind_of_digest(const struct scripts *scripts, const char *digest,
                                       size_t length)
{
    for (int i = 0; i < scripts->count && length == SCRIPT_DIGEST; i++)
        if (strncasecmp(scripts->known[i].digest, digest, SCRIPT_DIGEST) == 0)
            return scripts->known[i].kind;
    return SCRIPT_OTHER;
}

enum script_kind scripts_of_command(struct scripts *scripts, redisContext *control,
                                    const char *name, const struct request_words *words)
{
    if (words->count < 2)
        return SCRIPT_OTHER;
    if (strcmp(name, "EVALSHA") == 0)
        return kind_of_digest(scripts, words->at[1], words->lengths[1]);
    return strcmp(name, "EVAL") == 0
               ? scripts_kind(scripts, control, words->at[1], words->lengths[1])
               : SCRIPT_OTHER;
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
