/* reader_foreign.c - the fields of a log file that foreign lock programs need: opaque commands,
 * their effects on keys, what was inferred. See reader.h. */
#include "history/reader.h"

#include "base/bits.h"
#include "base/names.h"
#include "history/words.h"

#include <string.h>

/* --- words --- */

static enum fail wants_text(struct history_reader *reader, const char *name, const json_t *value,
                            struct failure *failure)
{
    if (json_is_string(value))
        return FAIL_NONE;
    return reader_refuses(reader, failure, "'%s' wants a text", name);
}

static enum fail foreign_key(struct history_reader *reader, const json_t *value, enum key *key,
                             struct failure *failure)
{
    const char *names[KEY_COUNT];
    enum fail fail = wants_text(reader, "key", value, failure);
    if (fail || key_read(json_string_value(value), key))
        return fail;
    for (int i = 0; i < KEY_COUNT; i++)
        names[i] = key_name((enum key)i);
    return reader_unknown(reader, "a lock has no key", json_string_value(value), names, KEY_COUNT,
                          failure);
}

static enum fail take_did(struct history_reader *reader, const json_t *value, enum did *did,
                          struct failure *failure)
{
    const char *names[DID_COUNT];
    enum fail fail = wants_text(reader, "did", value, failure);
    if (fail || did_read(json_string_value(value), did))
        return fail;
    for (int i = 0; i < DID_COUNT; i++)
        names[i] = did_name((enum did)i);
    return reader_unknown(reader, "'did' knows no", json_string_value(value), names, DID_COUNT,
                          failure);
}

static enum fail take_before(struct history_reader *reader, const json_t *value,
                             enum before *before, struct failure *failure)
{
    const char *names[BEFORE_COUNT];
    enum fail fail = wants_text(reader, "before", value, failure);
    if (fail || before_read(json_string_value(value), before))
        return fail;
    for (int i = 0; i < BEFORE_COUNT; i++)
        names[i] = before_name((enum before)i);
    return reader_unknown(reader, "'before' knows no", json_string_value(value), names,
                          BEFORE_COUNT, failure);
}

static enum fail take_wanted(struct history_reader *reader, const json_t *value,
                             enum effect *wanted, struct failure *failure)
{
    enum { WANTED = EFFECT_DELETE + 1 };
    const char *names[WANTED];
    enum fail fail = wants_text(reader, "wanted", value, failure);
    if (fail || effect_read(json_string_value(value), wanted))
        return fail;
    for (int i = 0; i < WANTED; i++)
        names[i] = effect_name((enum effect)i);
    return reader_unknown(reader, "'wanted' knows no", json_string_value(value), names, WANTED,
                          failure);
}

/* --- the command --- */

static enum fail take_keys(struct history_reader *reader, const json_t *value, unsigned *keys,
                           struct failure *failure)
{
    size_t i;
    json_t *name;
    if (!json_is_array(value))
        return reader_refuses(reader, failure, "'keys' wants a list of the lock's keys");
    json_array_foreach(value, i, name)
    {
        enum key key = KEY_LOCK;
        enum fail fail = foreign_key(reader, name, &key, failure);
        if (fail)
            return fail;
        if (*keys >> key & 1)
            return reader_refuses(reader, failure, "'keys' has '%s' twice", key_name(key));
        *keys |= 1u << key;
    }
    return FAIL_NONE;
}

static enum fail take_digest(struct history_reader *reader, const json_t *value, uint64_t *digest,
                             struct failure *failure)
{
    static const char hex[] = "0123456789abcdef";
    char digits[17];
    enum fail fail = reader_text(reader, "digest", value, digits, sizeof digits, failure);
    if (fail)
        return fail;
    *digest = 0;
    if (strlen(digits) != sizeof digits - 1 || strspn(digits, hex) != sizeof digits - 1)
        return reader_refuses(reader, failure, "'digest' wants 16 digits of 0 to f, as a text");
    for (const char *at = digits; *at; at++)
        *digest = *digest << 4 | (uint64_t)(strchr(hex, *at) - hex);
    return FAIL_NONE;
}

