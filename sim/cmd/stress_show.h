/* stress_show.h - what `picklock stress` says while it runs. For stress.c alone. */
#ifndef PICKLOCK_CMD_STRESS_SHOW_H
#define PICKLOCK_CMD_STRESS_SHOW_H

#include "live/live.h"

/* What a run is about to suffer, with its seed: the figures mean nothing without. */
void stress_show_rates(const struct stress_options *stress);
/* A line of how far it is; context: the name of its scheme. */
void stress_show_progress(void *context, const struct stress_progress *progress);

#endif
