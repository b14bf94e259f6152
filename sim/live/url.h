/* url.h - the address of an existing server: redis://[user[:password]@]host[:port][/db] or
 * unix://[user:password@]path[?db=n].
 *
 * The password is in struct url and nowhere else: no text made here holds it, and no failure quotes
 * the URL. */
#ifndef PICKLOCK_LIVE_URL_H
#define PICKLOCK_LIVE_URL_H

#include "base/fail.h"

#include <stdbool.h>

enum { URL_PART_MAX = 256, URL_PATH_MAX = 108 };

struct url {
    char host[URL_PART_MAX]; /* "" when path is used */
    int port;
    char path[URL_PATH_MAX]; /* unix socket, or "" */
    char user[URL_PART_MAX]; /* "" for the default user */
    char password[URL_PART_MAX];
    bool has_login;
    int database;
    char shown[2 * URL_PART_MAX]; /* for people: address and database, no login */
};

/* Reads text (borrowed); %41 stands for A in the login and the path. FAIL_INPUT: what is wrong,
 * without quoting it. */
enum fail url_read(const char *text, struct url *url, struct failure *failure);

#endif
