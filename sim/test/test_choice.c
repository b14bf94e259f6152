/* test_choice.c - the sentences of choices.def and steps.def: each is printed and read back, and
 * what is wrong is said with its place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/limits.h"
#include "base/suggest.h"
#include "scenario/sentence.h"

#include <stdio.h>
#include <ctype.h>
#include <string.h>

static const char names[][64] = {"A", "B", "worker1"};
enum { CLIENTS = 3, SERVERS = 5 };

static const struct cast cast = {
    .names = names, .clients = CLIENTS, .servers = SERVERS, .knows_leases = true};

/* --- choices --- */

static struct {
    char text[FAILURE_TEXT_MAX];
    int offset;
} told; /* of the last one that was refused */

static enum fail read_choice(const char *line, int servers, struct choice *choice)
{
    const struct cast heard = {.names = names, .clients = CLIENTS, .servers = servers};
    struct mishap mishap;
    char suggestion[SUGGEST_BYTES];
    const enum fail fail = choice_read(line, &heard, choice, &mishap);
    if (!fail)
        return FAIL_NONE;
    told.offset = mishap.offset;
    snprintf(told.text, sizeof told.text, "%s%s", mishap.words,
             suggest_words(mishap.nearest, "", suggestion));
    return fail;
}

static void every_kind_reads_back(void **state)
{
    (void)state;
    for (int kind = 0; kind < CHOICE_COUNT; kind++) {
        struct choice made = {.kind = (enum choice_kind)kind,
                              .client = 2,
                              .server = 4,
                              .verb = VERB_COMPARE_DELETE,
                              .amount_us = 1500,
                              .error = ERROR_LOADING};
        struct choice back;
        char text[SENTENCE_MAX], again[SENTENCE_MAX];
        choice_print(&made, names, text, sizeof text);
        assert_null(strchr(text, '%'));
        if (read_choice(text, SERVERS, &back))
            fail_msg("%s: %s", text, told.text);
        assert_int_equal(back.kind, kind);
        assert_string_equal(choice_print(&back, names, again, sizeof again), text);
        assert_int_equal(back.client, strstr(text, "worker1") ? 2 : -1);
        assert_int_equal(back.server, strstr(text, "server 5") ? 4 : -1);
        assert_int_equal(back.amount_us, strstr(text, "1.5ms") ? 1500 : 0);
        assert_int_equal(back.error, strstr(text, "LOADING") ? ERROR_LOADING : ERROR_NONE);
        if (strstr(text, "compare-and-delete"))
            assert_int_equal(back.verb, VERB_COMPARE_DELETE);
    }
}

static void every_verb_reads_back_by_name(void **state)
{
    (void)state;
    for (int verb = 0; verb < VERB_COUNT; verb++) {
        struct choice made = {.kind = CHOICE_ARRIVE, .verb = (enum verb)verb}, back;
        char text[SENTENCE_MAX];
        choice_print(&made, names, text, sizeof text);
        assert_int_equal(read_choice(text, SERVERS, &back), FAIL_NONE);
        assert_string_equal(verb_name(back.verb), verb_name((enum verb)verb));
    }
}

