/* choice.c - see choice.h. The table is the whole grammar: sentence.c reads and prints its form
 * column. */
#include "scenario/choice.h"

#include "scenario/sentence.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct choice_row {
    const char *name, *form, *words;
    enum fault fault;
} rows[CHOICE_COUNT] = {
#define CHOICE(id, name, fault, form, words) {name, form, words, FAULT_##fault},
#include "scenario/choices.def"
};

static const char *const forms[CHOICE_COUNT] = {
#define CHOICE(id, name, fault, form, words) form,
#include "scenario/choices.def"
};

static const struct choice_row *row_of(enum choice_kind kind)
{
    assert((unsigned)kind < CHOICE_COUNT);
    return &rows[kind];
}

const char *choice_name(enum choice_kind kind)
{
    return row_of(kind)->name;
}

const char *choice_words(enum choice_kind kind)
{
    return row_of(kind)->words;
}

bool choice_is_fault(enum choice_kind kind)
{
    return row_of(kind)->fault != FAULT_NONE;
}

enum fault choice_fault(enum choice_kind kind)
{
    return row_of(kind)->fault;
}

bool choice_of_fault(enum fault fault, enum choice_kind *kind)
{
    for (int i = 0; i < CHOICE_COUNT; i++)
        if (rows[i].fault == fault) {
            *kind = (enum choice_kind)i;
            return fault != FAULT_NONE;
        }
    return false;
}

const char *choice_command(const struct choice *choice)
{
    return choice->opaque[0] ? choice->opaque : verb_name(choice->verb);
}

bool choice_needs_replica(enum choice_kind kind)
{
    return choice_is_fault(kind) && fault_needs_replica(choice_fault(kind));
}

bool choice_needs_cluster(enum choice_kind kind)
{
    return choice_is_fault(kind) && fault_needs_cluster(choice_fault(kind));
}

bool choice_names_client(enum choice_kind kind)
{
    return strstr(row_of(kind)->form, "%C") != NULL;
}

bool choice_names_server(enum choice_kind kind)
{
    return strstr(row_of(kind)->form, "%S") != NULL;
}

const char *choice_objects(enum choice_kind kind, int64_t amount_us)
{
    const enum fault fault = choice_fault(kind);
    if (kind == CHOICE_TIME && amount_us <= 0)
        return "time passes by a duration above 0";
    if (kind == CHOICE_LEASE && amount_us <= 0)
        return "a lease is a duration above 0";
    if (fault != FAULT_NONE && fault_effect(fault) == FAULT_SETS_RATE &&
        (amount_us < DRIFT_LEAST_US || amount_us > DRIFT_MOST_US))
        return "a clock loses at most 999.999ms a second, or gains at most 9s";
    return NULL;
}

bool choice_is_same(const struct choice *a, const struct choice *b)
{
    return a->kind == b->kind && a->client == b->client && a->server == b->server &&
           a->verb == b->verb && a->amount_us == b->amount_us && a->error == b->error &&
           strcmp(a->opaque, b->opaque) == 0;
}

const char *choice_print(const struct choice *choice, const char (*names)[64], char *text,
                         size_t size)
{
    struct holes holes = {.client = choice->client,
                          .server = choice->server,
                          .verb = choice->verb,
                          .amount_us = choice->amount_us,
                          .error = choice->error};
    memcpy(holes.opaque, choice->opaque, sizeof holes.opaque);
    return sentence_print(row_of(choice->kind)->form, &holes, names, text, size);
}

enum fail choice_read(const char *line, const struct cast *cast, struct choice *choice,
                      struct mishap *mishap)
{
    struct holes holes;
    char text[SENTENCE_MAX + 1]; /* what is cut off here is too long all the same */
    const int blanks = (int)strspn(line, " \t");
    size_t length = strlen(line + blanks);
    while (length > 0 && isspace((unsigned char)line[blanks + (int)length - 1]))
        length--;
    snprintf(text, sizeof text, "%.*s", (int)length, line + blanks);
    int kind = sentence_read(forms, CHOICE_COUNT, "choice", text, cast, &holes, mishap);
    const char *objection =
        kind < 0 ? NULL : choice_objects((enum choice_kind)kind, holes.amount_us);
    if (objection) {
        *mishap = (struct mishap){.offset = 0};
        snprintf(mishap->words, sizeof mishap->words, "%s", objection);
    }
    if (kind < 0 || objection) {
        mishap->offset += blanks;
        return FAIL_INPUT;
    }
    *choice = (struct choice){.kind = (enum choice_kind)kind,
                              .client = holes.client,
                              .server = holes.server,
                              .verb = holes.verb,
                              .amount_us = holes.amount_us,
                              .error = holes.error};
    memcpy(choice->opaque, holes.opaque, sizeof choice->opaque);
    return FAIL_NONE;
}
