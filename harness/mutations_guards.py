#!/usr/bin/python3
"""Does a test fail when a condition of a reduction is removed? Each row of GUARDS removes a guard of one condition in
sim/docs/SOUNDNESS.md from a copy of its file; the test that the document names must fail.

    BUILD=build harness/mutations_guards.py [--sample N]

harness/mutations.txt says how many there are at least, so that a condition is not lost unseen. test_docs.py holds the table of the
document to this one."""

import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
EXPLORE = ROOT / "sim" / "explore"
COUNTS = ROOT / "harness" / "mutations.txt"
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-O1", "-w", f"-I{ROOT / 'sim'}", "-isystem", "/usr/include/hiredis"]
LIBS = shlex.split("-lhiredis -luv -lyaml -ljansson -lm -lpthread -ldl -lcmocka")
WRAPPED = {"test_persistent_sets": ["-Wl,--wrap=persistent_sets_only"]}  # as in the Makefile
PATIENCE_S = 300
# Some of their tests search or ask for a minute: a sample leaves them out.
SLOW = {"test_partial_order", "test_lower_bound", "test_independence", "test_asking_classes", "test_asking_ends", "test_random_schemes",
        "test_sleep_sets"}
# Of a program's tests one alone is run.
ONLY = """
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
__attribute__((constructor)) static void only(void) { cmocka_set_test_filter(getenv("ONLY_TEST")); }
"""

EAGER, ORDER, SETS = "reduce/eager_replies.c", "reduce/partial_order.c", "reduce/persistent_sets.c"
SYMMETRY, BOUND, APPLY = "reduce/symmetry.c", "reduce/lower_bound.c", "graph/apply.c"
SUCCESSORS, CACHE, BFS = "graph/successors.c", "graph/successor_cache.c", "search/bfs.c"
INDEPENDENCE, VISITED, SERVER = "graph/independence.c", "store/fingerprint_set.c", "model/server_state.c"
CLASSES, AUDIT, ENDS = "../ask/asking_classes.c", "../ask/asking_audit.c", "../ask/asking_ends.c"

