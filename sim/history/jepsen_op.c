/* jepsen_op.c - see jepsen_op.h. */
#include "history/jepsen_op.h"

#include "base/names.h"
#include "base/suggest.h"
#include "base/units.h"
#include "history/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum operation op;
} functions[] = {{"acquire", OP_ACQUIRE},     {"lock", OP_ACQUIRE},    {"try-lock", OP_ACQUIRE},
                 {"try-acquire", OP_ACQUIRE}, {"release", OP_RELEASE}, {"unlock", OP_RELEASE},
                 {"renew", OP_EXTEND},        {"extend", OP_EXTEND},   {"refresh", OP_EXTEND},
                 {"keep-alive", OP_EXTEND}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const char *const types[] = {"invoke", "ok", "fail", "info"};

const char *const jepsen_fields[JEPSEN_COUNT] = {"process", "type",  "f",    "time",
                                                 "value",   "error", "index"};

bool jepsen_type_find(const char *name, enum op_type *type)
{
    return names_read(NAMES_FIND(types, name), type);
}

bool jepsen_function_find(const char *name, enum operation *op)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (*name == *functions[i].name && !strcmp(name, functions[i].name)) {
            *op = functions[i].op;
            return true;
        }
    return false;
}

static enum fail read_type(struct jepsen_ops *ops, const json_t *form, struct jepsen_op *op,
                           struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    const char *type = json_string_value(json_object_get(form, "type"));
    if (!type)
        return form_refuse(ops->form, form_place_of_value(ops->form, "type"), failure,
                           "an operation wants ':type': invoke, ok, fail or info");
    if (jepsen_type_find(type, &op->type))
        return FAIL_NONE;
    const char *nearest = suggest_nearest(type, types, TYPE_COUNT);
    return form_refuse(ops->form, form_place_of_value(ops->form, "type"), failure,
                       "no operation is of ':type' '%.40s'%s", type,
                       suggest_words(nearest, "; it is invoke, ok, fail or info", suggestion));
}

static enum fail read_function(struct jepsen_ops *ops, const json_t *form, struct jepsen_op *op,
                               struct failure *failure)
{
    char suggestion[SUGGEST_BYTES];
    const char *names[FUNCTIONS], *name = json_string_value(json_object_get(form, "f"));
    if (!name)
        return form_refuse(ops->form, form_place_of_value(ops->form, "f"), failure,
                           "an operation wants ':f', such as acquire, release or renew");
    if (jepsen_function_find(name, &op->op))
        return FAIL_NONE;
    for (int i = 0; i < FUNCTIONS; i++)
        names[i] = functions[i].name;
    const char *nearest = suggest_nearest(name, names, FUNCTIONS);
    return form_refuse(ops->form, form_place_of_value(ops->form, "f"), failure,
                       "a lock has no ':f' '%.40s'%s", name,
                       suggest_words(nearest, "; it has acquire, release and renew", suggestion));
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* Fields of one's own are left alone; one letter off is a slip. within: the field that the map is;
 * NULL: it is the operation itself. */
static enum fail check_names(struct jepsen_ops *ops, const json_t *map, const char *within,
                             const char *what, const char *const *names, size_t count,
                             struct failure *failure)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)map, name, value)
    {
        if (is_one_of(name, names, count)) /* nearly always: a distance takes its time */
            continue;
        const char *meant = suggest_slip(name, names, count);
        if (meant && within)
            return form_refuse(ops->form, form_place_of_value(ops->form, within), failure,
                               "%s ':%.40s'; did you mean ':%s'?", what, name, meant);
        if (meant)
            return form_refuse(ops->form, form_place_of_name(ops->form, name), failure,
                               "%s ':%.40s'; did you mean ':%s'?", what, name, meant);
    }
    return FAIL_NONE;
}

/* 7 and "7" are two keys, which we would write alike: a history has one kind of them. */
enum fail jepsen_note_kind(struct jepsen_ops *ops, enum key_kind kind, const char *key,
                           struct failure *failure)
{
    const unsigned both = 1u << KEY_NUMBER | 1u << KEY_NUMBER_AS_TEXT;
    ops->kinds |= 1u << kind;
    if (kind == KEY_TEXT || (ops->kinds & both) != both)
        return FAIL_NONE;
    return form_refuse(ops->form, form_place_of_value(ops->form, "value"), failure,
                       "the key %s is a %s here, where keys were %s: they would be taken for one",
                       key, kind == KEY_NUMBER ? "number" : "text",
                       kind == KEY_NUMBER ? "texts of digits" : "numbers");
}

