"""A scheme that a user brings along: built with one command, named where a scheme is asked for."""

import html
import json
import re
import shlex
import signal
import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, flat, run, until, verdicts
from plugins import SCENARIO, build, mine


@pytest.mark.parametrize("world", ["redis", "sim"])
def test_a_users_scheme_runs_like_one_of_the_table(tmp_path, picklock, world):
    made = build(tmp_path, mine())
    ran = picklock("run", "--on", world, "--scheme", f"{made},set-nx-px-cad", SCENARIO, "--json", "-")
    plugin, known = ran.rows
    assert plugin["scheme"] == "my-lock" and verdicts(plugin) == verdicts(known)
    assert ran.status == 0, "an overrun is no bug"


def test_a_scheme_with_the_first_name_of_a_part_is_taken(tmp_path):
    text = (ROOT / "sim" / "schemes" / "fenced.c").read_text().replace("out_no_answer", "out_trouble")
    text = text.replace("scheme_fenced", "scheme_my_lock").replace('"fenced"', '"my-lock"')
    assert "out_trouble(out, in)" in text
    fault = ["--fault", "none,lose-request", "--json", "-"]
    own, known = (run("explore", "--scheme", scheme, *fault) for scheme in (build(tmp_path, text), "fenced"))
    assert [row["verdict"] for row in own.rows] == [row["verdict"] for row in known.rows] != []


def test_a_users_bug_is_found(tmp_path, picklock):
    """The same scheme with a plain DEL: its own doing, exit 1."""
    broken = mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", "out_del(out, SERVER_ONE);")
    assert broken != mine()
    ran = picklock("run", "--scheme", build(tmp_path, broken), SCENARIO, "--json", "-")
    assert ran.status == 1, ran
    assert verdicts(ran.rows[0])["release-own"] == ("violated", "unlock-bug")


@pytest.mark.parametrize("change, says", [
    (("scheme_my_lock", "scheme_other"), "does not define 'const struct scheme scheme_my_lock'"),
    ((".step = step,", ""), "has no .step"),
    (('"my-lock"', '"set-nx-px-cad"'), "has the .name of another scheme"),
])
def test_what_is_no_scheme_is_said(tmp_path, change, says):
    text = mine().replace(*change)
    assert text != mine()
    # an unused step() is a warning only
    ran = run("run", "--on", "sim", "--scheme", build(tmp_path, text), SCENARIO)
    assert ran.status == 64 and says in ran.err and ran.out == "", ran


def test_the_same_file_twice_is_said(tmp_path):
    """By whatever path; and two files with one name are still another thing."""
    made = build(tmp_path, mine())
    (tmp_path / "link").symlink_to(tmp_path)
    for again in made, tmp_path / "link" / made.name:
        ran = run("run", "--on", "sim", "--scheme", f"{made},{again}", SCENARIO)
        assert ran.status == 64 and f"{again}: is named twice" in ran.err, ran
    other = build(tmp_path, mine("other"), "other")
    ran = run("run", "--on", "sim", "--scheme", f"{made},{other}", SCENARIO)
    assert ran.status == 64 and "has the .name of another scheme" in ran.err, ran


def test_a_source_is_answered_with_the_command_that_builds_it(tmp_path):
    """Which is then run as it stands there, in a folder with a blank in its name."""
    folder = tmp_path / "a b"
    folder.mkdir()
    source = folder / "my_lock.c"
    source.write_text(mine())
    ran = run("run", "--on", "sim", "--scheme", source, SCENARIO)
    assert ran.status == 64 and ran.out == "", ran
    command = re.search(r"^  (cc .*)$", ran.err, re.M)[1]
    assert re.match(r"cc -std=c17 -I('[^']*sim'|\S*sim\S*) -shared -fPIC -o ", command)
    subprocess.run(command, shell=True, cwd=ROOT, check=True)
    assert f"and name {folder / 'my_lock.so'}" in ran.err
    assert run("run", "--on", "sim", "--scheme", folder / "my_lock.so", SCENARIO).status == 0


