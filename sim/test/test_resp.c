/* test_resp.c - the framer: a corpus split at every byte, spans, numbers at their edges, bad bytes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "resp_reference.h"

#include <stdio.h>

struct sample {
    const char *bytes;
    size_t length;
};
#define SAMPLE(text)                                                                               \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct sample requests[] = {
    SAMPLE("*1\r\n$4\r\nPING\r\n"),
    SAMPLE("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"),
    SAMPLE("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$6\r\na\r\nb\0c\r\n"),
    SAMPLE("*0\r\n"),
    SAMPLE("*-1\r\n"),
    SAMPLE("*-7\r\n"),
    SAMPLE("PING\r\n"),
    SAMPLE("SET a b\n"),
    SAMPLE("\r\n"),
    SAMPLE("\n"),
    SAMPLE("  \r \n"),
    SAMPLE("$3\r\n"),
    SAMPLE("GET \"a b\"\r\n"),
};

static const struct sample replies[] = {
    SAMPLE("+OK\r\n"),
    SAMPLE("+\r\n"),
    SAMPLE("-ERR no\r\n"),
    SAMPLE(":0\r\n"),
    SAMPLE(":-1\r\n"),
    SAMPLE(":9223372036854775807\r\n"),
    SAMPLE(":-9223372036854775808\r\n"),
    SAMPLE("$-1\r\n"),
    SAMPLE("$0\r\n\r\n"),
    SAMPLE("$5\r\n\r\n\r\n+\r\n"),
    SAMPLE("*-1\r\n"),
    SAMPLE("*0\r\n"),
    SAMPLE("*3\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n+x\r\n"),
    SAMPLE("*1\r\n*1\r\n*1\r\n*-1\r\n"),
    SAMPLE("_\r\n"),
    SAMPLE("#t\r\n"),
    SAMPLE(",inf\r\n"),
    SAMPLE("(3492890328409238509324850943850943825024385\r\n"),
    SAMPLE("=15\r\ntxt:Some string\r\n"),
    SAMPLE("!9\r\nERR\r\nno!!\r\n"),
    SAMPLE("%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n"),
    SAMPLE("%0\r\n"),
    SAMPLE("~3\r\n:1\r\n:2\r\n$1\r\nx\r\n"),
    SAMPLE(">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"),
    SAMPLE("|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n:2\r\n"),
    SAMPLE("|0\r\n+OK\r\n"),
    SAMPLE("*2\r\n:1\r\n|1\r\n+a\r\n:9\r\n:2\r\n"),
    SAMPLE("|1\r\n+a\r\n%1\r\n+b\r\n:1\r\n|1\r\n+c\r\n:2\r\n$1\r\nz\r\n"),
};

static void feed_split(enum resp_side side, const struct sample *sample, size_t split)
{
    struct resp resp;
    enum resp_status status = RESP_MORE;
    resp_init(&resp, side);
    size_t ate = resp_feed(&resp, sample->bytes, split, &status);
    assert_int_equal(ate, split);
    assert_int_equal(status, split == sample->length ? RESP_WHOLE : RESP_MORE);
    if (split == sample->length)
        return;
    ate = resp_feed(&resp, sample->bytes + split, sample->length - split, &status);
    assert_int_equal(ate, sample->length - split);
    assert_int_equal(status, RESP_WHOLE);
    assert_int_equal(resp.seen, sample->length);
}

static void split_everywhere(enum resp_side side, const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(reference_frame(side, samples[i].bytes, samples[i].length),
                         samples[i].length);
        for (size_t split = 0; split <= samples[i].length; split++)
            feed_split(side, &samples[i], split);
    }
}

static void requests_split_at_every_byte(void **state)
{
    (void)state;
    split_everywhere(RESP_REQUESTS, requests, sizeof requests / sizeof requests[0]);
}

static void replies_split_at_every_byte(void **state)
{
    (void)state;
    split_everywhere(RESP_REPLIES, replies, sizeof replies / sizeof replies[0]);
}

/* One stream of all samples, fed in pieces of every size: each frame ends where its sample does. */
static void pipelines_in_pieces(void **state)
{
    (void)state;
    char stream[2048];
    size_t ends[64], length = 0, count = sizeof replies / sizeof replies[0];
    for (size_t i = 0; i < count; i++) {
        memcpy(stream + length, replies[i].bytes, replies[i].length);
        ends[i] = length += replies[i].length;
    }
    for (size_t step = 1; step <= length; step++) {
        struct resp resp;
        size_t at = 0, frame = 0;
        resp_init(&resp, RESP_REPLIES);
        for (size_t piece = 0; piece < length; piece += step) {
            size_t piece_end = piece + step < length ? piece + step : length;
            while (at < piece_end) {
                enum resp_status status;
                at += resp_feed(&resp, stream + at, piece_end - at, &status);
                assert_int_not_equal(status, RESP_BAD);
                if (status == RESP_WHOLE)
                    assert_int_equal(at, ends[frame++]);
            }
        }
        assert_int_equal(frame, count);
    }
}

