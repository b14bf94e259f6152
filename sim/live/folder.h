/* folder.h - the private folder of a program run's servers, and that it goes away whatever ends the
 * program.
 *
 * A folder under TMPDIR (or /tmp, where a library can be preloaded from no path in TMPDIR),
 * "picklock-servers-PID-RANDOM". A small process of ours (the sweeper) waits for the end of this
 * one, be it normal, by a signal or by SIGKILL, and then removes the folder. Should the sweeper be
 * killed, a normal end removes it all the same; after any other the next start removes what nobody
 * holds any more: a folder is held by a lock (flock), not by its name. */
#ifndef PICKLOCK_LIVE_FOLDER_H
#define PICKLOCK_LIVE_FOLDER_H

#include "live/sweeper.h"

/* In the folder from its beginning: what the next start removes has it. */
#define FOLDER_MARK "made-by-picklock"

enum { FOLDER_PATH_MAX = 512 };

struct folder {
    char path[FOLDER_PATH_MAX];
    int held; /* the descriptor that holds the lock */
    struct sweeper sweeper;
};

/* Removes stale folders of ours, makes the new one, starts its sweeper. FAIL_UNAVAILABLE: why not.
 */
enum fail folder_open(struct folder *folder, struct failure *failure);

/* Removes the folder and all in it, ends the sweeper. */
void folder_shut(struct folder *folder);

#endif