# condition, file, function, the test's program and name, a piece of the function, what stands there instead
GUARDS = [
    ("I1", INDEPENDENCE, "independence_of", "test_independence", "what_is_called_independent_commutes",
     "case WHEN_QUIET:\n        return is_quiet;", "case WHEN_QUIET:\n        return true;"),
    ("I2", INDEPENDENCE, "independence_of", "test_independence", "what_is_called_independent_commutes",
     "return one->server != other->server;", "return true;"),
    ("I3", INDEPENDENCE, "independence_of", "test_independence", "what_is_called_independent_commutes",
     "default:\n        return false;", "default:\n        return is_quiet && one->server != other->server;"),

    ("S1", "search/explore.c", "options_read", "test_symmetry", "servers_that_are_told_apart_stay_where_they_are",
     "if (options->servers > 1 && !options->scheme->is_even_handed)", "if (false)"),
    ("S2", SYMMETRY, "key_of", "test_symmetry", "same_with_and_without_the_state_before",
     "if (server == 0 && config->section != SECTION_NOTHING)\n        return 0;", ""),
    ("S3", SYMMETRY, "sort_clients", "test_symmetry", "who_names_another_client_goes_on_naming_it",
     "has_mentions ? space_rename_client(space, sorted[i], new_position) : sorted[i]", "sorted[i]"),
    ("S4", SYMMETRY, "sort_clients", "test_symmetry", "equal_clients_are_told_apart_by_who_mentions_them",
     "    rename_server_states(space, words + config->clients, new_position);\n", ""),
    ("S5", SYMMETRY, "sort_clients", "test_symmetry", "equal_clients_are_told_apart_by_who_mentions_them",
     "*fences = space_rename_fences(space, *fences, new_position);", ""),
    ("S6", SYMMETRY, "move_columns", "test_symmetry", "same_with_and_without_the_state_before",
     "words[i] = projections_renumber(space, words[i], new_number);", ";"),

    ("E1", EAGER, "ends_read", "test_eager_replies", "a_release_comes_between_two_replies",
     "client_state->phase == PHASE_HOLDING || client_state->wake == 0", "client_state->wake == 0"),
    ("E2", EAGER, "ends_read", "test_eager_replies", "a_timer_that_is_due_comes_between_two_replies",
     " || client_state->wake == 0", ""),
    ("E3", EAGER, "is_only_counted", "test_eager_replies", "a_reply_at_which_something_is_sent_is_heard_at_once",
     "after->count == before->count - is_gone &&", ""),
    ("E4", EAGER, "is_only_counted", "test_eager_replies", "a_reply_at_which_a_timer_is_set_is_heard_at_once",
     " && after->wake == before->wake;", ";"),
    ("E5", EAGER, "is_only_counted", "test_eager_replies", "a_reply_that_grants_is_heard_at_once", "!did && after->count",
     "after->count"),
    ("E6", EAGER, "is_order_free", "test_eager_replies", "the_first_reply_is_any_server_s",
     "if (seen++ > 0 && (done != did[set] || !client_state_is_same(&it, &after[set])))", "if (false)"),
    ("E7", EAGER, "is_order_always_free", "test_eager_replies", "a_late_reply_may_be_given_up_between_two_others",
     "given_up <= ends->late_replies", "given_up <= 0"),
    ("E8", EAGER, "is_timeless", "test_eager_replies", "time_may_pass_between_two_replies",
     "while (config->has_fault[FAULT_STALL] && grow", "while (false && grow"),
    ("E9", EAGER, "is_timeless", "test_eager_replies", "much_time_may_pass_between_two_replies",
     "while (config->has_fault[FAULT_STALL] && grow_older(&later, &expected, config));",
     "while (config->has_fault[FAULT_STALL] && grow_older(&later, &expected, config) && !later.rounds++ && !expected.rounds++);"),
    ("E10", EAGER, "is_timeless", "test_eager_replies", "a_clock_may_jump_ahead_between_two_replies",
     "jumps <= config->clock_jumps;", "jumps <= -config->clock_jumps;"),
    ("E11", EAGER, "is_timeless", "test_eager_replies", "a_clock_may_jump_back_between_two_replies",
     "int jumps = -config->clock_jumps;", "int jumps = 0;"),
    ("E12", EAGER, "ends_read", "test_eager_replies", "a_reply_is_heard_before_the_one_behind_it_is_lost",
     "if (message_is_reply(it) && !is_late && !is_alone(client_state, i))\n            return false;", ""),
    ("E13", EAGER, "ends_read", "test_eager_replies", "what_is_late_holds_nobody_up", "message_is_request(it) && !is_late",
     "message_is_request(it)"),
    ("E14", EAGER, "ends_now", "test_eager_replies", "what_is_late_holds_nobody_up", "&& action->is_urgent &&", "&&"),
    ("E15", EAGER, "is_order_free", "test_eager_replies", "a_reply_that_grants_is_heard_at_once", "set == all && !ends->is_waiting",
     "set == all"),
    ("E16", SUCCESSORS, "is_risky", "test_eager_replies", "a_reply_is_heard_before_its_server_breaks_all_connections",
     "budget & it->successors->risky_budgets ||", ""),
    ("E17", SUCCESSORS, "is_risky", "test_eager_replies", "a_reply_is_heard_before_its_server_breaks_all_connections",
     "|| apply_has_risky_server(it, it->words)", ""),

    ("P1", ORDER, "partial_order_suits", "test_partial_order", "it_suits_quorums_that_only_count", "scheme->waits_for_all && ", ""),
    ("P2", ORDER, "partial_order_suits", "test_partial_order", "it_suits_quorums_that_only_count",
     "options->section != SECTION_WRITE && ", ""),
    ("P3", BFS, "expand", "test_partial_order_conditions", "who_acts_while_he_waits_is_searched_in_every_order",
     "(search->space.breaks_promise || search->space.can_states_be_wrong)", "search->space.can_states_be_wrong"),
    ("P4", ORDER, "partial_order_annotate", "test_partial_order_conditions", "who_acts_while_he_waits_is_searched_in_every_order",
     "acts |= does_more_than_count(client_state, &space->config, action);", ""),
    ("P5", ORDER, "does_more_than_count", "test_partial_order_conditions", "who_acts_while_he_waits_is_searched_in_every_order",
     "if (action->kind == ACTION_GIVE_UP)\n        return", "if (action->kind == ACTION_GIVE_UP)\n        return false &&"),
    ("P6", ORDER, "annotate_messages", "test_partial_order_conditions", "who_writes_another_s_token_is_searched_in_every_order",
     "space->breaks_promise |= writes_foreign_token(message);", ""),
    ("P7", ORDER, "but_the_last", "test_partial_order_conditions", "the_last_reply_decides",
     "!is_waiting && heard == ends ? heard & (heard - 1) : heard", "heard"),
    ("P8", ORDER, "represent", "test_partial_order_conditions", "a_request_may_be_given_up_after_a_restart",
     "i < clients && are_replies_safe", "i < clients"),
    ("P9", APPLY, "step_represent", "test_partial_order_conditions", "all_replies_may_be_lost",
     "!may_be_struck && !may_be_lost", "!may_be_lost"),
    ("P10", ORDER, "is_in_vain", "test_abandoned", "what_is_dropped_would_have_done_nothing",
     "|| message->flags & MESSAGE_CURRENT ||", "||"),
    ("P11", ORDER, "is_in_vain", "test_abandoned", "what_is_dropped_would_have_done_nothing", "!is_compare_and_delete(message) ||", ""),
    ("P12", ORDER, "is_in_vain", "test_abandoned", "what_is_dropped_would_have_done_nothing",
     " ||\n        token_position(message->value) != POSITION_SELF)\n        return false;\n    int64_t", ")\n        return false;\n    int64_t"),
    ("P13", ORDER, "is_in_vain", "test_abandoned", "what_is_dropped_would_have_done_nothing",
     "if (has_value(&server_state->keyspace, token))", "if (false)"),
    ("P14", ORDER, "is_in_vain", "test_abandoned", "what_is_dropped_would_have_done_nothing",
     "if (may_set(&client_state->messages[i], message->server, message->value))", "if (false)"),
    ("P15", ORDER, "partial_order_drop_abandoned", "test_abandoned", "what_is_dropped_would_have_done_nothing",
     "if (space->config.scheme->needs_script)", "if (false)"),
    ("P16", ORDER, "comes_at_another_time", "test_partial_order_conditions", "a_request_is_lost_before_others_are_executed",
     "client_state->flags & CLIENT_ANSWERED &&", ""),
    ("P17", ORDER, "comes_at_another_time", "test_partial_order", "strikes_are_tried_at_one_time",
     " && !list->config->has_fault[FAULT_RESEND] &&", " &&"),
    ("P18", ORDER, "comes_at_another_time", "test_partial_order_conditions", "a_reply_is_lost_when_all_requests_are_executed",
     "    return is_asking(client_state);\n}\n\nvoid", "    return true;\n}\n\nvoid"),
    ("P19", SETS, "add_any", "test_partial_order_conditions", "servers_are_asked_in_different_orders",
     "        add_own(list, i);\n        if (facts.order.asked || ", "        if (facts.order.asked || "),
    ("P20", SETS, "add_any", "test_persistent_sets", "nothing_is_put_off_for_ever", "            add_owned(list, i);\n        must",
     "            ;\n        must"),
    ("P21", SETS, "add_any", "test_persistent_sets", "a_set_is_persistent",
     "        add_each(list, breakable(list, ALL_SERVERS) & ~dependent, OWNER_NOBODY, add_disconnect);", ";"),
    ("P22", SETS, "add_owned", "test_persistent_sets", "a_set_is_persistent",
     "is_silent_end(list, client) ? facts.order.unheard : ALL_SERVERS", "facts.order.unheard"),
    ("P23", SETS, "add_owned", "test_persistent_sets", "a_set_is_persistent",
     "is_silent_end(list, client) ? facts.order.unheard : ALL_SERVERS", "is_silent_end(list, client) ? 0 : ALL_SERVERS"),
    ("P24", SETS, "breakable", "test_persistent_sets", "a_set_is_persistent", "(may_be_injected || server_facts->has_delayed)",
     "(may_be_injected)"),
    ("P25", SETS, "add_server", "test_persistent_sets", "a_set_is_persistent",
     "            if (arrives_at(&list->space->actions[m], server))\n                add(list, i, -1, m, owner);",
     "            if (arrives_at(&list->space->actions[m], server) && (owner == 0 || i == owner - 1))\n"
     "                add(list, i, -1, m, owner);"),
    ("P26", SETS, "is_endangered", "test_persistent_sets", "a_set_is_persistent",
     "server_facts->has_delayed || server_facts->injections & list->affordable", "false"),
    ("P27", SETS, "is_independent_of_all", "test_persistent_sets", "a_set_is_persistent", "if (!are_independent(now, one, i))",
     "if (false)"),
    ("P28", SETS, "are_independent", "test_persistent_sets", "a_set_is_persistent",
     "one_way.server_state == other_way.server_state &&\n           memcmp", "memcmp"),
    ("P29", SETS, "are_independent", "test_partial_order", "a_read_comes_before_a_write_or_after_it", " && !is_written)", ")"),
    ("P30", SETS, "add_any", "test_partial_order", "pairs_are_judged_the_same", "    if (!must_move)\n        add_before_time(list);\n", ""),
    ("P31", ORDER, "partial_order_annotate", "test_partial_order", "pairs_are_judged_the_same",
     "facts->order.is_held_up = is_held_up(client_state);", ""),
    ("P32", APPLY, "step_close", "test_partial_order", "sections_are_judged_the_same", " | it->violated_before", ""),
    ("P33", APPLY, "is_stepped_over", "test_partial_order", "sections_are_judged_the_same", "it->step.kind == ACTION_INJECT ||", ""),
    ("P34", APPLY, "apply_server", "test_partial_order", "a_fault_is_judged_the_same", "before = (before - waiting) & waiting;",
     "before = 0;"),
    ("P35", APPLY, "step_represent", "test_partial_order_conditions", "a_reply_may_be_heard_before_a_failover",
     "!may_be_struck && !may_be_lost", "!may_be_struck"),
    ("P36", ORDER, "is_asking", "test_partial_order_conditions", "a_reply_is_lost_while_another_server_is_silent",
     "!client_state_may_wait(client_state, i))", "!(client_state->messages[i].flags & MESSAGE_LATE))"),
    ("P37", SETS, "add_owned", "test_persistent_owner", "what_is_abandoned_arrives_before_a_return",
     "facts.order.abandoned | left_by_refusal(list, client);", "left_by_refusal(list, client);"),
    ("P38", APPLY, "step_owner", "test_persistent_owner", "the_owner_of_a_set_is_renamed_with_its_client",
     "it->step.new_position[it->owner - 1] + 1", "it->owner"),
    ("P39", SETS, "is_independent_of_all", "test_persistent_owner", "a_request_may_depend_on_what_comes_after_another",
     "        if (!is_independent_of_all(&next, one, left & ~(1u << i)))\n            return false;\n", ""),
    ("P40", APPLY, "apply_wants_every_order", "test_partial_order_conditions", "a_client_crashes_between_two_of_its_requests",
     "return words[space_words(it->space) - 1] & it->successors->dependent_budgets;", "return false;"),
    ("P41", ORDER, "comes_at_another_time", "test_partial_order_conditions", "a_request_is_lost_while_its_server_is_silent",
     "if (!is_awaited(message) || client_state_may_wait(client_state, action->message))", "if (!is_awaited(message))"),
    ("P44", ORDER, "comes_at_another_time", "test_partial_order_conditions", "a_request_is_refused_when_its_server_is_back",
     " &&\n               !list->config->has_fault[FAULT_SILENT_SERVER] &&\n"
     "               !list->config->has_fault[FAULT_CLIENT_PAUSE];", ";"),
    ("P42", SETS, "are_independent", "test_persistent_owner", "what_is_violated_may_depend_on_the_order",
     "one_first == one_second && other_first == other_second &&\n", ""),
    ("P43", SETS, "add_any", "test_persistent_owner", "what_is_abandoned_arrives_before_a_free_client_acts",
     "facts.order.abandoned | left_by_refusal(list, i);", "left_by_refusal(list, i);"),
    ("P45", SETS, "add_owned", "test_random_schemes", "a_refusal_is_free_where_its_keys_are_gone",
     "facts.order.abandoned | left_by_refusal(list, client);", "facts.order.abandoned;"),

    ("F1", "graph/fast_path.c", "push", "test_sleep_sets", "the_same_states_from_the_same_parents",
     "sleep_set_after(it->sleep_set, client) & cached->commutes", "sleep_set_after(it->sleep_set, client)"),

    ("B1", BOUND, "lower_bound_suits", "test_lower_bound", "it_suits_faults_that_strike_no_client",
     "fault_blame((enum fault)i) == FAULT_OF_CLIENT)\n            return false;", "false)\n            return false;"),
    ("B2", BOUND, "lower_bound_suits", "test_lower_bound", "it_suits_faults_that_strike_no_client",
     "options->scheme->waits_for_all &&\n", ""),
    ("B3", BOUND, "lower_bound_suits", "test_lower_bound", "it_suits_faults_that_strike_no_client",
     "options->section != SECTION_WRITE && ", ""),
    ("B4", BOUND, "lower_bound_suits", "test_lower_bound", "it_suits_faults_that_strike_no_client",
     "!(options->sought & ~known_properties)", "true"),
    ("B5", BOUND, "lower_bound_to", "test_lower_bound", "a_step_is_one_event",
     "return bound - breaks * (space->config.clients - 1);", "return bound;"),
    ("B6", BOUND, "to_lost_update_of", "test_lower_bound", "the_start_is_as_far_as_it_looks",
     "space->config.forgets ? other->bound.access_in : other->bound.write_in", "other->bound.write_in"),
    ("B7", BOUND, "to_lost_update_of", "test_lower_bound", "a_step_is_one_event", "writer.bound.has_count && ", ""),
    ("B8", BOUND, "to_lost_update_of", "test_lower_bound", "a_step_is_one_event", "&& first->is_count_known && ", "&& "),
    ("B9", BFS, "violations_wanted", "test_lower_bound", "short_ways_are_found_and_no_others",
     "run->depth < search->bound && run->layer", "run->layer"),

    ("L1", APPLY, "step_open", "test_bfs", "no_layer_ends_before_its_last_seed",
     "        *budget_of(it->space, step->words) -=\n            1u << (BUDGET_BITS * it->successors->slot_of[action->fault]);", ";"),
    ("L2", BFS, "run_layer", "test_bfs", "no_layer_ends_before_its_last_seed",
     "else if (run->frontier_at == run->frontier.count)", "else"),
    ("L3", BFS, "frontier_merge", "test_bfs", "no_layer_ends_before_its_last_seed",
     "        if (record[FRONTIER_DEPTH] != (uint32_t)run->depth)\n            break;\n", ""),
    ("L4", BFS, "is_before", "test_explore_leftovers", "what_comes_late_hides_no_untrue_release",
     "known->state == STATE_NONE || it->is_by_leftover != known->is_by_leftover", "known->state == STATE_NONE"),
    ("L5", BFS, "violation_is_final", "test_explore_leftovers", "what_comes_late_hides_no_untrue_release",
     "violation->state != STATE_NONE && !violation->is_by_leftover &&", "violation->state != STATE_NONE &&"),
    ("L6", BFS, "is_before", "test_layers_order", "a_fault_that_violates_does_not_hide_what_needs_none", "it->faults < known->faults ||", ""),
    ("L7", BFS, "is_before", "test_layers_order", "a_fault_that_violates_does_not_hide_what_needs_none",
     "(it->faults == known->faults && it->events < known->events)", "it->events < known->events"),
    ("L8", BFS, "is_before", "test_layers_order", "a_fault_that_violates_does_not_hide_a_sooner_one",
     "it->faults == known->faults && it->events < known->events", "false"),
    ("L9", BFS, "violation_is_final", "test_layers_order", "what_is_called_the_shortest_is", "violation->faults < faults ||", ""),
    ("L10", BFS, "violation_is_final", "test_layers_order", "a_fault_that_violates_does_not_hide_a_sooner_one",
     "violation->faults == faults && violation->events <= depth + 1", "violation->events <= depth + 1"),
    ("L11", BFS, "violation_is_final", "test_layers_order", "a_fault_that_violates_does_not_hide_a_sooner_one",
     "violation->faults == faults && violation->events <= depth + 1", "violation->faults == faults"),

    ("G1", SERVER, "server_state_tick", "test_server_state", "what_was_written_over_grows_old",
     "    ghost_age(&server_state->keyspace.previous);\n", ""),
    ("G2", SERVER, "server_state_tick", "test_server_state", "it_grows_old_at_a_replica",
     "    ghost_age(&server_state->replica.previous);\n", ""),
    ("G3", SERVER, "keyspace_rename", "test_server_state", "what_was_written_over_is_renamed",
     "    ghost_rename(&keyspace->previous, new_position);\n", ""),
    ("G4", SERVER, "server_state_tick", "test_server_state", "it_grows_old_in_a_snapshot",
     "    ghost_age(&server_state->saved.previous);\n", ""),

    ("H1", VISITED, "fingerprint_set_init", "test_fingerprint_set", "every_word_counts",
     "i < FINGERPRINT_WORDS_MAX / 2; i++", "i < 2; i++"),
    ("H2", VISITED, "look_in", "test_fingerprint_set", "whole_states_need_no_luck",
     "!visited->has_full_states || is_same(visited, number, words)", "true"),

    ("A1", CLASSES, "does_commute", "test_asking_classes", "answers_that_do_not_commute_stay_apart",
     "return *does ? asking_compare_ways(", "return false ? asking_compare_ways("),
    ("A2", CLASSES, "hear_in_order", "test_asking_classes", "answers_that_do_not_commute_stay_apart",
     "if (!is_of_server(edge) || edge->elapsed != ELAPSED_ANY)", "if (!is_of_server(edge))"),
    ("A3", CLASSES, "sort_servers", "test_asking_classes", "servers_that_are_told_apart_keep_their_places_in_a_class",
     "asking->is_even_handed && at > 0 &&", "at > 0 &&"),
    ("A4", "graph/projections.c", "projections_make", "test_asking_classes", "who_said_what_is_renamed_with_its_server",
     "projection.fields[0] = subject->part_of_server(subject, &whole, server);", "projection.fields[0] = 0;"),
    ("N1", ENDS, "compare_timed", "test_asking_ends", "who_minds_how_an_attempt_ended_is_told_apart",
     "*is_like = !fail;", "*is_like = true;"),
    ("N2", AUDIT, "asking_audit", "test_asking_ends", "what_only_another_way_shows_is_found_out",
     "(void)asking_walk_ends(asking, &asking->failure);", ";"),
    ("N3", "../ask/asking_subject.c", "may_attempt", "test_asking_ends", "who_is_refused_tries_again_without_an_attempt_left",
     "client_state->rounds > 0 || (step->has_returned && step->result == RESULT_REFUSED)", "client_state->rounds > 0 && step"),
    ("N4", "../ask/asking_struck.c", "asking_has_struck", "test_asking_ends", "what_only_a_second_fault_shows_is_asked_where_there_may_be_one",
     "asking->has_one_fault && asking->servers == 1", "asking->servers == 1"),
    ("N5", "../ask/asking_memory.c", "asking_compare_memory", "test_asking_ends", "what_it_remembers_of_a_holder_is_asked",
     "if (has_heard && compare_whose(", "if (false && compare_whose("),
    ("M1", CLASSES, "go_alike", "test_asking_classes", "a_model_is_learned_on_each_way",
     "*is_same = row == other_row;", "*is_same = true;"),
    ("M2", AUDIT, "asking_audit", "test_asking_classes", "a_model_that_is_not_the_worker_is_found_out",
     "(void)asking_walk(asking, LEARNED_WALKS, &asking->failure);", ";"),
    ("M3", "../ask/asking_learned.c", "cuts_now", "test_asking_classes", "idle_connections_break_on_ways_of_their_own",
     "return walker->cut && !(told->waits", "return false && !(told->waits"),
    ("M4", CLASSES, "pass", "test_asking_classes", "a_model_knows_how_long_ago_it_asked",
     "        last->elapsed += edge->elapsed;\n", ""),
    ("M5", CLASSES, "are_alike", "test_asking_classes", "who_counts_for_more_changes_places_with_nobody",
     "return go_alike(", "return true ? FAIL_NONE : go_alike("),
    ("M6", CLASSES, "asking_class", "test_asking_classes", "what_was_taken_for_one_is_asked_again_where_more_may_break",
     " && classes->rows[node].ways >= it->ways", ""),
    ("M7", CLASSES, "is_like", "test_asking_classes", "who_may_be_struck_yet_is_not_taken_for_who_was",
     "asking_shows(asking, first->node, STRUCK_BY_BREAK)", "false"),
]


