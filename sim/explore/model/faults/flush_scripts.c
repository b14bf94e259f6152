/* flush_scripts.c - a server's script cache is emptied: SCRIPT FLUSH, by an operator or a
 * deployment.
 *
 * Keys and connections stay. Who names a script by its SHA1 hears NOSCRIPT from then on, until
 * somebody loads it again, or runs it whole; who sends it whole each time notices nothing. */
#include "explore/model/faults/fault.h"

static bool needs_script(const struct scheme *scheme)
{
    return scheme->needs_script;
}

static void list_flush_scripts(struct server_action_list *list)
{
    if (list->server_state->knows_script)
        server_state_flush_scripts(&actions_add_server(list, ACTION_INJECT)->after);
}

const struct fault_kind fault_flush_scripts_kind = {.list_server = list_flush_scripts,
                                                    .is_applicable = needs_script};
