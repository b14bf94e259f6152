/* foreign_story.h - small histories of a foreign lock (story.h): its commands are opaque and told
 * by their effects, its tokens are texts, its promises stand in the head. */
#ifndef PICKLOCK_TEST_FOREIGN_STORY_H
#define PICKLOCK_TEST_FOREIGN_STORY_H

#include "test/story.h"

enum { LEASE_MS = 300 };

static inline struct story *foreign(unsigned promises, int servers)
{
    struct story *story = story_new(NULL, servers, LEASE_MS);
    story->head.has_promises = true;
    story->head.promises = promises;
    snprintf(story->head.program, sizeof story->head.program, "a library");
    (void)story_begin(story, NULL);
    return story;
}

/* The same, and all that its clients sent is told. */
static inline struct story *foreign_whole(unsigned promises, int servers)
{
    struct story *story = foreign(promises, servers);
    story->head.has_all_commands = true;
    return story_begin(story, NULL);
}

#define ALL_PROMISES (PROMISE_EXPIRY | PROMISE_EXTENDS | PROMISE_TOKEN)

static inline int64_t token_of(int client)
{
    char text[VALUE_TEXT_MAX];
    int64_t number = 0;
    snprintf(text, sizeof text, "token-of-%c", 'A' + client);
    assert_true(value_number(text, &number));
    return number;
}

static inline struct key_effect created(int client)
{
    return (struct key_effect){.did = DID_CREATED,
                               .before = BEFORE_ABSENT,
                               .wanted = EFFECT_SET,
                               .has_new = true,
                               .new_value = token_of(client),
                               .has_ttl = true,
                               .ttl_us = LEASE_MS * 1000};
}

static inline struct key_effect refused(enum effect wanted, int owner)
{
    return (struct key_effect){.did = DID_REFUSED,
                               .before = BEFORE_PRESENT,
                               .wanted = wanted,
                               .has_old = true,
                               .old_value = token_of(owner)};
}

static inline struct key_effect deleted(int owner)
{
    return (struct key_effect){.did = DID_DELETED,
                               .before = BEFORE_PRESENT,
                               .wanted = EFFECT_DELETE,
                               .has_old = true,
                               .old_value = token_of(owner)};
}

static inline struct key_effect expiry(enum did did, int ttl_ms)
{
    return (struct key_effect){.did = did,
                               .before = BEFORE_PRESENT,
                               .wanted = EFFECT_EXPIRE,
                               .has_ttl = true,
                               .ttl_us = ttl_ms * 1000};
}

static const struct opaque script = {
    .name = "EVALSHA", .text = "EVALSHA 9d2f 1 lock", .keys = 1u << KEY_LOCK};

static inline void sends_script(struct story *story, int client, enum operation op)
{
    happens(story,
            (struct event){.kind = EVENT_SEND, .client = client, .op = op, .opaque = &script});
}

/* The event's pointers are worth nothing when it was taken. */
static inline void runs_on(struct story *story, int client, int server, enum operation op,
                           struct key_effect effect)
{
    struct opaque opaque = script;
    struct effects effects = {.count = 1, .on = {effect}};
    happens(story, (struct event){.kind = EVENT_EXECUTE,
                                  .client = client,
                                  .server = server,
                                  .op = op,
                                  .reply = INTEGER(1),
                                  .opaque = &opaque,
                                  .effects = &effects});
    memset(&opaque, 'x', sizeof opaque);
    memset(&effects, 'x', sizeof effects);
}

static inline void runs(struct story *story, int client, enum operation op,
                        struct key_effect effect)
{
    runs_on(story, client, 0, op, effect);
}

static inline void takes(struct story *story, int client)
{
    calls(story, client, OP_ACQUIRE);
    sends_script(story, client, OP_ACQUIRE);
    runs(story, client, OP_ACQUIRE, created(client));
    returns(story, client, OP_ACQUIRE, RESULT_GRANTED);
}

static inline void gives_back(struct story *story, int client, struct key_effect effect,
                              enum result result)
{
    calls(story, client, OP_RELEASE);
    sends_script(story, client, OP_RELEASE);
    runs(story, client, OP_RELEASE, effect);
    returns(story, client, OP_RELEASE, result);
}

static inline bool says(const struct story *story, enum property property, const char *words)
{
    const struct finding *finding = &story->findings[property];
    for (int i = 0; i < finding->witness_lines; i++)
        if (strstr(finding->witness[i], words))
            return true;
    return false;
}

#endif
