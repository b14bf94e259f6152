/* resp.h - finds where requests and replies begin and end in a stream of bytes.
 *
 * Incremental and zero-copy: it is fed whatever has come, remembers where it stopped (in the middle
 * of a number if need be), steps over the bodies of bulks without looking at them, and reads no
 * other byte more than twice (a frame that did not come whole). It keeps offsets, never bytes.
 * Understands exactly what a redis-server understands, or less: at anything else it says RESP_BAD
 * for good, and the caller relays the rest unread. Knows no command and no socket. Source: the
 * Redis serialization protocol specification (RESP2 and RESP3, without streamed types); what
 * redis-server 7.0.15 accepts in requests was tried. */
#ifndef PICKLOCK_REDIS_RESP_H
#define PICKLOCK_REDIS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum resp_side {
    RESP_REQUESTS, /* arrays of bulks, and inline commands */
    RESP_REPLIES,  /* RESP2 and RESP3; an attribute belongs to the reply behind it */
};

enum resp_status {
    RESP_MORE,  /* all bytes are eaten, the frame goes on */
    RESP_WHOLE, /* the frame ended with the last byte eaten */
    RESP_BAD,   /* not understood; nothing is eaten from here on. Final, resp.why says what */
};

enum {
    RESP_DEPTH_MAX = 32,         /* deeper replies come only from scripts that try to */
    RESP_SPANS_MAX = 8,          /* first elements whose place is kept */
    RESP_INLINE_MAX = 64 * 1024, /* as in redis-server */
};
#define RESP_COUNT_MAX INT32_MAX /* arguments of a request, as in redis-server */
/* Bytes of a bulk of a request: proto-max-bulk-len as shipped. */
#define RESP_BULK_MAX (INT64_C(512) * 1024 * 1024)

/* Where an element lies, counted from the first byte of its frame. */
struct resp_span {
    uint64_t offset;
    uint64_t length;
};

enum resp_state {
    RESP_AT_TYPE,
    RESP_IN_NUMBER,
    RESP_IN_TEXT,
    RESP_IN_INLINE,
    RESP_IN_BODY,
    RESP_AT_CR,
    RESP_AT_LF,
};

struct resp {
    /* What the caller may read. */
    uint64_t seen; /* bytes of the frame so far */
    char type; /* of the frame: '*', '+', ... as sent, behind attributes; 'i' inline; 0: not known
                  yet */
    int64_t count;   /* elements of the array, map (keys and values) or push; -1: a nil */
    int64_t integer; /* the last ':' in the frame */
    int spans_count; /* of the first elements: bulks and simple texts; 'i': the line, once it is
                        whole */
    struct resp_span spans[RESP_SPANS_MAX];
    const char *why; /* RESP_BAD: static words */

    /* Its own. */
    enum resp_side side;
    enum resp_state state;
    enum resp_state
        after_line; /* where AT_LF leads: AT_TYPE an element is done, IN_BODY a body begins */
    bool is_done, is_bad, has_digit, is_minus, is_leading_zero;
    char element; /* the type in hand */
    int64_t number;
    uint64_t left;         /* of the body */
    uint64_t begun;        /* where the text in hand began */
    int64_t element_index; /* of the outermost array */
    int depth;
    struct {
        int64_t left;      /* elements to come */
        bool is_attribute; /* its end is not an element's end */
    } stack[RESP_DEPTH_MAX];
    /* What stands in front of each body of the newest request, at most 8 bytes, and which of these
     * bytes; kept where the request before it was as long: the next one may be alike, too. */
    bool has_heads;
    uint64_t heads[RESP_SPANS_MAX], head_masks[RESP_SPANS_MAX];
};

void resp_init(struct resp *resp, enum resp_side side);

/* Eats at most length bytes (borrowed), up to the end of a frame at most; returns how many. After
 * RESP_WHOLE the next call begins the next frame (and forgets this one). */
size_t resp_feed(struct resp *resp, const char *bytes, size_t length, enum resp_status *status);

/* Splits an inline command into its words as redis-server does (blanks, '...' and "..."; escapes
 * are left as they are). Fills at most max spans, offsets from line; returns how many words there
 * are, -1 for unbalanced quotes. */
int resp_split_inline(const char *line, size_t length, struct resp_span *spans, int max);

#endif
