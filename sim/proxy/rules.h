/* rules.h - a rules file: which requests and replies meet which fault, in the proxy that stands
 * alone.
 *
 * Decisions depend on what is sent, never on when: each rule counts its own matches, and a chance
 * is a function of (seed, rule's name, client's name or number, n-th match of its connection), so
 * that a rule more or less changes nothing for the others. The file's form is told in README.md. */
#ifndef PICKLOCK_PROXY_RULES_H
#define PICKLOCK_PROXY_RULES_H

#include "base/fail.h"
#include "proxy/proxy.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum {
    RULES_MAX = 200,
    RULES_BYTES_MAX = 256 * 1024
}; /* a page or two; more is another file by mistake */

enum point { POINT_BEFORE, POINT_AFTER, POINT_DONE };
const char *point_name(enum point point);

/* What a rule came to; told to whoever started the rules. */
struct rules_told {
    const struct proxy_request *request;
    const char *rule, *fault;
    enum point point;
    const char *words; /* NULL: it struck; else what became of it later */
};

struct rules;      /* of a file */
struct rules_link; /* what they remember of one link */

/* FAIL_INPUT with file:line:column, what was expected, and what was probably meant. */
enum fail rules_read(struct rules **rules, const char *path, struct failure *failure);

/* What the rules tell whoever started them; each may be NULL. */
struct rules_hooks {
    /* For every strike. */
    void (*told)(void *context, struct rules_link *link, const struct rules_told *told);
    /* A request that a rule held may go on: he says proxy_request_forward(), now or later. NULL:
     * it goes on. */
    void (*let_go)(void *context, struct proxy_request *request);
    /* A reply that a rule held goes on now. */
    void (*heard)(void *context, struct proxy_request *request);
    void *context;
};

/* One rule, from its selectors, a word each as in "key=lock:*", and its action as it stands in a
 * file. FAIL_INPUT: what is wrong, of no file. All is borrowed. */
enum fail rules_of(struct rules **rules, const char *const *selectors, size_t count,
                   const char *action, struct failure *failure);

/* Labels, and what is held until one is released: those of one set of rules, or of several that
 * share them. Freed when the last of those is. */
struct rules_orders;
struct rules_orders *rules_orders_new(void);
void rules_orders_free(struct rules_orders *orders); /* NULL is nothing */
/* Before they are started. false: there are too many rules with script= already. */
bool rules_share(struct rules *rules, struct rules_orders *orders);
bool rules_are_started(const struct rules *rules);

/* Before the first link. */
void rules_start(struct rules *rules, uv_loop_t *loop, uint64_t seed,
                 const struct rules_hooks *hooks);

/* What a rule has come to so far. */
struct rule_counts {
    const char *name, *fault; /* borrowed from the rules */
    enum point point;
    uint64_t matches, strikes;
};
int rules_count(const struct rules *rules);
struct rule_counts rules_counts(const struct rules *rules, int row);

struct rules_link *rules_link_new(struct rules *rules, struct proxy_link *link);
/* Forgets the link, and what it still waits for. Takes link. */
void rules_link_free(struct rules_link *link);

/* Is it a link of these rules? Does it hold nothing? */
bool rules_link_is_of(const struct rules_link *link, const struct rules *rules);
bool rules_link_is_idle(const struct rules_link *link);

/* What they hold of it goes on at once; a silence ends. */
void rules_link_let_go(struct rules_link *link);

/* As the two below, where several sets of rules look at the same bytes: if one has struck, the
 * others only count. Sets *is_struck when they strike. */
enum proxy_decision rules_request_among(struct rules_link *link, struct proxy_request *request,
                                        bool *is_struck);
enum proxy_decision rules_reply_among(struct rules_link *link, struct proxy_request *request,
                                      const char *bytes, size_t length, bool *is_struck);

/* False: no rule is about such a request or its reply, as its name and key tell. */
bool rules_may_meet(const struct rules_link *link, const struct proxy_request *request);

/* For the proxy's hooks of the same names. */
enum proxy_decision rules_request(struct rules_link *link, struct proxy_request *request);
enum proxy_decision rules_reply(struct rules_link *link, struct proxy_request *request,
                                const char *bytes, size_t length);

/* Takes rules; the last of their links takes them along. Before the loop's last turns (timers are
 * closed there). */
void rules_free(struct rules *rules);

#endif
