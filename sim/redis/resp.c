/* resp.c - see resp.h. An explicit stack, one state per kind of byte; never recurses, never
 * allocates. */
#include "redis/resp.h"

#include "redis/resp_plain.h"

#include <assert.h>
#include <string.h>

static const int64_t reply_length_max = INT64_C(1) << 40; /* no server keeps more in one value */

void resp_init(struct resp *resp, enum resp_side side)
{
    *resp = (struct resp){.side = side, .is_done = true};
}

static void begin_frame(struct resp *resp)
{
    resp->seen = 0;
    resp->type = 0;
    resp->count = 0;
    resp->integer = 0;
    resp->spans_count = 0;
    resp->element_index = -1;
    resp->depth = 0;
    resp->state = RESP_AT_TYPE;
    resp->is_done = resp->has_heads = false;
}

static bool bad(struct resp *resp, const char *why)
{
    resp->is_bad = true;
    resp->why = why;
    return false;
}

/* The first elements of an outermost array are where commands have their name and key. */
static void note_span(struct resp *resp, uint64_t offset, uint64_t length)
{
    bool is_first_level = resp->depth == 1 && !resp->stack[0].is_attribute;
    if (is_first_level && resp->spans_count < RESP_SPANS_MAX &&
        resp->element_index == resp->spans_count)
        resp->spans[resp->spans_count++] = (struct resp_span){offset, length};
}

/* An element begins: which one is it of the outermost array? */
static void begin_element(struct resp *resp)
{
    if (resp->depth == 1 && !resp->stack[0].is_attribute)
        resp->element_index++;
}

/* An element is complete; so are all arrays whose last one it was. */
static void end_element(struct resp *resp)
{
    resp->state = RESP_AT_TYPE;
    while (resp->depth > 0) {
        if (--resp->stack[resp->depth - 1].left > 0)
            return;
        resp->depth--;
        if (resp->stack[resp->depth].is_attribute)
            return; /* what it describes is still to come */
    }
    resp->is_done = true;
}

static bool open_array(struct resp *resp, int64_t elements, bool is_attribute)
{
    if (resp->depth == RESP_DEPTH_MAX)
        return bad(resp, "nested too deeply");
    resp->stack[resp->depth].left = elements;
    resp->stack[resp->depth].is_attribute = is_attribute;
    resp->depth++;
    resp->state = RESP_AT_TYPE;
    return true;
}

static bool end_array_head(struct resp *resp)
{
    bool is_pairs = resp->element == '%' || resp->element == '|';
    bool is_attribute = resp->element == '|';
    bool is_outermost = resp->depth == 0 && !is_attribute;
    int64_t elements = is_pairs ? resp->number * 2 : resp->number;
    if (is_outermost)
        resp->count = resp->number < 0 ? -1 : elements;
    if (elements > 0)
        return open_array(resp, elements, is_attribute);
    if (is_attribute)
        resp->state = RESP_AT_TYPE;
    else
        end_element(resp);
    return true;
}

static bool begin_body(struct resp *resp)
{
    if (resp->number < 0) { /* nil; the number's check has let -1 pass only where it may stand */
        if (resp->depth == 0)
            resp->count = -1;
        end_element(resp);
        return true;
    }
    note_span(resp, resp->seen, (uint64_t)resp->number);
    resp->left = (uint64_t)resp->number;
    resp->state = resp->left ? RESP_IN_BODY : RESP_AT_CR;
    resp->after_line = RESP_AT_TYPE;
    return true;
}

/* The line with a number is over; seen counts up to behind it. */
static bool take_number(struct resp *resp)
{
    switch (resp->element) {
    case ':':
        resp->integer = resp->number;
        end_element(resp);
        return true;
    case '$':
    case '!':
    case '=':
        return begin_body(resp);
    default:
        return end_array_head(resp);
    }
}

/* Is the number one that may stand there? Asked before its line ends. */
static bool check_number(struct resp *resp)
{
    if (!resp->has_digit || (resp->is_minus && resp->number == 0))
        return bad(resp, "a number was expected");
    if (!resp->is_minus && resp->number == INT64_MIN)
        return bad(resp, "a number out of range");
    int64_t number = resp->is_minus ? resp->number : -resp->number;
    if (resp->element == ':')
        return true;
    if (resp->side == RESP_REQUESTS) {
        if (resp->element == '$' && (number < 0 || number > RESP_BULK_MAX))
            return bad(resp, "a bulk length that no server takes");
        if (resp->element == '*' && number > RESP_COUNT_MAX)
            return bad(resp, "more arguments than any server takes");
        return true;
    }
    bool can_be_nil = resp->element == '$' || resp->element == '*';
    if (number < (can_be_nil ? -1 : 0) || number > reply_length_max)
        return bad(resp, "a length out of range");
    return true;
}

