/* crowd_members.c - the endless loop of one worker in a crowd: think, acquire, critical section,
 * release. See crowd.h.
 *
 *     thinks -> acquires -> [writes, fenced] -> reads the counter -> writes it + 1 -> appends to
 * the list [-> cuts it, where it is long] -> releases -> thinks
 *
 * Stalls (its process is stopped) and crashes (it is killed) strike between these. */
#include "worker/crowd_state.h"

#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RETRY_US = 1000, CRASH_MOMENTS = 12, NEVER = -1 };

/* What a section does, in this order. */
enum section_part { PART_FENCED, PART_READ, PART_WRITE, PART_APPEND, PART_CUT, PART_NONE };

/* --- its process --- */

static void ask(struct member *member, enum worker_op op)
{
    member->asked_us = crowd_now_us(member->crowd);
    member->asked_id =
        worker_ask(member->worker,
                   (struct worker_request){.op = op, .settings = worker_settings(member->worker)});
}

static void operation_event(struct member *member, enum event_kind kind, enum operation op,
                            enum result result)
{
    struct event event = crowd_event(member->crowd, kind, member, -1);
    event.op = op;
    event.result = result;
    if (kind == EVENT_RETURN)
        event.fence = member->guarded.fence;
    crowd_write(member->crowd, &event);
    member->crowd->operations += kind == EVENT_RETURN;
}

static void think(struct member *member)
{
    struct crowd *crowd = member->crowd;
    const uint64_t drawn = crowd_draw(crowd, member->number, CROWD_THINK, member->attempt + 1);
    member->place = MEMBER_THINKS;
    if (crowd->is_running)
        member_start(member, distribution_at(&crowd->options->think, drawn));
}

static void release(struct member *member)
{
    member->place = MEMBER_RELEASES;
    member->guarded.fence = 0;
    member_own_delay_tell(member);
    operation_event(member, EVENT_CALL, OP_RELEASE, RESULT_NONE);
    ask(member, WORKER_RELEASE);
}

static void section_goes_on(struct member *member);

static void check_grant(struct member *member)
{
    const struct crowd_lock *lock = &member->crowd->locks[member->lock];
    struct failure why = {0};
    if (look_check_grant(&lock->key, lock->name, &why)) {
        (void)failure_wrap(&why, "worker c%d was granted the lock", member->number + 1);
        crowd_doubt(member->crowd, &why);
    }
}

static void acquired(struct member *member, const struct worker_answer *answer)
{
    struct crowd *crowd = member->crowd;
    const enum result result = answer->kind == ANSWER_OK       ? RESULT_GRANTED
                               : answer->kind == ANSWER_NOT_OK ? RESULT_REFUSED
                                                               : RESULT_FAILED;
    histogram_add(&crowd->latency, crowd_now_us(crowd) - member->called_us);
    crowd->grants += result == RESULT_GRANTED;
    if (crowd->is_healing && result == RESULT_GRANTED)
        healing_granted(&crowd->healing[member->lock]);
    member->guarded.fence = result == RESULT_GRANTED && answer->has_fence ? answer->fence : 0;
    if (result == RESULT_GRANTED)
        check_grant(member);
    member_own_delay_tell(member);
    operation_event(member, EVENT_RETURN, OP_ACQUIRE, result);
    if (result != RESULT_GRANTED) {
        think(member);
        return;
    }
    member->place = MEMBER_HOLDS;
    member->section = member->guarded.has_fence ? PART_FENCED : PART_READ;
    section_goes_on(member);
}

static void released(struct member *member, const struct worker_answer *answer)
{
    operation_event(member, EVENT_RETURN, OP_RELEASE,
                    answer->kind == ANSWER_OK       ? RESULT_RELEASED
                    : answer->kind == ANSWER_NOT_OK ? RESULT_NOT_MINE
                                                    : RESULT_FAILED);
    think(member);
}

static void ready(struct member *member, const struct worker_answer *answer)
{
    struct worker_program *program = member->crowd->program;
    struct failure changed;
    if (program->is_known &&
        worker_promises_stay(program->promises, answer->promises, WORKER_INIT, &changed)) {
        changed.code = FAIL_UNKNOWN;
        failure_wrap(&changed, "worker c%d", member->number + 1);
        crowd_doubt(member->crowd, &changed);
        return;
    }
    program->is_known = true;
    program->promises = answer->promises;
    (void)snprintf(program->library, sizeof program->library, "%s", answer->library);
    member->guarded.has_fence = answer->promises >> WORKER_PROMISES_FENCE & 1;
    think(member);
}

static void said_wrongly(struct member *member, const char *what)
{
    struct failure why = {0};
    (void)failure_set(&why, FAIL_UNKNOWN, "worker c%d %s", member->number + 1, what);
    crowd_doubt(member->crowd, &why);
}

