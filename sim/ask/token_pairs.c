/* token_pairs.c - an answer about another one's token is asked for with other tokens, too: a server
 * may mind whether two are the same, and nothing else of their bytes. See server_asker.h. */
#include "ask/server_asker.h"

#include "worker/wire_words.h"

#include <stdlib.h>
#include <string.h>

/* token_unlike() differs in each character that it can. So of the other pairs one is in the other
 * order, and two share all but the last, and all but the first, of these. */
enum token_pair { PAIR_SWAPPED, PAIR_ALIKE_BUT_LAST, PAIR_ALIKE_BUT_FIRST, PAIR_COUNT };

/* The own token, with that one character of the other in it where they differ first or last. */
static struct spoken_token alike(const struct spoken_token *own, const struct spoken_token *other,
                                 bool but_last)
{
    struct spoken_token token = *own;
    size_t at = 0, place = 0;
    for (; at < own->length; at++)
        if (own->bytes[at] != other->bytes[at]) {
            place = at;
            if (!but_last)
                break;
        }
    token.bytes[place] = other->bytes[place];
    return token;
}

static void draw(struct server_asker *asker, enum token_pair pair, const struct spoken_token *own,
                 const struct spoken_token *other)
{
    asker->own = pair == PAIR_SWAPPED ? *other : *own;
    asker->other = pair == PAIR_SWAPPED ? *own : alike(own, other, pair == PAIR_ALIKE_BUT_LAST);
}

static enum fail refuse(const struct server_asker *asker, uint32_t command, struct failure *failure)
{
    size_t length;
    char *bytes = phrase_say(asker->book, command, &asker->own, &asker->other, &length);
    const struct wire_words words = wire_words_read(bytes, length);
    const bool has_name = words.count > 0 && words.lengths[0] < 40;
    (void)failure_set(failure, FAIL_UNKNOWN,
                      "what its %.*s does goes by the bytes of two tokens, and not only by whether "
                      "they are the same: that is not decided by asking; --search random runs it",
                      has_name ? (int)words.lengths[0] : 7, has_name ? words.words[0] : "command");
    free(bytes);
    return failure->code;
}

enum fail token_pairs_ask(struct server_asker *asker, const struct server_question *question,
                          const struct server_told *before, struct failure *failure)
{
    const struct spoken_token own = asker->own, other = asker->other;
    struct server_told told;
    enum fail fail = FAIL_NONE;
    if (question->kept.value != KEPT_OTHER)
        return FAIL_NONE;
    for (enum token_pair pair = 0; pair < PAIR_COUNT && !fail; pair++) {
        draw(asker, pair, &own, &other);
        fail = server_put_question(asker, question, &told, failure);
        asker->own = own;
        asker->other = other;
        if (!fail && !server_told_is_same(&told, before))
            fail = refuse(asker, question->command, failure);
    }
    return fail;
}
