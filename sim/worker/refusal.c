/* refusal.c - does an answer refuse? See look.h. */
#include "redis/resp.h"
#include "worker/look.h"
#include "worker/wire_words.h"

#include <string.h>

bool look_is_refusal(const struct reply *reply)
{
    return reply->kind == REPLY_NIL || (reply->kind == REPLY_INTEGER && reply->value <= 0);
}

/* What is left of a transaction, or of its answers: a frame at a time. */
struct frames {
    const char *at;
    size_t left;
    struct resp framer;
};

/* The next one's length; 0: there is none that is whole. */
static size_t next_frame(struct frames *frames, const char **begin)
{
    enum resp_status status = RESP_MORE;
    const size_t eaten =
        frames->left ? resp_feed(&frames->framer, frames->at, frames->left, &status) : 0;
    *begin = frames->at;
    frames->at += eaten;
    frames->left -= eaten;
    return status == RESP_WHOLE ? eaten : 0;
}

static bool names_key(const char *request, size_t length, const char *key)
{
    const struct wire_words words = wire_words_read(request, length);
    for (int i = 1; i < words.count; i++)
        if (words.lengths[i] == strlen(key) && memcmp(words.words[i], key, words.lengths[i]) == 0)
            return true;
    return false;
}

/* The answers of an EXEC are those of what its MULTI queued, in that order. */
static bool has_refusal(const struct exchange_seen *seen, const char *key)
{
    const char *begin, *line = memchr(seen->reply, '\n', seen->reply_length);
    if (!line || *seen->reply != '*')
        return false;
    const size_t head = (size_t)(line + 1 - seen->reply);
    struct frames requests = {.at = seen->request, .left = seen->request_length},
                  answers = {.at = line + 1, .left = seen->reply_length - head};
    resp_init(&requests.framer, RESP_REQUESTS);
    resp_init(&answers.framer, RESP_REPLIES);
    (void)next_frame(&requests, &begin); /* MULTI */
    for (;;) {
        const char *answer;
        const size_t length = next_frame(&requests, &begin);
        const size_t answered = next_frame(&answers, &answer);
        if (!length || !answered)
            return false;
        const struct reply reply = look_reply(answer, answered);
        if (look_is_refusal(&reply) && names_key(begin, length, key))
            return true;
    }
}

bool look_refuses(const struct exchange_seen *seen, const char *key)
{
    const struct reply reply = look_reply(seen->reply, seen->reply_length);
    const struct wire_words words = wire_words_read(seen->request, seen->request_length);
    return words.requests > 1 && reply.kind == REPLY_OK ? has_refusal(seen, key)
                                                        : look_is_refusal(&reply);
}
