/* late_library.h - a shared library that is loaded when it is first needed. Few commands speak TLS
 * or HTTP, and OpenSSL and GnuTLS, which libmicrohttpd brings with it, take twice as long to load
 * as all the rest of a start takes. Its functions are called through a table, whose types are those
 * of its header; the .def file of its user names them.
 *
 * Source: dlopen(3). */
#ifndef PICKLOCK_BASE_LATE_LIBRARY_H
#define PICKLOCK_BASE_LATE_LIBRARY_H

#include "base/fail.h"

#include <stddef.h>

/* LATE_FILE("libssl", 3): "libssl.so.3", also where the number is a macro. */
#define LATE_FILE(name, version)    LATE_FILE_OF(name, version)
#define LATE_FILE_OF(name, version) name ".so." #version

struct late_function {
    const char *name;
    void *at; /* the table's member: NULL until it is bound */
};

/* Fills the table, once; file: its soname. FAIL_UNAVAILABLE: it cannot be loaded, or lacks one of
 * them. It stays loaded. One thread at a time. */
enum fail late_library_bind(const char *file, const struct late_function *functions, size_t count,
                            struct failure *failure);

#endif
