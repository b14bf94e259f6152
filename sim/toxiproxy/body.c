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

static const char *kind_of(const json_t *value)
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

static void *refuse_syntax(const json_error_t *error, const char *bytes, size_t length,
                           struct api_error *api_error)
{
    char words[64];
    size_t at = error->position > 0 ? (size_t)error->position - 1 : 0;
    if (is_blank(bytes, length))
        return refuse(api_error, "EOF");
    if (json_error_code(error) == json_error_premature_end_of_input || at >= length)
        return refuse(api_error, "unexpected EOF");
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
    char words[128];
    json_t *read = json_loadb(bytes, length, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
    if (!read)
        return refuse_syntax(&error, bytes, length, api_error);
    if (json_is_null(read) || (is_list ? json_is_array(read) : json_is_object(read)))
        return read;
    snprintf(words, sizeof words, "json: cannot unmarshal %s into Go value of type %s",
             kind_of(read), type);
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

static bool is_other(const json_t *value, const char *owner, const char *field, const char *type,
                     struct api_error *api_error)
{
    return api_error_set(
        api_error, 400,
        "bad request body: json: cannot unmarshal %s into Go struct field %s.%s of "
        "type %s",
        kind_of(value), owner, field, type);
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
