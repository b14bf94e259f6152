/* shared_file.c - see shared_file.h. Sources: posix_fallocate(3), mmap(2). */
#include "base/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum fail shared_file_make(void **memory, const char *path, size_t size, struct failure *failure)
{
    const int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: cannot be made: %s", path,
                           fail_of_temporary(errno));
    *memory = MAP_FAILED;
    int error = posix_fallocate(descriptor, 0, (off_t)size);
    if (!error) {
        *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        error = errno;
    }
    (void)close(descriptor);
    if (*memory != MAP_FAILED)
        return FAIL_NONE;
    (void)unlink(path);
    return failure_set(failure, FAIL_UNAVAILABLE, "%s: cannot be mapped: %s", path,
                       fail_of_temporary(error));
}
