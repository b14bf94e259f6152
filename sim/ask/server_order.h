/* server_order.h - a worker that treats its servers alike: a history calls them by the order in
 * which it met them.
 *
 * Those that were met, a digit each, the first one lowest: its number from 1. Those that were not
 * follow by their numbers. 0: none was met. */
#ifndef PICKLOCK_ASK_SERVER_ORDER_H
#define PICKLOCK_ASK_SERVER_ORDER_H

#include "ask/asking_state.h"

/* The server at that place; -1: so many were not met. */
int server_order_at(int32_t order, int place);
int server_order_count(int32_t order);

/* The place of that server; -1: it was not met. */
int server_order_place(int32_t order, int server);

/* The order behind that: the server is met. */
int32_t server_order_meet(int32_t order, int server);

/* What a history calls that server. */
int server_order_name(int32_t order, int server);

/* The same servers as the first history of its class calls them; those that have said the same in
 * the order of their numbers. */
int32_t server_order_in_class(int32_t order, const struct history_class *it);

/* The same where that server changes places with the first one that has said the same. */
int32_t server_order_first(int32_t order, const struct history_class *it, int server);

#endif
