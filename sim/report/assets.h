/* assets.h - the page's template, style and script: files of reports/, in the program so that it
 * needs none of them. */
#ifndef PICKLOCK_REPORT_ASSETS_H
#define PICKLOCK_REPORT_ASSETS_H

/* Static texts. */
extern const char asset_page[];   /* reports/page.html */
extern const char asset_style[];  /* reports/page.css */
extern const char asset_script[]; /* reports/page.js */

#endif
