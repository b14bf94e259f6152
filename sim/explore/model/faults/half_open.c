/* half_open.c - a client's connections fall silent in both directions, and nobody tells it: a
 * middlebox that forgets them, a machine that is gone without a word.
 *
 * What it is about is what a library does then: does it wait for ever? A scheme has no connection
 * to wait on: when it stops waiting is the world's to say, and late-request and late-reply let it
 * do so at any moment, for what never comes, too. */
#include "explore/model/faults/fault.h"

const struct fault_kind fault_half_open_kind = {
    .not_of_schemes = "a scheme has no time-outs of its own: late-request and late-reply let it "
                      "stop waiting at any moment"};
