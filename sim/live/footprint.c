/* footprint.c - see footprint.h. */
#include "live/footprint.h"

#include "base/memory.h"
#include "redis/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEYS_START "picklock:"
#define NAME_START "picklock-" /* of a connection */

enum { START_LENGTH = sizeof KEYS_START - 1, RUN_LENGTH = FOOTPRINT_RUN_MAX - 1 };

void footprint_prefix(unsigned long long number, char *prefix)
{
    (void)snprintf(prefix, KEY_PREFIX_MAX, KEYS_START "%016llx:", number);
}

/* --- our own --- */

/* Many commands, one round trip. */
static enum fail take_replies(redisContext *control, int sent, const char *what,
                              struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    for (int i = 0; i < sent; i++) {
        redisReply *reply = control_reply(control, what, failure);
        if (!reply)
            return FAIL_UNAVAILABLE;
        if (reply->type == REDIS_REPLY_ERROR && !fail)
            fail = failure_set(failure, FAIL_UNAVAILABLE, "%.200s", reply->str);
        freeReplyObject(reply);
    }
    return fail;
}

enum fail footprint_mark(redisContext *control, const char *prefix, struct failure *failure)
{
    struct failure ignored;
    char run[FOOTPRINT_RUN_MAX];
    (void)snprintf(run, sizeof run, "%s", prefix + START_LENGTH);
    /* Who may not bear a name is told by the mark that nobody can see whether he lives. */
    bool is_named = !control_do(control, &ignored, "CLIENT SETNAME " NAME_START "%s", run);
    return control_do(control, failure, "SET %srun %s PX %d", prefix,
                      is_named ? "named" : "unnamed", FOOTPRINT_MARK_MS);
}

enum fail footprint_renew(redisContext *control, const char *prefix, int locks,
                          struct failure *failure)
{
    int sent = 1;
    (void)redisAppendCommand(control, "PEXPIRE %srun %d", prefix, FOOTPRINT_MARK_MS);
    for (int lock = 0; lock < locks; lock++)
        for (enum key key = 0; key < KEY_COUNT; key++)
            if (key != KEY_LOCK && ++sent)
                (void)redisAppendCommand(control, "EXPIRE %s%d:%s %d", prefix, lock, key_name(key),
                                         FOOTPRINT_KEYS_S);
    return take_replies(control, sent, "EXPIRE", failure);
}

enum fail footprint_clear(redisContext *control, const char *prefix, int locks,
                          struct failure *failure)
{
    int sent = 0;
    for (int lock = 0; lock < locks; lock++)
        for (enum key key = 0; key < KEY_COUNT; key++, sent++)
            (void)redisAppendCommand(control, "DEL %s%d:%s", prefix, lock, key_name(key));
    return take_replies(control, sent, "DEL", failure);
}

enum fail footprint_leave(redisContext *control, const char *prefix, struct failure *failure)
{
    return control_do(control, failure, "DEL %srun", prefix);
}

/* --- left by earlier runs --- */

/* Is it a key of ours, to the last letter? Writes whose. */
static bool is_ours(const char *key, char run[FOOTPRINT_RUN_MAX], bool *is_mark)
{
    enum key which;
    if (strncmp(key, KEYS_START, START_LENGTH) != 0)
        return false;
    const char *at = key + START_LENGTH;
    if (strspn(at, "0123456789abcdef") != RUN_LENGTH || at[RUN_LENGTH] != ':')
        return false;
    (void)snprintf(run, FOOTPRINT_RUN_MAX, "%s", at);
    at += RUN_LENGTH + 1;
    *is_mark = strcmp(at, "run") == 0;
    size_t digits = strspn(at, "0123456789");
    return *is_mark || (digits > 0 && at[digits] == ':' && key_read(at + digits + 1, &which));
}

static struct leftover *row_of(struct leftover *rows, int count, const char *run)
{
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i].run, run) == 0)
            return &rows[i];
    return NULL;
}

struct key_scan {
    redisContext *control;
    struct leftover *rows;
    int count;
    bool removes; /* else it counts */
};

static enum fail scan_key(struct key_scan *scan, const char *key, struct failure *failure)
{
    char run[FOOTPRINT_RUN_MAX];
    bool is_mark;
    if (!key || !is_ours(key, run, &is_mark))
        return FAIL_NONE;
    struct leftover *row = row_of(scan->rows, scan->count, run);
    if (scan->removes)
        return row && row->is_removed ? control_do(scan->control, failure, "DEL %s", key)
                                      : FAIL_NONE;
    if (!row) {
        scan->rows = memory_resize(scan->rows, (size_t)scan->count + 1, sizeof *scan->rows);
        row = &scan->rows[scan->count++];
        *row = (struct leftover){0};
        memcpy(row->run, run, sizeof run);
    }
    row->keys += !is_mark; /* SCAN may name a key twice: then it is counted twice */
    return FAIL_NONE;
}

