/* test_outfile.c - files that are whole or not there: replaced only when whole, and nothing is left
 * of a failed one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/outfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/picklock-outfile-XXXXXX";

static char *path_of(const char *name)
{
    return memory_format("%s/%s", folder, name);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(strrchr(folder, '-') + 1, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* How many names the folder holds; they are removed when remove is set. */
static int entries(int remove)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        count++;
        char *path = path_of(entry->d_name);
        if (remove)
            assert_int_equal(unlinkat(AT_FDCWD, path, 0), 0);
        free(path);
    }
    closedir(dir);
    return count;
}

static int remove_folder(void **state)
{
    (void)state;
    entries(1);
    return rmdir(folder);
}

static void expect_text(const char *path, const char *wanted)
{
    char text[256] = "";
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t got = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[got] = 0;
    assert_string_equal(text, wanted);
}

static void write_file(const char *path, const char *text)
{
    struct outfile file;
    struct failure failure;
    assert_int_equal(outfile_open(&file, path, &failure), FAIL_NONE);
    fputs(text, file.stream);
    assert_int_equal(outfile_shut(&file, &failure), FAIL_NONE);
}

/* Has this file system files without a name? */
static bool has_nameless(void)
{
    int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0;
}

static void a_whole_file_appears_only_at_the_end(void **state)
{
    (void)state;
    char *path = path_of("a.json");
    write_file(path, "old\n");
    expect_text(path, "old\n");

    struct outfile file;
    struct failure failure;
    assert_int_equal(outfile_open(&file, path, &failure), FAIL_NONE);
    fputs("new\n", file.stream);
    fflush(file.stream);
    expect_text(path, "old\n"); /* not before the end */
    assert_int_equal(entries(0), has_nameless() ? 1 : 2);
    assert_int_equal(outfile_shut(&file, &failure), FAIL_NONE);
    expect_text(path, "new\n");
    assert_int_equal(entries(0), 1); /* and no temporary file is left */
    free(path);
}

static void show(struct outfile *file, const char *path, const char *text, enum fail wanted)
{
    struct failure failure = {0};
    assert_int_equal(outfile_open(file, path, &failure), FAIL_NONE);
    fputs(text, file->stream);
    fflush(file->stream);
    assert_int_equal(outfile_show(file, &failure), wanted);
    assert_true(!wanted == !strstr(failure.text, "another picklock writes it"));
}

static void what_stood_where_a_file_is_shown_is_given_back_until_it_is_replaced(void **state)
{
    (void)state;
    char *path = path_of("a.json");
    write_file(path, "old\n");
    for (int replaces = 0; replaces < 2; replaces++) {
        struct outfile file;
        show(&file, path, "new\n", FAIL_NONE);
        expect_text(path, "new\n");
        if (replaces)
            outfile_replace(&file);
        assert_int_equal(entries(0), replaces ? 1 : 2);
        outfile_abandon(&file);
        assert_int_equal(entries(0), replaces ? 0 : 1);
        if (!replaces)
            expect_text(path, "old\n");
    }
    free(path);
}

/* The lock is one of the open file, so that one process may stand for two. */
static void no_two_show_a_file_at_one_place(void **state)
{
    (void)state;
    struct outfile first, second;
    struct failure failure;
    char *path = path_of("a.json");
    show(&first, path, "first\n", FAIL_NONE);
    show(&second, path, "second\n", FAIL_UNAVAILABLE);
    outfile_abandon(&second);
    expect_text(path, "first\n");
    fputs("goes on\n", first.stream);
    assert_int_equal(outfile_shut(&first, &failure), FAIL_NONE);
    expect_text(path, "first\ngoes on\n");
    show(&second, path, "second\n", FAIL_NONE); /* it is free */
    assert_int_equal(outfile_shut(&second, &failure), FAIL_NONE);
    expect_text(path, "second\n");
    assert_int_equal(entries(0), 1);
    free(path);
}

static void cut(const char *path, const char *other)
{
    (void)other;
    assert_int_equal(truncate(path, 2), 0);
}

static void remove_it(const char *path, const char *other)
{
    (void)other;
    assert_int_equal(unlink(path), 0);
}

static void replace_it(const char *path, const char *other)
{
    write_file(other, "of another\n");
    assert_int_equal(rename(other, path), 0);
}

static void move_away(const char *path, const char *other)
{
    assert_int_equal(rename(path, other), 0);
}

