"""What the Makefile promises of a build: whatever flags a user brings, the asserts stay in it; and what the compiler refuses."""

import os
import pathlib
import re
import subprocess

import pytest
from conftest import ROOT


# What a caller's make handed down is not meant.
CALM = {name: text for name, text in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}


def make(folder, target, *words):
    """Builds one object in a folder of its own."""
    done = subprocess.run(["make", "-s", f"BUILD={folder}", *words, f"{folder}/{target}"], cwd=ROOT, env=CALM,
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / target


def test_before_setup_one_message_says_what_to_do(tmp_path):
    """No header but our own is there. Nothing is compiled; so it is whichever object is wanted, and next time again."""
    for target in ("base/timers.o", "live/control.o"):
        done = subprocess.run(["make", "-s", "-j2", f"BUILD={tmp_path}", "CC=cc -nostdinc", tmp_path / target], cwd=ROOT,
                              env={name: text for name, text in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}, text=True,
                              capture_output=True)
        assert done.returncode == 2 and "`make setup` installs it" in done.stderr and "`make demo`" in done.stderr, done
        assert done.stderr.count(" error: ") == 1 and "sim/" not in done.stderr, done


def test_asserts_stay_with_ndebug(tmp_path):
    made = make(tmp_path, "base/timers.o", "CFLAGS=-O2 -DNDEBUG")
    undefined = subprocess.run(["nm", "-u", made], text=True, capture_output=True, check=True).stdout
    assert "__assert_fail" in undefined


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_small_piece_of_memory_is_of_malloc(tmp_path, compiler):
    """Both make one calloc() of malloc() and memset(), unless they are told not to: it costs several times as much."""
    made = make(tmp_path, "base/memory.o", f"CC={compiler}")
    listed = subprocess.run(["nm", "-u", made], text=True, capture_output=True, check=True).stdout.split()
    assert "malloc" in listed and "memset" in listed


SOURCES, FLAGS = ("base/units", "base/memory", "proxy/link"), ("-O1 -g", "-O2 -DNDEBUG", "-O0", "-O3")


@pytest.mark.parametrize("source, flags", [pytest.param(source, flags, marks=[] if at % 3 == number else [pytest.mark.long("each of both is there once")])
                                           for at, flags in enumerate(FLAGS) for number, source in enumerate(SOURCES)])
def test_any_optimisation_compiles_without_a_warning(tmp_path, source, flags):
    """All of it with gcc and clang: a part of CI (.ci/run)."""
    make(tmp_path, f"{source}.o", f"CFLAGS={flags}", "SANITIZE=address,undefined")


def test_an_option_whose_target_has_another_type_does_not_compile(tmp_path):
    kinds = {"FLAG": "flag", "TEXT": "text", "NUMBER": "number", "DURATION": "number", "LENGTHS": "lengths", "RATE": "rate"}
    bounds = {"NUMBER": ", 0, 9", "DURATION": ", 0, 9", "LENGTHS": ", 9"}
    head = """#include "cmd/options.h"
        #include "base/distribution.h"
        static int flag; static const char *text; static int64_t number; static struct distribution lengths; static uint32_t rate;
        """

    def refused(*pairs):
        """The lines of those rows that are refused, the first row being 0."""
        rows = "\n".join(f'OPTION_{kind}("--option", &{target}{bounds.get(kind, "")}),' for kind, target in pairs)
        (tmp_path / "rows.c").write_text(head + f"const struct option_row rows[] = {{\n#line 1\n{rows}\n}};\n")
        done = subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                               f"-I{ROOT / 'sim'}", tmp_path / "rows.c"], text=True, capture_output=True)
        assert bool(done.returncode) == bool(done.stderr)
        return {int(line) - 1 for line in re.findall(r"rows\.c:(\d+):\d+: (?:error|note):", done.stderr)}

    assert refused(*kinds.items()) == set()
    wrong = [(kind, target) for kind, right in kinds.items() for target in sorted(set(kinds.values())) if target != right]
    assert refused(*wrong) == set(range(len(wrong)))


def units(tmp_path, files):
    """What harness/unity.awk makes of these files: each group in the order in which it is read."""
    made = subprocess.run(["awk", "-f", ROOT / "harness" / "unity.awk", tmp_path / "unity", *files], cwd=tmp_path, text=True,
                          capture_output=True, check=True).stdout.split()
    return sorted(re.findall(r'#include "(.*)"', pathlib.Path(unit).read_text()) for unit in made)


