/* calls.h - the calls of the interface, a function each: what is asked in, the answer out. */
#ifndef PICKLOCK_TOXIPROXY_CALLS_H
#define PICKLOCK_TOXIPROXY_CALLS_H

#include "toxiproxy/api.h"
#include "toxiproxy/body.h"

struct call {
    struct collection *collection;
    const struct api_request *request;
    const char *name, *toxic; /* in the path */
    struct api_error api_error;
    struct api_answer answer;
};

/* Answers of calls*.c. call_json takes value. */
void call_text(struct call *call, int status, const char *text);
void call_json(struct call *call, int status, json_t *value);
void call_failed(struct call *call); /* with its error */
json_t *call_read(struct call *call, const char *type, bool is_list);
struct proxy_entry *call_entry(struct call *call); /* the one of that name, or an answer and NULL */

json_t *print_toxic(const struct toxic *toxic);
json_t *print_toxics(const struct proxy_entry *entry);
/* NULL: why not. The caller owns it. */
struct toxic *read_toxic(const json_t *body, const struct proxy_entry *entry,
                         struct api_error *api_error);

void call_version(struct call *call);
void call_list(struct call *call);
void call_show(struct call *call);
void call_create(struct call *call);
void call_update(struct call *call);
void call_delete(struct call *call);
void call_populate(struct call *call);
void call_reset(struct call *call);
void call_toxics(struct call *call);
void call_toxic_create(struct call *call);
void call_toxic_show(struct call *call);
void call_toxic_update(struct call *call);
void call_toxic_delete(struct call *call);

#endif
