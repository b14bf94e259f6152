/* file_kind.h - what a file is that was given to the wrong command. */
#ifndef PICKLOCK_CMD_FILE_KIND_H
#define PICKLOCK_CMD_FILE_KIND_H

#include "base/fail.h"

enum file_kind { FILE_SCHEDULE, FILE_SCENARIO, FILE_HISTORY, FILE_RESULTS, FILE_KIND_COUNT };

/* For a command that wants the one kind and has failed: where the file at path is surely of another
 * one, puts that, and which command reads it, behind the failure. Returns failure->code. */
enum fail file_kind_hint(enum file_kind wanted, const char *path, struct failure *failure);

#endif
