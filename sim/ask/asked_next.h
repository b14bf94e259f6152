/* asked_next.h - what was asked of each history next, as lists. Private to this folder. */
#ifndef PICKLOCK_ASK_ASKED_NEXT_H
#define PICKLOCK_ASK_ASKED_NEXT_H

#include "ask/asking_state.h"
#include "base/random.h"

struct asked_next {
    uint32_t *first, *next; /* by node; 0: none */
};

/* Of a search: without what was asked on ways alone; of classes. UNBROKEN: and without what is
 * behind an idle connection that breaks next. */
enum asked_by { ASKED_BY_ANY, ASKED_BY_SEARCH, ASKED_BY_SEARCH_UNBROKEN };
struct asked_next asked_next_of(const struct asking *asking, enum asked_by by);
void asked_next_free(const struct asked_next *asked);
/* One of those behind that history, each as likely; 0: there is none. */
uint32_t asked_next_choose(const struct asked_next *asked, uint32_t node, struct random *random);

#endif
