/* suggest.c - see suggest.h. Optimal string alignment distance over short words. */
#include "base/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 63 }; /* longer words are no slip of a name of ours */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int distance(const char *a, const char *b)
{
    int rows[3][WORD_MAX + 2];
    int width = (int)strlen(b);
    for (int j = 0; j <= width; j++)
        rows[0][j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= width; j++) {
            int left = tolower((unsigned char)a[i - 1]), right = tolower((unsigned char)b[j - 1]);
            now[j] = least(before[j - 1] + (left != right), least(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && left == tolower((unsigned char)b[j - 2]) &&
                right == tolower((unsigned char)a[i - 2]))
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[strlen(a) % 3][width];
}

const char *suggest_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = NULL;
    int best = 1 + (int)strlen(word) / 3; /* a third of the letters may be wrong */
    if (strlen(word) > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(candidates[i]) > WORD_MAX)
            continue;
        int far = distance(word, candidates[i]);
        if (far <= best && (!nearest || far < best)) {
            best = far;
            nearest = candidates[i];
        }
    }
    return nearest;
}

const char *suggest_words(const char *nearest, const char *otherwise, char words[SUGGEST_BYTES])
{
    if (nearest && nearest[0])
        (void)snprintf(words, SUGGEST_BYTES, "; did you mean '%s'?", nearest);
    else
        (void)snprintf(words, SUGGEST_BYTES, "%s", otherwise);
    return words;
}

bool suggest_is_slip(const char *word, const char *right)
{
    const size_t letters = strlen(word), wanted = strlen(right);
    return letters <= WORD_MAX && wanted <= WORD_MAX && letters <= wanted + 1 &&
           wanted <= letters + 1 && distance(word, right) <= 1 && strcmp(word, right) != 0;
}

enum { SLIP_LEAST = 3 }; /* letters: a shorter name is near to many others */

const char *suggest_slip(const char *word, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) >= SLIP_LEAST && suggest_is_slip(word, names[i]))
            return names[i];
    return NULL;
}
