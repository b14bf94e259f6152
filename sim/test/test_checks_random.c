/* test_checks_random.c - random small histories: the streaming checks against a brute-force count
 * of overlaps, of untrue answers and of strangers' locks that were extended; and executions that
 * are logged in a wrong order against what must never be said about them. Fixed seeds;
 * PICKLOCK_SAMPLE=N plays an Nth of them, PICKLOCK_RUNS=N so many of the first kind,
 * PICKLOCK_SEED=N others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "test/sample.h"
#include "test/story.h"

enum { CLIENTS = 4, EVENTS_MAX = 60, HOLDS_MAX = 64, LEASE_MS = 2, ROUNDS = 20000 };
enum { WORTH_FROM = 1000 };

/* --- a server that is right, and clients that are slow --- */

struct simple_server {
    bool is_there;
    int64_t token, expire_us;
};

static void server_expire(struct simple_server *server, int64_t now_us)
{
    if (server->is_there && now_us > server->expire_us)
        server->is_there = false;
}

enum at { IDLE, CALLED, TOLD_YES, TOLD_NO, HOLDING, RENEWING, ASKED, ANSWERED, LEAVING, LEFT };
enum { SPANS_MAX = 16 };
#define ALL_ANSWERED_US INT64_MAX

struct locker {
    enum at at;
    int64_t token;
    int64_t renewal_us; /* sent: the first that was not answered, or ALL_ANSWERED_US */
    bool has_extended;  /* its own lock, in the extend that it was asked for */
    int64_t asked_us;   /* the first request to do so that was not answered */
    enum result result; /* of that */
};

/* What a believer had: its hold, and the parts of it that its own lease covered. */
struct hold {
    int client;
    int64_t begin_us, end_us;
    int spans;
    int64_t from_us[SPANS_MAX], until_us[SPANS_MAX];
};

struct random_play {
    struct story *story;
    struct simple_server server;
    struct locker lockers[CLIENTS];
    struct hold holds[HOLDS_MAX];
    int holds_count;
    int open[CLIENTS]; /* the hold under way, or -1 */
    int64_t called_us[CLIENTS];
    bool is_blind;           /* releases by DEL, and extends by PEXPIRE, whoever it belongs to */
    int64_t untrue, touched; /* told "extended" of nothing; strangers' locks that were extended */
};

static void play_set(struct random_play *play, int client)
{
    struct command set_it = set(play->story, client);
    int64_t now_us = play->story->now_us;
    server_expire(&play->server, now_us);
    bool is_free = !play->server.is_there;
    if (is_free)
        play->server = (struct simple_server){true, set_it.value, now_us + set_it.ttl_us};
    executes(play->story, client, OP_ACQUIRE, set_it, is_free ? OK : NIL);
    play->lockers[client].token = set_it.value;
    play->lockers[client].at = is_free ? TOLD_YES : TOLD_NO;
}

static void play_told(struct random_play *play, int client)
{
    bool is_granted_now = play->lockers[client].at == TOLD_YES;
    if (is_granted_now) {
        struct hold *hold = &play->holds[play->holds_count];
        play->open[client] = play->holds_count++;
        play->lockers[client].renewal_us = ALL_ANSWERED_US;
        *hold = (struct hold){
            .client = client, .begin_us = play->story->now_us, .end_us = INT64_MAX, .spans = 1};
        hold->from_us[0] = play->story->now_us;
        hold->until_us[0] = play->called_us[client] + LEASE_MS * 1000;
    }
    returns(play->story, client, OP_ACQUIRE, is_granted_now ? RESULT_GRANTED : RESULT_REFUSED);
    play->lockers[client].at = is_granted_now ? HOLDING : IDLE;
}

/* Its lease counts anew from the first request that was not answered; from now on, if it was over.
 */
static void lengthen(struct hold *hold, int64_t now_us, int64_t sent_us)
{
    const int64_t until_us = sent_us + LEASE_MS * 1000;
    const int last = hold->spans - 1;
    if (hold->until_us[last] > now_us) {
        if (until_us > hold->until_us[last])
            hold->until_us[last] = until_us;
    } else if (until_us > now_us) {
        assert_true(hold->spans < SPANS_MAX);
        hold->from_us[hold->spans] = now_us;
        hold->until_us[hold->spans++] = until_us;
    }
}

static void note_sent(struct random_play *play, struct locker *locker)
{
    if (locker->renewal_us == ALL_ANSWERED_US)
        locker->renewal_us = play->story->now_us;
}

