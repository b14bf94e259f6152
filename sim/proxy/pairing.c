/* pairing.c - see pairing.h. Decides from what was sent, and corrects itself by what is answered.
 */
#include "proxy/pairing.h"

#include <string.h>
#include <strings.h>

static const struct {
    enum pairing_kind kind;
    const char *name;
    char family;
} kinds[] = {
#define KIND(id, name, family)      {KIND_##id, name, family},
#define KIND_MORE(id, name, family) {KIND_##id, name, family},
#include "proxy/kinds.def"
#undef KIND
#undef KIND_MORE
};
enum { KINDS_COUNT = sizeof kinds / sizeof kinds[0] };

void pairing_init(struct pairing *pairing)
{
    *pairing = (struct pairing){.version = 2};
}

/* The words of a request as far as they lie in the bytes at hand. */
struct words {
    const char *bytes;
    size_t length;
    const struct resp_span *spans;
    int spans_count;
    int64_t count;
    struct resp_span split[RESP_SPANS_MAX]; /* of an inline command */
};

static bool word_at(const struct words *words, int index, const char **text, size_t *length)
{
    if (index >= words->spans_count || words->spans[index].offset > words->length)
        return false;
    uint64_t there = words->length - words->spans[index].offset;
    *text = words->bytes + words->spans[index].offset;
    *length = (size_t)(words->spans[index].length < there ? words->spans[index].length : there);
    return true;
}

static bool word_is(const struct words *words, int index, const char *wanted)
{
    const char *text;
    size_t length;
    return word_at(words, index, &text, &length) && length == strlen(wanted) &&
           !strncasecmp(text, wanted, length);
}

static bool find_words(const struct resp *resp, const char *bytes, size_t length,
                       struct words *words)
{
    words->bytes = bytes;
    words->length = length;
    if (resp->type == '*') {
        words->count = resp->count;
        words->spans_count = resp->spans_count;
        words->spans = resp->spans;
        return words->count > 0;
    }
    words->spans = words->split;
    if (resp->spans_count ==
        0) { /* a long line that has not ended: a request, but of which name? */
        words->count = 1;
        words->spans_count = 0;
        return true;
    }
    int count =
        resp_split_inline(bytes, (size_t)resp->spans[0].length, words->split, RESP_SPANS_MAX);
    words->count = count < 0 ? 1 : count;
    words->spans_count = count < 0 ? 0 : count < RESP_SPANS_MAX ? count : RESP_SPANS_MAX;
    return words->count > 0;
}

static void read_name(const char *text, size_t length, char *name)
{
    size_t i = 0;
    for (; i < length && i < PROXY_NAME_MAX - 1; i++) {
        const char byte = text[i];
        const bool is_small = byte >= 'a' && byte <= 'z';
        name[i] = is_small ? (char)(byte - 'a' + 'A') : byte >= ' ' && byte <= '~' ? byte : '?';
    }
    name[i] = 0;
}

void pairing_read_name(const struct resp *resp, const char *bytes, char *name)
{
    read_name(bytes + resp->spans[0].offset, (size_t)resp->spans[0].length, name);
}

/* Which bit of 64 a name has by its first two letters: what the table has is seen at a glance. */
static unsigned bit_of(char first, char second)
{
    return ((unsigned char)first * 37u + (unsigned char)second) % 64;
}

static bool may_be_known(char first, char second)
{
#define BIT(name)                                                                                  \
    (sizeof(name) > 2 ? UINT64_C(1) << bit_of((name)[0], (name)[sizeof(name) > 2]) : 0)
    const uint64_t known = 0
#define KIND(id, name, family)      | BIT(name)
#define KIND_MORE(id, name, family) | BIT(name)
#include "proxy/kinds.def"
#undef KIND
#undef KIND_MORE
#undef BIT
        ;
    return known >> bit_of(first, second) & 1;
}

static void find_kind(const char *name, struct pairing_command *command)
{
    if (!name[0] || !may_be_known(name[0], name[1]))
        return;
    for (int i = 0; i < KINDS_COUNT; i++)
        if (kinds[i].name[0] == name[0] && kinds[i].name[1] == name[1] &&
            !strcmp(kinds[i].name, name)) {
            command->kind = kinds[i].kind;
            command->family = kinds[i].family;
            return;
        }
}

static void read_client(const struct words *words, struct pairing_request *request)
{
    static const struct {
        const char *word;
        enum pairing_kind kind;
    } modes[] = {{"ON", KIND_REPLY_ON}, {"OFF", KIND_REPLY_OFF}, {"SKIP", KIND_REPLY_SKIP}};
    if (words->count != 3)
        return;
    if (word_is(words, 1, "SETNAME"))
        word_at(words, 2, &request->client_name, &request->client_name_length);
    for (int i = 0; i < 3 && word_is(words, 1, "REPLY"); i++)
        if (word_is(words, 2, modes[i].word))
            request->command.kind = modes[i].kind;
}

