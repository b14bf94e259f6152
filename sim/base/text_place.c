/* text_place.c - see text_place.h. */
#include "base/text_place.h"

struct text_place text_place_of(const char *text, const char *at)
{
    struct text_place place = {1, 1};
    for (; text < at; text++) {
        place.column += ((unsigned char)*text & 0xc0) != 0x80;
        if (*text == '\n')
            place = (struct text_place){place.line + 1, 1};
    }
    return place;
}