static void play_renew(struct random_play *play, int client)
{
    struct locker *locker = &play->lockers[client];
    struct command renew = command(VERB_COMPARE_EXPIRE, locker->token, LEASE_MS);
    int64_t now_us = play->story->now_us;
    server_expire(&play->server, now_us);
    bool is_mine = play->server.is_there && play->server.token == locker->token;
    if (is_mine) {
        play->server.expire_us = now_us + LEASE_MS * 1000;
        lengthen(&play->holds[play->open[client]], now_us, locker->renewal_us);
    }
    executes(play->story, client, OP_EXTEND, renew, INTEGER(is_mine));
    hears(play->story, client, 0, OP_EXTEND, renew, INTEGER(is_mine));
    locker->renewal_us = ALL_ANSWERED_US;
    locker->at = HOLDING;
}

/* --- a holder that is asked to extend --- */

static struct command extension(const struct random_play *play, int client)
{
    return play->is_blind ? command(VERB_PEXPIRE, 0, LEASE_MS)
                          : command(VERB_COMPARE_EXPIRE, play->lockers[client].token, LEASE_MS);
}

static void on_main(struct story *story, enum event_kind kind, int client, struct command command,
                    struct reply reply)
{
    happens(
        story,
        (struct event){
            .kind = kind, .client = client, .op = OP_EXTEND, .command = command, .reply = reply});
}

static void play_ask(struct random_play *play, int client)
{
    calls(play->story, client, OP_EXTEND);
    note_sent(play, &play->lockers[client]);
    on_main(play->story, EVENT_SEND, client, extension(play, client), OK);
    play->lockers[client].has_extended = false;
    play->lockers[client].result = RESULT_FAILED;
    play->lockers[client].at = ASKED;
}

/* The request is lost, or its answer is, or neither. */
static void play_extend(struct random_play *play, struct random *random, int client)
{
    struct locker *locker = &play->lockers[client];
    struct simple_server *server = &play->server;
    const uint64_t fate = random_below(random, 8);
    int64_t now_us = play->story->now_us;
    server_expire(server, now_us);
    bool is_mine = server->is_there && server->token == locker->token;
    bool is_done = play->is_blind ? server->is_there : is_mine;
    locker->at = ANSWERED;
    if (fate == 0)
        return;
    if (is_done)
        server->expire_us = now_us + LEASE_MS * 1000;
    locker->has_extended = is_mine;
    locker->asked_us = locker->renewal_us;
    play->touched += is_done && server->token / 1000 != client + 1;
    executes(play->story, client, OP_EXTEND, extension(play, client), INTEGER(is_done));
    if (fate == 1)
        return;
    on_main(play->story, EVENT_HEAR, client, extension(play, client), INTEGER(is_done));
    locker->renewal_us = ALL_ANSWERED_US;
    locker->result = is_done ? RESULT_DONE : RESULT_NOT_MINE;
}

static void play_answer(struct random_play *play, struct random *random, int client)
{
    struct locker *locker = &play->lockers[client];
    struct hold *hold = &play->holds[play->open[client]];
    if (random_below(random, 8) == 0 && locker->result != RESULT_NOT_MINE)
        locker->result = random_below(random, 2) ? RESULT_DONE : RESULT_FAILED;
    locker->at = HOLDING;
    if (locker->result == RESULT_DONE && locker->has_extended)
        lengthen(hold, play->story->now_us, locker->asked_us);
    else if (locker->result == RESULT_DONE)
        play->untrue++;
    if (locker->result == RESULT_NOT_MINE) {
        hold->end_us = play->story->now_us;
        locker->at = IDLE;
    }
    returns(play->story, client, OP_EXTEND, locker->result);
}

static void play_leave(struct random_play *play, int client)
{
    struct locker *locker = &play->lockers[client];
    struct command leave =
        command(play->is_blind ? VERB_DEL : VERB_COMPARE_DELETE, locker->token, 0);
    server_expire(&play->server, play->story->now_us);
    bool is_gone = play->server.is_there && (play->is_blind || play->server.token == locker->token);
    if (is_gone)
        play->server.is_there = false;
    executes(play->story, client, OP_RELEASE, leave, INTEGER(is_gone));
    locker->at = LEFT;
}

