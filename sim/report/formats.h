/* formats.h - the formats of reports, a row a format; report/NAME.c prints it.
 *
 * FORMAT(with, ID, NAME, FILE, HELP)
 *   with   handed through to whoever lists the formats
 *   NAME   --NAME on the command line, report_NAME() in the code
 *   FILE   what it is called in a run folder
 *   HELP   its line in the help of commands
 *
 * In the order in which they are written: the data first. */
#ifndef PICKLOCK_REPORT_FORMATS_H
#define PICKLOCK_REPORT_FORMATS_H

/* clang-format off */
#define FORMATS(FORMAT, with) \
    FORMAT(with, JSON, json, "results.json", \
           "  --json FILE            results.json, for programs\n") \
    FORMAT(with, MARKDOWN, markdown, "report.md", \
           "  --markdown FILE        a comment on a pull request\n") \
    FORMAT(with, JUNIT, junit, "junit.xml", \
           "  --junit FILE           test cases, for a CI server\n") \
    FORMAT(with, HTML, html, "index.html", \
           "  --html FILE            the page\n")
/* clang-format on */

#define FORMAT_ID(with, id, name, file, help)   FORMAT_##id,
#define FORMAT_HELP(with, id, name, file, help) help

enum format { FORMATS(FORMAT_ID, ) FORMAT_COUNT };

#endif
