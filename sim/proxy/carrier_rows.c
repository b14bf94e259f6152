/* carrier_rows.c - see carrier_rows.h. */
#include "proxy/carrier_rows.h"

#include "proxy/internal.h"

#include <string.h>

static size_t bytes_behind(const struct carrier_row *row)
{
    const bool has_bytes = row->kind == ROW_SEND || row->kind == ROW_WRITE || row->kind == ROW_CAME;
    return has_bytes ? row->value : 0;
}

/* Returns how many bytes whole rows had. */
static size_t take_whole(const char *bytes, size_t length, take_row *take, void *context)
{
    struct carrier_row row;
    size_t at = 0;
    while (length - at >= sizeof row) {
        memcpy(&row, bytes + at, sizeof row);
        const size_t behind = bytes_behind(&row);
        if (length - at - sizeof row < behind)
            break;
        take(context, &row, bytes + at + sizeof row);
        at += sizeof row + behind;
    }
    return at;
}

void carrier_rows_take(struct block *in, const char *bytes, size_t length, take_row *take,
                       void *context)
{
    if (!block_length(in)) {
        const size_t done = take_whole(bytes, length, take, context);
        block_append(in, bytes + done, length - done);
    } else {
        block_append(in, bytes, length);
        block_move_on(in, take_whole(in->bytes + in->begin, block_length(in), take, context));
    }
}