/* One step of one client. */
static void play_step(struct random_play *play, struct random *random)
{
    int client = (int)random_below(random, CLIENTS);
    struct locker *locker = &play->lockers[client];
    struct story *story = play->story;
    switch (locker->at) {
    case IDLE:
        if (play->holds_count + CLIENTS >= HOLDS_MAX)
            return;
        play->called_us[client] = story->now_us;
        calls(story, client, OP_ACQUIRE);
        sends(story, client, 0, OP_ACQUIRE, set(story, client));
        locker->at = CALLED;
        break;
    case CALLED:
        play_set(play, client);
        break;
    case TOLD_YES:
    case TOLD_NO:
        play_told(play, client);
        break;
    case HOLDING:
        if (random_below(random, 4) == 0) {
            play_ask(play, client);
            break;
        }
        if (random_below(random, 3) == 0) {
            note_sent(play, locker);
            sends(story, client, 0, OP_EXTEND,
                  command(VERB_COMPARE_EXPIRE, locker->token, LEASE_MS));
            locker->at = RENEWING;
            break;
        }
        play->holds[play->open[client]].end_us = story->now_us;
        calls(story, client, OP_RELEASE);
        locker->at = LEAVING;
        break;
    case RENEWING:
        play_renew(play, client);
        break;
    case ASKED:
        play_extend(play, random, client);
        break;
    case ANSWERED:
        play_answer(play, random, client);
        break;
    case LEAVING:
        play_leave(play, client);
        break;
    case LEFT:
        returns(story, client, OP_RELEASE, RESULT_RELEASED);
        locker->at = IDLE;
        break;
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How often two cut holds begin to overlap: a span that begins inside another hold's span. */
static int overlaps_of_cut(const struct hold *one, const struct hold *two)
{
    int count = 0;
    for (int i = 0; i < one->spans; i++)
        for (int k = 0; k < two->spans; k++) {
            int64_t begin_us = most(one->from_us[i], two->from_us[k]);
            int64_t end_us =
                least(least(one->until_us[i], two->until_us[k]), least(one->end_us, two->end_us));
            count += begin_us < end_us;
        }
    return count;
}

static void assert_counts(const struct random_play *play, int round)
{
    int64_t mutual = 0, cut = 0;
    for (int i = 0; i < play->holds_count; i++)
        for (int k = 0; k < i; k++) {
            const struct hold *one = &play->holds[i], *two = &play->holds[k];
            mutual += most(one->begin_us, two->begin_us) < least(one->end_us, two->end_us);
            cut += overlaps_of_cut(one, two);
        }
    const struct finding *findings = play->story->findings;
    if (findings[PROPERTY_MUTUAL_EXCLUSION].count != mutual ||
        findings[PROPERTY_LEASE_EXCLUSION].count != cut)
        fail_msg("round %d: mutual %d and lease %d, brute force says %d and %d", round,
                 (int)findings[PROPERTY_MUTUAL_EXCLUSION].count,
                 (int)findings[PROPERTY_LEASE_EXCLUSION].count, (int)mutual, (int)cut);
    if (findings[PROPERTY_TRUTHFUL].count != play->untrue ||
        findings[PROPERTY_EXTEND_OWN].count != play->touched)
        fail_msg("round %d: truthful %d and extend-own %d, counted were %d and %d", round,
                 (int)findings[PROPERTY_TRUTHFUL].count, (int)findings[PROPERTY_EXTEND_OWN].count,
                 (int)play->untrue, (int)play->touched);
}

/* What may be said of a right server, slow clients and nothing else. */
static void assert_causes(const struct random_play *play)
{
    const struct story *story = play->story;
    enum cause mutual = story->findings[PROPERTY_MUTUAL_EXCLUSION].cause;
    if (!play->is_blind) {
        assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].count, 0);
        assert_int_equal(story->findings[PROPERTY_RELEASE_OWN].count, 0);
        assert_true(mutual == CAUSE_NONE || mutual == CAUSE_OVERRUN || mutual == CAUSE_LATE_GRANT);
    } else if (story->findings[PROPERTY_LEASE_EXCLUSION].count > 0) {
        assert_int_equal(story->findings[PROPERTY_LEASE_EXCLUSION].cause, CAUSE_UNLOCK_BUG);
    }
    if (play->touched > 0)
        assert_int_equal(story->findings[PROPERTY_EXTEND_OWN].cause, CAUSE_FOREIGN_EXTEND);
    if (play->untrue > 0)
        assert_int_equal(story->findings[PROPERTY_TRUTHFUL].cause, CAUSE_UNTRUE_ANSWER);
    assert_int_equal(story->findings[PROPERTY_PROGRESS].count, 0);
    assert_int_equal(story->findings[PROPERTY_ALWAYS_EXPIRES].count, 0);
}

