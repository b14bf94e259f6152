/* token_collision.c - all clients draw the same token: a constant, a process id, a weak
 * random number, a seed that was forked.
 *
 * It holds from the start and for the whole run; a schedule says so in its head. Tokens that the
 * scheme draws well do not collide. */
#include "explore/model/faults/fault.h"

static bool has_weak_tokens(const struct scheme *scheme)
{
    return scheme->token == TOKEN_WEAK;
}

static void prepare_token_collision(struct config *config, int times)
{
    (void)times;
    config->is_collision = true;
}

const struct fault_kind fault_token_collision_kind = {.is_applicable = has_weak_tokens,
                                                      .prepare = prepare_token_collision};
