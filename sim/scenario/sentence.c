/* sentence.c - see sentence.h. The form is first matched by its shape alone, then each hole is
 * looked at, so that "D acquires" is about an unknown client and not about an unknown sentence.
 * Never reads outside of text. */
#include "scenario/sentence.h"

#include "base/limits.h"
#include "base/suggest.h"
#include "base/units.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOLES_MAX = 4, LEASES_MILLI_MAX = 1000 * 1000, GAINS_SIZE = 6 };

/* Where the holes of a form lie in a text. */
struct span {
    char hole; /* 'C', 'S', 'V', 'T', 'G', 'E', 'P' */
    int from, length;
};

bool sentence_is_name(const char *word)
{
    size_t length = 0;
    while (isalnum((unsigned char)word[length]))
        length++;
    return length > 0 && word[length] == '\0' && length < NAME_MAX_BYTES && strcmp(word, "server");
}

const char *sentence_show(const char *text, char *shown, size_t size)
{
    size_t i = 0;
    for (; text[i] && i + 1 < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool is_control =
            byte < 0x20 || byte == 0x7f ||
            (byte >= 0x80 && byte < 0xa0 && i > 0 && (unsigned char)text[i - 1] == 0xc2);
        shown[i] = is_control ? '?' : text[i];
    }
    /* never end in half a character */
    while (text[i] && i > 0 && ((unsigned char)text[i] & 0xc0) == 0x80)
        i--;
    shown[i] = '\0';
    return shown;
}

static int mishap_set(struct mishap *mishap, int offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int mishap_set(struct mishap *mishap, int offset, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    mishap->offset = offset;
    mishap->nearest[0] = '\0';
    vsnprintf(mishap->words, sizeof mishap->words, format, words);
    va_end(words);
    return -1;
}

static void mishap_suggest(struct mishap *mishap, const char *nearest)
{
    if (nearest)
        snprintf(mishap->nearest, sizeof mishap->nearest, "%s", nearest);
}

/* --- shape --- */

static int hole_length(char hole, const char *text)
{
    int length = 0;
    switch (hole) {
    case 'C':
        while (isalnum((unsigned char)text[length]))
            length++;
        return length == 6 && !strncmp(text, "server", 6) ? 0 : length;
    case 'V': /* dots: of a module's command */
    case 'E':
        while (isalnum((unsigned char)text[length]) ||
               (text[length] && strchr("-._", text[length])))
            length++;
        return length;
    case 'S':
        if (strncmp(text, "server", 6))
            return 0;
        length = 6;
        if (text[6] == ' ' && isdigit((unsigned char)text[7]))
            for (length = 8; isdigit((unsigned char)text[length]);)
                length++;
        return length;
    case 'G':
        if (strncmp(text, "gains ", GAINS_SIZE) && strncmp(text, "loses ", GAINS_SIZE))
            return 0;
        return (int)strlen(text);
    default: /* T and P take the rest */
        return (int)strlen(text);
    }
}

/* Whether text has the shape of form; *reached: how far it went. */
static bool form_fits(const char *form, const char *text, struct span *spans, int *spans_count,
                      int *reached)
{
    int at = 0;
    *spans_count = 0;
    for (; *form; form++) {
        if (*form != '%') {
            if (text[at] != *form)
                break;
            at++;
            continue;
        }
        form++;
        int length = hole_length(*form, text + at);
        if (*form == 'P' ? (length > 0 && text[at] != ',') : length == 0)
            break;
        assert(*spans_count < HOLES_MAX);
        spans[(*spans_count)++] = (struct span){*form, at, length};
        at += length;
    }
    *reached = at;
    return *form == '\0' && text[at] == '\0';
}

/* --- holes --- */

static int read_client(const char *word, int offset, const struct cast *cast, struct holes *holes,
                       struct mishap *mishap)
{
    const char *names[ACTORS_MAX];
    char list[200] = "";
    size_t used = 0;
    for (int i = 0; i < cast->clients; i++) {
        if (!strcmp(cast->names[i], word)) {
            holes->client = i;
            return 0;
        }
        names[i] = cast->names[i];
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                     cast->names[i]);
    }
    mishap_set(mishap, offset, "'%.64s' is not a client; the clients are %s%s", word, list,
               used < sizeof list ? "" : " ...");
    mishap_suggest(mishap, suggest_nearest(word, names, (size_t)cast->clients));
    return -1;
}