/* What is no digit inside a number: its sign, or its end. */
static bool beside_digits(struct resp *resp, char byte)
{
    if (byte == '\r') {
        if (!check_number(resp))
            return false;
        resp->state = RESP_AT_LF;
        resp->after_line = RESP_IN_NUMBER;
        return true;
    }
    if (byte == '-' && !resp->has_digit && !resp->is_minus) {
        resp->is_minus = true;
        return true;
    }
    return bad(resp, byte == '?' ? "a streamed type" : "a number was expected");
}

/* The digits at hand, and the byte behind them. Returns how many bytes were eaten. */
static size_t eat_number(struct resp *resp, const char *bytes, size_t length)
{
    size_t at = 0;
    for (; at < length && bytes[at] >= '0' && bytes[at] <= '9'; at++) {
        int digit = bytes[at] - '0';
        if (resp->is_leading_zero || resp->number < (INT64_MIN + digit) / 10) {
            bad(resp, resp->is_leading_zero ? "a number was expected" : "a number out of range");
            break;
        }
        /* Kept negative: the least integer has no positive counterpart. */
        resp->number = resp->number * 10 - digit;
        resp->is_leading_zero = !resp->has_digit && digit == 0;
        resp->has_digit = true;
    }
    if (at < length && !resp->is_bad && beside_digits(resp, bytes[at]))
        at++;
    resp->seen += at;
    return at;
}

static bool begin_number(struct resp *resp)
{
    resp->number = 0;
    resp->has_digit = resp->is_minus = resp->is_leading_zero = false;
    resp->state = RESP_IN_NUMBER;
    return true;
}

static bool begin_text(struct resp *resp)
{
    resp->begun = resp->seen + 1; /* seen does not count the type yet */
    resp->state = RESP_IN_TEXT;
    return true;
}

/* The byte that tells what comes. */
static bool type_byte(struct resp *resp, char byte)
{
    bool is_outermost = resp->depth == 0;
    resp->element = byte;
    if (byte != '|')
        begin_element(resp);
    if (resp->side == RESP_REQUESTS) {
        if (is_outermost)
            resp->type = byte == '*' ? '*' : 'i';
        if (is_outermost && byte != '*') {
            resp->begun = 0;
            resp->state = RESP_IN_INLINE;
            return true;
        }
        return byte == (is_outermost ? '*' : '$') ? begin_number(resp)
                                                  : bad(resp, "'$' was expected");
    }
    if (is_outermost && byte != '|')
        resp->type = byte;
    switch (byte) {
    case '>':
        if (!is_outermost)
            return bad(resp, "a push inside a reply");
        return begin_number(resp);
    case ':':
    case '$':
    case '!':
    case '=':
    case '*':
    case '%':
    case '~':
    case '|':
        return begin_number(resp);
    case '+':
    case '-':
    case ',':
    case '(':
    case '#':
    case '_':
        return begin_text(resp);
    default:
        return bad(resp, "an unknown type");
    }
}

static bool line_feed(struct resp *resp, char byte)
{
    if (byte != '\n')
        return bad(resp, "a line feed was expected");
    resp->seen++; /* what follows is counted from behind it */
    bool went_on = true;
    if (resp->after_line == RESP_IN_NUMBER) {
        if (!resp->is_minus)
            resp->number = -resp->number;
        went_on = take_number(resp);
    } else {
        end_element(resp);
    }
    resp->seen--;
    return went_on;
}

/* One byte, in a state in which bytes are looked at one by one. */
static bool one_byte(struct resp *resp, char byte)
{
    switch (resp->state) {
    case RESP_AT_TYPE:
        return type_byte(resp, byte);
    case RESP_AT_CR:
        if (byte != '\r')
            return bad(resp, "the end of a bulk was expected");
        resp->state = RESP_AT_LF;
        return true;
    case RESP_AT_LF:
        return line_feed(resp, byte);
    default: /* the other states have runs of their own */
        assert(resp->state == RESP_AT_LF);
        return false;
    }
}

/* A run of text up to its carriage return. Returns how many bytes were eaten. */
static size_t eat_text(struct resp *resp, const char *bytes, size_t length)
{
    const char *end = memchr(bytes, '\r', length);
    size_t run = end ? (size_t)(end - bytes) : length;
    if (memchr(bytes, '\n', run)) {
        bad(resp, "a line feed in a line");
        return 0;
    }
    resp->seen += run;
    if (!end)
        return run;
    note_span(resp, resp->begun, resp->seen - resp->begun);
    resp->seen++;
    resp->state = RESP_AT_LF;
    resp->after_line = RESP_AT_TYPE;
    return run + 1;
}

/* An inline command ends with a line feed; a zero byte in it would make the server wait for ever.
 */
