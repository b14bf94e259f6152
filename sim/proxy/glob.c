/* glob.c - see glob.h. One place to go back to is enough: a later star makes the earlier ones
 * settled. */
#include "proxy/glob.h"

/* Matches one byte against the [set] at *at (behind the bracket); moves *at behind the set. Without
 * its ']' it ends with the pattern. */
static bool set_matches(const char *pattern, size_t length, size_t *at, char byte)
{
    size_t i = *at;
    bool is_not = i < length && pattern[i] == '^', found = false;
    i += is_not;
    for (; i < length && pattern[i] != ']'; i++) {
        if (pattern[i] == '\\' && i + 1 < length) {
            i++;
            found = found || pattern[i] == byte;
        } else if (i + 2 < length && pattern[i + 1] == '-') { /* be it up to a ']' or a '\\' */
            char low = pattern[i], high = pattern[i + 2];
            found = found || (low <= byte && byte <= high) || (high <= byte && byte <= low);
            i += 2;
        } else {
            found = found || pattern[i] == byte;
        }
    }
    *at = i < length ? i + 1 : i;
    return found != is_not;
}

/* Matches one byte against the piece of pattern at *at, and moves *at behind the piece. */
static bool one_matches(const char *pattern, size_t length, size_t *at, char byte)
{
    char piece = pattern[(*at)++];
    if (piece == '?')
        return true;
    if (piece == '[')
        return set_matches(pattern, length, at, byte);
    if (piece == '\\' && *at < length)
        piece = pattern[(*at)++];
    return piece == byte;
}

bool glob_matches(const char *pattern, size_t pattern_length, const char *text, size_t length)
{
    size_t at = 0, i = 0, behind_star = 0, from = 0;
    bool has_star = false;
    if (!length) /* "*" is all keys; no other star takes an empty one */
        return !pattern_length || (pattern_length == 1 && *pattern == '*');
    while (i < length || at < pattern_length) {
        if (at < pattern_length && pattern[at] == '*') {
            has_star = true;
            behind_star = ++at;
            from = i;
            continue;
        }
        if (at < pattern_length && i < length &&
            one_matches(pattern, pattern_length, &at, text[i])) {
            i++;
            continue;
        }
        if (!has_star || from >= length)
            return false;
        i = ++from; /* the star takes one byte more */
        at = behind_star;
    }
    return true;
}

size_t glob_beginning(const char *pattern, size_t pattern_length, char *text)
{
    size_t length = 0;
    for (size_t at = 0; at < pattern_length; at++) {
        char piece = pattern[at];
        if (piece == '*' || piece == '?' || piece == '[')
            break;
        if (piece == '\\' && at + 1 < pattern_length)
            piece = pattern[++at];
        text[length++] = piece;
    }
    return length;
}
