/* jepsen_op.h - an operation of a Jepsen history, read from its map. Private to this folder. */
#ifndef PICKLOCK_HISTORY_JEPSEN_OP_H
#define PICKLOCK_HISTORY_JEPSEN_OP_H

#include "history/event.h"
#include "history/form.h"
#include "history/jepsen.h"

#include <stdbool.h>

enum { JEPSEN_KEY_BYTES = 64 };

enum op_type { TYPE_INVOKE, TYPE_OK, TYPE_FAIL, TYPE_INFO, TYPE_COUNT };

struct jepsen_op {
    int64_t process, time_us, fence;
    enum op_type type;
    enum operation op;
    char key[JEPSEN_KEY_BYTES];
    bool is_nemesis;
    bool was_not_done;               /* a failure that is no refusal */
    bool has_fence, has_other_value; /* its value is a whole number; is something else, */
    bool is_value_huge;              /* a number of more than 64 bits */
};

enum key_kind { KEY_TEXT, KEY_NUMBER, KEY_NUMBER_AS_TEXT };

/* What is read one after the other. */
struct jepsen_ops {
    struct form_reader *form; /* borrowed: says where it is */
    bool wants_time;          /* an operation without a time is refused */
    enum jepsen_unit unit;
    bool has_time; /* the first operation has one: all have, or none */
    int64_t first_ns, last_ns, count;
    unsigned kinds;    /* of keys so far: bit an enum key_kind */
    bool names_a_lock; /* the first operation does: all do, or none */
};

/* FAIL_INPUT with the place: it is no operation of a lock. Of a nemesis only is_nemesis is set. */
enum fail jepsen_op_read(struct jepsen_ops *ops, const json_t *form, struct jepsen_op *op,
                         struct failure *failure);

/* Behind the last: what makes another unit of ':time' likely, if anything does. lease_us 0: none.
 */
void jepsen_ops_doubt_unit(const struct jepsen_ops *ops, int64_t lease_us, char *note, size_t size);

#endif
