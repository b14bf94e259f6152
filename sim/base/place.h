/* place.h - where the program's own files are: in the folder in which it was built, or under the
 * prefix to which it was installed (PREFIX/bin, PREFIX/lib/picklock, PREFIX/share/picklock). Both
 * are told from where the program itself lies, so that either may be moved. No path has dots in
 * it. */
#ifndef PICKLOCK_BASE_PLACE_H
#define PICKLOCK_BASE_PLACE_H

#include <stdbool.h>

enum { PLACE_BYTES = 4096 };

/* The folder of the running program; "" when the system does not tell it. */
void place_program(char path[PLACE_BYTES]);

/* A library that is preloaded into others ("picklock-clock.so"). false: it is in none of its
 * places; path is then one of them. */
bool place_library(const char *name, char path[PLACE_BYTES]);

/* A file or folder that comes with the program ("scenarios"). false: as above. */
bool place_shared(const char *name, char path[PLACE_BYTES]);

/* The folder of the documents, where they are installed. false: they are not, and who reads of
 * "sim/docs/WORKERS.md" finds it in the tree. */
bool place_documents(char path[PLACE_BYTES]);

/* The folder of the headers of schemes. false: they are in none of its places. */
bool place_headers(char path[PLACE_BYTES]);

#endif
