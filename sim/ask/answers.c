/* answers.c - see answers.h. */
#include "ask/answers.h"

#include "ask/key_form.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const int64_t TIMER_MAX_US = INT64_C(1) << 50;
enum { RECORDS_MAX = 1 << 22, NAMES_MAX = 64, ELAPSED_MAX = 1 << 20 };

/* --- written --- */

static void put(struct answer_bytes *out, const void *bytes, size_t size)
{
    if (out->used + size > out->size) {
        out->size = 2 * (out->used + size);
        out->bytes = memory_resize(out->bytes, out->size, 1);
    }
    if (size)
        memcpy(out->bytes + out->used, bytes, size);
    out->used += size;
}

static void put_number(struct answer_bytes *out, uint64_t number)
{
    put(out, &number, sizeof number);
}

static void put_text(struct answer_bytes *out, const char *bytes, size_t size)
{
    put_number(out, size);
    put(out, bytes, size);
}

static void put_table(struct answer_bytes *out, const struct intern_table *table)
{
    put_number(out, table->count);
    for (uint32_t i = 0; i < table->count; i++)
        put_text(out, (const char *)table->bytes + table->offsets[i],
                 table->offsets[i + 1] - table->offsets[i]);
}

static void put_pool(struct answer_bytes *out, const struct token_pool *pool)
{
    put_number(out, (uint64_t)pool->count);
    for (int i = 0; i < pool->count; i++)
        put_text(out, pool->tokens[i].bytes, pool->tokens[i].length);
}

static void put_worker(struct answer_bytes *out, const struct worker_asker *worker)
{
    put_table(out, &worker->questions);
    put_table(out, &worker->timed_edges);
    put(out, worker->answers, worker->questions.count * sizeof *worker->answers);
    put_number(out, (uint64_t)worker->token_word);
    put_number(out, (uint64_t)worker->token_command);
    put_number(out, (uint64_t)worker->token_words);
    put_text(out, worker->sample.bytes, worker->sample.length);
    for (int i = 0; i < FIRST_CLIENTS; i++)
        put_pool(out, &worker->pools[i]);
    put_number(out, (uint64_t)worker->names_count);
    put(out, worker->names, (size_t)worker->names_count * sizeof *worker->names);
    put_number(out, worker->timed);
    put_number(out, worker->has_far_timers);
}

static void put_server(struct answer_bytes *out, const struct server_asker *server)
{
    put_table(out, &server->forms);
    put_table(out, &server->others);
    put_number(out, (uint64_t)server->scripts_count);
    put_number(out, (uint64_t)server->scripts_first);
    for (int i = 0; i < server->scripts_count; i++)
        put_text(out, server->scripts[i], strlen(server->scripts[i]));
    put_table(out, &server->questions);
    put(out, server->answers, server->questions.count * sizeof *server->answers);
    put_text(out, server->key, strlen(server->key));
    put_number(out, server->knows_key);
    put_number(out, server->has_far_keys);
}

void answers_print(const struct asking *asking, struct answer_bytes *out)
{
    const struct worker_program *program = asking->program;
    *out = (struct answer_bytes){0};
    put_number(out, program->promises);
    put_text(out, program->library, strlen(program->library));
    put_text(out, program->server_version, strlen(program->server_version));
    put_number(out, asking->worker.has_idle_reads);
    put_number(out, asking->generation + 1);
    put_table(out, &asking->book.table);
    put_worker(out, &asking->worker);
    put_server(out, &asking->server);
}

/* --- read --- */

struct answer_reader {
    const char *at, *end;
    bool is_bad;
};

static void take(struct answer_reader *in, void *bytes, size_t size)
{
    in->is_bad |= (size_t)(in->end - in->at) < size;
    if (in->is_bad) {
        memset(bytes, 0, size);
        return;
    }
    memcpy(bytes, in->at, size);
    in->at += size;
}

/* At most that; else the whole is bad, and 0. */
static uint64_t take_number(struct answer_reader *in, uint64_t most)
{
    uint64_t number;
    take(in, &number, sizeof number);
    in->is_bad |= number > most;
    return in->is_bad ? 0 : number;
}

