/* can.c - see can.h. Sources: Redis documentation, EXPIRE, GETEX, PERSIST, DEL, EVAL. */
#include "watch/can.h"
#include "watch/kinds.h"

#include <string.h>
#include <strings.h>

/* A server may cut a longer time. */
#define LONGEST_US (INT64_MAX / 8)

static const struct command_row {
    const char *name;
    unsigned can;
    int64_t unit_us; /* of the time, its second argument; 0: it has none */
    bool is_until;   /* that is when the key ends; else how long it lives */
} rows[] = {
    {"EXPIRE", CAN_EXPIRE, 1000000, false},
    {"PEXPIRE", CAN_EXPIRE, 1000, false},
    {"EXPIREAT", CAN_EXPIRE | CAN_DELETE, 1000000, true},
    {"PEXPIREAT", CAN_EXPIRE | CAN_DELETE, 1000, true},
    {"PERSIST", CAN_EXPIRE, 0, false},
    {"DEL", CAN_DELETE, 0, false},
    {"UNLINK", CAN_DELETE, 0, false},
    {"GETDEL", CAN_DELETE, 0, false},
};

static const struct command_row *row_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == length && strncasecmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

/* A key that is to live that long: perhaps it is gone at once. */
static unsigned if_short(const struct command_said *said, int at, int64_t unit_us)
{
    return words_time_us(said->words, at, unit_us) <= said->window_us ? CAN_DELETE : 0;
}

/* What all of a script's calls can do, where each has the name of its command in it; else all. */
static unsigned calls_can(const char *text, size_t length)
{
    static const char *const begins[] = {"redis.call('", "redis.pcall('"};
    char plain[SCRIPT_TEXT_MAX];
    unsigned can = 0;
    if (!scripts_plain(text, length, plain))
        return CAN_BITS_ALL;
    for (const char *at = plain; (at = strstr(at, "redis"));) {
        char name[16] = "";
        const bool is_pcall = strncmp(at, begins[1], strlen(begins[1])) == 0;
        if (strncmp(at, begins[is_pcall], strlen(begins[is_pcall])) != 0)
            return CAN_BITS_ALL;
        at += strlen(begins[is_pcall]);
        const size_t run = strcspn(at, "'");
        for (size_t i = 0; i < run && i + 1 < sizeof name; i++)
            name[i] = (char)(at[i] - (at[i] >= 'a' && at[i] <= 'z' ? 'a' - 'A' : 0));
        const struct command_row *row = row_of(at, run);
        if (!row && !opaque_is_read(name))
            return CAN_BITS_ALL;
        /* A time-out may be written into it. */
        can |= row ? row->can | (row->unit_us ? CAN_DELETE : 0) : 0;
    }
    return strstr(plain, "load") || strstr(plain, "_g") ? CAN_BITS_ALL : can;
}

static unsigned script_can(const struct command_said *said)
{
    const size_t length = strlen(said->name);
    if (length > 3 && strcmp(said->name + length - 3, "_RO") == 0)
        return 0;
    if (said->script == SCRIPT_OTHER)
        return said->text && said->text->length ? calls_can(said->text->text, said->text->length)
                                                : CAN_BITS_ALL;
    const bool did_nothing =
        said->reply && (said->reply->kind != REPLY_INTEGER || said->reply->value == 0);
    if (did_nothing)
        return 0;
    if (said->script == SCRIPT_RELEASES)
        return CAN_DELETE;
    /* In which unit the time-out is, its text says; in the longer one it is not gone at once. */
    return CAN_EXPIRE | if_short(said, 5, 1000);
}

/* It sets the key where there is none, or the value there, or refuses. */
static unsigned set_can(const struct command_said *said)
{
    const struct request_words *words = said->words;
    if (strcmp(said->name, "SETNX") == 0 || words_have(words, "NX"))
        return 0;
    return CAN_BITS_ALL;
}

unsigned command_can(const struct command_said *said)
{
    const struct command_row *row = row_of(said->name, strlen(said->name));
    if (kind_is_script(said->name))
        return script_can(said);
    if (opaque_is_read(said->name))
        return 0;
    if (strcmp(said->name, "SET") == 0 || strcmp(said->name, "SETNX") == 0)
        return set_can(said);
    const bool is_no =
        said->reply && (said->reply->kind == REPLY_ERROR || said->reply->kind == REPLY_NIL ||
                        (said->reply->kind == REPLY_INTEGER && !said->reply->value));
    if (strcmp(said->name, "EXEC") == 0) /* aborted it has done nothing */
        return said->reply && (said->reply->kind == REPLY_ERROR || said->reply->kind == REPLY_NIL)
                   ? 0
                   : CAN_BITS_ALL;
    if (strcmp(said->name, "GETEX") == 0) /* a time-out of 0 or less is an error */
        return is_no ? 0
                     : CAN_EXPIRE |
                           if_short(said, 3, words_have(said->words, "PX") ? 1000 : 1000000) |
                           (words_have(said->words, "PXAT") || words_have(said->words, "EXAT")
                                ? CAN_DELETE
                                : 0);
    if (!row)
        return CAN_BITS_ALL;
    return is_no ? 0 : row->can | (row->unit_us ? if_short(said, 2, row->unit_us) : 0);
}

int64_t command_gave_us(const struct command_said *said, int64_t clock_us)
{
    const struct command_row *row = row_of(said->name, strlen(said->name));
    const struct reply *reply = said->reply;
    int64_t gave_us = INT64_MAX;
    if (!reply)
        return 0;
    if (row && row->unit_us && reply->kind == REPLY_INTEGER && reply->value == 1)
        gave_us = words_time_us(said->words, 2, row->unit_us) - (row->is_until ? clock_us : 0);
    else if ((strcmp(said->name, "SET") == 0 && reply->kind == REPLY_OK) ||
             (strcmp(said->name, "GETEX") == 0 && reply->kind == REPLY_VALUE))
        gave_us = words_lease_us(said->words);
    return gave_us > said->window_us && gave_us < LONGEST_US ? gave_us : 0;
}

bool can_have_done(unsigned can, enum did did)
{
    if (did_is_expiry(did))
        return can & CAN_EXPIRE;
    if (did == DID_DELETED)
        return can & CAN_DELETE;
    return did != DID_OVERWRITTEN || (can & CAN_WRITE);
}
