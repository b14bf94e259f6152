/* body.c - see body.h. */
#include "toxiproxy/body.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void *refuse(struct api_error *api_error, const char *words)
{
    api_error_set(api_error, 400, "bad request body: %s", words);
    return NULL;
}

const char *body_kind(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_TRUE:
    case JSON_FALSE:
        return "bool";
    default:
        return "number";
    }
}

static bool is_blank(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", bytes[i]) || !bytes[i])
            return false;
    return true;
}

/* The one that no whole number of 64 bits is; which field has it nobody knows any more. */
static void *refuse_number(const char *bytes, size_t length, size_t at, struct api_error *api_error)
{
    const char *digits = "+-.0123456789eE";
    size_t begin = at, end = at;
    while (begin > 0 && bytes[begin - 1] && strchr(digits, bytes[begin - 1]))
        begin--;
    while (end < length && bytes[end] && strchr(digits, bytes[end]))
        end++;
    api_error_set(api_error, 400,
                  "bad request body: json: cannot unmarshal number %.*s into Go value of type "
                  "int64",
                  end - begin < 60 ? (int)(end - begin) : 60, bytes + begin);
    return NULL;
}

static void *refuse_syntax(const json_error_t *error, const char *bytes, size_t length,
                           struct api_error *api_error)
{
    char words[64];
    size_t at = error->position > 0 ? (size_t)error->position - 1 : 0;
    if (is_blank(bytes, length))
        return refuse(api_error, "EOF");
    if (json_error_code(error) == json_error_premature_end_of_input || at >= length)
        return refuse(api_error, "unexpected EOF");
    if (json_error_code(error) == json_error_numeric_overflow)
        return refuse_number(bytes, length, at, api_error);
    while (at > 0 && isalnum((unsigned char)bytes[at]) && isalnum((unsigned char)bytes[at - 1]))
        at--; /* the word begins there */
    unsigned char byte = (unsigned char)bytes[at];
    snprintf(words, sizeof words,
             isprint(byte) ? "invalid character '%c' looking for beginning of value"
                           : "invalid character '\\x%02x' looking for beginning of value",
             byte);
    return refuse(api_error, words);
}

json_t *body_read(const char *bytes, size_t length, const char *type, bool is_list,
                  struct api_error *api_error)
{
    json_error_t error;
    char words[256];
    json_t *read = json_loadb(bytes, length, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
    if (!read)
        return refuse_syntax(&error, bytes, length, api_error);
    if (json_is_null(read) || (is_list ? json_is_array(read) : json_is_object(read)))
        return read;
    snprintf(words, sizeof words, "json: cannot unmarshal %s into Go value of type %s",
             body_kind(read), type);
    json_decref(read);
    return refuse(api_error, words);
}

const json_t *body_field(const json_t *object, const char *field)
{
    const char *key;
    json_t *value, *found = json_object_get(object, field);
    if (!found && json_is_object(object))
        json_object_foreach((json_t *)(uintptr_t)object, key, value) if (!strcasecmp(key, field))
            found = value;
    return json_is_null(found) ? NULL : found;
}

/* As short as tells it from all others. */
static void print_number(double value, char *text, size_t size)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static bool is_other(const json_t *value, const char *owner, const char *field, const char *type,
                     struct api_error *api_error)
{
    return api_error_set(
        api_error, 400,
        "bad request body: json: cannot unmarshal %s into Go struct field %s.%s of "
        "type %s",
        body_kind(value), owner, field, type);
}

bool body_text(const json_t *object, const char *owner, const char *field, const char **value,
               struct api_error *api_error)
{
    const json_t *found = body_field(object, field);
    if (found && !json_is_string(found))
        return is_other(found, owner, field, "string", api_error);
    if (found)
        *value = json_string_value(found);
    return true;
}

bool body_truth(const json_t *object, const char *owner, const char *field, bool *value,
                struct api_error *api_error)
{
    const json_t *found = body_field(object, field);
    if (found && !json_is_boolean(found))
        return is_other(found, owner, field, "bool", api_error);
    if (found)
        *value = json_is_true(found);
    return true;
}

bool body_whole(const json_t *object, const char *owner, const char *field, int64_t *value,
                struct api_error *api_error)
{
    const json_t *found = body_field(object, field);
    if (json_is_real(found)) { /* Go shows those that could have been whole */
        char number[64];
        print_number(json_real_value(found), number, sizeof number);
        return api_error_set(api_error, 400,
                             "bad request body: json: cannot unmarshal number %s into Go struct "
                             "field %s.%s of type int64",
                             number, owner, field);
    }
    if (found && !json_is_integer(found))
        return is_other(found, owner, field, "int64", api_error);
    if (found)
        *value = json_integer_value(found);
    return true;
}

bool body_share(const json_t *object, const char *owner, const char *field, float *value,
                struct api_error *api_error)
{
    const json_t *found = body_field(object, field);
    if (found && !json_is_number(found))
        return is_other(found, owner, field, "float32", api_error);
    if (found)
        *value = (float)json_number_value(found);
    return true;
}

json_t *body_print_share(float value)
{
    char text[64];
    if (value >= -1e15f && value <= 1e15f && value == (float)(json_int_t)value)
        return json_integer((json_int_t)value);
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    return json_real(strtod(text, NULL));
}