static void read_hello(const struct words *words, struct pairing_request *request)
{
    request->command.version = word_is(words, 1, "3") ? 3 : word_is(words, 1, "2") ? 2 : 0;
    for (int i = 2; i < words->spans_count; i++) {
        if (word_is(words, i, "AUTH"))
            i += 2; /* whatever they say, they are no option */
        else if (word_is(words, i, "SETNAME"))
            word_at(words, i + 1, &request->client_name, &request->client_name_length);
    }
}

bool pairing_read(const struct resp *resp, const char *bytes, size_t length,
                  struct pairing_request *request)
{
    struct words words;
    if (!find_words(resp, bytes, length, &words))
        return false;
    struct pairing_command *command = &request->command;
    request->key = request->client_name = request->script = NULL;
    request->key_length = request->client_name_length = request->script_length = 0;
    *command = (struct pairing_command){.arguments = words.count - 1};
    const char *name = "";
    size_t name_length = 0;
    word_at(&words, 0, &name, &name_length);
    read_name(name, name_length, request->name);
    find_kind(request->name, command);
    int key = 1;
    switch (command->kind) {
    case KIND_CLIENT:
        read_client(&words, request);
        break;
    case KIND_HELLO:
        read_hello(&words, request);
        return true;
    case KIND_AUTH:
        return true; /* its first argument is a secret */
    case KIND_SCRIPT:
        if (word_is(&words, 1, "DEBUG") && !word_is(&words, 2, "NO"))
            command->kind = KIND_FEED;
        break;
    case KIND_EVAL:
        word_at(&words, 1, &request->script, &request->script_length);
        key = word_is(&words, 2, "0") ? RESP_SPANS_MAX : 3;
        break;
    default:
        break;
    }
    word_at(&words, key, &request->key, &request->key_length);
    return true;
}

/* By its first two letters alone: no name in the table begins so. */
static bool is_unknown(const char *bytes, const struct resp_span *name)
{
    enum { TO_UPPER = ~('a' - 'A') };
    const char *text = bytes + name->offset;
    return name->length < 2 ||
           !may_be_known((char)(text[0] & TO_UPPER), (char)(text[1] & TO_UPPER));
}

bool pairing_is_plain(const struct pairing *pairing, const struct resp *resp, const char *bytes)
{
    if (resp->type != '*' || !resp->spans_count || !pairing_is_simple(pairing))
        return false;
    if (is_unknown(bytes, &resp->spans[0]))
        return true;
    char name[PROXY_NAME_MAX];
    struct pairing_command command = {0};
    pairing_read_name(resp, bytes, name);
    find_kind(name, &command);
    return command.kind == KIND_PLAIN;
}

/* Runs at once although a transaction is open. */
static bool is_immediate(enum pairing_kind kind)
{
    return kind == KIND_MULTI || kind == KIND_EXEC || kind == KIND_DISCARD ||
           kind == KIND_NOT_QUEUED || kind == KIND_RESET;
}

static bool is_queued(const struct pairing *pairing, const struct pairing_command *command)
{
    return pairing->in_transaction && !is_immediate(command->kind);
}

int64_t pairing_expects(const struct pairing *pairing, const struct pairing_command *command)
{
    bool is_mute = pairing->is_off || pairing->skips_next;
    if (is_queued(pairing, command))
        return is_mute ? 0 : 1;
    switch (command->kind) {
    case KIND_REPLY_ON:
    case KIND_RESET:
        return 1;
    case KIND_REPLY_OFF:
    case KIND_REPLY_SKIP:
        return 0;
    case KIND_SUBSCRIBE:
        if (command->arguments > 0)
            return command->arguments; /* confirmations come even when replies are off */
        return is_mute ? 0 : 1;
    case KIND_UNSUBSCRIBE:
        return command->arguments > 0 ? command->arguments : REPLIES_BY_COUNT;
    default:
        return is_mute ? 0 : 1;
    }
}

void pairing_forwarded_nothing(struct pairing *pairing)
{
    pairing->skips_next = false;
}

void pairing_forwarded(struct pairing *pairing, struct pairing_command *command)
{
    command->is_muted = pairing->is_off || pairing->skips_next;
    command->was_queued = is_queued(pairing, command);
    pairing->skips_next = false;
    if (command->was_queued) {
        bool changes_replies = command->kind == KIND_REPLY_OFF ||
                               command->kind == KIND_REPLY_SKIP || command->kind == KIND_REPLY_ON ||
                               command->kind == KIND_SUBSCRIBE || command->kind == KIND_UNSUBSCRIBE;
        pairing->is_odd = pairing->is_odd || changes_replies;
        return;
    }
    switch (command->kind) {
    case KIND_MULTI:
        if (!pairing->in_transaction)
            command->transaction = ++pairing->transactions;
        pairing->in_transaction = true;
        break;
    case KIND_EXEC:
    case KIND_DISCARD:
        pairing->in_transaction = pairing->is_odd = false;
        break;
    case KIND_RESET:
        pairing->in_transaction = pairing->is_odd = pairing->is_off = false;
        break;
    case KIND_REPLY_ON:
        pairing->is_off = false;
        break;
    case KIND_REPLY_OFF:
        pairing->is_off = true;
        break;
    case KIND_REPLY_SKIP:
        pairing->skips_next = !pairing->is_off;
        break;
    case KIND_HELLO:
        if (command->is_muted && command->version)
            pairing->version = command->version; /* no reply will say so */
        break;
    default:
        break;
    }
}

