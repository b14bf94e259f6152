/* fail.h - how a function says that the world went wrong.
 *
 * Three kinds of failure, three ways out (house rule):
 *   wrong code      assert(), kept in release builds
 *   wrong world     return an enum fail and put one sentence into the caller's struct failure
 *   out of memory   memory.h: print one line, exit with FAIL_INTERNAL
 *
 * A sentence names the place first ("scenarios/a.yaml:11:12: ..."), then what was expected. A
 * caller that knows more puts its own words in front with failure_wrap(). Nobody below cmd/ exits.
 */
#ifndef PICKLOCK_BASE_FAIL_H
#define PICKLOCK_BASE_FAIL_H

/* The value is the exit status that the failure ends in (sysexits.h where a row exists there). */
enum fail {
    FAIL_NONE = 0,        /* it worked */
    FAIL_EXPECTATION = 1, /* ran, and the result is not the expected one */
    FAIL_UNKNOWN = 2,     /* ran, and nothing can be concluded: the real world diverged, vacuous */
    FAIL_NOT_APPLICABLE =
        3, /* what was asked has no meaning here; run/ makes a row of it, never an exit status */
    FAIL_INPUT = 64,       /* usage or bad input */
    FAIL_UNAVAILABLE = 69, /* a needed server (or package) is not available */
    FAIL_INTERNAL =
        70, /* a defect of picklock, out of memory, or an output that cannot be written */
};

enum { FAILURE_TEXT_MAX = 2048 };

struct failure {
    enum fail code;
    char text[FAILURE_TEXT_MAX]; /* one or more lines, no final newline; a longer text ends in "..."
                                  */
};

/* Fills *failure (borrowed, may be NULL) and returns code, so that a caller can write
 * `return failure_set(failure, FAIL_INPUT, "...")`. */
enum fail failure_set(struct failure *failure, enum fail code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "words: " in front of the text; returns failure->code (FAIL_INTERNAL when failure is NULL).
 */
enum fail failure_wrap(struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As strerror(), for a file of our own folder below TMPDIR; where its disk is full, with what to
 * do. */
const char *fail_of_temporary(int error);

#endif