static void expect_spans(enum resp_side side, const char *bytes, const char *const *words,
                         int count)
{
    struct resp resp;
    enum resp_status status;
    resp_init(&resp, side);
    resp_feed(&resp, bytes, strlen(bytes), &status);
    assert_int_equal(status, RESP_WHOLE);
    assert_int_equal(resp.spans_count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(resp.spans[i].length, strlen(words[i]));
        assert_memory_equal(bytes + resp.spans[i].offset, words[i], strlen(words[i]));
    }
}

static void spans_of_the_first_elements(void **state)
{
    (void)state;
    const char *set[] = {"SET", "key", ""}, *push[] = {"subscribe", "ch"},
               *described[] = {"pong", "x"};
    expect_spans(RESP_REQUESTS, "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n", set, 3);
    expect_spans(RESP_REPLIES, ">3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n", push, 2);
    /* words of an attribute, and of arrays inside, are not the frame's own */
    expect_spans(RESP_REPLIES, "|1\r\n+a\r\n*1\r\n+b\r\n*2\r\n+pong\r\n$1\r\nx\r\n", described, 2);
    expect_spans(RESP_REPLIES, "*2\r\n+pong\r\n*1\r\n+no\r\n", described, 1);
}

/* Frames that come whole are read in another way than those that come in pieces. */
static void what_is_told_does_not_depend_on_pieces(void **state)
{
    (void)state;
    static const struct {
        enum resp_side side;
        const char *bytes;
    } frames[] = {
        {RESP_REQUESTS, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"},
        {RESP_REQUESTS, "*1\r\n$4\r\nPING\r\n"},
        {RESP_REQUESTS, "*0\r\n"},
        {RESP_REQUESTS, "*-1\r\n"},
        {RESP_REQUESTS, "PING\r\n"},
        {RESP_REQUESTS, "*9\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n"
                        "$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n"},
        {RESP_REQUESTS, "*17\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n"
                        "$1\r\nf\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n$1\r\nj\r\n$1\r\nk\r\n"
                        "$1\r\nl\r\n$1\r\nm\r\n$1\r\nn\r\n$1\r\no\r\n$1\r\np\r\n$1\r\nq\r\n"},
        {RESP_REPLIES, "+OK\r\n"},
        {RESP_REPLIES, "+\r\n"},
        {RESP_REPLIES, "+a status that is longer than most of those that a server says\r\n"},
        {RESP_REPLIES, "-ERR no\r\n"},
        {RESP_REPLIES, ":0\r\n"},
        {RESP_REPLIES, ":12345678\r\n"},
        {RESP_REPLIES, ":123456789012\r\n"},
        {RESP_REPLIES, ":-7\r\n"},
        {RESP_REPLIES, "$-1\r\n"},
        {RESP_REPLIES, "$0\r\n\r\n"},
        {RESP_REPLIES, "$5\r\na\r\nbc\r\n"},
        {RESP_REPLIES, "*2\r\n$1\r\na\r\n:3\r\n"},
    };
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        const size_t length = strlen(frames[i].bytes);
        struct resp whole, pieces;
        enum resp_status status = RESP_MORE;
        resp_init(&whole, frames[i].side);
        resp_init(&pieces, frames[i].side);
        assert_int_equal(resp_feed(&whole, frames[i].bytes, length, &status), length);
        assert_int_equal(status, RESP_WHOLE);
        for (size_t at = 0; at < length; at++)
            assert_int_equal(resp_feed(&pieces, frames[i].bytes + at, 1, &status), 1);
        assert_int_equal(status, RESP_WHOLE);
        assert_int_equal(whole.seen, pieces.seen);
        assert_int_equal(whole.type, pieces.type);
        assert_int_equal(whole.count, pieces.count);
        assert_int_equal(whole.integer, pieces.integer);
        assert_int_equal(whole.spans_count, pieces.spans_count);
        assert_memory_equal(whole.spans, pieces.spans,
                            (size_t)whole.spans_count * sizeof whole.spans[0]);
    }
}

