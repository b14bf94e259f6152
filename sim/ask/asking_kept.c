/* asking_kept.c - answers of an earlier run: taken when they still hold, and kept for the next one.
 */
#include "ask/answers.h"

#include "ask/opened.h"

#include <stdlib.h>
#include <string.h>

/* The scripts that the worker has loaded while it began, set aside. */
struct noted {
    char *scripts[SCRIPTS_MAX];
    int count;
};

static bool is_same_worker(const struct asking *asking, const struct noted *noted)
{
    const struct worker_program *now = asking->program, *then = &asking->kept_of;
    const struct server_asker *server = &asking->server;
    bool is_same = now->promises == then->promises && !strcmp(now->library, then->library) &&
                   !strcmp(now->server_version, then->server_version) &&
                   asking->kept_had_idle_reads == asking->worker.has_idle_reads &&
                   server->scripts_first == noted->count;
    for (int i = 0; i < noted->count && is_same; i++)
        is_same = !strcmp(server->scripts[i], noted->scripts[i]);
    return is_same;
}

/* Is nothing of that history's own behind it? Then to ask for it is to ask for all on its way. */
static bool is_leaf(const struct asking *asking, uint32_t node)
{
    for (uint32_t i = node + 1; i <= asking->worker.questions.count; i++)
        if (worker_asker_edge(&asking->worker, i).from == node)
            return false;
    return true;
}

/* A history for each of the two processes, which are new, and questions to the server, at least one
 * of each: others in each run. */
static enum fail ask_some_again(struct asking *asking, struct failure *failure)
{
    enum { SEATS = 2, QUESTIONS_SHARE = 20 };
    const uint32_t all = asking->worker.questions.count, questions = asking->server.questions.count;
    uint32_t at = all ? (uint32_t)(asking->generation * 7919 % all) : 0;
    struct seat *const own = &asking->worker.seat;
    for (int client = SEATS - 1; client >= 0 && all; client--) {
        struct seat seat = {.session = asking->session, .client = client, .is_new = true};
        while (!is_leaf(asking, at + 1))
            at = (at + 1) % all;
        enum fail fail = history_ask_again(&asking->worker, &seat, at + 1, failure);
        seat_close(&seat);
        if (fail)
            return fail;
        at = (at + all / SEATS + 1) % all;
    }
    own->is_new = false;
    for (uint32_t i = (uint32_t)asking->generation % QUESTIONS_SHARE; i < questions;
         i += QUESTIONS_SHARE)
        if (server_ask_again(&asking->server, i, failure))
            return failure->code;
    return seat_reset(&asking->worker, own, failure);
}

static enum fail begin_with(struct asking *asking, struct failure *failure)
{
    struct server_asker *server = &asking->server;
    asking_give_tokens(asking);
    for (int i = 0; i < server->scripts_count; i++)
        if (scripts_load(server, i, failure))
            return failure->code;
    return ask_some_again(asking, failure);
}

enum fail asking_take_kept(struct asking *asking, bool *is_stale, struct failure *failure)
{
    struct server_asker *server = &asking->server;
    struct noted noted = {.count = server->scripts_count};
    char *bytes = NULL;
    size_t size = 0;
    struct failure why = {0};
    *is_stale = false;
    (void)failure;
    cache_read(&asking->cache, &bytes, &size);
    if (!bytes)
        return FAIL_NONE;
    memcpy(noted.scripts, server->scripts, sizeof noted.scripts);
    server->scripts_count = 0;
    if (!answers_read(asking, bytes, size))
        cache_drop(&asking->cache, "kept answers are damaged: they were dropped, and all was asked "
                                   "anew");
    else if (!is_same_worker(asking, &noted))
        cache_drop(&asking->cache, "the worker, or the server, is another one than that of the "
                                   "kept answers: they were dropped, and all was asked anew");
    else if (begin_with(asking, &why))
        cache_drop(&asking->cache, "a kept answer that was asked for again is another one now: all "
                                   "were dropped, and asked anew");
    else
        asking->kept = asking->worker.questions.count + server->questions.count;
    *is_stale = !asking->kept;
    for (int i = 0; i < noted.count; i++)
        free(noted.scripts[i]);
    free(bytes);
    return FAIL_NONE;
}

/* What the answers rest on; the caller frees. NULL: it changed while they were asked for. */
static char *opened_by(struct asking *asking)
{
    struct opened opened = {0};
    opened_add_log(&opened, session_folder(asking->session));
    opened_add_maps(&opened, session_pid(asking->session, 0));
    if (asking->kept && asking->cache.opened)
        opened_add_text(&opened, asking->cache.opened);
    const char *changed = opened_settle(&opened);
    char *text = changed ? NULL : opened_print(&opened);
    if (changed)
        cache_forbid(&asking->cache, changed);
    opened_close(&opened);
    return text;
}

void asking_keep(struct asking *asking)
{
    struct answer_bytes out;
    if (!asking->cache.path || asking->failure.code || !asking->worker.questions.count ||
        asking_fence_doubt(asking)) /* which is to be found again */
        return;
    char *opened = opened_by(asking);
    if (!opened)
        return;
    answers_print(asking, &out);
    cache_write(&asking->cache, opened, out.bytes, out.used);
    free(out.bytes);
    free(opened);
}

const char *asking_kept_words(const struct asking *asking)
{
    return asking->cache.words;
}
