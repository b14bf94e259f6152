/* limits.h - every limit with its reason. Reaching one is a failure with a message, never a cut. */
#ifndef PICKLOCK_BASE_LIMITS_H
#define PICKLOCK_BASE_LIMITS_H

enum {
    /* Redlock is described for 5; 7 is the largest that anybody runs, and fits a byte of flags. */
    SERVERS_MAX = 7,
    /* Clients of one directed run: their names are the letters of the alphabet, a column each. */
    ACTORS_MAX = 26,
    /* Clients of one stress run: the proxy holds two descriptors for each, twice with a lane. */
    CLIENTS_MAX = 10000,
    /* Locks that the clients of one stress run share among them. */
    LOCKS_MAX = 10000,
    /* Of one history: clients at locks that are not their first. A few kB each. */
    PLACES_MAX = 1000,
    /* Keys that one watch tells apart. */
    WATCHED_KEYS_MAX = 1000,
    /* Fields of a scheme's state: what a state of the explorer can pack. */
    SCHEME_FIELDS_MAX = 16,
    /* Asks of one step of a scheme: a command to each server, a timer, and a report. */
    OUTBOX_MAX = 2 * SERVERS_MAX + 4,
    /* Schemes that a user loads beside the table, one --scheme FILE.so each. */
    SCHEME_PLUGINS_MAX = 16,
    /* A name of a client, scheme, property, scenario. */
    NAME_MAX_BYTES = 64,
    /* A scenario is a page; a larger file is a wrong file. */
    SCENARIO_BYTES_MAX = 256 * 1024,
    /* Steps of one scenario. */
    STEPS_MAX = 500,
    /* A results.json: 20000 runs of 3 kB. Read back, JSON takes up to twenty times its size. */
    RESULTS_BYTES_MAX = 64 * 1024 * 1024,
    /* One line of a history file, or one operation of somebody else's: ours have some 400 bytes,
       and may carry fields of their writer's. */
    HISTORY_LINE_MAX = 64 * 1024,
};

#endif
