/* server_restarts.c - a private server is killed with SIGKILL and comes back with keys that lie on
 * the disk; and which those are. See servers.h. Source: redis-server 7.0, aof.c.
 *
 * No server of ours writes a file by itself. For this fault its append-only file is switched on,
 * and the server is killed when that is whole: so it has all that was executed, as with
 * "appendfsync always". */
#include "live/servers.h"

#include "base/monotonic.h"
#include "live/control.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_US = 20000000, LOOK_MS = 1, NAMES_SHOWN = 200 };

/* --- which keys there are --- */

static int by_name(const void *one, const void *other)
{
    const redisReply *const *a = one, *const *b = other;
    return strcmp((*a)->str, (*b)->str);
}

/* In real time a key may end after it was named: it is none of them. */
static enum fail print_key(FILE *file, redisContext *control, const char *name,
                           struct failure *failure)
{
    redisReply *value = control_ask(control, failure, "DUMP %s", name);
    if (!value)
        return FAIL_UNAVAILABLE;
    if (value->type == REDIS_REPLY_STRING) {
        (void)fprintf(file, "%s=", name);
        for (size_t i = 0; i < (size_t)value->len; i++)
            (void)fprintf(file, "%02x", (unsigned)(unsigned char)value->str[i]);
        (void)fputc('\n', file);
    }
    freeReplyObject(value);
    return FAIL_NONE;
}

/* A line a key, with its value; the caller frees it. NULL: it was not told. */
static char *read_keys(redisContext *control, struct failure *failure)
{
    char *text = NULL;
    size_t size = 0;
    redisReply *names = control_ask(control, failure, "KEYS *");
    FILE *file = names ? open_memstream(&text, &size) : NULL;
    enum fail fail = FAIL_NONE;
    if (file && names->elements > 0)
        qsort(names->element, names->elements, sizeof *names->element, by_name);
    for (size_t i = 0; file && !fail && i < names->elements; i++)
        fail = print_key(file, control, names->element[i]->str, failure);
    if (file)
        (void)fclose(file);
    if (names)
        freeReplyObject(names);
    if (!fail)
        return text;
    free(text);
    return NULL;
}

/* The names of such a text, for a sentence. */
static void print_names(const char *keys, char names[NAMES_SHOWN])
{
    size_t length = 0;
    (void)snprintf(names, NAMES_SHOWN, "none");
    for (const char *line = keys; *line; line = strchr(line, '\n') + 1) {
        const int wrote = snprintf(names + length, NAMES_SHOWN - length, "%s%.*s",
                                   length ? ", " : "", (int)strcspn(line, "="), line);
        length += (size_t)wrote;
        if (length >= NAMES_SHOWN)
            return;
    }
}

/* Is every line of keys one of wanted? */
static bool are_among(const char *keys, const char *wanted)
{
    for (const char *line = keys; *line; line = strchr(line, '\n') + 1) {
        const size_t length = strcspn(line, "\n") + 1;
        const char *at = wanted;
        while (*at && strncmp(at, line, length) != 0)
            at = strchr(at, '\n') + 1;
        if (!*at)
            return false;
    }
    return true;
}

/* In real time keys end while it starts: then those that it has are enough. */
static enum fail prove_keys(redisContext *control, const char *wanted, bool stands_still,
                            struct failure *failure)
{
    char had[NAMES_SHOWN], has[NAMES_SHOWN];
    char *keys = read_keys(control, failure);
    if (!keys)
        return FAIL_UNAVAILABLE;
    const bool is_right = stands_still ? strcmp(keys, wanted) == 0 : are_among(keys, wanted);
    print_names(wanted, had);
    print_names(keys, has);
    free(keys);
    return is_right ? FAIL_NONE
                    : failure_set(failure, FAIL_UNKNOWN,
                                  "it was to come back with the keys (%s), and has (%s)%s", had,
                                  has, strcmp(had, has) ? "" : ", with other values");
}

/* --- the append-only file --- */

/* Is it whole, and written on? FAIL_UNKNOWN: not yet. */
static enum fail look_at_file(redisContext *control, struct failure *failure)
{
    char enabled[4], running[4], waits[4], status[8];
    redisReply *info = control_ask(control, failure, "INFO persistence");
    if (!info)
        return FAIL_UNAVAILABLE;
    const char *text = info->type == REDIS_REPLY_STRING ? info->str : "";
    control_field(text, "aof_enabled", enabled, sizeof enabled);
    control_field(text, "aof_rewrite_in_progress", running, sizeof running);
    control_field(text, "aof_rewrite_scheduled", waits, sizeof waits);
    control_field(text, "aof_last_bgrewrite_status", status, sizeof status);
    freeReplyObject(info);
    if (strcmp(status, "ok") != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "it cannot write its append-only file");
    return strcmp(enabled, "1") == 0 && strcmp(running, "0") == 0 && strcmp(waits, "0") == 0
               ? FAIL_NONE
               : FAIL_UNKNOWN;
}