static int read_server(const char *word, int offset, const struct cast *cast, struct holes *holes,
                       struct mishap *mishap)
{
    long number = strlen(word) > 6 ? strtol(word + 7, NULL, 10) : 0;
    if (strlen(word) == 6) {
        if (cast->servers != 1)
            return mishap_set(mishap, offset, "which server? say 'server 1' to 'server %d'",
                              cast->servers);
        number = 1;
    }
    if (number < 1 || number > cast->servers)
        return mishap_set(mishap, offset, "there is no %.40s: servers go from 1 to %d", word,
                          cast->servers);
    holes->server = (int)number - 1;
    return 0;
}

static int read_verb(const char *word, int offset, enum verb *verb, struct mishap *mishap)
{
    const char *names[VERB_COUNT];
    if (verb_read(word, verb))
        return 0;
    for (int i = 0; i < VERB_COUNT; i++)
        names[i] = verb_name((enum verb)i);
    mishap_set(mishap, offset, "'%.40s' is not a command", word);
    mishap_suggest(mishap, suggest_nearest(word, names, VERB_COUNT));
    return -1;
}

/* A command that a foreign program sent, and that is no row of commands.def. */
static bool read_opaque(const char *word, struct holes *holes)
{
    enum verb verb;
    size_t length = strlen(word);
    if (verb_read(word, &verb) || length == 0 || length >= sizeof holes->opaque)
        return false;
    for (size_t i = 0; i < length; i++)
        if (islower((unsigned char)word[i]))
            return false;
    memcpy(holes->opaque, word, length + 1);
    return true;
}

/* "2 leases", "0.5 leases", "-1 lease": true when it has that shape. */
static bool reads_leases(const char *word, int64_t *milli)
{
    bool minus = *word == '-';
    const char *at = word + (*word == '-' || *word == '+');
    int64_t whole = 0, part = 0, scale = 1000;
    if (!isdigit((unsigned char)*at))
        return false;
    for (; isdigit((unsigned char)*at); at++)
        if (whole <= LEASES_MILLI_MAX)
            whole = whole * 10 + (*at - '0');
    if (*at == '.' && isdigit((unsigned char)at[1]))
        for (at++; isdigit((unsigned char)*at) && scale > 1; at++) {
            scale /= 10;
            part += (*at - '0') * scale;
        }
    *milli = (whole * 1000 + part) * (minus ? -1 : 1);
    return !strcmp(at, " lease") || !strcmp(at, " leases");
}

static int read_amount(const char *word, int offset, const struct cast *cast, struct holes *holes,
                       struct mishap *mishap)
{
    struct failure failure;
    int64_t milli = 0;
    if (cast->knows_leases && reads_leases(word, &milli)) {
        if (milli == 0 || milli > LEASES_MILLI_MAX || milli < -LEASES_MILLI_MAX)
            return mishap_set(mishap, offset, "'%.40s' is out of range: 0.001 to %d leases", word,
                              LEASES_MILLI_MAX / 1000);
        holes->leases_milli = milli;
        return 0;
    }
    if (units_read_duration(word, &holes->amount_us, &failure))
        return mishap_set(mishap, offset, "%s%s", failure.text,
                          cast->knows_leases ? "; '2 leases' is possible too" : "");
    return 0;
}

/* "gains 20ms", "loses 20ms". */
static int read_gain(const char *word, int offset, const struct cast *cast, struct holes *holes,
                     struct mishap *mishap)
{
    if (read_amount(word + GAINS_SIZE, offset + GAINS_SIZE, cast, holes, mishap))
        return -1;
    if (*word == 'l')
        holes->amount_us = -holes->amount_us;
    return 0;
}

static int read_error(const char *word, int offset, enum reply_error *error, struct mishap *mishap)
{
    const char *names[ERROR_COUNT];
    int count = 0;
    if (reply_error_read(word, error) && *error != ERROR_NONE)
        return 0;
    for (int i = ERROR_NONE + 1; i < ERROR_COUNT; i++)
        names[count++] = reply_error_name((enum reply_error)i);
    mishap_set(mishap, offset, "'%.40s' is not an error of a server, such as LOADING or OOM", word);
    mishap_suggest(mishap, suggest_nearest(word, names, (size_t)count));
    return -1;
}

/* Takes the next word of a stall suffix; "" at its end. */
static const char *take_word(const char *text, int *at, char *word, size_t size)
{
    size_t length = 0;
    while (text[*at] == ' ')
        (*at)++;
    for (; text[*at + (int)length] && text[*at + (int)length] != ' ' && length + 1 < size; length++)
        word[length] = text[*at + (int)length];
    word[length] = '\0';
    return word;
}