static enum fail take_printable(struct history_reader *reader, const char *name,
                                const json_t *value, char *text, size_t size,
                                struct failure *failure)
{
    enum fail fail = reader_text(reader, name, value, text, size, failure);
    if (!fail && !opaque_is_text(text))
        fail = reader_refuses(reader, failure,
                              "'%s' has a byte that is not printable ASCII: it is written \\xNN",
                              name);
    return fail;
}

static enum fail take_opaque(struct history_reader *reader, const json_t *object,
                             struct opaque *opaque, struct failure *failure)
{
    static const char *const names[] = {"name", "text", "digest", "keys"};
    const char *name;
    json_t *value;
    *opaque = (struct opaque){0};
    if (!json_is_object(object))
        return reader_refuses(reader, failure, "'opaque' wants an object");
    json_object_foreach((json_t *)object, name, value)
    {
        enum fail fail = FAIL_NONE;
        reader_within(reader, "opaque", 0, name);
        if (!strcmp(name, "name"))
            fail = take_printable(reader, name, value, opaque->name, sizeof opaque->name, failure);
        else if (!strcmp(name, "text"))
            fail = take_printable(reader, name, value, opaque->text, sizeof opaque->text, failure);
        else if (!strcmp(name, "digest"))
            fail = take_digest(reader, value, &opaque->digest, failure);
        else if (!strcmp(name, "keys"))
            fail = take_keys(reader, value, &opaque->keys, failure);
        else
            fail = reader_unknown(reader, "'opaque' has no field", name, names,
                                  sizeof names / sizeof *names, failure);
        if (fail)
            return fail;
    }
    reader_at(reader, "opaque");
    if (!opaque->name[0] || !json_object_get(object, "keys"))
        return reader_refuses(reader, failure, "'opaque' wants 'name' and 'keys'");
    return FAIL_NONE;
}

/* --- effects --- */

#define SAYS_BITS(BIT)                                                                             \
    BIT(SAYS_KEY)                                                                                  \
    BIT(SAYS_DID)                                                                                  \
    BIT(SAYS_BEFORE)                                                                               \
    BIT(SAYS_WANTED)                                                                               \
    BIT(SAYS_OLD) BIT(SAYS_UNLIKE) BIT(SAYS_NEW) BIT(SAYS_TOLD) BIT(SAYS_TTL) BIT(SAYS_FENCE)
BITS(says_bit, SAYS_BITS);

static const char *const effect_fields[SAYS_BITS_WIDTH] = {
    "key", "did", "before", "wanted", "old", "unlike", "new", "told", "ttl", "fence"};

static enum fail take_effect_field(struct history_reader *reader, int at, enum says_bit bit,
                                   const json_t *value, struct failure *failure)
{
    struct key_effect *effect = &reader->effects.on[at];
    char *old_text = reader->effects.texts[at].old_value;
    char *new_text = reader->effects.texts[at].new_value;
    switch (bit) {
    case SAYS_KEY:
        return foreign_key(reader, value, &effect->key, failure);
    case SAYS_DID:
        return take_did(reader, value, &effect->did, failure);
    case SAYS_BEFORE:
        return take_before(reader, value, &effect->before, failure);
    case SAYS_WANTED:
        return take_wanted(reader, value, &effect->wanted, failure);
    case SAYS_OLD:
    case SAYS_UNLIKE:
        effect->has_old = true;
        effect->is_unlike = bit == SAYS_UNLIKE;
        return reader_value(reader, bit == SAYS_OLD ? "old" : "unlike", value, &effect->old_value,
                            old_text, failure);
    case SAYS_NEW:
        effect->has_new = true;
        return reader_value(reader, "new", value, &effect->new_value, new_text, failure);
    case SAYS_TOLD:
        return reader_flag(reader, "told", value, &effect->is_told, failure);
    case SAYS_TTL:
        effect->has_ttl = true;
        return reader_number(reader, "ttl", value, -HISTORY_LONGEST_US, HISTORY_LONGEST_US,
                             &effect->ttl_us, failure);
    case SAYS_FENCE:
        effect->has_fence = true;
        return reader_number(reader, "fence", value, INT64_MIN, INT64_MAX, &effect->fence, failure);
    }
    return FAIL_NONE;
}