/* One that has read before, and one that has not, are given the same bytes (and no byte behind them
 * to read): they say the same. */
static void expect_as_fresh(const struct resp *used, const char *bytes, size_t length)
{
    struct resp resp = *used, fresh;
    enum resp_status status, wanted;
    char *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    resp_init(&fresh, RESP_REQUESTS);
    const size_t eaten = resp_feed(&resp, copy, length, &status);
    assert_int_equal(eaten, resp_feed(&fresh, copy, length, &wanted));
    free(copy);
    assert_int_equal(status, wanted);
    assert_int_equal(resp.seen, fresh.seen);
    if (status != RESP_WHOLE)
        return;
    assert_int_equal(resp.type, fresh.type);
    assert_int_equal(resp.count, fresh.count);
    assert_int_equal(resp.integer, fresh.integer);
    assert_int_equal(resp.spans_count, fresh.spans_count);
    for (int i = 0; i < fresh.spans_count; i++) {
        assert_int_equal(resp.spans[i].offset, fresh.spans[i].offset);
        assert_int_equal(resp.spans[i].length, fresh.spans[i].length);
    }
}

/* The same form again and again, and then one that differs in one byte, or ends early. */
static void forms_that_were_seen_before(void **state)
{
    (void)state;
    static const struct sample forms[] = {
        SAMPLE("*1\r\n$0\r\n\r\n"),
        SAMPLE("*1\r\n$4\r\nPING\r\n"),
        SAMPLE("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000012\r\n$1\r\n\n\r\n"),
        SAMPLE("*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n$1\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n5000\r\n"),
        SAMPLE("*2\r\n$10\r\nINCRBYFLOA\r\n$1\r\nk\r\n"),
        SAMPLE("*9\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n$"
               "1\r\n7\r\n$1\r\n"
               "8\r\n$1\r\n9\r\n"),
    };
    static const char others[] = "*$0123456789\r\n-x";
    for (size_t form = 0; form < sizeof forms / sizeof forms[0]; form++) {
        struct resp resp;
        enum resp_status status;
        char bytes[128];
        const size_t length = forms[form].length;
        resp_init(&resp, RESP_REQUESTS);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(resp_feed(&resp, forms[form].bytes, length, &status), length);
            assert_int_equal(status, RESP_WHOLE);
            expect_as_fresh(&resp, forms[form].bytes, length);
        }
        for (size_t at = 0; at < length; at++) {
            expect_as_fresh(&resp, forms[form].bytes, at + 1);
            for (size_t other = 0; other < sizeof others; other++) {
                memcpy(bytes, forms[form].bytes, length);
                bytes[at] = others[other];
                expect_as_fresh(&resp, bytes, length);
            }
        }
        for (size_t other = 0; other < sizeof forms / sizeof forms[0]; other++)
            expect_as_fresh(&resp, forms[other].bytes, forms[other].length);
    }
}

