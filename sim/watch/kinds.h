/* kinds.h - what the names of commands tell `picklock watch`. Names are in upper case, borrowed. */
#ifndef PICKLOCK_WATCH_KINDS_H
#define PICKLOCK_WATCH_KINDS_H

#include <stdbool.h>

/* Does it wait at the server for something to happen, or is no command on keys? Never held. */
bool kind_is_passed(const char *name);
/* May the server let its connection wait? */
bool kind_waits(const char *name);
/* Does it empty a database? */
bool kind_is_flush(const char *name);
/* May it change keys that it does not name? */
bool kind_is_script(const char *name);
/* Can it name any number of keys to be written? */
bool kind_names_many(const char *name);
/* Has it changed nothing, when nil or 0 is answered? */
bool kind_says_no(const char *name);
/* Does it matter whatever keys it names? Asked of every request, so the first letter decides most.
 */
bool kind_is_special(const char *name);

#endif