def compiled(source, made, *more):
    return subprocess.run(["cc", *FLAGS, *more, "-c", "-o", made, source], text=True, capture_output=True)


def build_tests(folder, pool, programs):
    """The tests, and the schemes with planted bugs that they use, as objects."""
    objects = {program: folder / f"{program}.o" for program in programs}
    sources = {made: ROOT / "sim" / "test" / f"{program}.c" for program, made in objects.items()}
    mutants = {folder / f"mutant-{source.stem}.o": source for source in sorted((ROOT / "sim" / "test" / "mutants").glob("*.c"))}
    for done in pool.map(lambda one: compiled(one[1], one[0]), {**sources, **mutants}.items()):
        if done.returncode:
            sys.exit(done.stderr)
    (folder / "only.c").write_text(ONLY)
    done = compiled(folder / "only.c", folder / "only.o")
    if done.returncode:
        sys.exit(done.stderr)
    return objects, [*mutants]


def failures(folder, name, program, test, objects, mutants, more=()):
    """That test of the program, if it fails, or None: there is no program, or it does not end. No other one is run."""
    made = folder / name
    linked = subprocess.run(["cc", *WRAPPED.get(program, ()), "-o", made, objects[program], folder / "only.o", *more, *mutants, BUILD / "parts.a", *LIBS],
                            capture_output=True)
    if linked.returncode:
        return None
    try:
        done = subprocess.run([made], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE_S, env={**os.environ, "ONLY_TEST": test})
    except subprocess.TimeoutExpired:
        return None
    finally:
        made.unlink()
    failed = set(re.findall(r"\[  FAILED  \] (\w+)$", done.stdout + done.stderr, re.M))
    begun = re.findall(r"\[ RUN      \] (\w+)$", done.stdout + done.stderr, re.M)
    if done.returncode and not failed:
        failed = {begun[-1] if begun else program}
    return failed