def test_what_is_no_shared_object(tmp_path):
    path = tmp_path / "text.so"
    path.write_text("not a shared object")
    ran = run("run", "--scheme", path, SCENARIO)
    assert ran.status == 64 and str(path) in ran.err, ran
    ran = run("run", "--scheme", "missing.so", SCENARIO)
    assert ran.status == 64 and "missing.so" in ran.err, ran


@pytest.mark.parametrize("status", [0, 1, 70])
def test_an_object_that_ends_the_program_gives_no_verdict(tmp_path, status):
    """exit() while it is loaded: whatever status it names, its file is named, and it is bad input."""
    text = f"#include <stdlib.h>\n__attribute__((constructor)) static void leave(void) {{ exit({status}); }}\n" + mine()
    made = build(tmp_path, text)
    for words in (["run", "--on", "sim", SCENARIO], ["explore", "--fault", "none"]):
        ran = run(*words, "--scheme", made)
        assert ran.status == 64 and f"{made}: " in ran.err and "called exit" in ran.err and ran.out == "", ran


def test_a_step_that_ends_the_program_gives_no_verdict(tmp_path, picklock):
    text = "#include <stdlib.h>\n" + mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", "exit(0);")
    made = build(tmp_path, text)
    ran = picklock("run", "--on", "sim", "--scheme", made, SCENARIO)
    assert ran.status == 64 and f"{made}: " in ran.err and "called exit" in ran.err and ran.out == "", ran


@pytest.mark.parametrize("leaves", ["_exit(0)", "quick_exit(0)", "pthread_exit(0)", "pthread_cancel(pthread_self())",
                                    'execl("/bin/true", "true", (char *)0)', "syscall(231, 0)"])
def test_what_could_end_the_program_unseen_is_refused(tmp_path, leaves):
    """Its status would be that of a run in which all holds. In a step, and in what runs while it is loaded."""
    head = "#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
    for text in (mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", leaves + ";"),
                 f"__attribute__((constructor)) static void leave(void) {{ {leaves}; }}\n" + mine()):
        made = build(tmp_path, head + text)
        for words in (["run", "--on", "sim", SCENARIO], ["explore", "--fault", "none"]):
            ran = run(*words, "--scheme", made)
            assert ran.status == 64 and f"{made}: calls '{leaves.split('(')[0]}'" in ran.err and ran.out == "", ran


