/* server_scripts.c - the scripts that a server knows, which are a part of each question to it. */
#include "ask/server_asker.h"

#include "base/memory.h"
#include "live/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fail scripts_load(struct server_asker *asker, int script, struct failure *failure)
{
    redisReply *sha =
        control_ask(asker->control, failure, "SCRIPT LOAD %s", asker->scripts[script]);
    if (!sha)
        return failure->code;
    if (sha->type == REDIS_REPLY_STRING)
        (void)snprintf(asker->shas[script], sizeof asker->shas[script], "%s", sha->str);
    freeReplyObject(sha);
    return FAIL_NONE;
}

static enum fail keep_script(struct server_asker *asker, const char *word, size_t length,
                             struct failure *failure)
{
    char *body = memory_new(length + 1, 1);
    memcpy(body, word, length);
    for (int i = 0; i < asker->scripts_count; i++)
        if (strcmp(asker->scripts[i], body) == 0) {
            free(body);
            return FAIL_NONE;
        }
    if (asker->scripts_count == SCRIPTS_MAX) {
        free(body);
        return failure_set(failure, FAIL_UNKNOWN, "it has more than %d scripts", SCRIPTS_MAX);
    }
    asker->scripts[asker->scripts_count++] = body;
    return FAIL_NONE;
}

/* Those that a server knows behind it. */
static enum fail keep_scripts(struct server_asker *asker, const struct wire_words *words,
                              struct failure *failure)
{
    for (int at = 1; at < words->count; at++) {
        const bool is_load = wire_words_is(words, at - 1, "LOAD") && at == 2;
        if ((is_load || wire_words_is(words, at - 1, "EVAL") ||
             wire_words_is(words, at - 1, "EVAL_RO")) &&
            keep_script(asker, words->words[at], words->lengths[at], failure))
            return failure->code;
    }
    return FAIL_NONE;
}

enum fail scripts_note(struct server_asker *asker, const struct wire_words *words,
                       struct failure *failure)
{
    int known = asker->scripts_count;
    if (keep_scripts(asker, words, failure))
        return failure->code;
    for (; known < asker->scripts_count; known++)
        if (scripts_load(asker, known, failure))
            return failure->code;
    return FAIL_NONE;
}

void server_asker_note(struct server_asker *asker, const char *bytes, size_t length)
{
    const struct wire_words words = wire_words_read(bytes, length);
    (void)keep_scripts(asker, &words, &asker->noted);
}

enum fail scripts_take(struct server_asker *asker, uint32_t *known, struct failure *failure)
{
    for (int i = 0; i < asker->scripts_count; i++) {
        redisReply *there =
            control_ask(asker->control, failure, "SCRIPT EXISTS %s", asker->shas[i]);
        if (!there)
            return failure->code;
        if (there->elements == 1 && there->element[0]->integer == 1)
            *known |= 1u << i;
        freeReplyObject(there);
    }
    return FAIL_NONE;
}
