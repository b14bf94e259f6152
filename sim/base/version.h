/* version.h - the version that --version, results and reports name. */
#ifndef PICKLOCK_BASE_VERSION_H
#define PICKLOCK_BASE_VERSION_H

#define PICKLOCK_VERSION "0.1.0"

#endif
