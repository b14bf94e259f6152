/* man.c - `picklock man`: manual pages, from the same tables as --help. */
#include "cmd/cmd.h"
#include "cmd/help_text.h"
#include "cmd/options.h"

#include "base/version.h"

#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
const char cmd_man_help[] =
    "\n"
    "  COMMAND                the page of this command (default: of the program)\n"
    "\n"
    "On a terminal man(1) shows it, where there is one; `make install` writes all of them.\n";
/* clang-format on */

/* No character of the text does more than stand there: a point or an apostrophe at the start of a
 * line would be an order, a backslash an escape, a hyphen a dash that cannot be copied. */
static void print_text(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
    }
    putchar('\n');
}

static void print_title(const char *name, const char *words)
{
    printf(".TH %s 1 \"\" \"picklock %s\" \"User Commands\"\n.nh\n.SH NAME\n", name,
           PICKLOCK_VERSION);
    printf("%s \\- ", name);
    print_text(words);
}

static void print_parts(const struct help_text *text)
{
    for (size_t i = 0; i < text->count; i++) {
        const struct help_part *part = &text->parts[i];
        if (part->term) {
            printf(".TP\n.B ");
            print_text(part->term);
        } else {
            printf(".PP\n");
        }
        print_text(part->words);
    }
}

static void print_statuses(void)
{
    struct help_text text = help_text_read(cmd_statuses);
    printf(".SH EXIT STATUS\n");
    print_parts(&text);
    help_text_free(&text);
}

static void print_command(const struct cmd_row *row)
{
    char name[64];
    struct help_text text = help_text_read(row->help);
    snprintf(name, sizeof name, "picklock-%s", row->name);
    print_title(name, row->words);
    printf(".SH SYNOPSIS\n.B picklock %s\n", row->name);
    print_text(row->usage);
    if (text.count)
        printf(".SH OPTIONS\n");
    print_parts(&text);
    help_text_free(&text);
    print_statuses();
    printf(".SH SEE ALSO\n.BR picklock (1)\n");
}

static void print_program(void)
{
    print_title("picklock", "tries to break a Redis lock before production does");
    printf(".SH SYNOPSIS\n.B picklock\n.I COMMAND\n\\&...\n.SH COMMANDS\n");
    for (int i = 0; i < cmd_rows_count; i++) {
        printf(".TP\n.BR picklock\\-%s (1)\n", cmd_rows[i].name);
        print_text(cmd_rows[i].words);
    }
    print_statuses();
}

/* Of the command; NULL: of the program. */
static void print_page(const struct cmd_row *row)
{
    if (row)
        print_command(row);
    else
        print_program();
}

enum { MAN_CANNOT = 2 }; /* man(1)'s highest status for "that is not how I am called" */

/* On a terminal man(1) shows it, where there is one that reads a page from a pipe; false: nothing
 * was shown. */
static bool show(const struct cmd_row *row)
{
    if (system("command -v man > /dev/null 2>&1") != 0)
        return false;
    (void)signal(SIGPIPE, SIG_IGN); /* a reader may leave early */
    FILE *pager = popen("exec man -l - 2> /dev/null", "w");
    const int terminal = dup(STDOUT_FILENO);
    if (!pager || terminal < 0 || dup2(fileno(pager), STDOUT_FILENO) < 0)
        return false;
    print_page(row);
    (void)fflush(stdout);
    __fpurge(stdout);
    clearerr(stdout);
    (void)dup2(terminal, STDOUT_FILENO);
    (void)close(terminal);
    const int status = pclose(pager);
    return !WIFEXITED(status) || WEXITSTATUS(status) == 0 || WEXITSTATUS(status) > MAN_CANNOT;
}

int cmd_man(int argc, char **argv)
{
    struct failure failure = {0};
    int operands;
    if (options_parse(argc, argv, NULL, 0, &operands, &failure))
        return cmd_failed(&failure);
    if (operands > 1)
        return cmd_refuse("man takes one command, not %d", operands);
    const struct cmd_row *row = operands ? cmd_row_named(argv[1]) : NULL;
    if (operands && !row)
        return FAIL_INPUT;
    if (!isatty(STDOUT_FILENO) || !show(row))
        print_page(row);
    return FAIL_NONE;
}
