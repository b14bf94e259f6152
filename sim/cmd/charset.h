/* charset.h - what characters the user's terminal can show. */
#ifndef PICKLOCK_CMD_CHARSET_H
#define PICKLOCK_CMD_CHARSET_H

#include "report/report.h"

/* By the locale of the environment; the program's own locale stays as it is. */
enum charset charset_of_locale(void);

#endif
