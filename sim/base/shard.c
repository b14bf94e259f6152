/* shard.c - see shard.h. */
#include "base/shard.h"

#include "base/random.h"

#include <errno.h>
#include <stdlib.h>

/* From which shard on a round is dealt: any well-mixed function of it, as long as it never changes.
 */
static int64_t first_of_round(int64_t round, int count)
{
    return (int64_t)(random_at(0, 0, (uint64_t)round) % (uint64_t)count);
}

/* Digits only, at most SHARDS_MAX; *end is behind them, or text. */
static int read_part(const char *text, const char **end)
{
    char *behind = NULL;
    *end = text;
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    long value = strtol(text, &behind, 10);
    if (errno || value > SHARDS_MAX)
        return 0;
    *end = behind;
    return (int)value;
}

enum fail shard_read(const char *text, struct shard *shard, struct failure *failure)
{
    const char *slash, *end;
    *shard = (struct shard){0};
    if (!text)
        return FAIL_NONE;
    struct shard read = {.number = read_part(text, &slash)};
    bool is_pair = slash != text && *slash == '/';
    if (is_pair)
        read.count = read_part(slash + 1, &end);
    if (!is_pair || end == slash + 1 || *end)
        return failure_set(failure, FAIL_INPUT,
                           "--shard wants K/N, such as 2/4 for the second of four shards (at most "
                           "%d), not '%s'",
                           SHARDS_MAX, text);
    if (read.number < 1 || read.number > read.count)
        return failure_set(failure, FAIL_INPUT,
                           "--shard %s: there is no shard %d of %d; K goes from 1 to N", text,
                           read.number, read.count);
    *shard = read;
    return FAIL_NONE;
}

int64_t shard_index(const struct shard *shard, int64_t nth)
{
    if (!shard->count)
        return nth;
    int64_t first = first_of_round(nth, shard->count);
    return nth * shard->count + (shard->number - 1 - first + shard->count) % shard->count;
}

bool shard_has(const struct shard *shard, int64_t index)
{
    return !shard->count || shard_index(shard, index / shard->count) == index;
}

int64_t shard_size(const struct shard *shard, int64_t whole)
{
    if (!shard->count)
        return whole;
    int64_t rounds = whole / shard->count;
    return rounds + (shard_index(shard, rounds) < whole);
}
