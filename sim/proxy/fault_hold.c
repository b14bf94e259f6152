/* fault_hold.c - "hold until=LABEL", "hold barrier=N", "release LABEL": orders what several clients
 * do.
 *
 * A label that was released stays open, so that it does not matter whether the release or the hold
 * comes first. Every hold is bounded: a cycle of holds ends with a word in the log, never in a
 * dead-lock. */
#include "proxy/fault.h"

#include "base/monotonic.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

static const int64_t hold_max_us = 10000000; /* when the rule says none */

static void give_up(struct wait *wait)
{
    char words[128], time[UNITS_TEXT_MAX];
    int64_t held_us = monotonic_us() - wait->since_us;
    snprintf(words, sizeof words, "the hold's bound was reached after %s: goes on unreleased",
             units_print_ms(held_us, time));
    rules_tell(&wait->strike, words);
    wait_forward(wait);
}

static bool is_held_by(const struct wait *wait, const struct rule *rule, const char *label)
{
    const struct rule *held_by = wait->strike.rule;
    if (wait->then != give_up)
        return false;
    if (rule)
        return held_by == rule;
    return label && held_by->arguments.given & ARGUMENT_UNTIL &&
           !strcmp(held_by->arguments.label, label);
}

static uint64_t count_held(const struct rules *rules, const struct rule *rule)
{
    uint64_t count = 0;
    for (const struct wait *wait = rules->orders->waits; wait; wait = wait->next)
        count += is_held_by(wait, rule, NULL);
    return count;
}

/* The one that waits longest is at the end of the list. */
static struct wait *longest_held(const struct rules *rules, const struct rule *rule,
                                 const char *label)
{
    struct wait *longest = NULL;
    for (struct wait *wait = rules->orders->waits; wait; wait = wait->next)
        if (is_held_by(wait, rule, label))
            longest = wait;
    return longest;
}

/* Those of a label, or of a rule's barrier, go on. */
static void hold_release(struct rules *rules, const struct rule *of_rule, const char *label)
{
    /* Only those held now: what a forwarded one brings is held for the next time. */
    uint64_t count = 0;
    for (const struct wait *wait = rules->orders->waits; wait; wait = wait->next)
        count += is_held_by(wait, of_rule, label);
    for (; count > 0; count--) {
        struct wait *wait = longest_held(rules, of_rule, label);
        if (!wait)
            return;
        rules_tell(&wait->strike, of_rule ? "released: the barrier is full" : "released");
        wait_forward(wait);
    }
}

enum proxy_decision fault_hold(const struct strike *strike)
{
    struct rules *rules = strike->link->rules;
    const struct fault_arguments *arguments = &strike->rule->arguments;
    if (arguments->given & ARGUMENT_UNTIL && rules_label(rules, arguments->label)->is_open)
        return PROXY_PASS;
    if (arguments->given & ARGUMENT_BARRIER &&
        count_held(rules, strike->rule) + 1 >= arguments->barrier) {
        hold_release(rules, strike->rule, NULL);
        return PROXY_PASS;
    }
    wait_new(strike, arguments->given & ARGUMENT_BOUND ? arguments->max_us : hold_max_us, give_up);
    return PROXY_HOLD;
}

enum proxy_decision fault_release(const struct strike *strike)
{
    const struct fault_arguments *arguments = &strike->rule->arguments;
    rules_label(strike->link->rules, arguments->label)->is_open = true;
    hold_release(strike->link->rules, NULL, arguments->label);
    return PROXY_PASS;
}