/* A page is of about a thousand keys, of fewer where many have gone: ten times what that takes. Of
 * whoever may not ask for their number, or says that there are more than any memory holds: as of a
 * hundred million. */
static int64_t pages_max(redisContext *control)
{
    const int64_t unknown = 100000000, keys = control_integer(control, NULL, "DBSIZE");
    return 1000 + (keys < 0 || keys > UINT32_MAX ? unknown : keys) / 100;
}

static enum fail scan_all(struct key_scan *scan, struct failure *failure)
{
    char cursor[24] = "0";
    enum fail fail = FAIL_NONE;
    const int64_t most = pages_max(scan->control);
    int64_t pages = 0;
    do {
        if (pages++ == most)
            return failure_set(failure, FAIL_UNAVAILABLE,
                               "its SCAN has not come to an end after %" PRId64 " pages", most);
        redisReply *page =
            control_ask(scan->control, failure, "SCAN %s MATCH " KEYS_START "* COUNT 1000", cursor);
        if (!page)
            return FAIL_UNAVAILABLE;
        if (page->type != REDIS_REPLY_ARRAY || page->elements != 2 ||
            page->element[0]->type != REDIS_REPLY_STRING ||
            page->element[1]->type != REDIS_REPLY_ARRAY)
            fail = failure_set(failure, FAIL_UNAVAILABLE, "it answers SCAN with no page of keys");
        else
            (void)snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
        for (size_t i = 0; !fail && i < page->element[1]->elements; i++)
            fail = scan_key(scan, page->element[1]->element[i]->str, failure);
        freeReplyObject(page);
    } while (!fail && strcmp(cursor, "0") != 0);
    return fail;
}

/* A run's mark says one of two words, and has no longer to live than since its last renewal. */
static bool is_forged(redisContext *control, const struct leftover *row, const redisReply *mark)
{
    int64_t left_ms = control_integer(control, NULL, "PTTL " KEYS_START "%s:run", row->run);
    bool has_word = mark->type == REDIS_REPLY_STRING &&
                    (strcmp(mark->str, "named") == 0 || strcmp(mark->str, "unnamed") == 0);
    return !has_word || left_ms == -1 || left_ms > FOOTPRINT_MARK_MS;
}

static enum fail ask_mark(redisContext *control, struct leftover *row, bool are_names_seen,
                          struct failure *failure)
{
    control_append(control, "GET " KEYS_START "%s:run", row->run);
    redisReply *mark = control_reply(control, "GET", failure);
    if (!mark)
        return FAIL_UNAVAILABLE;
    bool is_named = mark->type == REDIS_REPLY_STRING && strcmp(mark->str, "named") == 0;
    if (mark->type == REDIS_REPLY_NIL)
        row->by = LEFT_BY_DEAD;
    else if (is_forged(control, row, mark))
        row->by = LEFT_BY_FORGER;
    else
        row->by = are_names_seen && is_named ? LEFT_BY_RECENT : LEFT_BY_UNNAMED;
    freeReplyObject(mark);
    return FAIL_NONE;
}

/* What its name on a connection, and its mark, say of a run. clients: of CLIENT LIST, NULL: nobody
 * may look. */
static enum fail ask_alive(redisContext *control, struct leftover *row, const char *clients,
                           struct failure *failure)
{
    char name[64];
    (void)snprintf(name, sizeof name, " name=" NAME_START "%s ", row->run);
    if (clients && strstr(clients, name)) {
        row->by = LEFT_BY_ALIVE;
        return FAIL_NONE;
    }
    return ask_mark(control, row, clients != NULL, failure);
}

enum fail footprint_find(redisContext *control, struct leftover **rows, int *count,
                         struct failure *failure)
{
    struct failure ignored;
    struct key_scan scan = {.control = control};
    enum fail fail = scan_all(&scan, failure);
    /* Behind the keys: a run has its name before its first key. */
    redisReply *clients = control_ask(control, &ignored, "CLIENT LIST");
    for (int i = 0; !fail && i < scan.count; i++)
        fail = ask_alive(control, &scan.rows[i],
                         clients && clients->type == REDIS_REPLY_STRING ? clients->str : NULL,
                         failure);
    if (clients)
        freeReplyObject(clients);
    *rows = scan.rows;
    *count = scan.count;
    return fail;
}

enum fail footprint_remove(redisContext *control, struct leftover *rows, int count,
                           const char *named, struct failure *failure)
{
    struct key_scan scan = {.control = control, .rows = rows, .count = count, .removes = true};
    for (int i = 0; i < count; i++)
        rows[i].is_removed = rows[i].by == LEFT_BY_DEAD || (rows[i].by == LEFT_BY_RECENT && named &&
                                                            strcmp(rows[i].run, named) == 0);
    return scan_all(&scan, failure);
}
