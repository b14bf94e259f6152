/* keys_beside.c - the keys that a server has beside that of the lock, as one number. */
#include "ask/key_form.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BESIDE_MAX = 8 };

/* A key of them: its name with a NUL behind it, this, and the bytes of its form. */
struct beside_head {
    int32_t left;
    uint32_t used;
};

struct beside {
    char bytes[BESIDE_BYTES_MAX];
    size_t used;
};

static enum fail refuse(const char *name, const char *why, struct failure *failure)
{
    return failure_set(failure, FAIL_UNKNOWN,
                       "it keeps a key '%.60s' beside the lock's, which %s: that is not decided by "
                       "asking yet",
                       name, why);
}

static bool add_key(struct beside *beside, const char *name, const struct key_form *form)
{
    const struct beside_head head = {.left = form->left, .used = (uint32_t)form->used};
    const size_t length = strlen(name) + 1;
    if (beside->used + length + sizeof head + form->used > sizeof beside->bytes)
        return false;
    memcpy(beside->bytes + beside->used, name, length);
    memcpy(beside->bytes + beside->used + length, &head, sizeof head);
    memcpy(beside->bytes + beside->used + length + sizeof head, form->bytes, form->used);
    beside->used += length + sizeof head + form->used;
    return true;
}

/* The key at that place; returns what is behind it. */
static const char *read_key(const char *at, const char **name, struct key_form *form)
{
    struct beside_head head;
    *name = at;
    at += strlen(at) + 1;
    memcpy(&head, at, sizeof head);
    form->left = head.left;
    form->used = head.used;
    form->whose = WHOSE_NONE;
    memcpy(form->bytes, at + sizeof head, head.used);
    return at + sizeof head + head.used;
}

static uint32_t number_of(struct server_asker *asker, const struct beside *beside)
{
    return beside->used ? intern_put(&asker->others, beside->bytes, beside->used) + 1 : 0;
}

static enum fail take_key(struct server_asker *asker, const char *name, struct beside *beside,
                          struct failure *failure)
{
    struct key_form form;
    struct failure why = {0};
    if (key_form_take(asker, name, &form, &why))
        return why.code == FAIL_UNKNOWN ? refuse(name, why.text, failure)
                                        : failure_set(failure, why.code, "%s", why.text);
    if (form.whose)
        return refuse(name, "has a token in it", failure);
    return add_key(beside, name, &form) ? FAIL_NONE : refuse(name, "is too long", failure);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum fail keys_beside_take(struct server_asker *asker, const redisReply *names, uint32_t *number,
                           struct failure *failure)
{
    const char *found[BESIDE_MAX];
    size_t count = 0;
    struct beside beside = {.used = 0};
    for (size_t i = 0; i < names->elements; i++) {
        if (strcmp(names->element[i]->str, asker->key) == 0)
            continue;
        if (count == BESIDE_MAX)
            return refuse(names->element[i]->str, "is one of many", failure);
        found[count++] = names->element[i]->str;
    }
    qsort(found, count, sizeof *found, by_name);
    for (size_t i = 0; i < count; i++)
        if (take_key(asker, found[i], &beside, failure))
            return failure->code;
    *number = number_of(asker, &beside);
    return FAIL_NONE;
}

enum fail keys_beside_put(struct server_asker *asker, uint32_t number, struct failure *failure)
{
    char bytes[BESIDE_BYTES_MAX];
    struct key_form form;
    const char *name;
    const size_t size = intern_get(&asker->others, number - 1, bytes);
    for (const char *at = bytes; at < bytes + size;) {
        at = read_key(at, &name, &form);
        if (key_form_put(asker, name, &form, failure))
            return failure->code;
    }
    return FAIL_NONE;
}

uint32_t keys_beside_age(struct server_asker *asker, uint32_t number, int ticks)
{
    char bytes[BESIDE_BYTES_MAX];
    struct beside older = {.used = 0};
    struct key_form form;
    const char *name;
    if (!number)
        return 0;
    const size_t size = intern_get(&asker->others, number - 1, bytes);
    for (const char *at = bytes; at < bytes + size;) {
        at = read_key(at, &name, &form);
        const bool expires = form.left != NO_TICKS && form.left != LEFT_FAR;
        if (expires && form.left <= ticks)
            continue;
        form.left -= expires ? ticks : 0;
        const bool has_room = add_key(&older, name, &form);
        assert(has_room); /* as before */
        (void)has_room;
    }
    return number_of(asker, &older);
}

bool keys_beside_are_whole(const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size) {
        struct beside_head head;
        const char *end = memchr(bytes + at, '\0', size - at);
        if (!end || size - (size_t)(end + 1 - bytes) < sizeof head)
            return false;
        memcpy(&head, end + 1, sizeof head);
        at = (size_t)(end + 1 - bytes) + sizeof head;
        if (head.used > size - at || head.left < NO_TICKS || head.left > LEFT_FAR ||
            !key_form_is_whole(bytes + at, head.used))
            return false;
        at += head.used;
    }
    return size && size <= BESIDE_BYTES_MAX;
}