static int read_stall_target(const char *word, int offset, struct holes *holes,
                             struct mishap *mishap)
{
    static const char *const effects[] = {"set", "expire", "delete", "read"};
    if (strncmp(word, "the ", 4)) {
        if (!read_verb(word, offset, &holes->stall_verb, mishap))
            return 0;
        snprintf(mishap->words, sizeof mishap->words,
                 "'%.40s' is not a command; say SET, DEL, .. or the set, the expire, the delete, "
                 "the read",
                 word);
        return -1;
    }
    holes->stalls_at_effect = true;
    if (effect_read(word + 4, &holes->stall_effect))
        return 0;
    mishap_set(mishap, offset + 4,
               "'%.40s': a command is the set, the expire, the delete or the read", word + 4);
    mishap_suggest(mishap, suggest_nearest(word + 4, effects, 4));
    return -1;
}

/* ", stalls before COMMAND". */
static int read_stall(const char *text, int offset, struct holes *holes, struct mishap *mishap)
{
    static const char *const wheres[] = {"before", "after"};
    static const char *const verbs[] = {"stalls"};
    char word[SENTENCE_MAX];
    int at = 1;
    if (strncmp(text, ", ", 2) || strcmp(take_word(text, &at, word, sizeof word), "stalls")) {
        mishap_set(mishap, offset + at,
                   "after the comma comes 'stalls before COMMAND' or 'stalls after COMMAND'");
        mishap_suggest(mishap, suggest_nearest(word, verbs, text[1] == ' ' ? 1 : 0));
        return -1;
    }
    at += 6;
    take_word(text, &at, word, sizeof word);
    if (strcmp(word, "before") && strcmp(word, "after")) {
        mishap_set(mishap, offset + at, "'stalls' wants 'before COMMAND' or 'after COMMAND'");
        mishap_suggest(mishap, suggest_nearest(word, wheres, 2));
        return -1;
    }
    holes->stall = strcmp(word, "after") ? STALL_BEFORE : STALL_AFTER;
    at += (int)strlen(word);
    if (text[at] != ' ' || !text[at + 1])
        return mishap_set(mishap, offset + at,
                          "'stalls %s' wants a command such as SET or the delete", word);
    return read_stall_target(text + at + 1, offset + at + 1, holes, mishap);
}

static int read_hole(const char *text, const struct span *span, const struct cast *cast,
                     struct holes *holes, struct mishap *mishap)
{
    char word[SENTENCE_MAX];
    memcpy(word, text + span->from, (size_t)span->length);
    word[span->length] = '\0';
    switch (span->hole) {
    case 'C':
        return read_client(word, span->from, cast, holes, mishap);
    case 'S':
        return read_server(word, span->from, cast, holes, mishap);
    case 'V':
        return cast->is_foreign && read_opaque(word, holes)
                   ? 0
                   : read_verb(word, span->from, &holes->verb, mishap);
    case 'T':
        return read_amount(word, span->from, cast, holes, mishap);
    case 'G':
        return read_gain(word, span->from, cast, holes, mishap);
    case 'E':
        return read_error(word, span->from, &holes->error, mishap);
    default:
        return span->length ? read_stall(word, span->from, holes, mishap) : 0;
    }
}

/* --- nothing fits --- */

/* Fills holes with what the text seems to speak of, so that the forms can be compared with it. */
static struct holes guess_holes(const char *text, const struct cast *cast)
{
    struct holes holes = {.verb = VERB_SET_NX_PX, .amount_us = 1000000, .error = ERROR_LOADING};
    struct mishap ignored;
    char word[SENTENCE_MAX];
    for (int at = 0; *take_word(text, &at, word, sizeof word); at += (int)strlen(word)) {
        struct holes found = holes;
        if (isdigit((unsigned char)word[0]) && !read_amount(text + at, at, cast, &found, &ignored))
            holes = found;
        int server = hole_length('S', text + at);
        if (server > 7) {
            long number = strtol(text + at + 7, NULL, 10);
            holes.server = number >= 1 && number <= cast->servers ? (int)number - 1 : 0;
        }
        verb_read(word, &holes.verb);
        reply_error_read(word, &holes.error);
        word[strcspn(word, "',")] = '\0';
        for (int i = 0; i < cast->clients && at == 0; i++)
            if (!strcmp(word, cast->names[i]))
                holes.client = i;
        take_word(text, &at, word, sizeof word);
    }
    return holes;
}

