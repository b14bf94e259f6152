/* completion.c - `picklock completion`: what a shell completes, from the same tables as --help. */
#include "cmd/cmd.h"
#include "cmd/heartbeat.h"
#include "cmd/help_text.h"
#include "cmd/options.h"

#include "base/memory.h"
#include "base/names.h"
#include "base/suggest.h"
#include "explore/model/options.h"
#include "history/fault.h"
#include "history/jepsen.h"
#include "run/fail_on.h"
#include "schemes/scheme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const char cmd_completion_help[] =
    "\n"
    "  SHELL                  bash, zsh or fish\n"
    "\n"
    "For one session: `source <(picklock completion bash)`, or zsh; `picklock completion fish |\n"
    "source`. `make install` puts all three where the shells look.\n";
/* clang-format on */

/* --- what may stand behind an option --- */

/* Takes words and name is borrowed. */
static char *with_word(char *words, const char *name)
{
    char *more = memory_format("%s%s%s", words, *words ? " " : "", name);
    free(words);
    return more;
}

static char *scheme_words(void)
{
    char *words = memory_text("");
    for (int i = 0; i < schemes_count; i++)
        words = with_word(words, schemes[i]->name);
    return words;
}

static char *fault_words_all(void)
{
    char *words = memory_text("none");
    for (int i = 0; i < FAULT_COUNT; i++)
        words = with_word(words, fault_name((enum fault)i));
    return words;
}

static char *fail_on_words(void)
{
    char *words = memory_text("");
    for (int i = FAIL_ON_UNSAID + 1; i < FAIL_ON_COUNT; i++)
        words = with_word(words, fail_on_name((enum fail_on)i));
    return words;
}

static char *section_words(void)
{
    char *words = memory_text("");
    for (int i = 0; i < SECTION_COUNT; i++)
        words = with_word(words, section_name((enum section)i));
    return words;
}

static char *search_words(void)
{
    char *words = memory_text("");
    for (int i = 0; i < SEARCH_COUNT; i++)
        words = with_word(words, explore_search_name((enum explore_search)i));
    return words;
}

static char *model_words(void)
{
    char *words = memory_text("");
    for (int i = 0; i < MODEL_COUNT; i++)
        words = with_word(words, lock_model_name((enum lock_model)i));
    return words;
}

static char *time_unit_words(void)
{
    char *words = memory_text("");
    for (int i = 0; i < TIME_UNITS; i++)
        words = with_word(words, time_unit_name((enum jepsen_unit)i));
    return words;
}

static char *source_words(void)
{
    char *words = memory_text("");
#define SOURCE(id, name, about) words = with_word(words, name);
#include "history/sources.def"
#undef SOURCE
    return words;
}

static char *export_words(void)
{
    char *words = memory_text("");
#define EXPORT(name, about) words = with_word(words, #name);
#include "history/exports.def"
#undef EXPORT
    return words;
}

static char *progress_words(void)
{
    char *words = memory_text("");
    for (int i = 0; heartbeat_how(i); i++)
        words = with_word(words, heartbeat_how(i));
    return words;
}

/* Options whose help names a kind of thing ("A,B"), and not the things. */
static const struct {
    const char *name, *value; /* value: as its help has it; NULL: any */
    char *(*words)(void);
} known[] = {{"--scheme", NULL, scheme_words},
             {"--fault", NULL, fault_words_all},
             {"--fail-on", NULL, fail_on_words},
             {"--section", NULL, section_words},
             {"--search", NULL, search_words},
             {"--format", NULL, source_words},
             {"--to", NULL, export_words},
             {"--model", "MODEL", model_words}, /* explore's is a FILE */
             {"--time-unit", NULL, time_unit_words},
             {"--progress", "HOW", progress_words}};

/* The words that may follow the option, "" when they are files or anything; the caller frees. */
static char *option_words(const struct help_option *option)
{
    int row = NAMES_FIND_ROW(known, option->name);
    if (row >= 0 && (!known[row].value || !strcmp(known[row].value, option->value)))
        return known[row].words();
    char *words = memory_text(strchr(option->value, '|') ? option->value : "");
    for (char *bar = words; (bar = strchr(bar, '|'));)
        *bar = ' ';
    return words;
}

/* --- one option after the other --- */

struct shell {
    void (*option)(const struct cmd_row *row, const struct help_option *option, const char *words,
                   const char *clause, int clause_size);
};

