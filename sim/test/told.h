/* told.h - small histories of calls and answers, written as a story, for tests of the engine of
 * checks/answers.h. */
#ifndef PICKLOCK_TEST_TOLD_H
#define PICKLOCK_TEST_TOLD_H

#include "history/event.h"

#include <ctype.h>
#include <stdio.h>

enum { TOLD_CLIENTS = 4, TOLD_EVENTS = 64 };

struct told {
    int count;
    struct event events[TOLD_EVENTS];
};

/* "0 A acquire; 1 A granted; ...": time, client, and what it calls or is told. A number behind the
 * client is its attempt; without one each acquire begins the next. */
static inline void read_story(const char *story, struct told *told)
{
    int attempts[TOLD_CLIENTS] = {0};
    enum operation ops[TOLD_CLIENTS] = {0};
    int time, used;
    char client, word[16];
    *told = (struct told){0};
    for (; sscanf(story, " %d %c%n", &time, &client, &used) == 2; story += used) {
        struct event *event = &told->events[told->count];
        int who = client - 'A';
        *event =
            (struct event){.index = told->count++, .time_us = time, .client = who, .server = -1};
        story += used;
        const bool is_numbered = isdigit((unsigned char)*story);
        if (is_numbered)
            attempts[who] = *story++ - '0';
        assert_int_equal(sscanf(story, " %15[a-z-] %n", word, &used), 1);
        if (operation_read(word, &event->op)) {
            attempts[who] += event->op == OP_ACQUIRE && !is_numbered;
            ops[who] = event->op;
            event->kind = EVENT_CALL;
        } else {
            assert_true(result_read(word, &event->result));
            event->kind = EVENT_RETURN;
            event->op = ops[who];
        }
        event->attempt = attempts[who];
        if (story[used] == ';')
            used++;
    }
    assert_int_equal(*story, 0);
}

#endif
