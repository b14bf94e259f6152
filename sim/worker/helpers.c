/* helpers.c - the modules for workers are in the program, so that it can be moved anywhere; they
 * are written into the private folder. The assembler reads the files, from the folder in which make
 * runs; the Makefile knows that this object depends on them. */
#include "base/place.h"
#include "worker/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE(name, file)                                                                         \
    extern const char name[];                                                                      \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #name "\n"                                                                  \
            ".type " #name ", @object\n" #name ":\n"                                               \
            ".incbin \"" file "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".size " #name ", . - " #name "\n"                                                     \
            ".popsection\n")

MODULE(module_python, "sim/worker/python/picklock_worker.py");
MODULE(module_node, "sim/worker/node/picklock-worker.js");
MODULE(module_clocks, "sim/worker/node/picklock-clocks.js");
MODULE(module_ruby, "sim/worker/ruby/picklock_worker.rb");

static enum fail write_module(const char *folder, const char *language, const char *file,
                              const char *text, struct failure *failure)
{
    char path[PROCESS_PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s", folder, language);
    bool is_written = mkdir(path, 0700) == 0 || errno == EEXIST;
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, language, file);
    FILE *out = is_written ? fopen(path, "we") : NULL;
    is_written = out && fputs(text, out) >= 0;
    if (out && fclose(out) != 0)
        is_written = false;
    if (is_written)
        return FAIL_NONE;
    return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", path, fail_of_temporary(errno));
}

enum fail helpers_write(const char *folder, struct failure *failure)
{
    if (mkdir(folder, 0700) != 0)
        return failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", folder, fail_of_temporary(errno));
    if (write_module(folder, "python", "picklock_worker.py", module_python, failure) ||
        write_module(folder, "ruby", "picklock_worker.rb", module_ruby, failure) ||
        write_module(folder, "node", "picklock-worker.js", module_node, failure))
        return FAIL_UNAVAILABLE;
    return write_module(folder, "node", "picklock-clocks.js", module_clocks, failure);
}

enum fail helpers_link_shim(struct session *session, struct failure *failure)
{
    char program[PLACE_BYTES], found[PLACE_BYTES];
    (void)snprintf(session->shim, sizeof session->shim, "%s/time.so", session->servers.folder.path);
    if (place_library("picklock-time.so", found))
        return symlink(found, session->shim) == 0
                   ? FAIL_NONE
                   : failure_set(failure, FAIL_UNAVAILABLE, "%s: %s", session->shim,
                                 fail_of_temporary(errno));
    place_program(program);
    return failure_set(
        failure, FAIL_UNAVAILABLE,
        "picklock-time.so, which steers the workers' clocks, is not beside the program in "
        "%s; build it with make",
        program);
}
