/* config.c - see config.h. As strict as a rules file: nothing that is not understood is skipped. */
#include "proxy/config.h"

#include "base/memory.h"
#include "proxy/rules_words.h"

#include <stdlib.h>
#include <string.h>

void config_free(struct proxy_config *config)
{
    for (int i = 0; i < config->count; i++) {
        struct listener_config *row = &config->rows[i];
        free(row->listen_text);
        free(row->upstream_text);
        if (row->rules)
            rules_free(row->rules);
    }
    config->count = 0;
}

/* "[NAME]" */
static bool read_name(const struct word *word, char *name)
{
    const size_t length = word->length < 3 ? 0 : word->length - 2;
    if (!length || length >= NAME_MAX_BYTES || word->text[word->length - 1] != ']' ||
        strlen(word->text) != word->length)
        return false;
    memcpy(name, word->text + 1, length);
    name[length] = 0;
    return !strpbrk(name, "[]\"\\ ");
}

static enum fail check_listen(const char *key, const struct proxy_address *address,
                              struct failure *failure)
{
    return address->is_tls && strstr(key, "listen")
               ? failure_set(failure, FAIL_INPUT,
                             "TLS is spoken to the server only: clients connect without it")
               : FAIL_NONE;
}

static enum fail read_address(const struct rules_line *line, const struct word *word,
                              const char *key, char **text, struct proxy_address *address,
                              struct failure *failure)
{
    struct failure why = {0};
    if (*text)
        return line_wrong(line, word->column, failure, "'%s' is given twice", key);
    *text = memory_text(word->text + strlen(key));
    if (proxy_address_read(*text, address, &why) || check_listen(key, address, &why) ||
        proxy_address_check(address, &why))
        return line_wrong(line, word->column + (int)strlen(key), failure, "%s", why.text);
    return FAIL_NONE;
}

static enum fail read_listener(struct proxy_config *config, const struct rules_line *line,
                               struct failure *failure)
{
    static const char *const keys[] = {"listen=", "upstream="};
    char near[512];
    if (config->count == LISTENERS_MAX)
        return line_wrong(line, 0, failure, "more than %d listeners", LISTENERS_MAX);
    struct listener_config *row = &config->rows[config->count++];
    *row = (struct listener_config){.rules = rules_new()};
    if (!read_name(&line->words[0], row->name))
        return line_wrong(line, line->words[0].column, failure,
                          "a listener begins with its name in brackets, as in [orders]");
    for (int i = 0; i + 1 < config->count; i++)
        if (!strcmp(config->rows[i].name, row->name))
            return line_wrong(line, line->words[0].column, failure, "a second listener named '%s'",
                              row->name);
    for (int i = 1; i < line->count; i++) {
        const struct word *word = &line->words[i];
        const bool is_listen = !strncmp(word->text, keys[0], strlen(keys[0]));
        if (!is_listen && strncmp(word->text, keys[1], strlen(keys[1])) != 0)
            return line_wrong(line, word->column, failure, "unknown word '%.60s'%s", word->text,
                              word_near(word->text, keys, 2, near));
        if (read_address(line, word, is_listen ? keys[0] : keys[1],
                         is_listen ? &row->listen_text : &row->upstream_text,
                         is_listen ? &row->listen : &row->upstream, failure))
            return FAIL_INPUT;
    }
    if (!row->listen_text || !row->upstream_text)
        return line_wrong(line, line->words[0].column, failure,
                          "a listener wants listen=ADDR and upstream=ADDR");
    return FAIL_NONE;
}

static enum fail take(void *context, const struct rules_line *line, struct failure *failure)
{
    struct proxy_config *config = context;
    if (line->words[0].text[0] == '[')
        return read_listener(config, line, failure);
    if (!config->count)
        return line_wrong(line, line->words[0].column, failure,
                          "a listener comes first, as in [orders] listen=127.0.0.1:7001 "
                          "upstream=127.0.0.1:6379");
    return rules_add(config->rows[config->count - 1].rules, line, failure);
}

enum fail config_read(struct proxy_config *config, const char *path, struct failure *failure)
{
    enum fail fail = lines_read(path, take, config, failure);
    if (!fail && !config->count)
        fail = failure_set(failure, FAIL_INPUT, "%s:1:1: no listener", path);
    return fail;
}

enum fail config_of_options(struct proxy_config *config, const char *listen, const char *upstream,
                            const char *rules, struct failure *failure)
{
    struct listener_config *row = &config->rows[config->count++];
    *row = (struct listener_config){.listen_text = memory_text(listen),
                                    .upstream_text = memory_text(upstream)};
    if (proxy_address_read(listen, &row->listen, failure) ||
        check_listen("listen", &row->listen, failure))
        return failure_wrap(failure, "--listen");
    if (proxy_address_read(upstream, &row->upstream, failure))
        return failure_wrap(failure, "--upstream");
    return rules ? rules_read(&row->rules, rules, failure) : FAIL_NONE;
}
