/* object_file.h - what stands in a shared object, read from its file before any of its code runs:
 * dlopen() runs its constructors. */
#ifndef PICKLOCK_RUN_OBJECT_FILE_H
#define PICKLOCK_RUN_OBJECT_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct object_file {
    const unsigned char *bytes; /* NULL: it is no object of this machine, or cannot be read */
    size_t size;
};

/* What is no object of this machine has nothing to be said of: dlopen() refuses it by itself. */
struct object_file object_file_open(const char *path);
void object_file_close(struct object_file *object);

/* Do the pieces that are to be mapped reach past the end of the file? To touch those would kill us
 * (SIGBUS). */
bool object_file_is_cut_off(const struct object_file *object);

/* The first of those names (the last is NULL) that its code takes from somewhere else, or NULL. */
const char *object_file_takes(const struct object_file *object, const char *const *names);

#endif
