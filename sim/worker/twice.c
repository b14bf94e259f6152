/* twice.c - see twice.h. */
#include "worker/twice.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A random word of that length is taken for a token: from where random numbers are not ours, no
 * two are the same. */
enum { TOKEN_BYTES_MIN = 8 };

struct sent {
    int client;
    int64_t now_us;
    char *words;
};

struct hand_over {
    const struct once_options *told; /* NULL: nobody is told who they are */
    struct sent *commands;
    int count;
};

/* What they are is said before the first operation, which begins with an empty line. */
static void take_line(void *context, const char *line)
{
    struct hand_over *hand_over = context;
    if (!*line)
        hand_over->told = NULL;
    if (hand_over->told)
        hand_over->told->line(hand_over->told->context, line);
}

static void take_sent(void *context, int client, int64_t now_us, const char *words)
{
    struct hand_over *hand_over = context;
    hand_over->commands = memory_resize(hand_over->commands, (size_t)hand_over->count + 1,
                                        sizeof *hand_over->commands);
    hand_over->commands[hand_over->count++] =
        (struct sent){.client = client, .now_us = now_us, .words = memory_text(words)};
}

static void close_hand_over(struct hand_over *hand_over)
{
    for (int i = 0; i < hand_over->count; i++)
        free(hand_over->commands[i].words);
    free(hand_over->commands);
}

static enum fail perform(const struct once_options *options, struct hand_over *hand_over,
                         struct failure *failure)
{
    struct once_options one = *options;
    one.line = take_line;
    one.sent = take_sent;
    one.context = hand_over;
    return once_run(&one, failure);
}

/* Word by word, but for tokens. */
static bool is_alike(const char *one, const char *other)
{
    while (*one || *other) {
        const size_t size = strcspn(one, " "), others = strcspn(other, " ");
        const bool is_same = size == others && !memcmp(one, other, size);
        if (!is_same && (size != others || size < TOKEN_BYTES_MIN))
            return false;
        one += size + (one[size] == ' ');
        other += others + (other[others] == ' ');
    }
    return true;
}

static bool is_same_command(const struct sent *one, const struct sent *other)
{
    return one->client == other->client && one->now_us == other->now_us &&
           is_alike(one->words, other->words);
}

/* "worker A sent SET lock x at 0.0 ms", or that there was none; the caller frees. */
static char *command_words(const struct hand_over *hand_over, int at)
{
    if (at >= hand_over->count)
        return memory_text("there was no such command");
    const struct sent *sent = &hand_over->commands[at];
    return memory_format("worker %c sent %s at %.1f ms", 'A' + sent->client, sent->words,
                         (double)sent->now_us / 1000);
}

static enum fail compare(const struct hand_over *first, const struct hand_over *second,
                         struct failure *failure)
{
    int at = 0;
    while (at < first->count && at < second->count &&
           is_same_command(&first->commands[at], &second->commands[at]))
        at++;
    if (at == first->count && at == second->count)
        return FAIL_NONE;
    char *one = command_words(first, at), *other = command_words(second, at);
    (void)failure_set(failure, FAIL_UNKNOWN,
                      "the worker is not deterministic: the same hand-over was done twice, and its "
                      "commands differ from the %d. on: first %s, then %s. What is found with it "
                      "could not be replayed",
                      at + 1, one, other);
    free(one);
    free(other);
    return FAIL_UNKNOWN;
}

enum fail twice_run(const struct once_options *options, int *commands, struct failure *failure)
{
    struct hand_over first = {.told = options}, second = {.told = NULL};
    enum fail fail = perform(options, &first, failure);
    if (!fail)
        fail = perform(options, &second, failure);
    if (!fail)
        fail = compare(&first, &second, failure);
    *commands = first.count;
    close_hand_over(&first);
    close_hand_over(&second);
    return fail;
}
