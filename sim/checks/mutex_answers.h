/* mutex_answers.h - can the answers that clients were given be those of one lock that anybody may
 * release? What answers.h decides of a lock with an owner, of the model `mutex`.
 *
 * The lock is free, or locked. An acquire is granted where it is free, and refused where it is not;
 * a release takes effect where it is locked, whoever locked it; a renewal is done where it is
 * locked; both are answered "not mine" where it is free, or where another one has locked it; to
 * whom the lock was not granted that says nothing. Nothing ends by itself. Every operation takes
 * effect at one moment between its call and its return; one without an answer at any later time, or
 * never. The order is that of the events; but a return and a call of one time may have been in
 * either order, as far as a refusal, "not mine" or a renewal goes.
 *
 * What was called is put into an order only where an answer asks for it. So a standing is: free or
 * locked, since when, and which of the operations under way have had their effect. */
#ifndef PICKLOCK_CHECKS_MUTEX_ANSWERS_H
#define PICKLOCK_CHECKS_MUTEX_ANSWERS_H

#include "checks/answers.h"

struct mutex_answers;

struct mutex_answers *mutex_answers_new(int clients, int locks);
void mutex_answers_free(struct mutex_answers *mutex);

/* As answers_event(), of a CALL or a RETURN. */
enum answers mutex_answers_event(struct mutex_answers *mutex, const struct event *event);

/* As answers_are_lenient(): was "not mine" taken for granted where two may have had the lock? */
bool mutex_answers_are_lenient(const struct mutex_answers *mutex);

#endif
