/* plugin.h - a scheme from a shared object that a user built from schemes/skeleton.c.
 *
 *     cc -std=c17 -Isim -shared -fPIC -o my_lock.so my_lock.c
 *
 * my_lock.so must define `const struct scheme scheme_my_lock`; what it asks with (out_send() and so
 * on, schemes/interface.def) is the program's, and all of the program that it sees. Whatever else
 * it names is its own, whatever it is called. It runs inside the program, so it is trusted like the
 * program; what ends the program, or never returns, is told with its file (cmd/foreign_code.h). */
#ifndef PICKLOCK_RUN_PLUGIN_H
#define PICKLOCK_RUN_PLUGIN_H

#include "base/fail.h"
#include "schemes/scheme.h"

/* Loads path (borrowed) and makes its scheme known by name. *scheme lives until the program ends.
 * FAIL_INPUT: no such file, not a shared object, one that was cut off, no such symbol, a descriptor
 * that is not filled in, a name that is taken, a file that is loaded already, a name of the step
 * interface that it defines itself. */
enum fail plugin_load(const char *path, const struct scheme **scheme, struct failure *failure);

/* The file (borrowed) that was loaded last, or is being loaded, as the user named it; NULL: none
 * was. */
const char *plugin_last_file(void);

/* The file that it was loaded from, as the user named it; NULL: it was not. */
const char *plugin_file(const struct scheme *scheme);

#endif