static void spans_are_capped(void **state)
{
    (void)state;
    struct resp resp;
    enum resp_status status;
    const char *bytes =
        "*10\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n"
        "$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n";
    resp_init(&resp, RESP_REQUESTS);
    assert_int_equal(resp_feed(&resp, bytes, strlen(bytes), &status), strlen(bytes));
    assert_int_equal(status, RESP_WHOLE);
    assert_int_equal(resp.count, 10);
    assert_int_equal(resp.spans_count, RESP_SPANS_MAX);
    assert_int_equal(bytes[resp.spans[7].offset], '7');
}

static void numbers_and_types_are_told(void **state)
{
    (void)state;
    struct resp resp;
    enum resp_status status;
    const char *bytes = "|1\r\n+a\r\n:5\r\n*2\r\n+x\r\n:-42\r\n$-1\r\n:-9223372036854775808\r\n";
    resp_init(&resp, RESP_REPLIES);
    size_t at = resp_feed(&resp, bytes, strlen(bytes), &status);
    assert_int_equal(resp.type, '*');
    assert_int_equal(resp.count, 2);
    assert_int_equal(resp.integer, -42);
    at += resp_feed(&resp, bytes + at, strlen(bytes) - at, &status);
    assert_int_equal(resp.type, '$');
    assert_int_equal(resp.count, -1);
    resp_feed(&resp, bytes + at, strlen(bytes) - at, &status);
    assert_true(resp.integer == INT64_MIN);
}

/* The body of a bulk is stepped over: a gigabyte costs nothing but the calls, and nothing is kept.
 */
static void large_bodies_are_stepped_over(void **state)
{
    (void)state;
    static char body[1 << 20];
    struct resp resp;
    enum resp_status status;
    const char *head = "*2\r\n$3\r\nSET\r\n$536870912\r\n";
    resp_init(&resp, RESP_REQUESTS);
    resp_feed(&resp, head, strlen(head), &status);
    for (int i = 0; i < 512; i++) {
        assert_int_equal(resp_feed(&resp, body, sizeof body, &status), sizeof body);
        assert_int_equal(status, RESP_MORE);
    }
    resp_feed(&resp, "\r\n", 2, &status);
    assert_int_equal(status, RESP_WHOLE);
    assert_int_equal(resp.spans[1].length, 536870912);
}

static void expect_bad(enum resp_side side, const struct sample *sample)
{
    for (size_t step = 1; step <= sample->length; step++) {
        struct resp resp;
        enum resp_status status = RESP_MORE;
        resp_init(&resp, side);
        for (size_t at = 0; at < sample->length && status == RESP_MORE; at += step) {
            size_t size = sample->length - at < step ? sample->length - at : step;
            resp_feed(&resp, sample->bytes + at, size, &status);
        }
        if (status != RESP_BAD)
            print_message("not refused: %s\n", sample->bytes);
        assert_int_equal(status, RESP_BAD);
        assert_non_null(resp.why);
        assert_int_equal(resp_feed(&resp, "+OK\r\n", 5, &status), 0);
        assert_int_equal(status, RESP_BAD); /* for good */
    }
}

