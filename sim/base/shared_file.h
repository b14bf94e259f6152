/* shared_file.h - a new file of zeros that two processes map, to tell each other things. */
#ifndef PICKLOCK_BASE_SHARED_FILE_H
#define PICKLOCK_BASE_SHARED_FILE_H

#include "base/fail.h"

#include <stddef.h>

/* Makes the file path (borrowed; must not exist yet) of size bytes and maps it; munmap() it. Its
 * room is there: whoever writes to it is not ended for want of a disk. FAIL_UNAVAILABLE: why not,
 * and there is no such file. */
enum fail shared_file_make(void **memory, const char *path, size_t size, struct failure *failure);

#endif
