/* text_place.h - where in a text a byte stands, in lines and columns. */
#ifndef PICKLOCK_BASE_TEXT_PLACE_H
#define PICKLOCK_BASE_TEXT_PLACE_H

/* Both from 1; a column is a character of UTF-8. */
struct text_place {
    int line, column;
};

/* Of the byte at `at`, which is within the text, or its end. */
struct text_place text_place_of(const char *text, const char *at);

#endif