static void each_option(const struct cmd_row *row, const struct shell *shell)
{
    struct help_text text = help_text_read(row->help);
    struct help_option option;
    for (size_t i = 0; i < text.count; i++) {
        const struct help_part *part = &text.parts[i];
        const char *at = part->term;
        if (!at || strncmp(at, "--", 2) != 0)
            continue;
        while (help_option_next(&at, &option)) {
            char *words = option_words(&option);
            shell->option(row, &option, words, part->words, help_clause(part->words));
            free(words);
        }
    }
    help_text_free(&text);
}

static void command_names(const char *between)
{
    for (int i = 0; i < cmd_rows_count; i++)
        printf("%s%s", i ? between : "", cmd_rows[i].name);
}

/* What stands first behind the command, where the usage lists it: "[schemes|faults] ..."; any
 * command for "[COMMAND]"; "" where it does not. The caller frees. */
static char *operand_words(const struct cmd_row *row)
{
    const char *from = row->usage + strspn(row->usage, "[");
    const size_t size = strcspn(from, "] ");
    char *words = NULL;
    for (int i = 0; i < cmd_rows_count && !strncmp(from, "COMMAND]", size + 1); i++) {
        char *longer = memory_format("%s%s%s", words ? words : "", i ? " " : "", cmd_rows[i].name);
        free(words);
        words = longer;
    }
    if (words)
        return words;
    const bool is_list = *from != '-' && memchr(from, '|', size);
    words = memory_format("%.*s", is_list ? (int)size : 0, from);
    for (char *bar = words; (bar = strchr(bar, '|'));)
        *bar = ' ';
    return words;
}

/* After so many other operands come scenarios; -1: none do. Their names are asked for when one is
 * completed: a folder has its own. */
static int operands_before_scenarios(const struct cmd_row *row)
{
    const char *at = strstr(row->usage, "[SCENARIO...]");
    return !at ? -1 : at > row->usage;
}

/* --- bash --- */

static void bash_name(const struct cmd_row *row, const struct help_option *option,
                      const char *words, const char *clause, int clause_size)
{
    (void)row, (void)words, (void)clause, (void)clause_size;
    printf(" %s", option->name);
}

static void bash_values(const struct cmd_row *row, const struct help_option *option,
                        const char *words, const char *clause, int clause_size)
{
    (void)clause, (void)clause_size;
    if (*words)
        printf("    %s:%s) words='%s' ;;\n", row->name, option->name, words);
    else if (*option->value)
        printf("    %s:%s) return ;;\n", row->name, option->name);
}

static void bash_operands(const struct cmd_row *row)
{
    char *words = operand_words(row);
    if (*words)
        printf("    %s:%s) words='%s' ;;\n", row->name, row->name, words);
    free(words);
}

/* In a list ("A,B") the last name is completed. An empty answer lets bash complete files. */
static void print_bash(void)
{
    printf("_picklock() {\n"
           "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "  local command=${COMP_WORDS[1]} words= start=\n"
           "  if ((COMP_CWORD == 1)); then\n"
           "    COMPREPLY=($(compgen -W '");
    command_names(" ");
    printf(" --help --version' -- \"$current\"))\n    return\n  fi\n"
           "  case $command:$before in\n");
    for (int i = 0; i < cmd_rows_count; i++) {
        each_option(&cmd_rows[i], &(struct shell){bash_values});
        bash_operands(&cmd_rows[i]);
    }
    printf("    *) if [[ $current != -* ]]; then\n        case $command in\n");
    for (int i = 0; i < cmd_rows_count; i++)
        if (operands_before_scenarios(&cmd_rows[i]) >= 0)
            printf("          %s) ((COMP_CWORD > %d)) &&\n"
                   "            COMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" list scenarios "
                   "--names 2>/dev/null)\" -- \"$current\")) ;;\n",
                   cmd_rows[i].name, 1 + operands_before_scenarios(&cmd_rows[i]));
    printf("        esac\n        return\n      fi\n      case $command in\n");
    for (int i = 0; i < cmd_rows_count; i++) {
        printf("        %s) words='--help", cmd_rows[i].name);
        each_option(&cmd_rows[i], &(struct shell){bash_name});
        printf("' ;;\n");
    }
    printf("      esac ;;\n  esac\n"
           "  [[ $current == *,* ]] && start=${current%%,*},\n"
           "  COMPREPLY=($(compgen -P \"$start\" -W \"$words\" -- \"${current##*,}\"))\n"
           "}\ncomplete -o default -F _picklock picklock\n");
}

/* --- zsh --- */

