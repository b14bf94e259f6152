/* fuzz_resp.c - hostile bytes for the framer: never a crash, always the reference's opinion,
 * however they are split.
 *
 * `make libfuzzer` makes a libFuzzer target of it. As a plain program it draws its own inputs:
 * `make BUILD=b b/test/fuzz_resp && b/test/fuzz_resp [COUNT [SEED]]`. */
#include "resp_reference.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

enum { FRAMES_MAX = 64 };

struct framing {
    long frames[FRAMES_MAX]; /* where each ends */
    struct resp_span spans[FRAMES_MAX];
    int count;
    bool is_bad;
};

static void must(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "fuzz_resp: %s\n", what);
        abort();
    }
}

/* Feeds all bytes in pieces of at most step bytes (0: all at once, of growing size: -1). */
static void feed(enum resp_side side, const char *bytes, size_t length, size_t step,
                 struct framing *outcome)
{
    struct resp resp;
    size_t at = 0, piece_end = 0;
    resp_init(&resp, side);
    memset(outcome, 0, sizeof *outcome);
    while (at < length && outcome->count < FRAMES_MAX && !outcome->is_bad) {
        enum resp_status status;
        if (piece_end == at)
            piece_end = step && length - at > step ? at + step : length;
        size_t ate = resp_feed(&resp, bytes + at, piece_end - at, &status);
        must(ate <= piece_end - at, "ate more than it was given");
        must(status != RESP_MORE || ate == piece_end - at, "wants more and leaves some");
        at += ate;
        outcome->is_bad = status == RESP_BAD;
        if (status != RESP_WHOLE)
            continue;
        outcome->spans[outcome->count] = resp.spans_count ? resp.spans[0] : (struct resp_span){0};
        outcome->frames[outcome->count++] = (long)at;
        for (int i = 0; i < resp.spans_count; i++)
            must(resp.spans[i].offset + resp.spans[i].length <= resp.seen, "a span outside");
    }
}

static void compare_with_reference(enum resp_side side, const char *bytes, size_t length,
                                   const struct framing *outcome)
{
    long at = 0;
    for (int i = 0; i < FRAMES_MAX; i++) {
        long frame = reference_frame(side, bytes + at, length - (size_t)at);
        must((frame > 0) == (i < outcome->count), "a frame too many or too few");
        if (frame <= 0) {
            must(frame != REFERENCE_BAD || outcome->is_bad, "bad bytes taken for good");
            return;
        }
        at += frame;
        must(at == outcome->frames[i], "a frame of another length");
    }
}

static void check(const uint8_t *data, size_t size)
{
    struct framing whole, split;
    if (!size)
        return;
    enum resp_side side = data[0] & 1 ? RESP_REPLIES : RESP_REQUESTS;
    const char *bytes = (const char *)data + 1;
    feed(side, bytes, size - 1, 0, &whole);
    compare_with_reference(side, bytes, size - 1, &whole);
    for (size_t step = 1; step <= 3; step++) {
        feed(side, bytes, size - 1, step == 3 ? (size_t)1 + data[0] / 2 : step, &split);
        must(!memcmp(&whole, &split, sizeof whole), "another outcome when split");
    }
}

#ifdef WITH_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    return 0;
}
#else

#include "base/random.h"

/* Bytes that look like RESP often enough to get deep. */
static size_t draw(struct random *random, uint8_t *data, size_t max)
{
    static const char *const pieces[] = {
        "*1\r\n",
        "*2\r\n",
        "*3\r\n",
        "*0\r\n",
        "*-1\r\n",
        "$-1\r\n",
        "$0\r\n\r\n",
        "$1\r\nx\r\n",
        "$3\r\nSET\r\n",
        "+OK\r\n",
        "-ERR x\r\n",
        ":1\r\n",
        ":-9223372036854775808\r\n",
        "%1\r\n",
        "~2\r\n",
        ">2\r\n",
        "|1\r\n",
        "_\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "(123\r\n",
        "=5\r\ntxt:x\r\n",
        "!3\r\nERR\r\n",
        "PING\r\n",
        "\r\n",
        "GET a\n",
        "\r",
        "\n",
        "*",
        "$",
        "9",
        "-",
        "$?\r\n",
        "*?\r\n",
        "01",
        "\0",
        "99999999999999999999",
        "*32\r\n",
    };
    size_t length = 0, wanted = 1 + random_below(random, max / 2);
    data[length++] = (uint8_t)random_next(random);
    while (length < wanted) {
        const char *piece = pieces[random_below(random, sizeof pieces / sizeof pieces[0])];
        size_t size = *piece ? strlen(piece) : 1;
        if (length + size > max)
            break;
        memcpy(data + length, piece, size);
        length += size;
    }
    if (random_chance(random, 300000) && length > 1)
        data[1 + random_below(random, length - 1)] = (uint8_t)random_next(random);
    return length;
}

int main(int argc, char **argv)
{
    uint8_t data[256];
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
    struct random random = {.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    for (uint64_t i = 0; i < count; i++)
        check(data, draw(&random, data, sizeof data));
    printf("fuzz_resp: %" PRIu64 " inputs, seed %" PRIu64 "\n", count, random.seed);
    return 0;
}
#endif
