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

/* The next operation of the form. FAIL_INPUT with its place. */
enum fail jepsen_op_next(struct jepsen_ops *ops, struct jepsen_op *op, bool *is_end,
                         struct failure *failure);

/* FAIL_INPUT with the place: it is no operation of a lock. Of a nemesis only is_nemesis is set. */
enum fail jepsen_op_read(struct jepsen_ops *ops, const json_t *form, struct jepsen_op *op,
                         struct failure *failure);

/* The same of a map that is written plainly, as Jepsen does, in text up to a NUL: *size bytes of
 * it. False: it is not plain, or not right, and nothing has changed. */
bool jepsen_plain_read(struct jepsen_ops *ops, const char *text, struct jepsen_op *op,
                       size_t *size);

/* Parts of an operation; of those that can fail FAIL_INPUT. time: NULL: it has none. */
enum op_field {
    JEPSEN_PROCESS,
    JEPSEN_TYPE,
    JEPSEN_F,
    JEPSEN_TIME,
    JEPSEN_VALUE,
    JEPSEN_ERROR,
    JEPSEN_INDEX,
    JEPSEN_COUNT
};
extern const char *const jepsen_fields[JEPSEN_COUNT];
bool jepsen_type_find(const char *name, enum op_type *type);
bool jepsen_function_find(const char *name, enum operation *op);
enum fail jepsen_note_time(struct jepsen_ops *ops, const int64_t *time, struct jepsen_op *op,
                           struct failure *failure);
/* A key of that kind is there; which key is, or none. */
enum fail jepsen_note_kind(struct jepsen_ops *ops, enum key_kind kind, const char *key,
                           struct failure *failure);
enum fail jepsen_note_key(struct jepsen_ops *ops, const char *key, struct failure *failure);

/* Behind the last: what makes another unit of ':time' likely, if anything does. lease_us 0: none.
 */
void jepsen_ops_doubt_unit(const struct jepsen_ops *ops, int64_t lease_us, char *note, size_t size);

#endif