static void texts_are_the_tables(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct choice choice;
    } rows[] = {
        {"A acquires", {CHOICE_ACQUIRE, 0, -1, 0, 0, 0, ""}},
        {"worker1's SET reaches server 3", {CHOICE_ARRIVE, 2, 2, VERB_SET_NX_PX, 0, 0, ""}},
        {"B hears GETSET from server 1", {CHOICE_HEAR, 1, 0, VERB_GETSET, 0, 0, ""}},
        {"time passes 250ms", {CHOICE_TIME, -1, -1, 0, 250000, 0, ""}},
        {"A's acquire is cancelled", {CHOICE_CANCEL, 0, -1, 0, 0, 0, ""}},
        {"A gives up on DEL at server 2", {CHOICE_GIVE_UP, 0, 1, VERB_DEL, 0, 0, ""}},
        {"A's DEL to server 2 is lost", {CHOICE_LOSE_REQUEST, 0, 1, VERB_DEL, 0, 0, ""}},
        {"A's reply to SETNX from server 1 is lost",
         {CHOICE_LOSE_REPLY, 0, 0, VERB_SETNX, 0, 0, ""}},
        {"B's DEL to server 1 is sent twice", {CHOICE_DUPLICATE, 1, 0, VERB_DEL, 0, 0, ""}},
        {"A's EXPIRE to server 2 is answered with READONLY",
         {CHOICE_ANSWER_ERROR, 0, 1, VERB_EXPIRE, 0, ERROR_READONLY, ""}},
        {"A's DEL to server 1 is answered with ERR",
         {CHOICE_ANSWER_ERROR, 0, 0, VERB_DEL, 0, ERROR_OTHER, ""}},
        {"A's connections to server 3 fall silent", {CHOICE_HALF_OPEN, 0, 2, 0, 0, 0, ""}},
        {"B cannot connect to server 2", {CHOICE_HOLD_DIALS, 1, 1, 0, 0, 0, ""}},
        {"B can connect to server 2", {CHOICE_ANSWER_DIALS, 1, 1, 0, 0, 0, ""}},
        {"A's clock jumps -10s", {CHOICE_CLIENT_CLOCK, 0, -1, 0, -10000000, 0, ""}},
        {"server 5's clock jumps 1h", {CHOICE_SERVER_CLOCK, -1, 4, 0, 3600000000, 0, ""}},
        {"server 2's replica is cut off", {CHOICE_CUT_REPLICA, -1, 1, 0, 0, 0, ""}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct choice back;
        if (read_choice(rows[i].text, SERVERS, &back))
            fail_msg("%s: %s", rows[i].text, told.text);
        assert_int_equal(back.kind, rows[i].choice.kind);
        assert_int_equal(back.client, rows[i].choice.client);
        assert_int_equal(back.server, rows[i].choice.server);
        assert_int_equal(back.verb, rows[i].choice.verb);
        assert_int_equal(back.amount_us, rows[i].choice.amount_us);
        assert_int_equal(back.error, rows[i].choice.error);
        assert_string_equal(back.opaque, "");
    }
}

static void blanks_around_and_the_only_server(void **state)
{
    (void)state;
    struct choice choice;
    assert_int_equal(read_choice(" \tA crashes \r\n", 1, &choice), 0);
    assert_int_equal(choice.kind, CHOICE_CRASH);
    assert_int_equal(read_choice("server restarts empty", 1, &choice), 0);
    assert_int_equal(choice.server, 0);
    assert_int_equal(read_choice("server's clock jumps 1s", 1, &choice), 0);
    assert_int_equal(choice.kind, CHOICE_SERVER_CLOCK);
}

static void wrong_choices_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"A aquires", "no choice says 'A aquires'; did you mean 'A acquires'?"},
        {"B's SET reach server 1", "did you mean 'B's SET reaches server 1'?"},
        {"server 2 restart empty", "did you mean 'server 2 restarts empty'?"},
        {"A dances on the table", "no choice says 'A dances on the table'"},
        {"", "no choice says ''"},
        {"A  acquires", "did you mean 'A acquires'?"},
        {"A acquires now", "no choice says 'A acquires now'"},
        {"D acquires", "'D' is not a client; the clients are A, B, worker1"},
        {"worker2 acquires", "did you mean 'worker1'?"},
        {"server acquires", "no choice says"},
        {"A's STE reaches server 1", "'STE' is not a command; did you mean 'SET'?"},
        {"A's SET reaches server 6", "there is no server 6: servers go from 1 to 5"},
        {"A's SET reaches server 0", "there is no server 0"},
        {"A's SET reaches server 99999999999999999999", "there is no server 99999"},
        {"A's SET reaches server", "which server? say 'server 1' to 'server 5'"},
        {"A's SET reaches server 1x", "no choice says 'A's SET reaches server 1x'"},
        {"server 1x restarts empty", "did you mean 'server 1 restarts empty'?"},
        {"server 2's clock jumps 1.s", "'1.s' has the unknown unit '.s'"},
        {"A's SET to server 1 is answered with LOADIN",
         "'LOADIN' is not an error of a server, such as LOADING or OOM; did you mean 'LOADING'?"},
        {"A's SET to server 1 is answered with none", "'none' is not an error"},
        {"A's SET to server 1 is answered with loading", "'loading' is not an error"},
        {"A's SET to server 1 is answerd with OOM",
         "did you mean 'A's SET to server 1 is answered with OOM'?"},
        {"A's SET to server 1 is send twice", "did you mean 'A's SET to server 1 is sent twice'?"},
        {"time passes 250", "'250' has no unit"},
        {"time passes -1s", "time passes by a duration above 0"},
        {"time passes 0s", "time passes by a duration above 0"},
        {"time passes 2 leases", "2 leases"},
        {"A's lease is -1s", "a lease is a duration above 0"},
        {"A acquires, stalls before SET", "no choice says"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct choice choice;
        assert_int_equal(read_choice(rows[i].text, SERVERS, &choice), FAIL_INPUT);
        if (!strstr(told.text, rows[i].words))
            fail_msg("'%s' says: %s", rows[i].text, told.text);
    }
}