static int mishap_unknown(const char *const *forms, int count, const char *what, const char *text,
                          int reached, const struct cast *cast, struct mishap *mishap)
{
    enum { FORMS_MAX = 64 };
    char head[SENTENCE_MAX], shown[81], printed[FORMS_MAX][SENTENCE_MAX];
    const char *candidates[FORMS_MAX];
    assert(count <= FORMS_MAX);
    /* the caret goes under the word that does not fit */
    if (text[reached] == ' ')
        reached++;
    while (reached > 0 && text[reached - 1] != ' ')
        reached--;
    mishap_set(mishap, reached, "no %s says '%s'", what, sentence_show(text, shown, sizeof shown));
    struct holes holes = guess_holes(text, cast);
    for (int i = 0; i < count; i++)
        candidates[i] = sentence_print(forms[i], &holes, cast->names, printed[i], SENTENCE_MAX);
    snprintf(head, sizeof head, "%s", text);
    head[strcspn(head, ",")] = '\0';
    const char *nearest = suggest_nearest(head, candidates, (size_t)count);
    mishap_suggest(mishap, nearest);
    if (!nearest && !strcmp(what, "step")) {
        const size_t used = strlen(mishap->words);
        snprintf(mishap->words + used, sizeof mishap->words - used,
                 "; scenarios/README.md lists the sentences");
    }
    return -1;
}

int sentence_read(const char *const *forms, int count, const char *what, const char *text,
                  const struct cast *cast, struct holes *holes, struct mishap *mishap)
{
    struct span spans[HOLES_MAX];
    int spans_count, reached, furthest = 0;
    if (strlen(text) >= SENTENCE_MAX)
        return mishap_set(mishap, 0, "a %s has at most %d characters", what, SENTENCE_MAX - 1);
    for (int i = 0; i < count; i++) {
        bool fits = form_fits(forms[i], text, spans, &spans_count, &reached);
        furthest = reached > furthest ? reached : furthest;
        if (!fits)
            continue;
        *holes = (struct holes){.client = -1, .server = -1};
        for (int s = 0; s < spans_count; s++)
            if (read_hole(text, &spans[s], cast, holes, mishap))
                return -1;
        return i;
    }
    return mishap_unknown(forms, count, what, text, furthest, cast, mishap);
}

/* --- printing --- */

static void print_hole(char hole, const struct holes *holes, const char (*names)[64], char *text,
                       size_t size)
{
    char words[UNITS_TEXT_MAX];
    int64_t milli = holes->leases_milli < 0 ? -holes->leases_milli : holes->leases_milli;
    assert(hole != 'C' || holes->client >= 0);
    assert(hole != 'S' || holes->server >= 0);
    text[0] = '\0';
    if (hole == 'C')
        snprintf(text, size, "%s", names[holes->client]);
    else if (hole == 'S')
        snprintf(text, size, "server %d", holes->server + 1);
    else if (hole == 'V')
        snprintf(text, size, "%s", holes->opaque[0] ? holes->opaque : verb_name(holes->verb));
    else if (hole == 'T' && milli % 1000)
        snprintf(text, size, "%s%" PRId64 ".%03" PRId64 " leases",
                 holes->leases_milli < 0 ? "-" : "", milli / 1000, milli % 1000);
    else if (hole == 'T' && milli)
        snprintf(text, size, "%" PRId64 " %s", holes->leases_milli / 1000,
                 milli == 1000 ? "lease" : "leases");
    else if (hole == 'T')
        snprintf(text, size, "%s", units_print_duration(holes->amount_us, words));
    else if (hole == 'G')
        snprintf(text, size, "%s %s", holes->amount_us < 0 ? "loses" : "gains",
                 units_print_duration(llabs(holes->amount_us), words));
    else if (hole == 'E')
        snprintf(text, size, "%s", reply_error_name(holes->error));
    else if (hole == 'P' && holes->stall)
        snprintf(text, size, ", stalls %s %s%s", holes->stall == STALL_BEFORE ? "before" : "after",
                 holes->stalls_at_effect ? "the " : "",
                 holes->stalls_at_effect ? effect_name(holes->stall_effect)
                                         : verb_name(holes->stall_verb));
}

const char *sentence_print(const char *form, const struct holes *holes, const char (*names)[64],
                           char *text, size_t size)
{
    size_t used = 0;
    assert(size > 0);
    for (; *form && used + 1 < size; form++) {
        if (*form != '%') {
            text[used++] = *form;
            continue;
        }
        form++;
        print_hole(*form, holes, names, text + used, size - used);
        used += strlen(text + used);
    }
    text[used] = '\0';
    return text;
}
