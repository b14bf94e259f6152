/* heartbeat.h - what a long command is doing, on stderr, for as long as it lasts: a terminal has
 * one line that changes; a file has a line every 5 s, whatever the command waits for meanwhile, and
 * none of what is over before. One at a time. */
#ifndef PICKLOCK_CMD_HEARTBEAT_H
#define PICKLOCK_CMD_HEARTBEAT_H

void heartbeat_begin(void);

/* What is done from now on, in printf's way; "" leaves the line empty, for others to print. From
 * the thread that began it. */
void heartbeat_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The terminal's line is empty from then on. */
void heartbeat_end(void);

#endif
