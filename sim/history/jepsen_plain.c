/* jepsen_plain.c - see jepsen_op.h: an operation as Jepsen writes it, on one line, its fields in
 * any order:
 *
 *     {:type :ok, :f :acquire, :value [:a 7], :time 1200, :process 3, :index 8}
 *
 * or in JSON. Never: a word on what is wrong. Whatever is written otherwise is read by form.c and
 * jepsen_op.c, which take what is read here, too, and make the same of it. */
#include "history/jepsen_op.h"

#include <string.h>

struct plain_op {
    const char *at;
    bool is_json;
    unsigned seen; /* fields: bits by enum op_field */
    int64_t time;
    bool has_time, has_key;
    enum key_kind kind;
};

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '-' ||
           byte == '_';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Behind every name and value stands a blank, or what closes them. */
static bool pass_blanks(struct plain_op *plain)
{
    const char *before = plain->at;
    while (*plain->at == ' ' || *plain->at == ',' || (plain->is_json && *plain->at == ':'))
        plain->at++;
    return plain->at > before || *plain->at == '}' || *plain->at == ']';
}

/* A keyword, or a text; it begins with a letter. */
static bool take_word(struct plain_op *plain, char word[JEPSEN_KEY_BYTES])
{
    size_t size = 0;
    if (*plain->at++ != (plain->is_json ? '"' : ':') || !is_letter(*plain->at) || *plain->at == '-')
        return false;
    while (is_letter(*plain->at) || is_digit(*plain->at)) {
        if (size == JEPSEN_KEY_BYTES - 1)
            return false;
        word[size++] = *plain->at++;
    }
    word[size] = '\0';
    return (!plain->is_json || *plain->at++ == '"') && pass_blanks(plain);
}

/* From 0, without a zero before it. */
static bool take_number(struct plain_op *plain, int64_t *number)
{
    enum { DIGITS_MAX = 18 };
    const char *began = plain->at;
    *number = 0;
    while (is_digit(*plain->at) && plain->at - began < DIGITS_MAX)
        *number = *number * 10 + (*plain->at++ - '0');
    return plain->at > began && (*began != '0' || plain->at == began + 1) && pass_blanks(plain);
}

static bool take_nil(struct plain_op *plain)
{
    const char *nil = plain->is_json ? "null" : "nil";
    const size_t size = strlen(nil);
    if (strncmp(plain->at, nil, size) != 0)
        return false;
    plain->at += size;
    return pass_blanks(plain);
}

static bool take_fence(struct plain_op *plain, struct jepsen_op *op)
{
    if (!is_digit(*plain->at))
        return take_nil(plain);
    op->has_fence = true;
    return take_number(plain, &op->fence);
}

/* nil, a fence, or a lock and one of them. */
static bool take_value(struct plain_op *plain, struct jepsen_op *op)
{
    if (*plain->at != '[')
        return take_fence(plain, op);
    plain->at++;
    const char *key = plain->at;
    int64_t number;
    plain->has_key = true;
    plain->kind = is_digit(*key) ? KEY_NUMBER : KEY_TEXT;
    if (plain->kind == KEY_TEXT && !take_word(plain, op->key))
        return false;
    if (plain->kind == KEY_NUMBER) {
        if (!take_number(plain, &number))
            return false;
        const size_t size = strspn(key, "0123456789");
        memcpy(op->key, key, size);
        op->key[size] = '\0';
    }
    return take_fence(plain, op) && *plain->at++ == ']' && pass_blanks(plain);
}

static bool take_field(struct plain_op *plain, struct jepsen_op *op)
{
    char word[JEPSEN_KEY_BYTES];
    int64_t number;
    unsigned field = 0;
    if (!take_word(plain, word))
        return false;
    while (field < JEPSEN_COUNT &&
           (*word != *jepsen_fields[field] || strcmp(word, jepsen_fields[field]) != 0))
        field++;
    if (field == JEPSEN_COUNT || plain->seen >> field & 1)
        return false;
    plain->seen |= 1u << field;
    switch ((enum op_field)field) {
    case JEPSEN_PROCESS:
        return take_number(plain, &op->process);
    case JEPSEN_TYPE:
        return take_word(plain, word) && jepsen_type_find(word, &op->type);
    case JEPSEN_F:
        return take_word(plain, word) && jepsen_function_find(word, &op->op);
    case JEPSEN_TIME:
        plain->has_time = true;
        return take_number(plain, &plain->time);
    case JEPSEN_VALUE:
        return take_value(plain, op);
    case JEPSEN_ERROR:
        if (!take_word(plain, word))
            return false;
        op->was_not_done = strcmp(word, "unsupported") == 0;
        return true;
    case JEPSEN_INDEX:
        return take_number(plain, &number);
    case JEPSEN_COUNT:
        break;
    }
    return false;
}

static bool take_fields(struct plain_op *plain, struct jepsen_op *op)
{
    const unsigned needed = 1u << JEPSEN_PROCESS | 1u << JEPSEN_TYPE | 1u << JEPSEN_F;
    if (*plain->at++ != '{')
        return false;
    while (*plain->at != '}')
        if (!take_field(plain, op))
            return false;
    plain->at++;
    return (plain->seen & needed) == needed;
}

bool jepsen_plain_read(struct jepsen_ops *ops, const char *text, struct jepsen_op *op, size_t *size)
{
    const struct jepsen_ops before = *ops;
    struct plain_op plain = {.at = text, .is_json = ops->form->language == FORM_JSON};
    struct failure unsaid;
    *op = (struct jepsen_op){0};
    if (!take_fields(&plain, op))
        return false;
    ops->count++;
    op->was_not_done = op->was_not_done && op->type == TYPE_FAIL;
    *size = (size_t)(plain.at - text);
    if (!jepsen_note_time(ops, plain.has_time ? &plain.time : NULL, op, &unsaid) &&
        (!plain.has_key || !jepsen_note_kind(ops, plain.kind, op->key, &unsaid)) &&
        !jepsen_note_key(ops, op->key, &unsaid))
        return true;
    *ops = before;
    return false;
}
