/* assets.c - see assets.h. The assembler reads the files, from the folder in which make runs; the
 * Makefile knows that this object depends on them. */
#include "report/assets.h"

#define ASSET(name, file)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " name "\n"                                                                   \
            ".type " name ", @object\n" name ":\n"                                                 \
            ".incbin \"" file "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".size " name ", . - " name "\n"                                                       \
            ".popsection\n")

ASSET("asset_page", "reports/page.html");
ASSET("asset_style", "reports/page.css");
ASSET("asset_script", "reports/page.js");
