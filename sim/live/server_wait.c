/* server_wait.c - WAIT at a server whose clock stands still: what is acknowledged, and the end of
 * its time. See servers.h.
 *
 * A server answers WAIT by offsets: that of what was said last on the connection, and that of what
 * a replica has acknowledged (redis-server 7.0, replication.c). Never waits itself. */
#include "live/servers.h"

#include "live/control.h"

#include <stdlib.h>
#include <string.h>

#define BETWEEN "picklock:cut"

/* A key that comes and goes is sent to replicas. A server that holds writes would hold this, too;
 * what is said to it meanwhile writes nothing. */
enum fail servers_outrun_replica(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    redisContext *control = server->process.control;
    if (server->held)
        return FAIL_NONE;
    if (control_do(control, failure, "SET " BETWEEN " 1") ||
        control_do(control, failure, "DEL " BETWEEN))
        return failure_wrap(failure, "server %d", number + 1);
    return FAIL_NONE;
}

/* "id=7 addr=.. flags=b .. cmd=wait ..": its last command, over or not. */
static enum fail end_waits_in(redisContext *control, char *list, struct failure *failure)
{
    enum fail fail = FAIL_NONE;
    char *rest = NULL;
    for (char *line = strtok_r(list, "\n", &rest); line && !fail;
         line = strtok_r(NULL, "\n", &rest))
        if (strstr(line, " cmd=wait ") && strncmp(line, "id=", 3) == 0)
            fail = control_do(control, failure, "CLIENT UNBLOCK %lld TIMEOUT", atoll(line + 3));
    return fail;
}

enum fail servers_end_waits(struct servers *servers, int number, struct failure *failure)
{
    redisContext *control = servers_control(servers, number);
    redisReply *list = control_ask(control, failure, "CLIENT LIST TYPE normal");
    enum fail fail = list ? FAIL_NONE : FAIL_UNAVAILABLE;
    if (list && list->type == REDIS_REPLY_STRING)
        fail = end_waits_in(control, list->str, failure);
    freeReplyObject(list);
    return fail ? failure_wrap(failure, "server %d", number + 1) : FAIL_NONE;
}

enum fail servers_follow_promoted(struct servers *servers, int number, struct failure *failure)
{
    struct server *server = &servers->rows[number];
    if (replica_begin(servers, server, failure) || replica_wait_in_step(servers, server, failure))
        return failure_wrap(failure, "replica of server %d", number + 1);
    return FAIL_NONE;
}
