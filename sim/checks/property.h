/* property.h - the shape of one property: consumes events and facts, ends in a finding. One file a
 * property.
 *
 * Memory that a property keeps grows with clients, locks and servers, never with events. */
#ifndef PICKLOCK_CHECKS_PROPERTY_H
#define PICKLOCK_CHECKS_PROPERTY_H

#include "checks/finding.h"
#include "checks/ledger.h"

struct monitor {
    const struct property_rules *rules;
    const struct ledger *ledger;
    struct finding finding;
    struct counters *counters; /* of all properties together */
    void *state;               /* what make() returned; freed with free() */
    const char *excuse; /* why it left out what it saw: NULL, or it says nothing unless it found
                           anything else */
    const char *doubt;  /* what it can not tell of what it saw: NULL, or unknown, the same */
};

/* A NULL function: not needed. */
struct property_rules {
    void *(*make)(const struct ledger *ledger);
    /* After the ledger has taken the event. */
    void (*event)(struct monitor *monitor, const struct event *event);
    void (*fact)(struct monitor *monitor, const struct fact *fact);
    void (*finish)(struct monitor *monitor, int64_t end_us);
    /* Why the property says nothing about this scheme or history; NULL: it does. Asked at the end.
     */
    const char *(*excused)(const struct monitor *monitor);
    /* What its verdict rests on and was not seen, so that it does not hold but is unknown; NULL:
     * nothing. Asked at the end; where it is violated, too, by checks_contradiction(). */
    const char *(*unproved)(const struct monitor *monitor);
    bool is_about_two;    /* needs a grant and a second client to be worth anything */
    bool is_about_grants; /* needs a grant, at a server or told, to be worth anything */
};

#define PROPERTY(id, file, ...) extern const struct property_rules rules_##file;
#include "checks/properties.def"
#undef PROPERTY

#endif
