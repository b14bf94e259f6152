/* doctor.c - `picklock doctor`: looks at this machine, by doing what the other commands will do. */
#include "cmd/cmd.h"
#include "cmd/options.h"

#include "base/memory.h"
#include "base/place.h"
#include "base/version.h"
#include "live/folder.h"
#include "live/process.h"
#include "report/text.h"
#include "worker/program.h"
#include "worker/runtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
const char cmd_doctor_help[] =
    "\n"
    "  --redis-server PATH    program of the private servers (default: redis-server on the PATH)\n"
    "\n"
    "Starts a server and asks whether its clock follows, binds a port, traces a process of its\n"
    "own, and looks for the languages of workers and for what tests need. What is missing comes\n"
    "with what to do about it. Status 69: something is missing that every command needs.\n";
/* clang-format on */

/* What a line says of the machine. */
enum found {
    FOUND_GOOD,
    FOUND_LESS, /* something cannot be done here, the rest can */
    FOUND_BAD,  /* nothing real can be run */
};

enum { SAYS_AT = 24 }; /* a column */

struct doctor {
    const char *redis_server;
    bool is_bad;
};

static void __attribute__((format(printf, 4, 5)))
say(struct doctor *doctor, enum found found, const char *subject, const char *format, ...)
{
    static const char *const marks[] = {"ok", "-", "MISSING"};
    va_list values;
    char *words = NULL;
    va_start(values, format);
    if (vasprintf(&words, format, values) < 0)
        words = memory_text(format);
    va_end(values);
    char name[64];
    snprintf(name, sizeof name, "%-8s %-14s ", marks[found], subject);
    text_print_beside(stdout, name, words, SAYS_AT);
    fflush(stdout);
    free(words);
    doctor->is_bad |= found == FOUND_BAD;
}

/* --- the server --- */

static enum fail try_server(const char *program, const char *folder, const char *shim,
                            char version[VERSION_MAX], struct failure *failure)
{
    char own[FOLDER_PATH_MAX + 32];
    struct process process = {0};
    snprintf(own, sizeof own, "%s/%s", folder, shim ? "steered" : "plain");
    enum fail fail = process_start(
        &process, &(struct process_options){.program = program, .folder = own, .shim = shim},
        failure);
    if (!fail && shim)
        fail = process_prove_clock(&process, failure);
    snprintf(version, VERSION_MAX, "%s", process.version);
    process_kill(&process);
    return fail;
}

static void look_at_clock(struct doctor *doctor, const char *folder)
{
    char link[PROCESS_PATH_MAX], version[VERSION_MAX];
    struct failure failure = {0};
    if (!clock_shim_link(folder, link, sizeof link, &failure) &&
        !try_server(doctor->redis_server, folder, link, version, &failure))
        say(doctor, FOUND_GOOD, "steering",
            "the server's clock is ours: asked before and behind a step");
    else
        say(doctor, FOUND_LESS, "steering", "%s; until then: --real-time, or --on sim",
            failure.text);
}

static void look_at_server(struct doctor *doctor)
{
    struct folder folder;
    struct failure failure = {0};
    char version[VERSION_MAX];
    if (folder_open(&folder, &failure)) {
        say(doctor, FOUND_BAD, "private folder", "%s", failure.text);
        return;
    }
    if (try_server(doctor->redis_server, folder.path, NULL, version, &failure)) {
        say(doctor, FOUND_BAD, "redis-server",
            "%s; apt-get install redis-server, or --redis-server PATH", failure.text);
    } else {
        say(doctor, FOUND_GOOD, "redis-server", "%s", version);
        look_at_clock(doctor, folder.path);
    }
    folder_shut(&folder);
}

/* --- the machine --- */