static size_t eat_inline(struct resp *resp, const char *bytes, size_t length)
{
    const char *end = memchr(bytes, '\n', length);
    size_t run = end ? (size_t)(end - bytes) : length;
    if (memchr(bytes, 0, run)) {
        bad(resp, "a zero byte in an inline command");
        return 0;
    }
    if (resp->seen + run > RESP_INLINE_MAX) {
        bad(resp, "an inline command without an end");
        return 0;
    }
    resp->seen += run;
    if (!end)
        return run;
    resp->spans[0] = (struct resp_span){0, resp->seen};
    resp->spans_count = 1;
    resp->seen++;
    resp->is_done = true;
    return run + 1;
}

static size_t eat_body(struct resp *resp, size_t length)
{
    size_t run = resp->left < length ? (size_t)resp->left : length;
    resp->left -= run;
    resp->seen += run;
    if (!resp->left)
        resp->state = RESP_AT_CR;
    return run;
}

/* A plain array head, or a plain bulk as far as it is at hand. Returns how many bytes were eaten.
 */
static size_t eat_plain(struct resp *resp, const char *bytes, size_t length)
{
    bool may_be = resp->side == RESP_REPLIES || bytes[0] == (resp->depth ? '$' : '*');
    size_t head = may_be ? plain_head(bytes, length, &resp->number) : 0;
    if (!head)
        return 0;
    begin_element(resp);
    if (resp->depth == 0)
        resp->type = bytes[0];
    resp->element = bytes[0];
    resp->is_minus = false;
    resp->seen += head;
    if (!take_number(resp) || bytes[0] == '*')
        return head;
    size_t body = (size_t)resp->left;
    if (length - head < body + 2 || bytes[head + body] != '\r' || bytes[head + body + 1] != '\n')
        return head;
    resp->seen += body + 2;
    resp->left = 0;
    end_element(resp);
    return head + body + 2;
}

/* A whole reply that is a short status, a short number without a sign, a plain bulk, or nil. */
static size_t plain_reply(struct resp *resp, const char *bytes, size_t length)
{
    enum { LINE_MAX_SHORT = 32, SHORT = 5 };
    struct resp_span body;
    resp->count = resp->spans_count = 0;
    resp->integer = 0;
    if (length >= SHORT && memcmp(bytes, "$-1\r\n", SHORT) == 0) {
        resp->count = -1;
        return SHORT;
    }
    if (bytes[0] == '$')
        return plain_bulk(bytes, length, &body);
    if (bytes[0] == ':')
        return plain_head(bytes, length, &resp->integer);
    if (bytes[0] != '+')
        return 0;
    if (length >= SHORT && memcmp(bytes, "+OK\r\n", SHORT) == 0)
        return SHORT;
    for (size_t at = 1; at + 1 < length && at < LINE_MAX_SHORT && bytes[at] != '\n'; at++)
        if (bytes[at] == '\r')
            return bytes[at + 1] == '\n' ? at + 2 : 0;
    return 0;
}

/* Nearly all frames are plain and come whole: they are found without the machine, which begins at
 * the frame's first byte where they are not. */
static inline size_t plain_frame(struct resp *resp, const char *bytes, size_t length)
{
    const size_t all = resp->side == RESP_REQUESTS ? request_like_others(resp, bytes, length)
                                                   : plain_reply(resp, bytes, length);
    if (!all)
        return 0;
    resp->type = bytes[0];
    resp->seen = all;
    return all;
}

static size_t feed_machine(struct resp *resp, const char *bytes, size_t length,
                           enum resp_status *status)
{
    size_t at = 0;
    while (at < length && !resp->is_bad && !resp->is_done) {
        if (resp->state == RESP_AT_TYPE && (bytes[at] == '$' || bytes[at] == '*')) {
            size_t plain = eat_plain(resp, bytes + at, length - at);
            at += plain;
            if (plain)
                continue;
        }
        if (resp->state == RESP_IN_NUMBER) {
            at += eat_number(resp, bytes + at, length - at);
        } else if (resp->state == RESP_IN_BODY) {
            at += eat_body(resp, length - at);
        } else if (resp->state == RESP_IN_TEXT) {
            at += eat_text(resp, bytes + at, length - at);
        } else if (resp->state == RESP_IN_INLINE) {
            at += eat_inline(resp, bytes + at, length - at);
        } else if (resp->state == RESP_AT_TYPE && resp->side == RESP_REQUESTS && resp->depth == 0 &&
                   bytes[at] != '*') {
            /* An inline command has no type byte: its first byte may be its last. */
            (void)type_byte(resp, bytes[at]);
        } else if (one_byte(resp, bytes[at])) {
            at++;
            resp->seen++;
        }
    }
    *status = resp->is_bad ? RESP_BAD : resp->is_done && at ? RESP_WHOLE : RESP_MORE;
    return at;
}

size_t resp_feed(struct resp *resp, const char *bytes, size_t length, enum resp_status *status)
{
    if (resp->is_done && length && !resp->is_bad) {
        const size_t plain = plain_frame(resp, bytes, length);
        if (plain) {
            *status = RESP_WHOLE;
            return plain;
        }
        begin_frame(resp);
    }
    return feed_machine(resp, bytes, length, status);
}