/* Of a file that is shown; however much is written behind it, and over its beginning. */
static void what_others_do_to_a_file_that_is_shown_is_told(void **state)
{
    (void)state;
    const struct {
        void (*act)(const char *path, const char *other);
        const char *why;
    } cases[] = {{cut, "cut it"},
                 {remove_it, "removed or replaced it"},
                 {replace_it, "removed or replaced it"},
                 {move_away, NULL}};
    char *path = path_of("a.json"), *other = path_of("b.json");
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *why = cases[i / 2].why;
        struct outfile file;
        struct failure failure = {0};
        show(&file, path, "head\n", FAIL_NONE);
        fputs("first\n", file.stream);
        assert_int_equal(fflush(file.stream), 0);
        assert_null(outfile_why(&file));
        cases[i / 2].act(path, other);
        if (i % 2) { /* it is seen at once, or only in the end */
            const char *told = outfile_why(&file);
            assert_true(why ? told && strstr(told, why) : !told);
        } else {
            fputs("second\n", file.stream);
            assert_int_equal(fseeko(file.stream, 0, SEEK_SET), 0);
            fputs("HEAD\n", file.stream);
            assert_int_equal(fseeko(file.stream, 0, SEEK_END), 0);
            fputs("end\n", file.stream);
        }
        assert_int_equal(outfile_shut(&file, &failure), why ? FAIL_INTERNAL : FAIL_NONE);
        assert_true(!why || strstr(failure.text, why));
        if (!why)
            expect_text(other, i % 2 ? "head\nfirst\n" : "HEAD\nfirst\nsecond\nend\n");
        entries(1);
    }
    free(path);
    free(other);
}

/* Whatever ends the program: nobody is left to remove anything. */
static void a_killed_writer_leaves_nothing(void **state)
{
    (void)state;
    int ready[2], status;
    char byte;
    if (!has_nameless())
        skip();
    entries(1);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct outfile file;
        char *path = path_of("killed.json");
        if (outfile_open(&file, path, NULL))
            _exit(1);
        fputs("half of it", file.stream);
        fflush(file.stream);
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(entries(0), 0);
    close(ready[0]);
    close(ready[1]);
}

