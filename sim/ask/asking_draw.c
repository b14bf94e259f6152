/* asking_draw.c - the classes of histories as a graph, for dot(1). */
#include "ask/asking_state.h"

#include <ctype.h>
#include <string.h>

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)fputc('\\', out);
        (void)fputc(iscntrl((unsigned char)*text) ? ' ' : *text, out);
    }
}

/* The class of a history that the search has met; NODE_LOST: it has not. */
static uint32_t class_of(const struct asking *asking, uint32_t node)
{
    const struct classes *classes = &asking->classes;
    if (node == NODE_ROOT)
        return NODE_ROOT;
    return node < classes->count && classes->rows[node].node ? classes->rows[node].node : NODE_LOST;
}

/* Behind an attempt that is over, and that left nothing behind, it is a new one. */
static bool is_over(const struct asking *asking, uint32_t node)
{
    return node < asking->ends.count && asking->ends.rows[node].like == NODE_ROOT;
}

static void draw_edge(const struct asking *asking, uint32_t node, FILE *out)
{
    char heard[200], did[600];
    const struct history_edge edge = worker_asker_edge(&asking->worker, node);
    const uint32_t from = class_of(asking, edge.from);
    const uint32_t to = class_of(asking, node);
    if (from != edge.from || to == NODE_LOST) /* asked on a way alone, or of another class */
        return;
    worker_asker_tell_step(&asking->worker, node, heard, sizeof heard, did, sizeof did);
    (void)fprintf(out, "  h%u -> h%u [label=\"", from, is_over(asking, to) ? NODE_ROOT : to);
    put_text(out, heard);
    (void)fprintf(out, "\\n");
    put_text(out, did);
    (void)fprintf(out, "\"];\n");
}

void asking_draw(const struct asking *asking, FILE *out)
{
    (void)fprintf(out, "digraph worker {\n  node [shape=circle, label=\"\"];\n"
                       "  h0 [label=\"new\", shape=doublecircle];\n");
    for (uint32_t node = 1; node <= asking->worker.questions.count; node++)
        draw_edge(asking, node, out);
    (void)fprintf(out, "}\n");
}