static void on_lost(struct member *member)
{
    if (member->place != MEMBER_ACQUIRES && member->place != MEMBER_HOLDS)
        return;
    member_own_delay_tell(member);
    struct event event = crowd_event(member->crowd, EVENT_NOTICE, member, -1);
    crowd_write(member->crowd, &event);
    member->is_lost = true; /* and nothing is to be released */
}

static void on_answer(void *context, struct worker *worker, const struct worker_answer *answer)
{
    struct member *member = context;
    if (worker != member->worker)
        return;
    if (answer->kind == ANSWER_LOST) {
        on_lost(member);
        return;
    }
    const bool is_ready = answer->kind == ANSWER_READY;
    if (answer->id != member->asked_id || is_ready != (member->place == MEMBER_BEGINS) ||
        answer->kind == ANSWER_TIME) {
        said_wrongly(member, "answered what was not asked, or twice, or something else");
        return;
    }
    member->asked_id = 0;
    if (is_ready)
        ready(member, answer);
    else if (member->place == MEMBER_ACQUIRES)
        acquired(member, answer);
    else if (member->place == MEMBER_RELEASES)
        released(member, answer);
}

static void on_printed(void *context, struct worker *worker, const char *line)
{
    (void)context;
    (void)worker;
    (void)line;
}

static void on_failed(void *context, struct worker *worker, const struct failure *failure)
{
    struct member *member = context;
    struct failure why = *failure;
    if (worker != member->worker || member->place == MEMBER_DEAD)
        return;
    failure_wrap(&why, "worker c%d", member->number + 1);
    why.code = FAIL_UNKNOWN;
    crowd_doubt(member->crowd, &why);
}