static void streaming_and_brute_force_agree(void **state)
{
    int64_t mutual = 0, cut = 0, foreign = 0, untrue = 0, touched = 0;
    const int rounds = (int)sample_number("PICKLOCK_RUNS", (uint64_t)(ROUNDS / sample_every()));
    const uint64_t seed = sample_number("PICKLOCK_SEED", 7);
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct random random = {.seed = seed, .stream = (uint64_t)round};
        struct random_play play = {.story = story_whole(&expiring, 1, LEASE_MS),
                                   .is_blind = round % 2};
        int steps = 10 + (int)random_below(&random, EVENTS_MAX);
        for (int i = 0; i < steps; i++) {
            play_step(&play, &random);
            if (random_below(&random, 12) == 0)
                play.story->now_us += (int64_t)random_below(&random, 2500);
        }
        for (int i = 0; i < play.holds_count; i++)
            if (play.holds[i].end_us == INT64_MAX)
                play.holds[i].end_us = play.story->now_us;
        ends(play.story);
        assert_counts(&play, round);
        assert_causes(&play);
        mutual += play.story->findings[PROPERTY_MUTUAL_EXCLUSION].count;
        cut += play.story->findings[PROPERTY_LEASE_EXCLUSION].count;
        foreign += play.story->findings[PROPERTY_RELEASE_OWN].count;
        untrue += play.untrue;
        touched += play.touched;
        story_free(play.story);
    }
    /* The histories were worth it; a few of them say nothing of that. */
    if (rounds < WORTH_FROM)
        return;
    assert_true(mutual > rounds / 10);
    assert_true(cut > rounds / 100);
    assert_true(foreign > rounds / 100);
    assert_true(untrue > rounds / 100);
    assert_true(touched > rounds / 100);
}

/* --- real-time histories: replies of one turn of a loop are read in any order --- */

enum { TURNS = 40, TURN_US = 200 };

/* One turn: every client that has something to ask asks it; the server answers in one order, the
 * log has another. */
static void turn(struct random_play *play, struct random *random)
{
    struct event executed[CLIENTS];
    int count = 0, order[CLIENTS] = {0, 1, 2, 3};
    struct story *story = play->story;
    int64_t from_us = story->now_us, time_us = from_us + TURN_US;
    for (int i = CLIENTS - 1; i > 0; i--) {
        int k = (int)random_below(random, (uint64_t)i + 1), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
    for (int i = 0; i < CLIENTS; i++) {
        int client = order[i];
        struct locker *locker = &play->lockers[client];
        struct event event = {.kind = EVENT_EXECUTE, .client = client, .from_us = from_us};
        bool is_mine = play->server.is_there && play->server.token == locker->token;
        event.attempt = story->attempts[client];
        if (locker->at == CALLED) {
            event.command = set(story, client);
            event.reply = play->server.is_there ? NIL : OK;
            locker->token = event.command.value;
            locker->at = play->server.is_there ? TOLD_NO : TOLD_YES;
            if (locker->at == TOLD_YES)
                play->server = (struct simple_server){true, locker->token, 0};
        } else if (locker->at == LEAVING) {
            event.op = OP_RELEASE;
            event.command =
                command(play->is_blind ? VERB_DEL : VERB_COMPARE_DELETE, locker->token, 0);
            event.reply = INTEGER(is_mine);
            assert_true(is_mine); /* nobody is late here */
            play->server.is_there = false;
            locker->at = LEFT;
        } else {
            continue;
        }
        executed[count++] = event;
    }
    story->now_us = time_us;
    while (count > 0) {
        int k = (int)random_below(random, (uint64_t)count);
        executed[k].index = story->index++;
        executed[k].time_us = time_us;
        checks_event(story->checks, &executed[k]);
        executed[k] = executed[--count];
    }
    story->now_us += 50;
    for (int client = 0; client < CLIENTS; client++) {
        struct locker *locker = &play->lockers[client];
        if (locker->at == TOLD_YES || locker->at == TOLD_NO)
            play_told(play, client);
    }
}

/* What the clients do in a turn, without renewals. */
static void react(struct random_play *play, struct random *random)
{
    struct story *story = play->story;
    for (int client = 0; client < CLIENTS; client++) {
        struct locker *locker = &play->lockers[client];
        if (random_below(random, 3) == 0)
            continue;
        if (locker->at == IDLE) {
            calls(story, client, OP_ACQUIRE);
            sends(story, client, 0, OP_ACQUIRE, set(story, client));
            locker->at = CALLED;
        } else if (locker->at == HOLDING) {
            calls(story, client, OP_RELEASE);
            locker->at = LEAVING;
        } else if (locker->at == LEFT) {
            returns(story, client, OP_RELEASE, RESULT_RELEASED);
            locker->at = IDLE;
        }
    }
}

static void a_wrong_order_within_a_turn_is_no_violation(void **state)
{
    int64_t grants = 0;
    (void)state;
    for (int round = 0; round < 3000 / sample_every(); round++) {
        struct random random = {.seed = 11, .stream = (uint64_t)round};
        struct random_play play = {.story = story_new(&expiring, 1, 100000), .is_blind = round % 2};
        play.story->head.clock_error_us = 2000;
        for (int i = 0; i < TURNS; i++) {
            react(&play, &random);
            turn(&play, &random);
            play.holds_count = 0;
        }
        ends(play.story);
        assert_silent(play.story);
        grants += play.story->counters.grants;
        story_free(play.story);
    }
    assert_true(grants > 3000 / sample_every());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streaming_and_brute_force_agree),
        cmocka_unit_test(a_wrong_order_within_a_turn_is_no_violation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