/* With a NUL behind it. */
static size_t take_text(struct answer_reader *in, char *bytes, size_t size)
{
    const size_t length = take_number(in, size - 1);
    take(in, bytes, length);
    bytes[length] = '\0';
    return length;
}

/* Of the records' own kind: can it be one? NULL: any of that size at most. */
typedef bool whole_check(const char *bytes, size_t size);

static void take_table(struct answer_reader *in, struct intern_table *table, size_t size_max,
                       whole_check *is_whole)
{
    const uint64_t count = take_number(in, RECORDS_MAX);
    char *record = memory_new(size_max + 1, 1);
    for (uint32_t i = 0; i < count && !in->is_bad; i++) {
        const size_t size = take_text(in, record, size_max + 1);
        in->is_bad |= is_whole && !is_whole(record, size);
        in->is_bad |= !in->is_bad && intern_put(table, record, size) != i;
    }
    free(record);
}

static bool is_edge(const char *bytes, size_t size)
{
    struct history_edge edge;
    if (size != sizeof edge)
        return false;
    memcpy(&edge, bytes, sizeof edge);
    return edge.happening < HAPPENING_COUNT && edge.server < SERVERS_MAX &&
           edge.whose <= WHOSE_EARLIER && edge.elapsed >= ELAPSED_ANY &&
           edge.elapsed <= ELAPSED_MAX && abs(edge.jumped) <= ELAPSED_MAX;
}

static bool is_question(const char *bytes, size_t size)
{
    (void)bytes;
    return size == sizeof(struct server_question);
}

static bool is_step(const struct asking *asking, const struct remembered_step *step, uint32_t node)
{
    for (int i = 0; i < SERVERS_MAX; i++) {
        const struct sent_command *sent = &step->sent[i];
        if (sent->command > asking->book.table.count || sent->whose > WHOSE_OWN ||
            (sent->command &&
             (sent->name < 0 || sent->name >= asking->worker.names_count || i >= asking->servers)))
            return false;
    }
    return step->node == node && step->answer <= ANSWER_LOST && step->draws <= 1 &&
           step->has_fence <= 1 && step->left < channel_bit(asking->servers, LANE_MAIN) &&
           (step->timer_us == TIME_NEVER ||
            (step->timer_us >= 0 && step->timer_us <= TIMER_MAX_US));
}

/* Each is about an earlier one, and what was said is in the book. */
static bool are_histories(const struct asking *asking)
{
    const struct worker_asker *worker = &asking->worker;
    for (uint32_t node = 1; node <= worker->questions.count; node++) {
        const struct history_edge edge = worker_asker_edge(worker, node);
        const bool is_reply = edge.happening == HAPPENS_REPLY;
        if (edge.from >= node || edge.reply > asking->book.table.count ||
            is_reply != (edge.reply > 0) || !is_step(asking, &worker->answers[node - 1], node))
            return false;
    }
    return true;
}

static bool is_kept(const struct server_asker *server, const struct kept *kept)
{
    return kept->value >= KEPT_ABSENT && kept->value <= KEPT_LITERAL &&
           (kept->value == KEPT_ABSENT) == (kept->form == 0) && kept->form <= server->forms.count &&
           kept->left >= NO_TICKS && kept->left <= LEFT_FAR &&
           kept->beside <= server->others.count && kept->scripts < 1u << server->scripts_count;
}

static bool are_questions(const struct asking *asking)
{
    const struct server_asker *server = &asking->server;
    const uint32_t phrases = asking->book.table.count;
    for (uint32_t i = 0; i < server->questions.count; i++) {
        struct server_question question;
        const struct server_told *told = &server->answers[i];
        intern_get(&server->questions, i, &question);
        if (!is_kept(server, &question.kept) || !is_kept(server, &told->kept) ||
            !question.command || question.command > phrases || question.watching < 0 ||
            question.watching > WATCHING_CHANGED || !told->reply || told->reply > phrases ||
            told->whose > WHOSE_OTHER || (unsigned)told->error >= ERROR_COUNT ||
            (told->kind != REPLY_OK && told->kind != REPLY_NIL && told->kind != REPLY_ERROR))
            return false;
    }
    return server->forms.count <= FORMS_MAX;
}