/* Inside '...': what would end the word or the description. */
static void zsh_text(const char *text, int size)
{
    for (int i = 0; i < size; i++) {
        if (text[i] == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", text[i]))
            printf("\\%c", text[i]);
        else
            putchar(text[i]);
    }
}

static void zsh_option(const struct cmd_row *row, const struct help_option *option,
                       const char *words, const char *clause, int clause_size)
{
    (void)row;
    printf(" \\\n        '%s[", option->name);
    zsh_text(clause, clause_size);
    putchar(']');
    if (*words && strchr(option->value, ','))
        printf(":%s:_values -s , value %s", option->name + 2, words);
    else if (*words)
        printf(":%s:(%s)", option->name + 2, words);
    else if (*option->value)
        printf(":%s:_files", option->name + 2);
    putchar('\'');
}

static void print_zsh(void)
{
    printf("#compdef picklock\n"
           "_picklock_scenarios() {\n  local -a names\n"
           "  names=(${(f)\"$(_call_program scenarios $program list scenarios --names)\"})\n"
           "  compadd -a names\n  _files\n}\n"
           "_picklock() {\n  local -a commands\n  commands=(\n");
    for (int i = 0; i < cmd_rows_count; i++) {
        printf("    '%s:", cmd_rows[i].name);
        zsh_text(cmd_rows[i].words, (int)strlen(cmd_rows[i].words));
        printf("'\n");
    }
    printf("  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
           "  local program=$words[1] command=$words[2]\n  shift words\n  ((CURRENT--))\n  case "
           "$command in\n");
    for (int i = 0; i < cmd_rows_count; i++) {
        printf("    %s)\n      _arguments", cmd_rows[i].name);
        each_option(&cmd_rows[i], &(struct shell){zsh_option});
        char *operands = operand_words(&cmd_rows[i]);
        const int before = operands_before_scenarios(&cmd_rows[i]);
        if (before > 0)
            printf(" \\\n        '1:command:_files'");
        printf(*operands     ? " \\\n        '1:operand:(%s)' ;;\n"
               : before >= 0 ? " \\\n        '*:scenario:_picklock_scenarios' ;;\n"
                             : " \\\n        '*:file:_files' ;;\n",
               operands);
        free(operands);
    }
    printf("  esac\n}\n"
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _picklock \"$@\"\n"
           "else compdef _picklock picklock; fi\n");
}

/* --- fish --- */

static void fish_text(const char *text, int size)
{
    for (int i = 0; i < size; i++)
        printf(strchr("'\\", text[i]) ? "\\%c" : "%c", text[i]);
}

static void fish_option(const struct cmd_row *row, const struct help_option *option,
                        const char *words, const char *clause, int clause_size)
{
    printf("complete -c picklock -n '__fish_seen_subcommand_from %s' -l %s", row->name,
           option->name + 2);
    if (*words && strchr(option->value, ','))
        printf(" -x -a \"(__fish_append , %s)\"", words);
    else if (*words)
        printf(" -x -a '%s'", words);
    else if (*option->value)
        printf(" -r");
    printf(" -d '");
    fish_text(clause, clause_size);
    printf("'\n");
}

static void print_fish(void)
{
    for (int i = 0; i < cmd_rows_count; i++) {
        printf("complete -c picklock -n __fish_use_subcommand -f -a %s -d '", cmd_rows[i].name);
        fish_text(cmd_rows[i].words, (int)strlen(cmd_rows[i].words));
        printf("'\n");
    }
    for (int i = 0; i < cmd_rows_count; i++) {
        char *operands = operand_words(&cmd_rows[i]);
        if (*operands)
            printf("complete -c picklock -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
                   cmd_rows[i].name, operands);
        free(operands);
        if (operands_before_scenarios(&cmd_rows[i]) >= 0)
            printf("complete -c picklock -n '__fish_seen_subcommand_from %s' -a "
                   "'(eval (commandline -opc)[1] list scenarios --names 2>/dev/null)'\n",
                   cmd_rows[i].name);
        each_option(&cmd_rows[i], &(struct shell){fish_option});
    }
}

int cmd_completion(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    static const char *const names[] = {"bash", "zsh", "fish"};
    struct failure failure = {0};
    char suggestion[SUGGEST_BYTES];
    int operands;
    if (options_parse(argc, argv, NULL, 0, &operands, &failure))
        return cmd_failed(&failure);
    int row = operands == 1 ? NAMES_FIND_ROW(shells, argv[1]) : -1;
    if (row < 0 && operands == 1)
        return cmd_refuse("completion knows bash, zsh and fish, not '%s'%s", argv[1],
                          suggest_words(suggest_nearest(argv[1], names, 3), "", suggestion));
    if (row < 0)
        return cmd_refuse("completion wants the name of a shell: bash, zsh or fish");
    shells[row].print();
    return FAIL_NONE;
}
