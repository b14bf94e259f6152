/* opaque.h - a command that is no row of commands.def: what a foreign lock program sent, as far as
 * people and files need it.
 *
 * Nobody executes it but a real server, and what it did is told by its effects on keys
 * (history/effect.h), not by its name: that says no more than whether it can do anything. The same
 * file says how a value of a key, which may be any bytes, is written as text. */
#ifndef PICKLOCK_REDIS_OPAQUE_H
#define PICKLOCK_REDIS_OPAQUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OPAQUE_NAME_MAX = 32,
    OPAQUE_TEXT_MAX = 112, /* with its name, what a sentence of a report has room for */
    VALUE_TEXT_MAX = 80,
};

/* Texts are printable ASCII; any other byte, and \, is written \xNN. */
struct opaque {
    char name[OPAQUE_NAME_MAX]; /* "EVALSHA", never empty */
    char text[OPAQUE_TEXT_MAX]; /* as a person would type it, short enough to fit; "": not kept */
    uint64_t digest;            /* of all its bytes; 0: not known */
    unsigned keys;              /* bit enum key: of a lock's keys those that it names */
};

/* Fills *opaque from the words of one request, as they stand on the wire (borrowed). count >= 1.
 * Where the text would be too long, each long word is its beginning, '#' and 8 digits of its
 * digest; what does not fit then ends in "...".
 * keys: bits of enum key. The name is the first word in upper case. */
void opaque_of_words(struct opaque *opaque, const char *const *words, const size_t *lengths,
                     int count, unsigned keys);

/* The same command, for all that is known: name and bytes. */
bool opaque_is_same(const struct opaque *one, const struct opaque *two);

/* Does a command of that name change nothing, whatever it answers? */
bool opaque_is_read(const char *name);

/* For people: the text, or the name where nobody kept that. Borrowed from opaque. */
const char *opaque_words(const struct opaque *opaque);

/* Is it a text as above, without a control character? */
bool opaque_is_text(const char *text);

/* A value as text, so that two are equal exactly when their texts are: a long one is its beginning,
 * '#', and 16 digits of its digest. text: VALUE_TEXT_MAX. Returns text. */
const char *value_of_bytes(const char *bytes, size_t length, char *text);

/* The same of which nothing but its digest is kept; two salts give different ones. */
const char *value_digest(uint64_t salt, const char *bytes, size_t length, char *text);

/* The number by which a value is compared (command.h: our own numbers are themselves, "" is
 * VALUE_EMPTY, all else a fingerprint): the same that command_decode() makes of these bytes. False:
 * no such text. */
bool value_number(const char *text, int64_t *number);

#endif