static enum fail write_file(redisContext *control, struct failure *failure)
{
    const int64_t limit_us = monotonic_us() + FILE_US;
    if (control_do(control, failure, "CONFIG SET appendonly yes"))
        return FAIL_UNAVAILABLE;
    enum fail fail = look_at_file(control, failure);
    for (; fail == FAIL_UNKNOWN; fail = look_at_file(control, failure)) {
        if (monotonic_us() > limit_us)
            return failure_set(failure, FAIL_UNKNOWN,
                               "its append-only file is not whole after %d s", FILE_US / 1000000);
        (void)poll(NULL, 0, LOOK_MS); /* a child of it writes, and tells nobody else */
    }
    return fail;
}

/* Since 7.0 it is a folder. */
static enum fail move_file(const char *from, const char *to, struct failure *failure)
{
    static const char *const names[] = {"appendonlydir", "appendonly.aof"};
    char source[PROCESS_PATH_MAX + 24], target[PROCESS_PATH_MAX + 24];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(source, sizeof source, "%s/%s", from, names[i]);
        (void)snprintf(target, sizeof target, "%s/%s", to, names[i]);
        if (rename(source, target) == 0)
            return FAIL_NONE;
    }
    return failure_set(failure, FAIL_UNKNOWN, "%s: %s", source, fail_of_temporary(errno));
}

/* --- the snapshot --- */

static void snapshot_path(const struct servers *servers, int number, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/snapshot-%d", servers->folder.path, number);
}

void servers_forget_saved(struct server *server)
{
    free(server->saved);
    server->saved = NULL;
}

enum fail servers_save_keys(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    char written[PROCESS_PATH_MAX + 24], kept[PROCESS_PATH_MAX + 24];
    (void)snprintf(written, sizeof written, "%s/dump.rdb", server->process.folder);
    snapshot_path(servers, number, kept, sizeof kept);
    (void)unlink(written);
    char *keys = read_keys(server->process.control, failure);
    if (!keys || control_do(server->process.control, failure, "SAVE")) {
        free(keys);
        return failure_wrap(failure, "server %d", number + 1);
    }
    servers_forget_saved(server);
    if (rename(written, kept) != 0) {
        free(keys);
        return failure_set(failure, FAIL_UNKNOWN, "server %d has written no snapshot: %s",
                           number + 1, strerror(errno));
    }
    server->saved = keys;
    return FAIL_NONE;
}

/* --- the restart --- */

/* What a process that is about to be killed leaves to the next one. */
static void keep_clock(const struct process *process, struct clock_page *was)
{
    if (process->clock)
        clock_copy(was, process->clock);
}

/* Killed, and another one in its place, which has loaded its append-only file, or the snapshot. */
static enum fail replace(struct servers *servers, int number, bool has_aof, struct process *next,
                         struct failure *failure)
{
    struct process *process = &servers->rows[number].process;
    char from[PROCESS_PATH_MAX], folder[PROCESS_PATH_MAX];
    char snapshot[PROCESS_PATH_MAX + 24], loaded[PROCESS_PATH_MAX + 24];
    (void)snprintf(from, sizeof from, "%s", process->folder);
    servers_end_process(servers, process);
    if (spares_folder(servers, folder, failure))
        return FAIL_UNAVAILABLE;
    snapshot_path(servers, number, snapshot, sizeof snapshot);
    (void)snprintf(loaded, sizeof loaded, "%s/dump.rdb", folder);
    if (!has_aof && link(snapshot, loaded) != 0)
        return failure_set(failure, FAIL_UNKNOWN, "%s: %s", snapshot, fail_of_temporary(errno));
    if (has_aof && move_file(from, folder, failure))
        return failure->code;
    return spares_start_in(servers, next, folder, has_aof, failure);
}

/* keys: that it is to have. */
static enum fail restart(struct servers *servers, int number, bool has_aof, const char *keys,
                         struct failure *failure)
{
    struct process next = {0};
    struct clock_page was = {0};
    keep_clock(&servers->rows[number].process, &was);
    enum fail fail = replace(servers, number, has_aof, &next, failure);
    if (!fail && has_aof && control_do(next.control, failure, "CONFIG SET appendonly no"))
        fail = FAIL_UNAVAILABLE;
    if (!fail && has_aof)
        fail = process_note_settings(&next, failure);
    if (fail) {
        process_kill(&next);
        return fail;
    }
    /* A key whose time is over by the clock that stood here has none by one that is behind it. */
    if (next.clock)
        clock_copy(next.clock, &was);
    fail = prove_keys(next.control, keys, servers->steering == STEERED, failure);
    struct failure local;
    const enum fail seated = servers_seat(servers, number, &next, &was, fail ? &local : failure);
    return fail ? fail : seated;
}

enum fail servers_restart_with_keys(struct servers *servers, int number, struct failure *failure)
{
    redisContext *control = servers->rows[number].process.control;
    char *keys = read_keys(control, failure);
    enum fail fail = keys ? write_file(control, failure) : FAIL_UNAVAILABLE;
    if (!fail)
        fail = restart(servers, number, true, keys, failure);
    free(keys);
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}

enum fail servers_restart_with_saved(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    assert(server->saved);
    enum fail fail = restart(servers, number, false, server->saved, failure);
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}
