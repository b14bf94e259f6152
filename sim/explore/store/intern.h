/* intern.h - an intern table: equal bytes get one number. Client states and server states are
 * interned, and a state is made of their numbers.
 *
 * Numbers count from 0 in the order in which records were first seen, so a search is the same on
 * every machine. */
#ifndef PICKLOCK_EXPLORE_STORE_INTERN_H
#define PICKLOCK_EXPLORE_STORE_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* No record has that number. */
#define UNKNOWN_ID UINT32_MAX

struct intern_table {
    unsigned char *bytes; /* all records, one after the other */
    size_t bytes_used, bytes_size;
    size_t *offsets; /* count + 1 of them */
    uint32_t count, offsets_size;
    struct intern_slot *slots; /* hash table, at most half full */
    uint32_t slots_size;
};

struct intern_slot {
    uint32_t number; /* + 1; 0: empty */
    uint32_t mark;   /* of the record's hash: few others are looked at */
};

void intern_init(struct intern_table *table);
void intern_close(struct intern_table *table);

/* The number of a record (borrowed). */
uint32_t intern_put(struct intern_table *table, const void *record, size_t size);

/* The same, without putting it there; UNKNOWN_ID: it is not. */
uint32_t intern_find(const struct intern_table *table, const void *record, size_t size);

/* Of the record of that number. */
size_t intern_size(const struct intern_table *table, uint32_t number);

/* Copies the record of that number; returns its size. */
size_t intern_get(const struct intern_table *table, uint32_t number, void *record);

size_t intern_bytes(const struct intern_table *table);

#endif
