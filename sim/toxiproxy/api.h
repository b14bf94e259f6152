/* api.h - Toxiproxy's interface, without HTTP: a request in, an answer out. Its paths, statuses,
 * JSON and words are those of Toxiproxy 2.12.0. */
#ifndef PICKLOCK_TOXIPROXY_API_H
#define PICKLOCK_TOXIPROXY_API_H

#include "toxiproxy/collection.h"

struct api_request {
    const char *method, *path; /* the path as it came, with %-escapes, without a query */
    const char *agent;         /* NULL: not said */
    const char *body;
    size_t length;
    bool is_too_large; /* the body was not kept */
};

struct api_answer {
    int status;
    const char *type; /* of the content; NULL: none */
    bool is_error;    /* told as text, whatever it is */
    char *body;       /* the caller frees */
};

enum { API_BODY_MAX = 1024 * 1024 };

struct api_answer api_answer(struct collection *collection, const struct api_request *request);

/* Makes the proxies of a file's text, as POST /populate does. FAIL_INPUT: why not. */
enum fail api_populate(struct collection *collection, const char *text, size_t length,
                       struct failure *failure);

#endif
