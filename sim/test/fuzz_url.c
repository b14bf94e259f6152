/* fuzz_url.c - hostile addresses of a server: refused or read, and a password is shown nowhere. */
#include "test/fuzz.h"

#include "live/url.h"

static bool fuzz_one(const uint8_t *data, size_t size)
{
    struct url url;
    struct failure failure = {0};
    char *text = memory_new(size + 1, 1);
    memcpy(text, data, size);
    enum fail fail = url_read(text, &url, &failure);
    if (fail) {
        fuzz_must_refuse(fail, &failure);
    } else {
        fuzz_must(url.host[0] || url.path[0], "an address of nowhere");
        fuzz_must(url.path[0] || (url.port > 0 && url.port < 65536), "a port that is none");
        fuzz_must(url.shown[0] != '\0', "nothing is shown");
        /* one that is short, or a piece of the address itself, may be seen there, of course */
        char *address = memory_format("%s:%d/%s", url.host, url.port, url.path);
        if (strlen(url.password) > 7 && !strstr(address, url.password))
            fuzz_must(!strstr(url.shown, url.password), "the password is shown");
        free(address);
    }
    free(text);
    return !fail;
}