static void bad_bytes_are_refused(void **state)
{
    (void)state;
    static const struct sample bad_requests[] = {
        SAMPLE("*x"),
        SAMPLE("*\r"),
        SAMPLE("*03"),
        SAMPLE("*+3"),
        SAMPLE("*-0\r"),
        SAMPLE("*1\rx"),
        SAMPLE("*1\nx"),
        SAMPLE("*1\r\nPING"),
        SAMPLE("*1\r\n$-1\r"),
        SAMPLE("*1\r\n$4\r\nPINGx"),
        SAMPLE("*1\r\n$4\r\nPING\rx"),
        SAMPLE("*2147483648\r"),
        SAMPLE("*1\r\n$536870913\r"),
        SAMPLE("*99999999999999999999"),
        SAMPLE("*1\r\n*1\r\n"),
        SAMPLE("PI\0NG"),
        SAMPLE("*1 \r\n"),
        SAMPLE("*--1"),
    };
    static const struct sample bad_replies[] = {
        SAMPLE("OK\r\n"),
        SAMPLE("\r\n"),
        SAMPLE("$-2\r"),
        SAMPLE("*-2\r"),
        SAMPLE("%-1\r"),
        SAMPLE(">-1\r"),
        SAMPLE("$?"),
        SAMPLE("*?"),
        SAMPLE(";1\r\n"),
        SAMPLE(".\r\n"),
        SAMPLE("*1\r\n>1\r\n"),
        SAMPLE(":1x"),
        SAMPLE(":9223372036854775808\r"),
        SAMPLE(":-9223372036854775809"),
        SAMPLE("+a\nb"),
        SAMPLE("+a\rb"),
        SAMPLE("$1\r\nab"),
        SAMPLE(":\r"),
        SAMPLE("$2000000000000\r"),
    };
    for (size_t i = 0; i < sizeof bad_requests / sizeof bad_requests[0]; i++)
        expect_bad(RESP_REQUESTS, &bad_requests[i]);
    for (size_t i = 0; i < sizeof bad_replies / sizeof bad_replies[0]; i++)
        expect_bad(RESP_REPLIES, &bad_replies[i]);
}

static void depth_and_line_are_bounded(void **state)
{
    (void)state;
    char deep[RESP_DEPTH_MAX * 4 + 64];
    size_t length = 0;
    struct resp resp;
    enum resp_status status;
    for (int i = 0; i < RESP_DEPTH_MAX; i++, length += 4)
        memcpy(deep + length, "*1\r\n", 4);
    memcpy(deep + length, ":1\r\n", 4);
    resp_init(&resp, RESP_REPLIES);
    assert_int_equal(resp_feed(&resp, deep, length + 4, &status), length + 4);
    assert_int_equal(status, RESP_WHOLE);
    memcpy(deep + length, "*1\r\n", 4);
    resp_init(&resp, RESP_REPLIES);
    resp_feed(&resp, deep, length + 4, &status);
    assert_int_equal(status, RESP_BAD);

    static char line[RESP_INLINE_MAX + 1];
    memset(line, 'x', sizeof line);
    resp_init(&resp, RESP_REQUESTS);
    assert_int_equal(resp_feed(&resp, line, RESP_INLINE_MAX, &status), RESP_INLINE_MAX);
    assert_int_equal(status, RESP_MORE);
    resp_feed(&resp, line, 1, &status);
    assert_int_equal(status, RESP_BAD);
}

static void inline_words(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int count;
        const char *second;
    } lines[] = {
        {"", 0, NULL},
        {" \t\r", 0, NULL},
        {"PING", 1, NULL},
        {"  GET  key \r", 2, "key"},
        {"GET \"a b\" c", 3, "a b"},
        {"GET 'a\\'b'", 2, "a\\'b"},
        {"GET \"a\\\"b\"", 2, "a\\\"b"},
        {"GET \"a", -1, NULL},
        {"GET \"a\"b", -1, NULL},
        {"GET a\"b\"", -1, NULL},
        {"A\rB", 2, "B"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct resp_span spans[2];
        int count = resp_split_inline(lines[i].line, strlen(lines[i].line), spans, 2);
        assert_int_equal(count, lines[i].count);
        if (lines[i].second) {
            assert_int_equal(spans[1].length, strlen(lines[i].second));
            assert_memory_equal(lines[i].line + spans[1].offset, lines[i].second, spans[1].length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_split_at_every_byte),
        cmocka_unit_test(replies_split_at_every_byte),
        cmocka_unit_test(pipelines_in_pieces),
        cmocka_unit_test(spans_of_the_first_elements),
        cmocka_unit_test(what_is_told_does_not_depend_on_pieces),
        cmocka_unit_test(forms_that_were_seen_before),
        cmocka_unit_test(spans_are_capped),
        cmocka_unit_test(numbers_and_types_are_told),
        cmocka_unit_test(large_bodies_are_stepped_over),
        cmocka_unit_test(bad_bytes_are_refused),
        cmocka_unit_test(depth_and_line_are_bounded),
        cmocka_unit_test(inline_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