/* A character too many, anywhere: refused, or taken for what it says. */
static void nothing_that_is_read_is_left_over(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "A acquires",
        "worker1's SET reaches server 3",
        "B hears GETSET from server 1",
        "A's EXPIRE to server 2 is answered with READONLY",
        "server 5's clock jumps 1s",
        "B's clock jumps -1.5s",
        "time passes 250ms",
        "server 2 restarts empty",
    };
    static const char more[] = "x1.,-+_' \t%s";
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        size_t length = strlen(lines[i]);
        for (size_t at = 0; at <= length * (sizeof more - 1); at++) {
            char text[128], back[128];
            struct choice choice;
            size_t cut = at / (sizeof more - 1);
            snprintf(text, sizeof text, "%.*s%c%s", (int)cut, lines[i],
                     more[at % (sizeof more - 1)], lines[i] + cut);
            if (read_choice(text, SERVERS, &choice))
                continue;
            choice_print(&choice, names, back, sizeof back);
            bool is_around =
                isspace((unsigned char)text[0]) || isspace((unsigned char)text[length]);
            if (strcmp(back, lines[i]) == 0 && !is_around && !strchr(text, '+')) /* "+1s" is 1s */
                fail_msg("'%s' is taken for '%s'", text, back);
        }
    }
}

static void the_word_that_is_wrong_is_pointed_at(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int offset;
    } rows[] = {
        {"A aquires", 2},
        {" \tD acquires", 2},
        {"A's STE reaches server 1", 4},
        {"A's SET reaches server 6", 16},
        {"  A's SET to server 1 is answered with LOADIN", 39},
        {"time passes 250", 12},
        {"  time passes 0s", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct choice choice;
        assert_int_equal(read_choice(rows[i].text, SERVERS, &choice), FAIL_INPUT);
        assert_int_equal(told.offset, rows[i].offset);
    }
}

static void nothing_is_suggested_for_what_is_far_off(void **state)
{
    (void)state;
    struct choice choice;
    read_choice("xyzzy", SERVERS, &choice);
    assert_null(strstr(told.text, "did you mean"));
}

static void long_lines_and_small_rooms(void **state)
{
    (void)state;
    struct choice choice = {.kind = CHOICE_ACQUIRE, .client = 2};
    char line[1000], room[6];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    assert_int_equal(read_choice(line, SERVERS, &choice), FAIL_INPUT);
    assert_non_null(strstr(told.text, "at most 255"));
    memset(line, ' ', sizeof line - 1);
    memcpy(line, "A acquires", 10);
    assert_int_equal(read_choice(line, SERVERS, &choice), FAIL_NONE);
    line[sizeof line - 2] = 'x';
    assert_int_equal(read_choice(line, SERVERS, &choice), FAIL_INPUT);
    choice = (struct choice){.kind = CHOICE_ACQUIRE, .client = 2};
    assert_string_equal(choice_print(&choice, names, room, sizeof room), "worke");
}

/* --- steps --- */

static struct step reads(const char *text)
{
    struct step step;
    struct mishap mishap;
    if (step_read(text, &cast, &step, &mishap))
        fail_msg("%s: %s", text, mishap.words);
    return step;
}

