/* fault_evict.c - a server is short of memory and evicts the lock key, as it would any other that
 * may expire or, by its policy, any at all. */
#include "explore/fault.h"

static void list_evict(struct server_listing *list)
{
    if (list->post->stock.type != MODEL_ABSENT)
        post_evict(&moves_add_server(list, MOVE_STRIKE)->after);
}

const struct fault_kind fault_evict_kind = {.list_server = list_evict,
                                            .becomes = {1, {CHOICE_EVICT}}};