static bool is_text(const json_t *value)
{
    const char *bytes = json_string_value(value);
    json_t *text = json_stringn(bytes, json_string_length(value));
    const bool is = text && strlen(bytes) == json_string_length(value);
    json_decref(text);
    return is;
}

/* Two keys are never taken for one: a long one is not cut, and one of another kind is not left out.
 */
static enum fail read_key(struct jepsen_ops *ops, const json_t *value, char *key,
                          struct failure *failure)
{
    if (!value || json_is_null(value))
        return FAIL_NONE;
    if (json_is_integer(value)) {
        snprintf(key, JEPSEN_KEY_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return jepsen_note_kind(ops, KEY_NUMBER, key, failure);
    }
    if (!json_is_string(value))
        return form_refuse(ops->form, form_place_of_value(ops->form, "value"), failure,
                           "the key of a lock is a text or a whole number");
    if (json_string_length(value) >= JEPSEN_KEY_BYTES)
        return form_refuse(ops->form, form_place_of_value(ops->form, "value"), failure,
                           "the key of a lock has at most %d bytes", JEPSEN_KEY_BYTES - 1);
    if (!is_text(value))
        return form_refuse(ops->form, form_place_of_value(ops->form, "value"), failure,
                           "the key of a lock is UTF-8, and has no NUL byte in it");
    snprintf(key, JEPSEN_KEY_BYTES, "%s", json_string_value(value));
    const char *digits = key + (*key == '-');
    const bool is_digits = *digits && strspn(digits, "0123456789") == strlen(digits);
    return jepsen_note_kind(ops, is_digits ? KEY_NUMBER_AS_TEXT : KEY_TEXT, key, failure);
}

/* What is said of no lock by name would be taken for one of its own, beside those that have names.
 */
enum fail jepsen_note_key(struct jepsen_ops *ops, const char *key, struct failure *failure)
{
    const bool names_a_lock = *key != '\0';
    const bool is_mixed = ops->count > 1 && names_a_lock != ops->names_a_lock;
    ops->names_a_lock = names_a_lock;
    if (is_mixed && names_a_lock)
        return form_refuse(ops->form, form_place_of_value(ops->form, "value"), failure,
                           "':value' names the lock %s, and those before name none: [KEY "
                           "VALUE] is a lock and its value; a fence that stands beside "
                           "something else is {:fence N}",
                           key);
    if (is_mixed)
        return form_refuse(ops->form, form_place_of_value(ops->form, "value"), failure,
                           "':value' names no lock, and those before name theirs: [KEY "
                           "VALUE], also where VALUE is nil");
    return FAIL_NONE;
}

static enum fail read_value(struct jepsen_ops *ops, const json_t *value, struct jepsen_op *op,
                            struct failure *failure)
{
    if (json_is_array(value) && json_array_size(value) == 2) {
        if (read_key(ops, json_array_get(value, 0), op->key, failure))
            return failure->code;
        value = json_array_get(value, 1);
    }
    if (json_is_object(value)) {
        static const char *const names[] = {"key", "fence"};
        if (check_names(ops, value, "value", "a ':value' has no field", names, 2, failure) ||
            read_key(ops, json_object_get(value, "key"), op->key, failure))
            return failure->code;
        value = json_object_get(value, "fence");
    }
    if (jepsen_note_key(ops, op->key, failure))
        return failure->code;
    op->has_fence = json_is_integer(value);
    op->has_other_value = value && !op->has_fence && !json_is_null(value);
    op->is_value_huge = json_is_real(value) &&
                        (json_real_value(value) >= 0x1p63 || json_real_value(value) <= -0x1p63);
    op->fence = op->has_fence ? json_integer_value(value) : 0;
    return FAIL_NONE;
}

/* Microseconds, from a number of the history's unit; of none, a microsecond an operation. */
static enum fail check_time(struct jepsen_ops *ops, const int64_t *time, struct failure *failure)
{
    const char *unit = time_unit_name(ops->unit);
    if (!time && ops->wants_time)
        return form_refuse(ops->form, ops->form->began, failure,
                           "an operation wants ':time' (%s), where there is a lease", unit);
    if (ops->count > 1 && !time != !ops->has_time)
        return form_refuse(ops->form, form_place_of_value(ops->form, "time"), failure,
                           time ? "a ':time', and the operations before have none"
                                : "an operation wants ':time', as those before have it");
    ops->has_time = time != NULL;
    if (!time)
        return FAIL_NONE;
    if (*time < 0)
        return form_refuse(ops->form, form_place_of_value(ops->form, "time"), failure,
                           "':time' is %" PRId64 " %s: it counts from 0", *time, unit);
    if (*time / 1000 > HISTORY_LONGEST_US / time_unit_ns(ops->unit))
        return form_refuse(ops->form, form_place_of_value(ops->form, "time"), failure,
                           "':time' is %" PRId64 " %s; it goes to %" PRId64 " us", *time, unit,
                           (int64_t)HISTORY_LONGEST_US);
    return FAIL_NONE;
}

enum fail jepsen_note_time(struct jepsen_ops *ops, const int64_t *time, struct jepsen_op *op,
                           struct failure *failure)
{
    if (check_time(ops, time, failure))
        return failure->code;
    const int64_t time_ns = time ? *time * time_unit_ns(ops->unit) : ops->count * 1000;
    op->time_us = time_ns / 1000;
    if (time_ns < ops->last_ns)
        return form_refuse(ops->form, form_place_of_value(ops->form, "time"), failure,
                           "':time' is %" PRId64 " ns, earlier than %" PRId64
                           " ns of the operation before: time runs forwards",
                           time_ns, ops->last_ns);
    if (ops->count == 1)
        ops->first_ns = time_ns;
    ops->last_ns = time_ns;
    return FAIL_NONE;
}

static enum fail read_time(struct jepsen_ops *ops, const json_t *form, struct jepsen_op *op,
                           struct failure *failure)
{
    const json_t *value = json_object_get(form, "time");
    const int64_t time = json_integer_value(value);
    if (value && !json_is_integer(value))
        return form_refuse(ops->form, form_place_of_value(ops->form, "time"), failure,
                           "':time' wants a whole number (%s; see --time-unit)",
                           time_unit_name(ops->unit));
    return jepsen_note_time(ops, value ? &time : NULL, op, failure);
}

enum fail jepsen_op_read(struct jepsen_ops *ops, const json_t *form, struct jepsen_op *op,
                         struct failure *failure)
{
    const json_t *process = json_object_get(form, "process");
    *op = (struct jepsen_op){.is_nemesis = json_is_string(process)};
    if (!json_is_object(form))
        return form_refuse(ops->form, ops->form->began, failure, "an operation is a map");
    if (op->is_nemesis)
        return FAIL_NONE;
    if (check_names(ops, form, NULL, "an operation has no field", jepsen_fields, JEPSEN_COUNT,
                    failure))
        return failure->code;
    if (!json_is_integer(process) || json_integer_value(process) < 0)
        return form_refuse(ops->form, form_place_of_value(ops->form, "process"), failure,
                           "an operation wants ':process', a number from 0 or :nemesis");
    op->process = json_integer_value(process);
    ops->count++;
    if (read_type(ops, form, op, failure) || read_function(ops, form, op, failure) ||
        read_time(ops, form, op, failure))
        return failure->code;
    const char *error = json_string_value(json_object_get(form, "error"));
    op->was_not_done = op->type == TYPE_FAIL && error && strcmp(error, "unsupported") == 0;
    return read_value(ops, json_object_get(form, "value"), op, failure);
}

enum fail jepsen_op_next(struct jepsen_ops *ops, struct jepsen_op *op, bool *is_end,
                         struct failure *failure)
{
    const char *text = form_ahead(ops->form);
    size_t size;
    json_t *form;
    *is_end = false;
    if (text && jepsen_plain_read(ops, text, op, &size)) {
        form_take_plain(ops->form, size);
        return FAIL_NONE;
    }
    if (form_next(ops->form, &form, failure))
        return failure->code;
    *is_end = !form;
    if (!form)
        return FAIL_NONE;
    enum fail fail = jepsen_op_read(ops, form, op, failure);
    json_decref(form);
    return fail;
}

/* Less than a microsecond an operation no network takes, and a history that is over within a lease
 * is a short one. */
void jepsen_ops_doubt_unit(const struct jepsen_ops *ops, int64_t lease_us, char *note, size_t size)
{
    char lasts[UNITS_TEXT_MAX], lease[UNITS_TEXT_MAX];
    const int64_t ns = ops->last_ns - ops->first_ns;
    const bool is_quick = ns / 1000 < ops->count - 1, is_short = lease_us && ns / 1000 < lease_us;
    if (!ops->has_time || ops->count < 2 || (!is_quick && !is_short))
        return;
    snprintf(note, size,
             "Times are read as ns: all %" PRId64
             " lines last %s%s%s. If they are ms: --time-unit ms; "
             "if not: --time-unit ns.",
             ops->count, units_print_rounded(ns / 1000, lasts),
             is_short ? ", less than the lease of " : "",
             is_short ? units_print_duration(lease_us, lease) : "");
}
