/* usage.h - what this process has cost its machine up to now. */
#ifndef PICKLOCK_BASE_USAGE_H
#define PICKLOCK_BASE_USAGE_H

#include <stdint.h>

/* CPU time of all its threads, in user and system; of its children nothing. */
int64_t usage_cpu_us(void);

/* Memory that is resident; 0: the system does not tell. */
int64_t usage_memory_kb(void);

#endif
