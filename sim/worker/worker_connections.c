/* worker_connections.c - connections of a worker that are silent, and those that it does not get.
 * See worker_world.h; the contract is world/clients.h. */
#include "worker/world_state.h"

enum fail workers_silence(struct clients *clients, int client, int server, struct step_result *step,
                          struct failure *failure)
{
    struct workers *workers = workers_of_clients(clients);
    if (!session_half_open(workers->session, client, server))
        return failure_set(failure, FAIL_UNKNOWN, "%s has no connection to server %d",
                           workers->run->names[client], server + 1);
    return workers_collect(workers, client, step, failure);
}

enum fail workers_answer_dials(struct clients *clients, int client, int server, bool is_answered,
                               struct step_result *step, struct failure *failure)
{
    struct workers *workers = workers_of_clients(clients);
    struct session *session = workers->session;
    if (is_answered && session_connecting(session, client))
        session_catch_up(session, client);
    if (session_answer_dials(session, client, server, is_answered, failure) ||
        session_settle(session, failure))
        return failure->code;
    return workers_collect(workers, client, step, failure);
}
