/* slow_dial.c - a client connects and has no answer for a while: packets are dropped, or a machine
 * has no time to accept. What it would have sent comes late, or, behind a time-out of its own,
 * never.
 *
 * A scheme makes no connections: its request is on its way at once, and late, or lost. */
#include "explore/model/faults/fault.h"

const struct fault_kind fault_slow_dial_kind = {
    .not_of_schemes = "a scheme makes no connections: a request that waits for one is a "
                      "late-request, or a lose-request"};