/* A reader that is there is written to; one that is not is not waited for. */
static void a_named_pipe_is_not_waited_for(void **state)
{
    (void)state;
    char *path = path_of("pipe"), text[8] = "";
    struct outfile file;
    struct failure failure;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(outfile_open(&file, path, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "nobody reads it"));
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    write_file(path, "told\n");
    assert_int_equal(read(reader, text, sizeof text), 5);
    assert_string_equal(text, "told\n");
    close(reader);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void an_abandoned_file_leaves_the_old_one(void **state)
{
    (void)state;
    char *path = path_of("a.json");
    write_file(path, "old\n");
    struct outfile file;
    assert_int_equal(outfile_open(&file, path, NULL), FAIL_NONE);
    fputs("half", file.stream);
    outfile_abandon(&file);
    expect_text(path, "old\n");
    assert_int_equal(entries(0), 1);
    free(path);
}

/* Of a link the file behind it goes; what cannot be replaced, or is no file, stays. */
static void an_old_file_is_cleared(void **state)
{
    (void)state;
    struct failure failure;
    char *path = path_of("a.json"), *link = path_of("link.json"), *pipe = path_of("pipe");
    write_file(path, "old\n");
    assert_int_equal(symlink("a.json", link), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(outfile_clear(link, &failure), FAIL_NONE);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(outfile_clear(link, &failure), FAIL_NONE); /* there is nothing any more */
    assert_int_equal(outfile_clear(pipe, &failure), FAIL_NONE);
    assert_int_equal(outfile_clear(folder, &failure), FAIL_NONE);
    assert_int_equal(outfile_clear("/dev/null", &failure), FAIL_NONE);
    assert_int_equal(outfile_clear("-", &failure), FAIL_NONE);
    assert_int_equal(entries(0), 2);
    free(path);
    free(link);
    free(pipe);
}

static void a_link_keeps_its_file(void **state)
{
    (void)state;
    char *path = path_of("real.json"), *link = path_of("link.json");
    write_file(path, "old\n");
    assert_int_equal(symlink("real.json", link), 0);
    write_file(link, "new\n");
    expect_text(path, "new\n");
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    free(path);
    free(link);
}

/* What shells do, too: a link to nothing yet leads to where the file is made, be it over others. */
static void a_link_that_leads_nowhere_yet_is_written_through(void **state)
{
    (void)state;
    char *path = path_of("real.json"), *link = path_of("link.json"), *whole = path_of("whole.json");
    assert_int_equal(symlink("real.json", link), 0);
    assert_int_equal(symlink(link, whole), 0);
    assert_true(outfile_is_same(whole, path));
    write_file(whole, "new\n");
    expect_text(path, "new\n");
    assert_int_equal(entries(0), 3);
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink(whole, link), 0); /* round in a circle */
    struct outfile file;
    struct failure failure;
    assert_int_equal(outfile_open(&file, whole, &failure), FAIL_INPUT);
    assert_false(outfile_is_same(whole, path));
    free(path);
    free(link);
    free(whole);
}

static void new_files_follow_the_umask(void **state)
{
    (void)state;
    char *path = path_of("a.json");
    mode_t old = umask(027);
    write_file(path, "x");
    umask(old);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    free(path);
}

static void wrong_paths_are_bad_input(void **state)
{
    (void)state;
    struct outfile file;
    struct failure failure;
    char *missing = path_of("no/such/a.json");
    assert_int_equal(outfile_open(&file, missing, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, missing));
    assert_non_null(strstr(failure.text, "No such file or directory"));
    assert_int_equal(outfile_open(&file, folder, &failure), FAIL_INPUT);
    assert_non_null(strstr(failure.text, "Is a directory"));
    assert_int_equal(outfile_open(&file, "", &failure), FAIL_INPUT);
    assert_int_equal(entries(0), 0);
    free(missing);
}

static void a_full_device_is_told_and_not_replaced(void **state)
{
    (void)state;
    struct outfile file;
    struct failure failure;
    assert_int_equal(outfile_open(&file, "/dev/full", &failure), FAIL_NONE);
    fputs("x", file.stream);
    assert_int_equal(outfile_shut(&file, &failure), FAIL_INTERNAL);
    assert_string_equal(failure.text, "/dev/full: cannot be written: No space left on device");
    struct stat about;
    assert_int_equal(stat("/dev/full", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
    write_file("/dev/null", "x"); /* written to, not renamed over */
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

/* The limit on a file's size stands for a full disk: some writes succeed, then one fails. */
static void a_failed_write_leaves_nothing(void **state)
{
    (void)state;
    char *path = path_of("a.json");
    write_file(path, "old\n");
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 20000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);

    struct outfile file;
    struct failure failure;
    enum fail opened = outfile_open(&file, path, &failure);
    for (int i = 0; opened == FAIL_NONE && i < 10000; i++)
        fprintf(file.stream, "line %d of a text that is too long\n", i);
    enum fail shut = opened == FAIL_NONE ? outfile_shut(&file, &failure) : opened;

    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(shut, FAIL_INTERNAL);
    assert_non_null(strstr(failure.text, "File too large")); /* the reason, not just "failed" */
    expect_text(path, "old\n");
    assert_int_equal(entries(0), 1);
    free(path);
}

static void a_dash_is_standard_output(void **state)
{
    (void)state;
    char *path = path_of("stdout.txt");
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(kept >= 0 && fd >= 0);
    assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    printf("before ");
    struct outfile file;
    enum fail opened = outfile_open(&file, "-", NULL);
    fputs("inside", file.stream);
    enum fail shut = outfile_shut(&file, NULL);
    printf(" after\n"); /* stdout is still open */
    fflush(stdout);
    assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
    close(kept);
    close(fd);
    assert_int_equal(opened, FAIL_NONE);
    assert_int_equal(shut, FAIL_NONE);
    expect_text(path, "before inside after\n");
    free(path);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_file_appears_only_at_the_end),
        TEST(what_stood_where_a_file_is_shown_is_given_back_until_it_is_replaced),
        TEST(no_two_show_a_file_at_one_place),
        TEST(what_others_do_to_a_file_that_is_shown_is_told),
        TEST(a_killed_writer_leaves_nothing),
        TEST(a_named_pipe_is_not_waited_for),
        TEST(an_abandoned_file_leaves_the_old_one),
        TEST(an_old_file_is_cleared),
        TEST(a_link_keeps_its_file),
        TEST(a_link_that_leads_nowhere_yet_is_written_through),
        TEST(new_files_follow_the_umask),
        TEST(wrong_paths_are_bad_input),
        TEST(a_full_device_is_told_and_not_replaced),
        TEST(a_failed_write_leaves_nothing),
        TEST(a_dash_is_standard_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