def judge(folder, objects, mutants, guard, number):
    """None: the test fails without the guard; else what is wrong."""
    condition, file, _, program, test, piece, instead = guard
    text = (EXPLORE / file).read_text()
    if text.count(piece) != 1:
        return f"STALE     {condition}: {file}: that piece is there {text.count(piece)} times"
    source, made = folder / f"guard-{number}.c", folder / f"guard-{number}.o"
    source.write_text(text.replace(piece, instead))
    if compiled(source, made).returncode:
        return f"STALE     {condition}: {file}: does not compile without it"
    failed = failures(folder, f"guard-{number}", program, test, objects, mutants, [made])
    if failed is None or test not in failed:
        return f"SURVIVES  {condition}: {file}, {program}: {test} does not fail without {' '.join(piece.split())}"
    return None


def drawn(sample):
    """So many rows by the hashes of their words, of each program one before any has two, and of SLOW none."""
    rows, seen = sorted(GUARDS, key=lambda guard: hashlib.sha256(repr(guard).encode()).hexdigest()), collections.Counter()
    turns = [(seen.update([guard[3]]), seen[guard[3]])[1] for guard in rows]
    return [guard for _, guard in sorted(zip(turns, rows), key=lambda it: it[0]) if guard[3] not in SLOW][:sample]


