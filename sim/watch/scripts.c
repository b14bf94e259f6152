/* scripts.c - see scripts.h. Sources: Redis documentation, "Distributed locks with Redis"; the lock
 * of redis-py. */
#include "watch/scripts.h"

#include "base/late_library.h"
#include "watch/words.h"

#include <ctype.h>
#include <openssl/opensslv.h>
#include <openssl/sha.h>
#include <stdio.h>
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

/* Those of redis-py, which a server may have known before we came. */
static const struct known_script unseen[] = {
    {.kind = SCRIPT_RELEASES, .digest = "c3f8721cbb97f72bc19e972846bd7aaf91901658"},
    {.kind = SCRIPT_EXTENDS, .digest = "a4e8783852e6b949f9ef3a97212805108459a890"},
    {.kind = SCRIPT_EXTENDS, .digest = "1cac51482acf5858da00f6d685d68f886cd6b6b2"},
};

static struct {
    __typeof__(SHA1) *SHA1;
} crypto;
static const struct late_function functions[] = {{"SHA1", &crypto.SHA1}};

enum fail scripts_begin(struct failure *failure)
{
    return late_library_bind(LATE_FILE("libcrypto", OPENSSL_SHLIB_VERSION), functions, 1, failure);
}

static void digest_of(const char *text, size_t length, char *digest)
{
    unsigned char bytes[SHA_DIGEST_LENGTH];
    (void)crypto.SHA1((const unsigned char *)text, length, bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(digest + 2 * i, 3, "%02x", bytes[i]);
}

const struct known_script *scripts_see(struct scripts *scripts, const char *text, size_t length)
{
    if (length >= SCRIPT_TEXT_MAX)
        return NULL;
    for (int i = 0; i < scripts->count; i++)
        if (scripts->known[i].length == length && !memcmp(scripts->known[i].text, text, length))
            return &scripts->known[i];
    struct known_script *known = &scripts->known[scripts->next];
    scripts->next = (scripts->next + 1) % SCRIPTS_MAX;
    scripts->count += scripts->count < SCRIPTS_MAX;
    memcpy(known->text, text, length);
    known->length = length;
    known->kind = kind_of(text, length);
    digest_of(text, length, known->digest);
    return known;
}

static const struct known_script *with_digest(const struct scripts *scripts, const char *digest)
{
    for (int i = 0; i < scripts->count; i++)
        if (strncasecmp(scripts->known[i].digest, digest, SCRIPT_DIGEST) == 0)
            return &scripts->known[i];
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
        if (strncasecmp(unseen[i].digest, digest, SCRIPT_DIGEST) == 0)
            return &unseen[i];
    return NULL;
}

const struct known_script *scripts_of_command(struct scripts *scripts, const char *name,
                                              const struct request_words *words)
{
    if (words->count < 2)
        return NULL;
    if (strncmp(name, "EVALSHA", 7) == 0)
        return words->lengths[1] == SCRIPT_DIGEST ? with_digest(scripts, words->at[1]) : NULL;
    return strncmp(name, "EVAL", 4) == 0 ? scripts_see(scripts, words->at[1], words->lengths[1])
                                         : NULL;
}

bool scripts_digest(struct scripts *scripts, const char *name, const struct request_words *words,
                    char *digest)
{
    const struct known_script *known = scripts_of_command(scripts, name, words);
    const bool is_digest = strncmp(name, "EVALSHA", 7) == 0;
    if (words->count < 2 || strncmp(name, "EVAL", 4) != 0 ||
        (is_digest && words->lengths[1] != SCRIPT_DIGEST))
        return false;
    if (known)
        memcpy(digest, known->digest, SCRIPT_DIGEST);
    else if (!is_digest)
        digest_of(words->at[1], words->lengths[1], digest);
    for (int i = 0; !known && is_digest && i < SCRIPT_DIGEST; i++)
        digest[i] = (char)tolower((unsigned char)words->at[1][i]);
    digest[SCRIPT_DIGEST] = '\0';
    return true;
}

void scripts_granted(struct scripts *scripts, const char *text, int token_at)
{
    if (scripts->granting_count == GRANTING_MAX || scripts_token_at(scripts, text))
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
