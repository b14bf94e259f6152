/* spares.c - server processes in reserve: one that a fault will need is started while other runs go
 * on, and one that a fault has left over serves again. See servers.h.
 *
 * None is used again but by way of process_reset(). */
#include "live/servers.h"

#include "live/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static enum fail options_of(struct servers *servers, char folder[PROCESS_PATH_MAX],
                            struct process_options *options, struct failure *failure)
{
    bool has_page = servers->steering != REAL_TIME;
    if (has_page && !servers->shim[0] && servers_link_shim(servers, failure))
        return FAIL_UNAVAILABLE;
    (void)snprintf(folder, PROCESS_PATH_MAX, "%s/server-%d", servers->folder.path,
                   servers->started++);
    *options = (struct process_options){
        .program = servers->program, .folder = folder, .shim = has_page ? servers->shim : NULL};
    return FAIL_NONE;
}

static enum fail start(struct servers *servers, struct process *process, struct failure *failure)
{
    char folder[PROCESS_PATH_MAX];
    struct process_options options;
    if (options_of(servers, folder, &options, failure))
        return FAIL_UNAVAILABLE;
    return process_start(process, &options, failure);
}

enum fail spares_folder(struct servers *servers, char *folder, struct failure *failure)
{
    struct process_options options;
    if (options_of(servers, folder, &options, failure))
        return FAIL_UNAVAILABLE;
    return mkdir(folder, 0700) == 0
               ? FAIL_NONE
               : failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", folder, strerror(errno));
}

enum fail spares_start_in(struct servers *servers, struct process *process, const char *folder,
                          bool has_aof, struct failure *failure)
{
    const struct process_options options = {.program = servers->program,
                                            .folder = folder,
                                            .shim = servers->steering != REAL_TIME ? servers->shim
                                                                                   : NULL,
                                            .has_aof = has_aof};
    return process_start(process, &options, failure);
}

static void leave(struct spares *spares, struct process *process)
{
    *process = spares->rows[0];
    spares->count--;
    memmove(spares->rows, spares->rows + 1, (size_t)spares->count * sizeof *spares->rows);
}

/* As if just started; what cannot be brought there is no spare. */
static bool is_good(struct process *process)
{
    struct failure why;
    if (process_finish(process, &why))
        return false;
    if (process->clock) {
        clock_set_offset(process->clock, 0);
        clock_freeze_at(process->clock, CLOCK_EPOCH_US);
    }
    return (!process->clock || !process_prove_clock(process, &why)) &&
           !process_reset(process, false, &why);
}

enum fail spares_take(struct servers *servers, struct process *process, struct failure *failure)
{
    while (servers->spares.count > 0) {
        leave(&servers->spares, process);
        if (is_good(process))
            return FAIL_NONE;
        servers_end_process(servers, process);
    }
    return start(servers, process, failure);
}

/* Whoever talks to it hears its end, as if it had died. */
static bool is_left_alone(struct process *process)
{
    struct failure why;
    return !control_do(process->control, &why, "REPLICAOF NO ONE") &&
           !control_do(process->control, &why, "CLIENT KILL TYPE normal") &&
           !control_do(process->control, &why, "CLIENT KILL TYPE pubsub") &&
           !control_do(process->control, &why, "CLIENT KILL TYPE slave");
}

void spares_park(struct servers *servers, struct process *process)
{
    struct spares *spares = &servers->spares;
    if (process->pid && spares->count < SPARES_MAX && is_left_alone(process))
        spares->rows[spares->count++] = *process;
    else
        servers_end_process(servers, process);
    memset(process, 0, sizeof *process);
}

void spares_begin(struct servers *servers, int count)
{
    struct spares *spares = &servers->spares;
    while (spares->count < count && spares->count < SPARES_MAX) {
        char folder[PROCESS_PATH_MAX];
        struct process_options options;
        struct failure why;
        if (options_of(servers, folder, &options, &why) ||
            process_begin(&spares->rows[spares->count], &options, &why))
            return;
        spares->count++;
    }
}

void spares_refill(struct servers *servers)
{
    struct spares *spares = &servers->spares;
    if (spares->count < spares->wanted)
        spares_begin(servers, spares->count + 1);
}

void spares_close(struct servers *servers)
{
    for (int i = 0; i < servers->spares.count; i++)
        process_kill(&servers->spares.rows[i]);
    servers->spares.count = 0;
}