def test_a_search_that_never_came_back_is_not_safe(tmp_path):
    """A step can end its thread by a name that its file does not show."""
    ends = '((void (*)(void *))dlsym(RTLD_DEFAULT, "pthread_exit"))(NULL);'
    made = build(tmp_path, "#define _GNU_SOURCE\n#include <dlfcn.h>\n" + mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", ends))
    ran = run("explore", "--fault", "none,stall", "--scheme", made)
    assert ran.status == 64 and "ended the thread that searched it" in ran.err and "safe" not in ran.out, ran


DEEPER = "static int deeper(int depth) { volatile char room[4096]; room[0] = (char)depth; return deeper(depth + 1) + room[0]; }\n"
LIBRARY = "const char *volatile none = NULL; volatile size_t length = strlen(none); (void)length;"


@pytest.mark.parametrize(("bad", "words"), [("*(volatile int *)8 = 1;", "its step crashed (SIGSEGV)"), ("abort();", "its step ended the program (SIGABRT)"),
                                            (LIBRARY, "its step crashed (SIGSEGV)"), ("(void)deeper(0);", "its step crashed (SIGSEGV)")],
                         ids=["crashes", "aborts", "in the C library", "uses up the stack"])
@pytest.mark.parametrize("command", [["run", "--on", "sim", SCENARIO], ["explore", "--fault", "none"]], ids=["run", "explore"])
def test_a_step_that_crashes_is_told_with_its_file(tmp_path, command, bad, words):
    """It runs inside the program: whose code it was is not to be guessed from a status of 139."""
    text = "#include <stdlib.h>\n#include <string.h>\n" + (DEEPER if "deeper" in bad else "") + mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", bad)
    made = build(tmp_path, text)
    ran = run(*command, "--scheme", made, "--out", tmp_path / "runs")
    assert ran.status == 64 and f"{made}: {words}: nothing was concluded" in ran.err and ran.out == "", ran


@pytest.mark.parametrize("command", [["run", "--on", "sim", SCENARIO], ["explore", "--fault", "none"]], ids=["run", "explore"])
def test_a_step_that_never_returns_is_ended_by_one_signal(tmp_path, command):
    """A pipeline's timeout(1) sends no second one. What tells that it is in the step: it writes a file first."""
    text = ("#include <fcntl.h>\n#include <unistd.h>\n" +
            mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", f'open("{tmp_path}/there", O_CREAT | O_WRONLY, 0600); for (;;) pause();'))
    made = build(tmp_path, text)
    with subprocess.Popen([PICKLOCK, *command, "--scheme", made, "--out", tmp_path / "runs"], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        try:
            until(lambda: (tmp_path / "there").exists(), "its step begins")
            running.send_signal(signal.SIGTERM)
            out, err = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
    assert running.returncode == 2 and f"{made}: INTERRUPTED: its step has not returned for a second: nothing was concluded" in err and out == "", err
    assert not list((tmp_path / "runs").rglob("results.json"))


def test_an_object_that_was_cut_off_is_refused(tmp_path):
    """Wherever: to map what the file does not have would be a SIGBUS. Whole, it is taken."""
    made = build(tmp_path, mine())
    whole = made.read_bytes()
    cut = tmp_path / "my_lock_cut.so"
    for size in range(0, len(whole) // 2, 500):
        cut.write_bytes(whole[:size])
        ran = run("run", "--on", "sim", "--scheme", cut, SCENARIO)
        assert ran.status == 64 and str(cut) in ran.err, (size, ran)
    cut.write_bytes(whole[:4000])
    assert "is cut off" in run("run", "--on", "sim", "--scheme", cut, SCENARIO).err
    assert run("run", "--on", "sim", "--scheme", made, SCENARIO, "--out", tmp_path).status == 0


def test_the_program_exports_the_step_interface_and_nothing_else():
    """Whatever else it exported would be called in the place of a scheme's own function of that name."""
    listed = subprocess.run(["nm", "-D", "--defined-only", PICKLOCK], text=True, capture_output=True, check=True).stdout
    # what stands with a version is the C library's: its variables, copied into the program
    exported = {line.split()[-1] for line in listed.splitlines() if "@" not in line}
    header = (ROOT / "sim" / "schemes" / "scheme.h").read_text()
    asks = header[header.index("--- what a step may ask for"):header.index("--- the script")]
    assert exported == set(re.findall(r"^void (\w+)\(", asks, re.M)) and "out_send" in exported


def with_own_release(name, body="out_del(out, SERVER_ONE);"):
    """The skeleton with a release of its own under that name."""
    text = mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", f"{name}(out, lease);")
    assert text != mine()
    head = f"void {name}(struct outbox *out, const struct lease *lease)"
    return text.replace("/* Called once for each moment", f"{head};\n{head}\n{{\n    (void)lease;\n    {body}\n}}\n\n"
                        "/* Called once for each moment", 1)


# A name of the program, of its libraries, of the C library: none may be called in the place of the user's own.
@pytest.mark.parametrize("name", ["set_nx_px_cad_step", "memory_text", "redisCommand", "json_object", "swab"])
def test_a_users_function_is_never_replaced(tmp_path, picklock, name):
    ran = picklock("run", "--on", "sim", "--scheme", build(tmp_path, with_own_release(name)), SCENARIO, "--json", "-")
    assert ran.status == 1 and verdicts(ran.rows[0])["release-own"] == ("violated", "unlock-bug"), ran


def test_a_users_step_under_a_built_in_name(tmp_path):
    """Judged as what it is, in as many steps as a plain DEL takes: 10 to the release of another one's lock."""
    text = mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", "out_del(out, SERVER_ONE);")
    text = re.sub(r"static void step\(", "void set_nx_px_cad_step(void *, const struct lease *, const struct moment *, struct outbox *);\n"
                  "void set_nx_px_cad_step(", text).replace(".step = step", ".step = set_nx_px_cad_step")
    ran = run("explore", "--scheme", f"{build(tmp_path, text)},set-nx-px-cad", "--fault", "slow-work", "--json", tmp_path / "json")
    assert "broken (unlock-bug, 10 steps)" in ran.out and "overrun only" in ran.out, ran
    assert json.loads((tmp_path / "json").read_text())["results"][0]["search"]["words"] == "broken (unlock-bug, 10 steps)"


@pytest.mark.parametrize("release", ["out_compare_and_delete(out, SERVER_ONE, lease);", "out_del(out, SERVER_ONE);"])
def test_explore_calls_no_users_scheme_safe(tmp_path, release):
    """Nobody has said of it that it is; of a scheme of the table it is said. The page made anew says the same."""
    made = build(tmp_path, mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", release))
    for schemes, titles, side, naive in [(made, [], "", {None}), (f"setnx-del,{made}", ["Naive", "Other"], "", {True, None}),
                                         ("set-nx-px-cad", ["Safe"], "safe", {False})]:
        out, page = tmp_path / f"{len(naive)}{side}", tmp_path / f"{len(naive)}{side}.html"
        run("explore", "--scheme", schemes, "--fault", "none", "--out", out)
        folder = (out / "latest").resolve()
        assert run("report", folder, "--html", page).err == ""
        for text in (folder / "index.html").read_text(), page.read_text():
            assert re.findall(r">(Naive|Safe|Other) schemes<", text) == titles and f'data-side="{side}"' in text
        rows = json.loads((folder / "results.json").read_text())["results"]
        assert {row["naive"] for row in rows} == naive


@pytest.mark.parametrize("world", ["redis", "sim"])
def test_a_promise_that_is_not_made_is_not_judged(tmp_path, picklock, world):
    """Fences, of a scheme that mints none: judged where the scenario states it, as of the scheme beside it."""
    text = (ROOT / "scenarios" / "stale-write.yaml").read_text()
    stated = tmp_path / "stale-write.yaml"
    stated.write_text(text + "  my-lock:          { fence-order: holds }\n")
    made = build(tmp_path, mine())
    ran = picklock("run", "--on", world, "--scheme", f"{made},set-nx-px-cad", "scenarios/stale-write.yaml", "--json", "-")
    plugin, known = ran.rows
    assert ran.status == 0 and "fence-order" not in verdicts(plugin), ran
    assert verdicts(plugin)["mutual-exclusion"] == ("violated", "overrun")
    assert verdicts(known)["fence-order"] == ("violated", "stale-write")
    ran = picklock("run", "--on", world, "--scheme", made, stated, "--json", "-")
    assert ran.status == 1 and verdicts(ran.rows[0])["fence-order"] == ("violated", "stale-write"), ran


def test_a_scheme_that_redefines_the_interface_is_refused(tmp_path):
    text = mine() + "\nvoid out_compare_and_delete(struct outbox *out, int server, const struct lease *lease)\n" \
                    "{\n    (void)lease;\n    out_del(out, server);\n}\n"
    ran = run("run", "--on", "sim", "--scheme", build(tmp_path, text), SCENARIO)
    assert ran.status == 64 and ran.out == "" and "defines 'out_compare_and_delete', a function of picklock" in ran.err, ran


@pytest.mark.parametrize("name", ["verb_name", "nowhere"])
def test_a_scheme_that_wants_more_than_the_interface(tmp_path, name):
    """Whether the program happens to have it or not."""
    text = mine().replace("out_granted(out);", f"{name}(0);\n    out_granted(out);").replace(
        "struct skeleton {", "const char *nowhere(int);\nstruct skeleton {", 1)
    ran = run("run", "--on", "sim", "--scheme", build(tmp_path, text), SCENARIO)
    assert ran.status == 64 and f"undefined symbol: {name}" in ran.err and "schemes/scheme.h" in ran.err, ran


def test_two_schemes_with_the_same_names_in_them(tmp_path, picklock):
    """Each calls its own."""
    bad = with_own_release("let_go")
    good = with_own_release("let_go", "out_compare_and_delete(out, SERVER_ONE, lease);")
    good = good.replace("my_lock", "other").replace('"my-lock"', '"other"')
    both = f"{build(tmp_path, bad)},{build(tmp_path, good, 'other')}"
    ran = picklock("run", "--on", "sim", "--scheme", both, SCENARIO, "--json", "-")
    first, second = ran.rows
    assert verdicts(first)["release-own"] == ("violated", "unlock-bug")
    assert verdicts(second)["release-own"][0] == "holds"


def test_a_step_that_a_users_scheme_cannot_follow(tmp_path, picklock):
    """It sends no GET: the scenario is not applicable, and says at which step. What it broke on the way counts all the same."""
    path = tmp_path / "story.yaml"
    head = "name: story\nsource: none\nlease: 10s\nclients: [A, B, C]\nsteps:\n"
    tail = "\nexpect:\n  set-nx-ex-get-del: {no-crash: holds}\n"
    path.write_text(head + "  - A acquires\n  - A releases, stalls before GET" + tail)
    ran = picklock("run", "--on", "sim", "--scheme", f"{build(tmp_path, mine())},set-nx-ex-get-del", path, "--json", "-")
    plugin, known = ran.rows
    assert ran.status == 0 and known["as_expected"], ran
    assert plugin["verdict"] == "not_applicable" and f"{path}:7:5: A releases, stalls before GET" in plugin["not_applicable"]
    broken = mine().replace("out_compare_and_delete(out, SERVER_ONE, lease);", "out_del(out, SERVER_ONE);")
    path.write_text(head + "  - A acquires\n  - lease expires\n  - B acquires\n  - A releases\n  - C acquires\n"
                    "  - B releases, stalls before GET" + tail)
    ran = picklock("run", "--on", "sim", "--scheme", build(tmp_path, broken), path, "--json", "-")
    assert ran.status == 1 and verdicts(ran.rows[0])["release-own"] == ("violated", "unlock-bug"), ran


def never_acquired(how):
    """The skeleton, asking in a way of which it takes no answer for "granted"."""
    text = mine().replace("out_set_nx_px(out, SERVER_ONE, lease);", how)
    assert text != mine()
    return text


def test_a_lock_that_nobody_ever_acquires_is_said_and_confirmed(tmp_path, picklock):
    """It waits for OK, which SETNX does not say."""
    made = build(tmp_path, never_acquired("out_setnx(out, SERVER_ONE, lease->token);"))
    ran = picklock("explore", "--scheme", made, "--fault", "none", "--confirm", "--json", "-")
    found = {row["property"]: row for row in ran.rows if row["verdict"] == "violated"}
    assert ran.status == 1 and found["always-expires"]["cause"] == "no-expiry", ran
    assert found["progress"]["confirmed"] is True
    assert found["progress"]["witness"][-1] == "Stuck: nobody can ever acquire the lock like that."
    shown = run("explore", "--scheme", made, "--fault", "none")
    assert "stuck (from the start on; no-expiry, 3 steps; unreleased, " in shown.out, shown


def test_what_all_ways_show_and_no_single_one_is_said(tmp_path):
    """A script that no server has: every answer is an error, which alone proves nothing. A report that is read again says the
    same."""
    made = build(tmp_path, never_acquired("out_compare_and_delete_by_sha(out, SERVER_ONE, lease);"))
    folder = tmp_path / "out" / "latest"
    ran = run("explore", "--scheme", made, "--fault", "none", "--confirm", "--out", tmp_path / "out")
    results = flat(json.loads((folder / "results.json").read_text()))
    row = {row["property"]: row for row in results}["progress"]
    assert ran.status == 1 and row["verdict"] == "violated" and row["trouble"] is None, ran
    assert row["confirmed"] is None and row["replayed"] is False
    assert row["unconfirmed"] == "no single path shows it"
    assert row["witness"][0] == "From here on nobody can ever acquire the lock: no way leads to a grant."
    again = run("report", folder)
    assert "stuck (from the start on" in again.out and "no single path shows it" in again.out, again


def test_of_a_users_scheme_a_servers_restart_fails_nothing_unless_asked(tmp_path, picklock):
    made = build(tmp_path, mine())
    words = ["run", "--on", "sim", "--scheme", made, "scenarios/restart-empty.yaml"]
    row = (ran := picklock(*words, "--json", "-")).rows[0]
    assert verdicts(row)["lease-exclusion"] == ("violated", "lost-grant")
    assert (ran.status, row["as_expected"], row["fail_on"]) == (0, None, "scheme")
    for fail_on, status in [("never", 0), ("scheme", 0), ("deployment", 1), ("bug", 1), ("any", 1)]:
        ran = picklock(*words, "--fail-on", fail_on)
        assert ran.status == status and f"--fail-on {fail_on} said what counts as a failure." in " ".join(ran.out.split()), ran


# --- what is printed for a user's scheme can be done again ---

BROKEN = ("out_compare_and_delete(out, SERVER_ONE, lease);", "out_del(out, SERVER_ONE);")


def commands(path):
    """The commands of a page or a comment, as somebody copies them."""
    text = path.read_text()
    text = html.unescape(text) if path.suffix == ".html" else text.replace(" \\\n", "")
    return sorted(set(re.findall(r"picklock (?:replay|run|explore) [^\n<]*", text)))


@pytest.mark.parametrize("folder", ["plain", "a blank and a ' quote"])
def test_every_printed_command_works_for_a_users_scheme(tmp_path, folder):
    (tmp_path / folder).mkdir()
    made = build(tmp_path / folder, mine().replace(*BROKEN))
    found = run("explore", "--scheme", made, "--fault", "slow-work", "--out", tmp_path / folder, "--markdown", tmp_path / "found.md")
    assert found.status == 1, found
    latest = (tmp_path / folder / "latest").resolve()
    assert run("report", latest, "--html", tmp_path / "again.html").status == 1
    told = run("run", "--on", "sim", "--scheme", made, SCENARIO, "--out", tmp_path / "runs", "--html", tmp_path / "ran.html")
    assert told.status == 1, told
    printed = [command for name in ("found.md", "again.html", "ran.html") for command in commands(tmp_path / name)
               if "--scheme" in command or "replay" in command]
    assert {command.split()[1] for command in printed} == {"replay", "run", "explore"}
    for command in printed:
        where = ("" if " --out " in command else f" --out '{tmp_path / 'redone'}'") + (" --on sim" if command.split()[1] == "replay" else "")
        again = subprocess.run(command.replace("picklock", shlex.quote(str(PICKLOCK)), 1) + where, shell=True, cwd=ROOT, text=True,
                               capture_output=True, timeout=120)
        # the shortest ways to some properties are overruns: nobody's fault
        assert again.returncode in (0, 1) and re.search(r"my-lock +violated|broken \(unlock-bug", again.stdout), (command, again)


def test_a_replay_wants_the_scheme_of_its_schedule(tmp_path, picklock):
    made = build(tmp_path, mine())
    assert picklock("run", "--on", "sim", "--scheme", made, SCENARIO).status == 0
    [schedule] = (tmp_path / "runs" / "latest").resolve().glob("schedules/*")
    alone = picklock("replay", "--on", "sim", schedule)
    assert alone.status == 64 and "unknown scheme 'my-lock'" in alone.err, alone
    wrong = picklock("replay", "--on", "sim", "--scheme", "set-nx-px-cad", schedule)
    assert wrong.status == 64, wrong
    other = build(tmp_path, mine("other").replace('"my-lock"', '"other"'), "other")
    wrong = picklock("replay", "--on", "sim", "--scheme", f"{other},{made}", schedule)
    assert wrong.status == 0, wrong
    for world in ("sim", "redis"):
        again = picklock("replay", "--on", world, "--scheme", made, schedule, "--json", "-")
        assert again.status == 0 and verdicts(again.rows[0])["mutual-exclusion"] == ("violated", "overrun"), again


def test_a_history_is_checked_by_what_its_scheme_promises(tmp_path, picklock):
    """Only the file says that its keys hold no token of an attempt, so that none can be said to be left behind."""
    text = mine().replace(".promises_token = true", ".promises_token = false")
    assert text != mine()
    made = build(tmp_path, text)
    picklock("run", "--on", "sim", "--scheme", made, "scenarios/error-on-release.yaml")
    [history] = (tmp_path / "runs" / "latest" / "histories").iterdir()
    found = verdicts(run("check", history, "--scheme", made, "--json", "-").rows[0])
    assert "no-orphan" not in found
    assert verdicts(run("check", history, "--json", "-").rows[0])["no-orphan"] == ("violated", "leftover")
    wrong = run("check", history, "--scheme", "redlock")
    assert wrong.status == 64 and "belongs to the scheme 'my-lock'" in wrong.err, wrong


# --- a scenario of the user's own that speaks about his scheme ---

def own_scenario(tmp_path, expects):
    path = tmp_path / "expired-lease-double-delete.yaml"
    text = (ROOT / SCENARIO).read_text()
    path.write_text(text[:text.index("expect:")] + "expect:\n" + "".join(f"  {line}\n" for line in expects))
    return path


HELD = "my-lock: { mutual-exclusion: violated, lease-exclusion: holds, release-own: holds }"
NAIVE = "set-nx-ex-del: { mutual-exclusion: violated, lease-exclusion: violated, release-own: violated }"


def test_the_expectations_of_a_users_scheme_are_held(tmp_path, picklock):
    made = build(tmp_path, mine())
    for expects, standing, status in [(HELD, True, 0), (HELD.replace("release-own: holds", "release-own: violated"), False, 1),
                                      ("my-lock: { release-own: holds }", False, 1)]:
        ran = picklock("run", "--on", "sim", "--scheme", made, own_scenario(tmp_path, [expects, NAIVE]), "--json", "-")
        [row] = ran.rows
        assert (ran.status, row["as_expected"]) == (status, standing) and "fail_on" not in row, ran


def test_a_scenario_reads_without_the_users_scheme(tmp_path, picklock):
    both = picklock("run", "--on", "sim", own_scenario(tmp_path, [HELD, NAIVE]), "--json", "-")
    mine_, naive = both.rows
    assert both.status == 0 and naive["as_expected"] and mine_["verdict"] == "not_applicable", both
    assert (mine_["scheme"], mine_["naive"]) == ("my-lock", None) and "--scheme FILE.so" in mine_["not_applicable"]
    alone = picklock("run", "--on", "sim", own_scenario(tmp_path, [HELD]))
    assert alone.status == 2 and "nothing was concluded" in alone.out, alone
    listed = run("list", "scenarios", "--json", "--dir", tmp_path)
    assert listed.json["scenarios"][0]["schemes"] == ["my-lock"], listed
    slip = picklock("run", "--on", "sim", own_scenario(tmp_path, [NAIVE.replace("ex-del", "ex-dle")]))
    assert slip.status == 64 and "did you mean 'set-nx-ex-del'?" in slip.err, slip
