/* outfile.h - files that are whole or not there.
 *
 * What is written goes to a file without a name in the same folder (on file systems that have none,
 * to a temporary one); outfile_shut() syncs it and puts it in place. A crash, a kill, a full disk
 * or a failed write leaves the old file as it was, or none. Path "-" is stdout. A device, a pipe or
 * a terminal is written to directly: it cannot be replaced. A symbolic link keeps pointing where it
 * does: the file behind it is replaced, or made where there is none yet. */
#ifndef PICKLOCK_BASE_OUTFILE_H
#define PICKLOCK_BASE_OUTFILE_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct outfile {
    FILE *stream; /* write here; belongs to the outfile, never fclose() it */
    char *path;   /* as the user wrote it, for messages */
    char *target; /* what is replaced, links resolved; NULL: written directly */
    char *temp; /* beside target, to be renamed; NULL: it has no name yet, or is written directly */
    int fd;     /* -1: stdout */
    int error;  /* errno of the first write that failed, or 0 */
    const char *loss; /* what others did to it since it was shown; NULL: nothing that is known */
    off_t size;       /* what was written, but not over what was there */
    bool goes_back;   /* what is written now replaces what was */
    bool is_shown; /* temp is what stood there before, until it is replaced for good; NULL: nothing
                    */
};

/* Do both paths (borrowed) lead to one place, so that one would replace the other? /dev/null is no
 * place. */
bool outfile_is_same(const char *one, const char *other);

/* Can a file be written at path (borrowed), as far as can be told before? Nothing is changed, and a
 * device or a pipe is not opened. FAIL_INPUT as of outfile_open(). */
enum fail outfile_check(const char *path, struct failure *failure);

/* Removes the file at path (borrowed; of a link the one behind it), so that nobody takes what is
 * there for what is still to be written. Only a regular file that outfile_open() would replace.
 * FAIL_INPUT: it cannot be removed. */
enum fail outfile_clear(const char *path, struct failure *failure);

/* Opens path (borrowed). FAIL_INPUT when the path is wrong or may not be written (no such folder, a
 * folder, no right); FAIL_INTERNAL for the rest (disk full, no descriptor). On failure there is
 * nothing to shut. */
enum fail outfile_open(struct outfile *file, const char *path, struct failure *failure);

/* Puts it into place as it is now: what is written from here on can be read there at once, and
 * stays there whatever ends us, or fails. Whoever reads it must see by what is there whether it is
 * whole. It is held by a lock (flock): FAIL_UNAVAILABLE where another process has shown a file
 * there, and still writes it. FAIL_INTERNAL: it cannot be put there. */
enum fail outfile_show(struct outfile *file, struct failure *failure);

/* What others did to a regular file that is open, and of which so many bytes were written: removed
 * or cut it (it may be renamed). A sentence; NULL: nothing that is known. */
const char *outfile_loss(int fd, off_t written);

/* Why what was written so far is not wholly there, or NULL: a write that failed, or, of a file that
 * is shown, its outfile_loss(). Of what the stream still keeps nothing is said. */
const char *outfile_why(struct outfile *file);

/* Of one that is shown: what stood there before is gone, too. Until then outfile_abandon() gives it
 * back (where the file system can exchange two files). */
void outfile_replace(struct outfile *file);

/* Of one that is shown, whose disk is full: up to so many bytes of its end are given back, three
 * quarters of it at most, so that something else fits there. */
void outfile_give_back(struct outfile *file, off_t most);

/* Flushes, syncs, renames into place; in any case releases all that file holds. FAIL_INTERNAL, with
 * the reason of outfile_why(), when the text is not wholly there: then the temporary file is gone
 * and an older file at path is untouched. */
enum fail outfile_shut(struct outfile *file, struct failure *failure);

/* Gives up: nothing appears at path, and what was shown there is removed; see outfile_replace(). */
void outfile_abandon(struct outfile *file);

#endif