#define ONE(did) (1u << (did))

/* What each kind of effect can be told with, and must be. */
static enum fail check_says(struct history_reader *reader, const struct key_effect *effect,
                            unsigned says, struct failure *failure)
{
    static const unsigned writes = ONE(DID_CREATED) | ONE(DID_OVERWRITTEN) | ONE(DID_APPENDED);
    static const unsigned sets_ttl = ONE(DID_EXPIRY_SET) | ONE(DID_LENGTHENED) | ONE(DID_SHORTENED);
    static const unsigned declines = ONE(DID_REFUSED) | ONE(DID_FAILED);
    static const struct {
        enum says_bit bit;
        unsigned allowed, wanted; /* bits enum did */
    } rows[] = {
        {SAYS_UNLIKE, ONE(DID_REFUSED), 0},
        {SAYS_NEW, writes | sets_ttl | ONE(DID_UNEXPIRED), writes},
        {SAYS_TOLD, ONE(DID_CREATED) | ONE(DID_OVERWRITTEN), 0},
        {SAYS_TTL, writes | sets_ttl | declines, sets_ttl},
        {SAYS_FENCE, writes | declines, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool is_said = says & rows[i].bit;
        const char *field = "";
        for (int k = 0; k < SAYS_BITS_WIDTH; k++)
            if ((int)rows[i].bit == 1 << k)
                field = effect_fields[k];
        if (is_said && !(rows[i].allowed >> effect->did & 1))
            return reader_refuses(reader, failure, "an effect '%s' has no '%s'",
                                  did_name(effect->did), field);
        if (!is_said && rows[i].wanted >> effect->did & 1)
            return reader_refuses(reader, failure, "an effect '%s' wants '%s'",
                                  did_name(effect->did), field);
    }
    if ((says & SAYS_OLD) && (says & SAYS_UNLIKE))
        return reader_refuses(reader, failure, "an effect has 'old' or 'unlike', not both");
    return FAIL_NONE;
}

static enum fail check_before(struct history_reader *reader, struct key_effect *effect,
                              unsigned says, struct failure *failure)
{
    if (!(says & SAYS_BEFORE))
        effect->before = says & SAYS_OLD ? BEFORE_PRESENT : did_before(effect->did);
    bool must_be_absent = did_before(effect->did) == BEFORE_ABSENT;
    bool must_be_present =
        says & SAYS_OLD || effect->did == DID_DELETED || did_is_expiry(effect->did);
    if ((must_be_absent && effect->before == BEFORE_PRESENT) ||
        (effect->did == DID_OVERWRITTEN && effect->before == BEFORE_ABSENT) ||
        (must_be_present && effect->before != BEFORE_PRESENT))
        return reader_refuses(reader, failure, "an effect '%s'%s of a key that was %s before",
                              did_name(effect->did), says & SAYS_OLD ? " with 'old'" : "",
                              effect->before == BEFORE_UNKNOWN ? "not known to be there"
                                                               : before_name(effect->before));
    return FAIL_NONE;
}

static enum fail take_effect(struct history_reader *reader, json_t *object, int at,
                             struct failure *failure)
{
    struct key_effect *effect = &reader->effects.on[at];
    const char *name;
    json_t *value;
    unsigned says = 0;
    *effect = (struct key_effect){0};
    memset(&reader->effects.texts[at], 0, sizeof reader->effects.texts[at]);
    if (!json_is_object(object))
        return reader_refuses(reader, failure, "an effect is an object");
    json_object_foreach(object, name, value)
    {
        int which = NAMES_FIND(effect_fields, name);
        reader_within(reader, "effects", at + 1, name);
        if (which < 0)
            return reader_unknown(reader, "an effect has no field", name, effect_fields,
                                  SAYS_BITS_WIDTH, failure);
        says |= 1u << which;
        enum fail fail = take_effect_field(reader, at, (enum says_bit)(1 << which), value, failure);
        if (fail)
            return fail;
    }
    if (!(says & SAYS_KEY) || !(says & SAYS_DID))
        return reader_refuses(reader, failure, "an effect wants 'key' and 'did'");
    reader->says_wanted[at] = says & SAYS_WANTED;
    for (int i = 0; i < at; i++)
        if (reader->effects.on[i].key == effect->key)
            return reader_refuses(reader, failure, "two effects on the key '%s': one says it all",
                                  key_name(effect->key));
    enum fail fail = check_says(reader, effect, says, failure);
    return fail ? fail : check_before(reader, effect, says, failure);
}

static enum fail take_effects(struct history_reader *reader, const json_t *list,
                              struct failure *failure)
{
    size_t i;
    json_t *object;
    if (!json_is_array(list) || json_array_size(list) > KEY_COUNT)
        return reader_refuses(reader, failure, "'effects' wants a list of at most %d effects",
                              KEY_COUNT);
    reader->effects.count = (int)json_array_size(list);
    json_array_foreach(list, i, object)
    {
        reader_within(reader, "effects", (int)i + 1, NULL);
        enum fail fail = take_effect(reader, object, (int)i, failure);
        if (fail)
            return fail;
    }
    return FAIL_NONE;
}

/* --- contract --- */

enum fail reader_foreign(struct history_reader *reader, const char *name, const json_t *value,
                         struct event *event, bool *is_taken, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    bool is_opaque = !strcmp(name, "opaque"), is_effects = !strcmp(name, "effects");
    bool is_inferred = !strcmp(name, "inferred");
    *is_taken = reader->version > 1 && (is_opaque || is_effects || is_inferred);
    if (!*is_taken)
        return FAIL_NONE;
    if (is_opaque) {
        fail = take_opaque(reader, value, &reader->opaque, failure);
        event->opaque = &reader->opaque;
    } else if (is_effects) {
        fail = take_effects(reader, value, failure);
        event->effects = &reader->effects;
    } else {
        fail = reader_flag(reader, name, value, &event->is_inferred, failure);
    }
    return fail;
}

static const enum effect wanted_of[OP_COUNT] = {[OP_ACQUIRE] = EFFECT_SET,
                                                [OP_RELEASE] = EFFECT_DELETE,
                                                [OP_EXTEND] = EFFECT_EXPIRE,
                                                [OP_ACCESS] = EFFECT_SET};

enum fail reader_foreign_check(struct history_reader *reader, struct event *event, bool has_typed,
                               struct failure *failure)
{
    static const int has_command = SENDS | EXECUTES | HEARS | 1 << EVENT_FAULT;
    reader_at(reader, NULL);
    if (event->is_inferred && !(1 << event->kind & (CALLS | RETURNS | NOTICES)))
        return reader_refuses(reader, failure, "an event of kind '%s' is never 'inferred'",
                              event_name(event->kind));
    if (event->opaque && !(1 << event->kind & has_command))
        return reader_refuses(reader, failure, "an event of kind '%s' has no command",
                              event_name(event->kind));
    if (event->opaque && has_typed)
        return reader_refuses(reader, failure,
                              "an opaque command has no 'verb', 'key', 'value', 'number' or 'ttl'");
    if (event->effects && (!event->opaque || event->kind != EVENT_EXECUTE))
        return reader_refuses(reader, failure,
                              "'effects' are those of an opaque command that is executed");
    for (int i = 0; event->effects && i < event->effects->count; i++) {
        struct key_effect *effect = &reader->effects.on[i];
        if (!reader->says_wanted[i])
            effect->wanted = did_wants(effect->did, wanted_of[event->op], false);
        if (!(event->opaque->keys >> effect->key & 1))
            return reader_refuses(reader, failure,
                                  "an effect on the key '%s', which is not among the command's "
                                  "'keys'",
                                  key_name(effect->key));
    }
    return FAIL_NONE;
}