def test_files_that_share_a_name_are_not_read_as_one(tmp_path):
    texts = {"a": "static int one(void)\n{\n}\n", "b": "static int two, *one;\n", "c": "#define one(x) x\n", "d": "struct one {\n};\n",
             "e": "enum {\n    RED,\n    BLUE = 3,\n};\n", "f": "static const char BLUE[] = {1};\n", "g": "static int four(void);\n",
             "h": "int five(int one);\n"}
    for folder in ("x", "y"):
        (tmp_path / "sim" / folder).mkdir(parents=True)
    for name, text in texts.items():
        (tmp_path / "sim" / "x" / f"{name}.c").write_text(text)
    (tmp_path / "sim" / "y" / "z.c").write_text("static int six;\n")
    files = [f"sim/x/{name}.c" for name in texts] + ["sim/y/z.c"]
    made = units(tmp_path, files)
    assert sorted(file for unit in made for file in unit) == sorted(file.removeprefix("sim/") for file in files)
    assert ["y/z.c"] in made
    for one, other in ("ac", "ad", "cd", "ef"):
        assert not any({f"x/{one}.c", f"x/{other}.c"} <= set(unit) for unit in made), made
    assert any({"x/a.c", "x/e.c", "x/g.c", "x/h.c"} <= set(unit) for unit in made), made


def test_a_unit_is_written_anew_where_its_files_are_others(tmp_path):
    (tmp_path / "sim" / "x").mkdir(parents=True)
    for name in "abcdefghij":
        (tmp_path / "sim" / "x" / f"{name}.c").write_text(f"static int {name}{name};\n")
    files = [f"sim/x/{name}.c" for name in "abcdefghij"]
    assert [len(unit) for unit in units(tmp_path, files)] == [8, 2]
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "unity").glob("x/*.c")}
    units(tmp_path, files[:9])
    assert {name for name, at in times.items() if (tmp_path / "unity" / "x" / name).stat().st_mtime_ns != at} == {"2.c"}


@pytest.mark.long("17 s of CPU; CI reads them so with clang and under sanitizers")
def test_all_files_that_are_read_as_one_go_together(tmp_path):
    """Where they do not, a first build takes longer. Then what is private to one of the two files takes another name.
    Nothing is compiled: it ends where the objects are to be linked."""
    done = subprocess.run(["make", "-s", "-k", "-j2", f"BUILD={tmp_path}", "CC=cc -fsyntax-only", f"{tmp_path}/picklock"], cwd=ROOT,
                          env=CALM, text=True, capture_output=True)
    apart = [line for line in done.stderr.splitlines() if "cc: " not in line]
    assert "not as one" not in done.stderr, "\n".join(apart)
    assert f"{tmp_path}/unity/base/1.o: linker input" in done.stderr and f"{tmp_path}/cmd/options.o" not in done.stderr, "\n".join(apart)


def test_files_that_do_not_go_together_are_compiled_each_for_itself(tmp_path):
    """What the grouping does not see: a name that another file's macro makes. What rests on a header is made anew with it."""
    tree = tmp_path / "tree"
    for name in ("Makefile", "harness", "reports"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).symlink_to(ROOT / name)
    (tree / "sim" / "base").mkdir(parents=True)
    for name, text in {"one.c": '#include "base/one.h"\n#define MADE(x) static int made_##x = ONE\nMADE(of);\nint one(void);\nint one(void)\n'
                                "{\n    return made_of;\n}\n", "one.h": "#define ONE 1\n",
                       "two.c": "static int made_of = 2;\nint two(void);\nint two(void)\n{\n    return made_of;\n}\n"}.items():
        (tree / "sim" / "base" / name).write_text(text)
    def make_it():
        return subprocess.run(["make", "-s", "UNITY=yes", "build/unity/base/1.o"], cwd=tree, env=CALM, text=True, capture_output=True)

    done = make_it()
    assert done.returncode == 0 and re.fullmatch(r"not as one: sim/base/two\.c:1:12: error: redefinition of .made_of.\n", done.stderr), done
    made = tree / "build" / "unity" / "base" / "1.o"
    listed = subprocess.run(["nm", "--defined-only", "-g", made], text=True, capture_output=True, check=True).stdout.split()
    assert {"one", "two"} <= set(listed)
    was = made.read_bytes()
    (tree / "sim" / "base" / "one.h").write_text("#define ONE 7\n")
    os.utime(tree / "sim" / "base" / "one.h", (made.stat().st_mtime + 2,) * 2)
    assert make_it().returncode == 0 and made.read_bytes() != was
    (tree / "sim" / "base" / "two.c").write_text("static int wrong = nothing;\n")
    os.utime(tree / "sim" / "base" / "two.c", (made.stat().st_mtime + 4,) * 2)
    done = make_it()
    assert done.returncode and "two.c:1:20: error" in done.stderr and "not as one" not in done.stderr, done