def main():
    parser = argparse.ArgumentParser(description="Does a test fail for each condition of a reduction that is removed?")
    parser.add_argument("--sample", type=int, default=len(GUARDS))
    sample = parser.parse_args().sample
    chosen = GUARDS if sample >= len(GUARDS) else drawn(sample)
    with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(made)
        for shim in BUILD.glob("*.so"):  # they are looked for beside the program
            (folder / shim.name).symlink_to(shim)
        objects, mutants = build_tests(folder, pool, {guard[3] for guard in chosen})
        tests = sorted({guard[3:5] for guard in chosen})
        for (program, test), failed in zip(tests, pool.map(lambda it: failures(folder, f"{it[0]}-{it[1]}", *it, objects, mutants), tests)):
            if failed != set():
                sys.exit(f"mutations_guards.py: {program}: {test} fails, or does not end, with every guard in its place")
        wrong = list(filter(None, pool.map(lambda it: judge(folder, objects, mutants, it[1], it[0]), enumerate(chosen))))
    for line in wrong:
        print(line)
    wanted = int(re.search(r"^guards\s+(\d+)", COUNTS.read_text(), re.M)[1])
    print(f"guards: {len(chosen)} of {len(GUARDS)} conditions removed: {len(chosen) - len(wrong)} noticed by their tests; "
          f"of all at least {wanted} (harness/mutations.txt)")
    return 0 if not wrong and len(GUARDS) >= wanted else 1


if __name__ == "__main__":
    sys.exit(main())
