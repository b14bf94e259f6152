/* rules_keys.c - see rules_keys.h: the beginnings in order, each with the longest other one that it
 * begins with. All that a key begins with are then one of them, the last that does not stand behind
 * the key, and those above it. */
#include "proxy/rules_keys.h"

#include "base/memory.h"
#include "proxy/glob.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1, BYTES = 256 };

struct key_beginning {
    char *bytes;
    size_t length;          /* at least 1 */
    int above;              /* the longest that this one begins with, or NONE */
    struct rules_set rules; /* of this one, of all above it, and those for every key */
};

struct rules_keys {
    struct rules_set keyless;         /* without key= */
    struct rules_set every;           /* and those whose pattern may begin with anything */
    struct key_beginning *beginnings; /* as memcmp() orders them, the shorter first; no two alike */
    int count, starts[BYTES + 1];     /* those with the first byte b: [starts[b], starts[b + 1]) */
};

/* How many bytes they have in common at the beginning. */
static size_t common(const struct key_beginning *one, const char *bytes, size_t length)
{
    const size_t most = one->length < length ? one->length : length;
    size_t i = 0;
    while (i < most && one->bytes[i] == bytes[i])
        i++;
    return i;
}

/* Below 0: it stands in front of these bytes, or is them. */
static bool is_behind(const struct key_beginning *one, const char *bytes, size_t length)
{
    const size_t same = common(one, bytes, length);
    if (same == one->length || same == length)
        return one->length > length;
    return (unsigned char)one->bytes[same] > (unsigned char)bytes[same];
}

/* The last of [low, high) that does not stand behind these bytes, or NONE. */
static int last_before(const struct rules_keys *keys, int low, int high, const char *bytes,
                       size_t length)
{
    const int first = low;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (is_behind(&keys->beginnings[middle], bytes, length))
            high = middle;
        else
            low = middle + 1;
    }
    return low > first ? low - 1 : NONE;
}

/* From at upwards: the first with which these bytes begin, or NONE. */
static int climb(const struct rules_keys *keys, int at, const char *bytes, size_t length)
{
    const size_t same = at == NONE ? 0 : common(&keys->beginnings[at], bytes, length);
    while (at != NONE && keys->beginnings[at].length > same)
        at = keys->beginnings[at].above;
    return at;
}

/* Takes bytes. */
static void add_beginning(struct rules_keys *keys, char *bytes, size_t length, int rule)
{
    int at = last_before(keys, 0, keys->count, bytes, length);
    if (at == NONE || keys->beginnings[at].length != length ||
        memcmp(keys->beginnings[at].bytes, bytes, length) != 0) {
        struct key_beginning *place = &keys->beginnings[++at];
        memmove(place + 1, place, (size_t)(keys->count - at) * sizeof *place);
        *place = (struct key_beginning){.bytes = bytes, .length = length};
        keys->count++;
    } else {
        free(bytes);
    }
    rules_set_add(&keys->beginnings[at].rules, rule);
}

static void add(struct rules_keys *keys, const struct rule *rule, int place)
{
    if (!rule->key.bytes) {
        rules_set_add(&keys->keyless, place);
        rules_set_add(&keys->every, place);
        return;
    }
    char *bytes = memory_new(rule->key.length + 1, 1);
    const size_t length = glob_beginning(rule->key.bytes, rule->key.length, bytes);
    if (length) {
        add_beginning(keys, bytes, length, place);
        return;
    }
    free(bytes);
    rules_set_add(&keys->every, place);
}

/* What stands above each, and where each first byte begins. */
static void link_up(struct rules_keys *keys)
{
    int byte = 0;
    for (int i = 0; i < keys->count; i++) {
        struct key_beginning *one = &keys->beginnings[i];
        while (byte <= (unsigned char)one->bytes[0])
            keys->starts[byte++] = i;
        one->above = climb(keys, i - 1, one->bytes, one->length);
        rules_set_join(&one->rules,
                       one->above == NONE ? &keys->every : &keys->beginnings[one->above].rules);
    }
    while (byte <= BYTES)
        keys->starts[byte++] = keys->count;
}

struct rules_keys *rules_keys_new(const struct rules *rules)
{
    struct rules_keys *keys = memory_new(1, sizeof *keys);
    keys->beginnings = memory_new((size_t)rules->count + 1, sizeof *keys->beginnings);
    for (int i = 0; i < rules->count; i++)
        add(keys, &rules->rules[i], i);
    link_up(keys);
    return keys;
}

void rules_keys_free(struct rules_keys *keys)
{
    for (int i = 0; i < keys->count; i++)
        free(keys->beginnings[i].bytes);
    free(keys->beginnings);
    free(keys);
}

const struct rules_set *rules_keys_find(const struct rules_keys *keys, const char *key,
                                        size_t length)
{
    if (!key)
        return &keys->keyless;
    if (!length)
        return &keys->every;
    const int *start = &keys->starts[(unsigned char)key[0]];
    const int last = last_before(keys, start[0], start[1], key, length);
    const int at = climb(keys, last, key, length);
    return at == NONE ? &keys->every : &keys->beginnings[at].rules;
}
