/* test_server_state.c - what a GETSET was written over is kept until its acquire returns: it grows
 * old meanwhile, and is renamed with its client. */
#include "explore/model/ghost.h"

#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ALICE, BOB, ROUNDS = 2, LEFT = 4 };

/* Bob has just written his stamp over Alice's, and has not heard what was there. */
static struct server_state claimed_by_bob(void)
{
    struct server_state server_state;
    server_state_init(&server_state, false);
    server_state.keyspace.type = MODEL_STRING;
    server_state.keyspace.value = EPOCH_TICKS + LEFT;
    server_state.keyspace.is_tentative = 1;
    server_state.keyspace.ghost =
        (struct ghost_owner){.owner = BOB + 1, .rounds = ROUNDS, .left = LEFT + 1};
    server_state.keyspace.previous =
        (struct ghost_owner){.owner = ALICE + 1, .rounds = ROUNDS, .left = LEFT};
    return server_state;
}

/* Whose the lock is when he who has claimed it is told "refused". */
static struct ghost_owner owner_after_refusal(struct server_state *server_state, int claimant)
{
    struct client_state client_state;
    const struct config config = {.clients = 2, .servers = 1};
    memset(&client_state, 0, sizeof client_state);
    client_state.rounds = ROUNDS;
    ghost_return(&config, &client_state, claimant, RETURN_REFUSED, server_state);
    return server_state->keyspace.ghost;
}

/* While Bob waits for his answer Alice's lease goes on. */
static void what_was_written_over_grows_old(void **state)
{
    (void)state;
    struct server_state server_state = claimed_by_bob();
    server_state_tick(&server_state, false);
    server_state_tick(&server_state, false);
    const struct ghost_owner owner = owner_after_refusal(&server_state, BOB);
    assert_int_equal(owner.owner, ALICE + 1);
    assert_int_equal(owner.left, LEFT - 2);
}

/* So it does at a replica that was cut off in between. */
static void it_grows_old_at_a_replica(void **state)
{
    (void)state;
    struct server_state server_state = claimed_by_bob();
    server_state_cut(&server_state);
    server_state_tick(&server_state, false);
    server_state_failover(&server_state);
    const struct ghost_owner owner = owner_after_refusal(&server_state, BOB);
    assert_int_equal(owner.owner, ALICE + 1);
    assert_int_equal(owner.left, LEFT - 1);
}

/* And in a snapshot that the server starts from again. */
static void it_grows_old_in_a_snapshot(void **state)
{
    (void)state;
    struct server_state server_state = claimed_by_bob();
    server_state_save(&server_state);
    server_state_tick(&server_state, false);
    server_state_restart_with_saved(&server_state);
    const struct ghost_owner owner = owner_after_refusal(&server_state, BOB);
    assert_int_equal(owner.owner, ALICE + 1);
    assert_int_equal(owner.left, LEFT - 1);
}

/* The two change places: it is still hers, under her new name. */
static void what_was_written_over_is_renamed(void **state)
{
    static const uint8_t swapped[EXPLORE_CLIENTS_MAX] = {[ALICE] = BOB, [BOB] = ALICE};
    (void)state;
    struct server_state server_state = claimed_by_bob();
    server_state_rename(&server_state, swapped);
    const struct ghost_owner owner = owner_after_refusal(&server_state, ALICE);
    assert_int_equal(owner.owner, BOB + 1);
    assert_int_equal(owner.left, LEFT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_over_grows_old),
        cmocka_unit_test(it_grows_old_at_a_replica),
        cmocka_unit_test(it_grows_old_in_a_snapshot),
        cmocka_unit_test(what_was_written_over_is_renamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