static void take_token(struct answer_reader *in, struct spoken_token *token)
{
    char bytes[SPOKEN_TOKEN_MAX + 1];
    token->length = take_text(in, bytes, sizeof bytes);
    memcpy(token->bytes, bytes, token->length);
}

static void take_pool(struct answer_reader *in, size_t length, struct token_pool *pool)
{
    pool->count = (int)take_number(in, POOL_MAX);
    for (int i = 0; i < pool->count; i++) {
        take_token(in, &pool->tokens[i]);
        in->is_bad |= pool->tokens[i].length != length;
    }
}

static void take_worker(struct answer_reader *in, struct worker_asker *worker)
{
    take_table(in, &worker->questions, sizeof(struct history_edge), is_edge);
    take_table(in, &worker->timed_edges, sizeof(struct history_edge), is_edge);
    worker->answers = memory_new(worker->questions.count + 1, sizeof *worker->answers);
    take(in, worker->answers, worker->questions.count * sizeof *worker->answers);
    worker->token_word = (int)take_number(in, WIRE_WORDS_MAX - 1);
    worker->token_command = (int)take_number(in, WIRE_WORDS_MAX);
    worker->token_words = (int)take_number(in, WIRE_WORDS_MAX);
    take_token(in, &worker->sample);
    for (int i = 0; i < FIRST_CLIENTS; i++)
        take_pool(in, worker->sample.length, &worker->pools[i]);
    worker->names_count = (int)take_number(in, NAMES_MAX);
    take(in, worker->names, (size_t)worker->names_count * sizeof *worker->names);
    for (int i = 0; i < worker->names_count; i++)
        in->is_bad |= !memchr(worker->names[i], '\0', sizeof worker->names[i]);
    worker->timed = take_number(in, UINT32_MAX);
    worker->has_far_timers = take_number(in, 1);
    for (uint32_t i = 0; i < worker->questions.count; i++)
        worker->answers[i].is_audited = false;
}

static char *take_script(struct answer_reader *in)
{
    const size_t length = take_number(in, (uint64_t)(in->end - in->at));
    char *body = memory_new(length + 1, 1);
    take(in, body, length);
    in->is_bad |= strlen(body) != length;
    return body;
}

static void take_server(struct answer_reader *in, struct server_asker *server)
{
    take_table(in, &server->forms, FORM_BYTES_MAX, key_form_is_whole);
    take_table(in, &server->others, BESIDE_BYTES_MAX, keys_beside_are_whole);
    const int scripts = (int)take_number(in, SCRIPTS_MAX);
    server->scripts_first = (int)take_number(in, (uint64_t)scripts);
    for (int i = 0; i < scripts && !in->is_bad; i++)
        server->scripts[server->scripts_count++] = take_script(in);
    take_table(in, &server->questions, sizeof(struct server_question), is_question);
    server->answers = memory_new(server->questions.count + 1, sizeof *server->answers);
    take(in, server->answers, server->questions.count * sizeof *server->answers);
    (void)take_text(in, server->key, sizeof server->key);
    server->knows_key = take_number(in, 1);
    server->has_far_keys = take_number(in, 1);
}

bool answers_read(struct asking *asking, const char *bytes, size_t size)
{
    struct answer_reader in = {.at = bytes, .end = bytes + size};
    struct worker_program *program = &asking->kept_of;
    program->promises = (unsigned)take_number(&in, UINT32_MAX);
    (void)take_text(&in, program->library, sizeof program->library);
    (void)take_text(&in, program->server_version, sizeof program->server_version);
    asking->kept_had_idle_reads = take_number(&in, 1);
    asking->generation = take_number(&in, UINT32_MAX);
    take_table(&in, &asking->book.table, PHRASE_MAX, phrase_is_whole);
    take_worker(&in, &asking->worker);
    take_server(&in, &asking->server);
    return !in.is_bad && in.at == in.end && are_histories(asking) && are_questions(asking);
}