enum pairing_feed pairing_feed(const struct pairing *pairing, const struct pairing_command *command)
{
    if (command->kind == KIND_EXEC && pairing->is_odd)
        return FEED_AT_REPLY;
    if (is_queued(pairing, command))
        return FEED_NONE;
    if (command->kind == KIND_SYNC)
        return FEED_AT_REPLY;
    return command->kind == KIND_FEED ? FEED_AFTER_REPLY : FEED_NONE;
}

static bool first_element_is(const struct resp *resp, const char *bytes, size_t length,
                             const char *wanted)
{
    return resp->spans_count > 0 && resp->spans[0].length == strlen(wanted) &&
           resp->spans[0].offset + resp->spans[0].length <= length &&
           !memcmp(bytes + resp->spans[0].offset, wanted, strlen(wanted));
}

static bool is_message(const struct resp *resp, const char *bytes, size_t length)
{
    return first_element_is(resp, bytes, length, "message") ||
           first_element_is(resp, bytes, length, "pmessage") ||
           first_element_is(resp, bytes, length, "smessage");
}

static bool is_confirmation(const struct resp *resp, const char *bytes, size_t length,
                            const struct pairing_command *command)
{
    static const struct {
        char family;
        const char *subscribe, *unsubscribe;
    } words[] = {{'c', "subscribe", "unsubscribe"},
                 {'p', "psubscribe", "punsubscribe"},
                 {'s', "ssubscribe", "sunsubscribe"}};
    for (int i = 0; i < 3; i++)
        if (words[i].family == command->family)
            return (resp->type == '*' || resp->type == '>') &&
                   first_element_is(resp, bytes, length,
                                    command->kind == KIND_SUBSCRIBE ? words[i].subscribe
                                                                    : words[i].unsubscribe);
    return false;
}

enum pairing_match pairing_match(const struct pairing *pairing, const struct resp *resp,
                                 const char *bytes, size_t length,
                                 const struct pairing_command *command)
{
    bool waits_for_confirmation =
        command && (command->kind == KIND_SUBSCRIBE || command->kind == KIND_UNSUBSCRIBE) &&
        !command->was_queued;
    if (waits_for_confirmation && is_confirmation(resp, bytes, length, command))
        return MATCH_REPLY;
    if (resp->type == '>')
        return MATCH_PUSH;
    bool is_subscribed = pairing->channels + pairing->patterns + pairing->shards > 0;
    if (pairing->version == 2 && is_subscribed && resp->type == '*' &&
        is_message(resp, bytes, length))
        return MATCH_PUSH;
    if (waits_for_confirmation && command->is_muted)
        return MATCH_NEXT;
    return MATCH_REPLY;
}

static int64_t *subscriptions(struct pairing *pairing, char family)
{
    return family == 'p'   ? &pairing->patterns
           : family == 's' ? &pairing->shards
                           : &pairing->channels;
}

/* A confirmation says how many there are now; channels and patterns are counted together. */
static void take_confirmation(struct pairing *pairing, const struct resp_end *end, char family)
{
    int64_t others = family == 's' ? 0 : family == 'p' ? pairing->channels : pairing->patterns;
    int64_t now = end->integer - others;
    *subscriptions(pairing, family) = now > 0 ? now : 0;
}

int64_t pairing_replied(struct pairing *pairing, const struct resp_end *end,
                        const struct pairing_command *command, int64_t left)
{
    bool is_error = end->type == '-' || end->type == '!';
    switch (command->kind) {
    case KIND_MULTI:
        if (is_error && command->transaction == pairing->transactions)
            pairing->in_transaction = false; /* it never opened, and nothing opened since */
        break;
    case KIND_HELLO:
        if (!is_error && command->version && !command->was_queued)
            pairing->version = command->version;
        break;
    case KIND_RESET:
        if (!is_error) {
            pairing->version = 2;
            pairing->channels = pairing->patterns = pairing->shards = 0;
        }
        break;
    case KIND_SUBSCRIBE:
    case KIND_UNSUBSCRIBE:
        if (is_error || command->was_queued)
            return 0; /* refused as a whole, or only queued */
        if (left == REPLIES_BY_COUNT) {
            int64_t had = *subscriptions(pairing, command->family);
            left = had > 0 ? had : 1;
        }
        take_confirmation(pairing, end, command->family);
        break;
    default:
        break;
    }
    return left - 1;
}