enum fail member_begin(struct member *member, struct failure *failure)
{
    struct crowd *crowd = member->crowd;
    const struct stress_options *options = crowd->options;
    char folder[PROCESS_PATH_MAX], name[16];
    (void)snprintf(folder, sizeof folder, "%s/member-%d", crowd->servers.folder.path,
                   crowd->started++);
    if (mkdir(folder, 0700) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", folder, strerror(errno));
    (void)snprintf(name, sizeof name, "c%d", member->number + 1);
    struct worker_options wanted = {.command = crowd->program->command,
                                    .folder = folder,
                                    .helpers = crowd->helpers,
                                    .settings = {.key = crowd->locks[member->lock].name,
                                                 .client = member->number,
                                                 .name = name,
                                                 .ttl_us = options->lease_us,
                                                 .servers = options->servers},
                                    .loop = &crowd->loop,
                                    .events = &member->events};
    for (int i = 0; i < options->servers; i++)
        wanted.settings.ports[i] = proxy_port(member->listeners[i].proxy);
    member->events = (struct worker_events){
        .answered = on_answer, .printed = on_printed, .failed = on_failed, .context = member};
    member->place = MEMBER_BEGINS;
    if (worker_new(&member->worker, &wanted, failure))
        return failure->code;
    ask(member, WORKER_INIT);
    return FAIL_NONE;
}

/* --- crash --- */

static void born_again(struct crowd_timer *timer)
{
    struct member *member = timer->owner;
    const struct crowd *crowd = member->crowd;
    struct failure why;
    for (int i = 0; i < crowd->options->servers; i++)
        if (crowd->queues[i].reach != REACH_OPEN) {
            crowd_timer_set(member->crowd, timer, RETRY_US);
            return;
        }
    member_wait_ends(member);
    if (!crowd->is_ending && member_begin(member, &why))
        crowd_fail(member->crowd, &why);
}

void member_crash_if_due(struct member *member)
{
    struct crowd *crowd = member->crowd;
    if (member->crash_in != 0 || member_is_busy(member) || member->place == MEMBER_DEAD ||
        member->place == MEMBER_BEGINS)
        return;
    const uint64_t drawn = crowd_draw(crowd, member->number, CROWD_CRASH, ~member->operations);
    member->crash_in = NEVER;
    if (!member->is_paused)
        member_wait_begins(member);
    member->is_paused = false;
    member->place = MEMBER_DEAD;
    crowd->struck[STRUCK_CRASH]++;
    crowd_fault(crowd, member, -1, FAULT_CRASH, 0);
    orders_drop(member);
    worker_free(member->worker);
    member->worker = NULL;
    member->asked_id = 0;
    timers_remove(&crowd->timers, &member->next.timer);
    member->next = (struct crowd_timer){.rings = born_again, .owner = member};
    crowd_timer_set(crowd, &member->next, crowd_spread(drawn, crowd->options->lease_us));
}

void member_moment(struct member *member)
{
    member->crash_in -= member->crash_in > 0;
}

/* So many of its moments from now; one that was drawn before strikes now at the latest. */
static void crash_draw(struct member *member)
{
    const struct crowd *crowd = member->crowd;
    const uint64_t drawn = crowd_draw(crowd, member->number, CROWD_CRASH, member->operations++);
    if (crowd->is_healing)
        member->crash_in = NEVER;
    else if (member->crash_in != NEVER)
        member->crash_in = 0;
    else if (drawn % 1000000 < crowd->options->crash_ppm)
        member->crash_in = (int)(drawn >> 40) % CRASH_MOMENTS;
}

void member_heals(struct member *member)
{
    struct crowd *crowd = member->crowd;
    if (member->place == MEMBER_ACQUIRES)
        healing_asked(&crowd->healing[member->lock], crowd_now_us(crowd));
    member->crash_in = NEVER;
    orders_heal(member);
}

/* --- the loop --- */

static void acquire(struct crowd_timer *timer)
{
    struct member *member = timer->owner;
    struct crowd *crowd = member->crowd;
    if (crowd->is_ending || member->place != MEMBER_THINKS)
        return;
    if (member_is_busy(member)) { /* a late command of the attempt before */
        crowd_timer_set(crowd, timer, RETRY_US);
        return;
    }
    member->place = MEMBER_ACQUIRES;
    member->attempt++;
    member->is_lost = member->was_paused = false;
    member->called_us = crowd_now_us(crowd);
    if (crowd->is_healing)
        healing_asked(&crowd->healing[member->lock], member->called_us);
    crash_draw(member);
    member_own_delay_begins(member);
    operation_event(member, EVENT_CALL, OP_ACQUIRE, RESULT_NONE);
    ask(member, WORKER_ACQUIRE);
}

void member_start(struct member *member, int64_t in_us)
{
    timers_remove(&member->crowd->timers, &member->next.timer);
    member->next = (struct crowd_timer){.rings = acquire, .owner = member};
    crowd_timer_set(member->crowd, &member->next, in_us);
}

static void pause_ends(struct crowd_timer *timer)
{
    struct member *member = timer->owner;
    member->is_paused = false;
    member_wait_ends(member);
    if (member->place != MEMBER_HOLDS)
        return;
    (void)kill(worker_pid(member->worker), SIGCONT);
    section_goes_on(member);
}

/* The holder stalls, process and all, before it reads or between reading and writing. */
static bool pause_strikes(struct member *member)
{
    struct crowd *crowd = member->crowd;
    const uint64_t drawn =
        crowd_draw(crowd, member->number, CROWD_PAUSE,
                   2 * (int64_t)member->attempt + (member->section == PART_READ));
    if (crowd->is_healing || member->was_paused ||
        (member->section != PART_READ && member->section != PART_WRITE) ||
        drawn % 1000000 >= crowd->options->pause_ppm / 2)
        return false;
    const int64_t pause_us = crowd_spread(drawn >> 20, crowd->options->pause_us);
    member->is_paused = member->was_paused = true;
    member_wait_begins(member);
    crowd->struck[STRUCK_PAUSE]++;
    crowd_fault(crowd, member, -1, FAULT_PAUSE, pause_us);
    (void)kill(worker_pid(member->worker), SIGSTOP);
    member->next = (struct crowd_timer){.rings = pause_ends, .owner = member};
    crowd_timer_set(crowd, &member->next, pause_us);
    return true;
}

static struct command command_of(const struct member *member, enum section_part part)
{
    static const enum choice_kind kinds[] = {
        [PART_FENCED] = CHOICE_WRITE,
        [PART_READ] = CHOICE_READ_COUNTER,
        [PART_WRITE] = CHOICE_WRITE_COUNTER,
    };
    if (part == PART_CUT)
        return (struct command){.verb = VERB_DEL, .key = KEY_LIST};
    if (part != PART_APPEND)
        return guarded_command(&member->guarded, kinds[part]);
    /* An id that no other section has. */
    return (struct command){.verb = VERB_RPUSH,
                            .key = KEY_LIST,
                            .value = (int64_t)member->attempt << 16 | (member->number + 1)};
}

static void part_begins(struct member *member)
{
    const struct command command = command_of(member, (enum section_part)member->section);
    operation_event(member, EVENT_CALL, OP_ACCESS, RESULT_NONE);
    member_access(member, &command);
}

static void section_goes_on(struct member *member)
{
    if (member->is_paused)
        return;
    if (member->is_lost)
        think(member);
    else if (member->section == PART_NONE)
        release(member);
    else if (!pause_strikes(member))
        part_begins(member);
}

void member_accessed(struct member *member, const struct order *order)
{
    const enum result result = guarded_ended(&member->guarded, &order->access, &order->heard);
    struct event event = crowd_event(member->crowd, EVENT_RETURN, member, -1);
    event.op = OP_ACCESS;
    event.result = result;
    crowd_write(member->crowd, &event);
    if (member->place != MEMBER_HOLDS)
        return;
    const bool is_over = order->access.verb == VERB_RPUSH && (order->heard.kind != REPLY_INTEGER ||
                                                              order->heard.value < STRESS_LIST_MAX);
    member->section = result == RESULT_DONE && !is_over ? member->section + 1 : PART_NONE;
    section_goes_on(member);
}