/* Every sentence of the table in its plainest form, in the tables' order. */
static void every_step_reads_back(void **state)
{
    (void)state;
    static const char *const texts[STEP_COUNT] = {
        "A acquires",
        "A releases",
        "A extends",
        "A's acquire is cancelled",
        "A goes on",
        "A writes",
        "A reads the counter",
        "A writes the counter",
        "A renews",
        "A crashes",
        "A loses the request",
        "A loses the reply",
        "A resends",
        "A gives up",
        "A's request is sent twice",
        "A's late request arrives",
        "server 1 answers A with LOADING",
        "A cannot reach server 3",
        "A can reach server 3",
        "lease expires",
        "time passes 20ms",
        "A's lease is 2s",
        "A's connections to server 2 fall silent",
        "A cannot connect to server 2",
        "A can connect to server 2",
        "A's clock jumps -10s",
        "server 2's clock jumps 1s",
        "every second A's clock loses 20ms",
        "every second server 2's clock gains 1s",
        "server 5 restarts empty",
        "server 3 restarts with its keys",
        "server 2 saves its keys",
        "server 2 restarts with what it saved",
        "server 4 flushes its keys",
        "server 1's replica is cut off",
        "server 1 fails over",
        "server 2's sentinel promotes the replica",
        "server 2 begins to import the slot",
        "server 2 is sent the keys of the slot",
        "server 2 owns the slot",
        "server 3 owns the slot without its keys",
        "server 3 takes the slot by force",
        "server 1 evicts the lock",
        "server 1 flushes its scripts",
        "server 4 ends all connections",
        "server 2 falls silent",
        "server 3 refuses connections",
        "server 3 is stopped",
        "server 4 holds writes",
        "server 2 can be reached again",
    };
    for (int kind = 0; kind < STEP_COUNT; kind++) {
        char again[SENTENCE_MAX];
        assert_non_null(texts[kind]);
        struct step step = reads(texts[kind]);
        assert_int_equal(step.kind, kind);
        assert_int_equal(step.stall, STALL_NONE);
        assert_string_equal(step_print(&step, names, again, sizeof again), texts[kind]);
    }
}

static void stalls_read_back(void **state)
{
    (void)state;
    static const char *const heads[] = {"A acquires",
                                        "B releases",
                                        "A goes on",
                                        "A writes",
                                        "A renews",
                                        "A resends",
                                        "server 1 answers A with OOM"};
    static const char *const tails[] = {
        ", stalls before DEL",        ", stalls after SET",
        ", stalls before the delete", ", stalls after the set",
        ", stalls before the expire", ", stalls after the read",
        ", stalls before multi-del",  ", stalls after compare-and-expire"};
    for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++)
        for (size_t t = 0; t < sizeof tails / sizeof tails[0]; t++) {
            char text[SENTENCE_MAX], again[SENTENCE_MAX];
            snprintf(text, sizeof text, "%s%s", heads[h], tails[t]);
            struct step step = reads(text);
            assert_int_equal(step.stall, strstr(tails[t], "before") ? STALL_BEFORE : STALL_AFTER);
            assert_int_equal(step.stalls_at_effect, strstr(tails[t], "the ") != NULL);
            assert_string_equal(step_print(&step, names, again, sizeof again), text);
        }
    struct step step = reads("A releases, stalls before the delete");
    assert_int_equal(step.stall_effect, EFFECT_DELETE);
    step = reads("A releases, stalls after DEL");
    assert_int_equal(step.stall_verb, VERB_DEL);
}

static void leases_are_amounts(void **state)
{
    (void)state;
    char text[SENTENCE_MAX];
    assert_int_equal(reads("time passes 2 leases").leases_milli, 2000);
    assert_int_equal(reads("time passes 1 lease").leases_milli, 1000);
    assert_int_equal(reads("A's clock jumps -0.5 leases").leases_milli, -500);
    assert_int_equal(reads("time passes 20ms").leases_milli, 0);
    assert_int_equal(reads("time passes 20ms").amount_us, 20000);
    struct step step = reads("every second A's clock gains -20ms"); /* as it was said before */
    assert_string_equal(step_print(&step, names, text, sizeof text),
                        "every second A's clock loses 20ms");
    step = reads("time passes 0.5 leases");
    assert_string_equal(step_print(&step, names, text, sizeof text), "time passes 0.500 leases");
}

