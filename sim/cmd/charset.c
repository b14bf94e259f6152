/* charset.c - see charset.h. */
#include "cmd/charset.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>

enum charset charset_of_locale(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale)
        return CHARSET_ASCII; /* one that is not installed: nobody knows what it shows */
    bool is_utf8 = !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");
    freelocale(locale);
    return is_utf8 ? CHARSET_UTF8 : CHARSET_ASCII;
}
