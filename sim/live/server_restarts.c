/* server_restarts.c - a private server is killed with SIGKILL and comes back with keys that lie on
 * the disk; and which those are. See servers.h. Source: redis-server 7.0, aof.c.
 *
 * No server of ours writes a file by itself. For this fault its append-only file is switched on,
 * and the server is killed when that is whole: so it has all that was executed, as with
 * "appendfsync always". */
#include "live/servers.h"

#include "base/monotonic.h"
#include "live/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_US = 20000000, LOOK_MS = 1, NAMES_SHOWN = 200 };

/* --- which keys there are --- */

static int by_name(const void *one, const void *other)
{
    const redisReply *const *a = one, *const *b = other;
    return strcmp((*a)->str, (*b)->str);
}

static enum fail print_key(FILE *file, redisContext *control, const char *name,
                           struct failure *failure)
{
    redisReply *value = control_ask(control, failure, "DUMP %s", name);
    if (!value)
        return FAIL_UNAVAILABLE;
    (void)fprintf(file, "%s=", name);
    for (size_t i = 0; value->type == REDIS_REPLY_STRING && i < (size_t)value->len; i++)
        (void)fprintf(file, "%02x", (unsigned)(unsigned char)value->str[i]);
    (void)fputc('\n', file);
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

static enum fail prove_keys(redisContext *control, const char *wanted, struct failure *failure)
{
    char had[NAMES_SHOWN], has[NAMES_SHOWN];
    char *keys = read_keys(control, failure);
    if (!keys)
        return FAIL_UNAVAILABLE;
    const bool is_same = strcmp(keys, wanted) == 0;
    print_names(wanted, had);
    print_names(keys, has);
    free(keys);
    return is_same ? FAIL_NONE
                   : failure_set(failure, FAIL_UNKNOWN,
                                 "it was to come back with the keys (%s), and has (%s)%s", had, has,
                                 strcmp(had, has) ? "" : ", with other values");
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
    return failure_set(failure, FAIL_UNKNOWN, "%s: %s", source, strerror(errno));
}

/* --- the restart --- */

/* Killed, and another one in its place, which has loaded what lay there. */
static enum fail replace(struct servers *servers, struct process *process, struct process *next,
                         struct failure *failure)
{
    char from[PROCESS_PATH_MAX], folder[PROCESS_PATH_MAX];
    (void)snprintf(from, sizeof from, "%s", process->folder);
    process_kill(process);
    if (spares_folder(servers, folder, failure) || move_file(from, folder, failure))
        return failure->code;
    if (spares_start_in(servers, next, folder, true, failure))
        return FAIL_UNAVAILABLE;
    if (control_do(next->control, failure, "CONFIG SET appendonly no"))
        return FAIL_UNAVAILABLE;
    return process_note_settings(next, failure);
}

static enum fail restart(struct servers *servers, int number, const char *keys,
                         struct failure *failure)
{
    struct server *server = &servers->rows[number];
    struct process next = {0};
    struct clock_page was = {0};
    if (server->process.clock) {
        atomic_store(&was.offset_us, atomic_load(&server->process.clock->offset_us));
        atomic_store(&was.frozen_us, atomic_load(&server->process.clock->frozen_us));
    }
    if (write_file(server->process.control, failure) ||
        replace(servers, &server->process, &next, failure)) {
        process_kill(&next);
        return failure->code;
    }
    const enum fail fail = prove_keys(next.control, keys, failure);
    const enum fail seated = servers_seat(servers, number, &next, &was, fail ? NULL : failure);
    return fail ? fail : seated;
}

enum fail servers_restart_with_keys(struct servers *servers, int number, struct failure *failure)
{
    char *keys = read_keys(servers->rows[number].process.control, failure);
    enum fail fail = keys ? restart(servers, number, keys, failure) : FAIL_UNAVAILABLE;
    free(keys);
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}