static void wrong_steps_say_what_and_where(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int offset;
        const char *words, *nearest;
    } rows[] = {
        {"A aquires", 2, "no step says 'A aquires'", "A acquires"},
        {"A acquire", 2, "no step says", "A acquires"},
        {"A frobnicates", 2, "'A frobnicates'; scenarios/README.md lists the sentences", ""},
        {"310ms pass", 6, "'310ms pass'; scenarios/README.md lists the sentences", ""},
        {"Z acquires", 0, "'Z' is not a client", NULL},
        {"worker acquires", 0, "'worker' is not a client", "worker1"},
        {"lease expire", 6, "no step says", "lease expires"},
        {"A cannot reach server 7", 15, "there is no server 7", ""},
        {"A cannot reach server", 15, "which server?", ""},
        {"time passes 5 parsecs", 12, "unknown unit", ""},
        {"time passes soon", 12, "is not a duration", ""},
        {"time passes -1 lease", 0, "time passes by a duration above 0", ""},
        {"time passes 0 leases", 12, "out of range", ""},
        {"time passes 99999 leases", 12, "out of range", ""},
        {"A's lease is 0s", 0, "a lease is a duration above 0", ""},
        {"every second A's clock wins 20ms", 23, "no step says", NULL},
        {"every second A's clock loses 20", 29, "has no unit", ""},
        {"every second A's clock loses 1s", 0, "a clock loses at most 999.999ms a second", ""},
        {"A's clock jumps 0s", 0, "a jump of nothing", ""},
        {"server 1 answers A with LOADIN", 24, "'LOADIN' is not an error", "LOADING"},
        {"server 1 answers A with none", 24, "'none' is not an error", NULL},
        {"server 1 answers A", 17, "no step says", NULL},
        {"A acquires stalls before SET", 11, "no step says", NULL},
        {"A acquires,stalls before SET", 11, "after the comma comes", ""},
        {"A acquires, stall before SET", 12, "after the comma comes", "stalls"},
        {"A acquires, stalls befor SET", 19, "'stalls' wants", "before"},
        {"A acquires, stalls", 18, "'stalls' wants", NULL},
        {"A acquires, stalls before", 25, "'stalls before' wants a command", ""},
        {"A acquires, stalls before STE", 26, "'STE' is not a command", "SET"},
        {"A acquires, stalls before the deletion", 30, "'deletion'", NULL},
        {"A acquires, stalls before the delet", 30, "'delet'", "delete"},
        {"A crashes, stalls before SET", 2, "no step says", "A crashes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct step step;
        struct mishap mishap = {0};
        assert_int_equal(step_read(rows[i].text, &cast, &step, &mishap), FAIL_INPUT);
        if (!strstr(mishap.words, rows[i].words))
            fail_msg("'%s' says: %s", rows[i].text, mishap.words);
        if (rows[i].nearest && strcmp(mishap.nearest, rows[i].nearest))
            fail_msg("'%s' suggests '%s'", rows[i].text, mishap.nearest);
        if (strcmp(rows[i].text, "A crashes, stalls before SET") && mishap.offset != rows[i].offset)
            fail_msg("'%s' points at %d", rows[i].text, mishap.offset);
    }
}

static void names_of_clients(void **state)
{
    (void)state;
    char longest[NAME_MAX_BYTES + 1];
    memset(longest, 'n', sizeof longest);
    longest[NAME_MAX_BYTES] = '\0';
    assert_false(sentence_is_name(longest));
    longest[NAME_MAX_BYTES - 1] = '\0';
    assert_true(sentence_is_name(longest));
    assert_true(sentence_is_name("A"));
    assert_true(sentence_is_name("worker1"));
    assert_false(sentence_is_name(""));
    assert_false(sentence_is_name("server"));
    assert_false(sentence_is_name("A B"));
    assert_false(sentence_is_name("A's"));
    assert_false(sentence_is_name("\xc3\xa4"));
}

static void controls_are_not_shown(void **state)
{
    (void)state;
    char shown[32], small[4];
    assert_string_equal(sentence_show("a\x1b[31mb\x7f", shown, sizeof shown), "a?[31mb?");
    assert_string_equal(sentence_show("\xc3\xa4\xc3\xa4", small, sizeof small), "\xc3\xa4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_reads_back),
        cmocka_unit_test(every_verb_reads_back_by_name),
        cmocka_unit_test(texts_are_the_tables),
        cmocka_unit_test(blanks_around_and_the_only_server),
        cmocka_unit_test(wrong_choices_say_why),
        cmocka_unit_test(nothing_that_is_read_is_left_over),
        cmocka_unit_test(the_word_that_is_wrong_is_pointed_at),
        cmocka_unit_test(nothing_is_suggested_for_what_is_far_off),
        cmocka_unit_test(long_lines_and_small_rooms),
        cmocka_unit_test(every_step_reads_back),
        cmocka_unit_test(stalls_read_back),
        cmocka_unit_test(leases_are_amounts),
        cmocka_unit_test(wrong_steps_say_what_and_where),
        cmocka_unit_test(names_of_clients),
        cmocka_unit_test(controls_are_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