/* Of stress --clients: one descriptor at the client, two at the proxy, and what is open anyway. */
static void look_at_files(struct doctor *doctor)
{
    enum { WANTED = 1024 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    say(doctor, limit.rlim_max >= WANTED ? FOUND_GOOD : FOUND_LESS, "open files", "%" PRIu64 "%s",
        (uint64_t)limit.rlim_max,
        limit.rlim_max >= WANTED ? ": stress says how many clients fit"
                                 : ": few clients fit; raise it with ulimit -n, as root");
}

static void look_at_ports(struct doctor *doctor)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_bound =
        fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0;
    if (is_bound)
        say(doctor, FOUND_GOOD, "ports", "127.0.0.1 gives free ones");
    else
        say(doctor, FOUND_BAD, "ports", "127.0.0.1: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void look_at_room(struct doctor *doctor)
{
    enum { WANTED_MB = 200 };
    const char *path = getenv("TMPDIR");
    struct statvfs room;
    path = path && *path ? path : "/tmp";
    if (statvfs(path, &room) != 0) {
        say(doctor, FOUND_BAD, "room", "%s: %s", path, strerror(errno));
        return;
    }
    uint64_t mb = (uint64_t)room.f_bavail * room.f_frsize >> 20;
    say(doctor, mb >= WANTED_MB ? FOUND_GOOD : FOUND_LESS, "room", "%" PRIu64 " MB in %s%s", mb,
        path,
        mb >= WANTED_MB ? "" : ": servers and histories may not fit; set TMPDIR to another folder");
}

/* --- workers --- */

static void look_at_worker_clock(struct doctor *doctor)
{
    char path[PLACE_BYTES];
    if (place_library("picklock-time.so", path))
        say(doctor, FOUND_GOOD, "workers' time", "%s; each worker is asked before it counts", path);
    else
        say(doctor, FOUND_LESS, "workers' time",
            "picklock-time.so is neither beside the program nor in ../lib/picklock: no --worker; "
            "build it with make");
}

/* Programs without libc (Go) live by our time because their calls are answered for them. */
static void look_at_tracing(struct doctor *doctor)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    bool may = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
               WEXITSTATUS(status) == 0;
    say(doctor, may ? FOUND_GOOD : FOUND_LESS, "ptrace", "%s",
        may ? "allowed: workers in Go, and static programs, live by our time"
            : "not allowed: no workers in Go, and no static programs; kernel.yama.ptrace_scope at "
              "most 1, in a container --cap-add=SYS_PTRACE");
}

static void look_at_languages(struct doctor *doctor)
{
    static const char *const programs[] = {"python3", "node", "ruby", "java", "go"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char space[PROGRAM_PATH_MAX];
        const char *path = program_find(programs[i], space);
        if (path != programs[i])
            say(doctor, FOUND_GOOD, programs[i], "%s", path);
        else
            say(doctor, FOUND_LESS, programs[i], "no workers in it; apt-get install %s",
                runtime_package(programs[i]));
    }
}

/* --- tests --- */

static bool python_has(const char *python, const char *module)
{
    char *import = memory_format("import %s", module), *program = memory_text(python);
    char *const words[] = {program, (char *)(uintptr_t) "-c", import, NULL};
    posix_spawn_file_actions_t silent;
    int status = 1;
    pid_t child;
    posix_spawn_file_actions_init(&silent);
    posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&silent, STDOUT_FILENO, STDERR_FILENO);
    const bool has = posix_spawn(&child, program, &silent, NULL, words, environ) == 0 &&
                     waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                     WEXITSTATUS(status) == 0;
    posix_spawn_file_actions_destroy(&silent);
    free(import);
    free(program);
    return has;
}

/* The first python3 on the PATH that can import it, to be freed; NULL: none can. Debian's package
 * is of use to Debian's Python, which may stand behind another one. */
static char *python_with(const char *module)
{
    const char *path = getenv("PATH");
    char *copy = memory_text(path ? path : ""), *rest = copy, *folder, *found = NULL;
    while (!found && (folder = strsep(&rest, ":"))) {
        char *python = memory_format("%s/python3", *folder ? folder : ".");
        if (access(python, X_OK) == 0 && python_has(python, module))
            found = memory_text(python);
        free(python);
    }
    free(copy);
    return found;
}

static void look_at_modules(struct doctor *doctor)
{
    static const struct {
        const char *module, *package, *for_what;
    } rows[] = {
        {"redis", "python3-redis", "workers in Python and tests talk to a server through it"},
        {"pytest", "python3-pytest", "for the plug-in, and picklock's own tests"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *python = python_with(rows[i].module);
        if (python)
            say(doctor, FOUND_GOOD, rows[i].module, "%s has it: %s", python, rows[i].for_what);
        else
            say(doctor, FOUND_LESS, rows[i].module, "no python3 has it: %s; apt-get install %s",
                rows[i].for_what, rows[i].package);
        free(python);
    }
}

/* Reports are read in any browser; this one is driven by picklock's own tests. */
static void look_at_browser(struct doctor *doctor)
{
    char space[2][PROGRAM_PATH_MAX];
    const char *browser = program_find("chromium", space[0]);
    const char *driver = program_find("chromedriver", space[1]);
    if (browser == space[0] && driver == space[1])
        say(doctor, FOUND_GOOD, "browser", "%s, driven by %s: tests of the page", browser, driver);
    else
        say(doctor, FOUND_LESS, "browser",
            "no %s: picklock's tests of the page are left out; apt-get install chromium "
            "chromium-driver python3-selenium",
            browser == space[0] ? "chromedriver" : "chromium");
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor doctor = {0};
    struct failure failure = {0};
    const struct option_row rows[] = {OPTION_TEXT("--redis-server", &doctor.redis_server)};
    int operands;
    if (options_parse(argc, argv, rows, 1, &operands, &failure))
        return cmd_failed(&failure);
    if (operands)
        return cmd_refuse("doctor takes no operand, such as '%s'", argv[1]);
    cmd_catch_signals();
    say(&doctor, FOUND_GOOD, "picklock", "%s", PICKLOCK_VERSION);
    look_at_server(&doctor);
    look_at_ports(&doctor);
    look_at_files(&doctor);
    look_at_room(&doctor);
    look_at_worker_clock(&doctor);
    look_at_tracing(&doctor);
    look_at_languages(&doctor);
    look_at_modules(&doctor);
    look_at_browser(&doctor);
    if (cmd_stop)
        return FAIL_UNKNOWN;
    return doctor.is_bad ? FAIL_UNAVAILABLE : FAIL_NONE;
}
