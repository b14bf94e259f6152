/* process_settings.c - the settings and users of a server: are they those that it had when it was
 * ready? See process.h.
 *
 * To ask for all of them takes longer than the rest of a reset. The server counts the calls of each
 * command (INFO commandstats): who changed a setting or a user has called one of those below, so
 * where none of them was called since the last comparison, nothing was changed. The counters can be
 * wiped (CONFIG RESETSTAT), but that is counted, too, and from then on nothing is concluded from
 * them; nor of a server that does not count subcommands (before 7.0). Source: redis-server 7.0,
 * call() in server.c, the flags of src/commands/. */
#include "live/control.h"
#include "live/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what was called --- */

/* Whatever changes a setting or a user; and CONFIG and ACL as a whole, whatever they may learn. */
static const char *const changing[] = {"acl",    "config",    "debug",  "failover",
                                       "module", "replicaof", "slaveof"};

#define STAT "cmdstat_"

static bool is_changing(const char *name)
{
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) {
        const size_t length = strlen(changing[i]);
        if (strncmp(name, changing[i], length) == 0 && strchr("|:", name[length]))
            return true;
    }
    return false;
}

/* "cmdstat_config|set:calls=3,usec=..." */
static int64_t calls_told(const char *name)
{
    const char *calls = strstr(name, ":calls=");
    return calls ? atoll(calls + strlen(":calls=")) : 0;
}

static int64_t calls_in(const char *stats)
{
    int64_t calls = 0;
    /* CONFIG GET is how settings are read: of a server that was asked so it must be told. */
    if (!strstr(stats, STAT "config|get:") || strstr(stats, STAT "config|resetstat:"))
        return CALLS_UNTOLD;
    for (const char *line = strstr(stats, STAT); line; line = strstr(line, STAT)) {
        line += strlen(STAT);
        calls += is_changing(line) ? calls_told(line) : 0;
    }
    return calls;
}

void process_append_calls(struct process *process)
{
    control_append(process->control, "INFO commandstats");
}

/* --- settings --- */

/* All of its text, a line an element. */
static void print_texts(FILE *file, const redisReply *reply)
{
    for (size_t i = 0; i < reply->elements; i++)
        if (reply->element[i]->str)
            (void)fprintf(file, "%s\n", reply->element[i]->str);
}

/* The answers to "CONFIG GET *" and "ACL LIST", which were appended; the caller frees the text. */
static char *answered_settings(struct process *process, struct failure *failure)
{
    char *text = NULL;
    size_t size;
    redisReply *config = control_answer(process->control, "CONFIG", failure);
    redisReply *users = config ? control_answer(process->control, "ACL", failure) : NULL;
    FILE *file = users ? open_memstream(&text, &size) : NULL;
    if (file) {
        print_texts(file, config);
        print_texts(file, users);
        (void)fclose(file);
    }
    if (users && !text)
        failure_set(failure, FAIL_UNAVAILABLE, "no memory for its settings");
    if (config)
        freeReplyObject(config);
    if (users)
        freeReplyObject(users);
    return text;
}

static void append_settings(struct process *process)
{
    control_append(process->control, "CONFIG GET *");
    control_append(process->control, "ACL LIST");
}

/* All of them, and which calls had been made by then. The caller frees the text. */
static char *read_settings(struct process *process, struct failure *failure)
{
    append_settings(process);
    process_append_calls(process);
    char *settings = answered_settings(process, failure);
    redisReply *stats = settings ? control_answer(process->control, "INFO", failure) : NULL;
    if (!stats) {
        free(settings);
        return NULL;
    }
    process->calls = calls_in(stats->type == REDIS_REPLY_STRING ? stats->str : "");
    freeReplyObject(stats);
    return settings;
}

enum fail process_note_settings(struct process *process, struct failure *failure)
{
    free(process->settings);
    process->settings = read_settings(process, failure);
    return process->settings ? FAIL_NONE : FAIL_UNAVAILABLE;
}

enum fail process_prove_settings(struct process *process, struct failure *failure)
{
    char *settings = read_settings(process, failure);
    if (!settings)
        return FAIL_UNAVAILABLE;
    bool is_same = strcmp(settings, process->settings) == 0;
    free(settings);
    return is_same ? FAIL_NONE
                   : failure_set(failure, FAIL_UNKNOWN, "its settings or users were changed");
}

enum fail process_look_at_calls(struct process *process, bool *is_untouched,
                                struct failure *failure)
{
    redisReply *stats = control_answer(process->control, "INFO", failure);
    if (!stats)
        return FAIL_UNAVAILABLE;
    *is_untouched = process->calls != CALLS_UNTOLD && stats->type == REDIS_REPLY_STRING &&
                    calls_in(stats->str) == process->calls;
    freeReplyObject(stats);
    return FAIL_NONE;
}
