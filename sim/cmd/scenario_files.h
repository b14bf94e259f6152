/* scenario_files.h - which files of a folder are scenarios. */
#ifndef PICKLOCK_CMD_SCENARIO_FILES_H
#define PICKLOCK_CMD_SCENARIO_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct scenario_files {
    char **paths; /* owned */
    int count;
};

/* Adds those of the folder, in the order of their names. false: it has none. */
bool scenario_files_add(struct scenario_files *files, const char *folder);
void scenario_files_free(struct scenario_files *files);

/* How many characters of a file's name are before .yaml; 0: it has not the name of a scenario. */
size_t scenario_files_stem(const char *name);

/* scenarios/ also holds the explorer's expected matrix, which is none. */
bool scenario_files_is_matrix(const char *path);

#endif
