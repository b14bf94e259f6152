/* toxic.c - see toxic.h. */
#include "toxiproxy/toxic.h"

#include "base/random.h"
#include "proxy/rules.h"

#include <jansson.h>
#include <stdlib.h>

bool toxic_strikes(const struct toxic *toxic, uint64_t link_number)
{
    const uint64_t of_links = UINT64_C(0x746f786963697479); /* a stream for nothing else */
    uint64_t drawn = random_at(toxic->seed, of_links, link_number) >> 40;
    return (float)drawn < toxic->toxicity * (float)(1 << 24);
}

void toxic_free(struct toxic *toxic)
{
    free(toxic->name);
    if (toxic->rules)
        rules_free(toxic->rules);
    json_decref(toxic->said);
    free(toxic);
}
