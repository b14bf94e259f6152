/* server_order.c - see server_order.h. */
#include "ask/server_order.h"

enum { ORDER_BITS = 3, ORDER_MASK = (1 << ORDER_BITS) - 1 };
_Static_assert((int)SERVERS_MAX <= (int)ORDER_MASK, "a digit of an order is too short");
_Static_assert((int)SERVERS_MAX *(int)ORDER_BITS < 31, "an order is too long");

int server_order_at(int32_t order, int place)
{
    return (order >> (place * ORDER_BITS) & ORDER_MASK) - 1;
}

int server_order_count(int32_t order)
{
    int count = 0;
    while (count < SERVERS_MAX && server_order_at(order, count) >= 0)
        count++;
    return count;
}

int server_order_place(int32_t order, int server)
{
    for (int i = 0; i < server_order_count(order); i++)
        if (server_order_at(order, i) == server)
            return i;
    return -1;
}

int32_t server_order_meet(int32_t order, int server)
{
    if (server_order_place(order, server) >= 0)
        return order;
    return order | (server + 1) << (server_order_count(order) * ORDER_BITS);
}

int server_order_name(int32_t order, int server)
{
    int name = server_order_place(order, server);
    if (name >= 0)
        return name;
    name = server_order_count(order);
    for (int s = 0; s < server; s++)
        name += server_order_place(order, s) < 0;
    return name;
}

int32_t server_order_first(int32_t order, const struct history_class *it, int server)
{
    const int place = server_order_place(order, server);
    if (place < 0 || it->like[place] == place)
        return order;
    const int first = it->like[place];
    const int32_t moved =
        ((order >> (place * ORDER_BITS)) ^ (order >> (first * ORDER_BITS))) & ORDER_MASK;
    return order ^ (moved << (place * ORDER_BITS)) ^ (moved << (first * ORDER_BITS));
}

int32_t server_order_in_class(int32_t order, const struct history_class *it)
{
    int server[SERVERS_MAX] = {0};
    int32_t named = 0;
    const int met = server_order_count(order);
    for (int i = 0; i < met; i++)
        server[it->name[i]] = server_order_at(order, i);
    for (int i = 0; i < met; i++)
        for (int k = 0; k < i; k++)
            if (it->like[i] == it->like[k] && server[k] > server[i]) {
                const int swapped = server[i];
                server[i] = server[k];
                server[k] = swapped;
            }
    for (int i = 0; i < met; i++)
        named |= (server[i] + 1) << (i * ORDER_BITS);
    return named;
}
