"""The structure of sim/: who may include whom, and which parts call no clock, no I/O and no randomness."""

import re
import subprocess

import pytest
from conftest import BUILD, ROOT, make

def listed(name):
    return re.search(rf"^{name} \?= (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()


LAYERS = listed("LAYERS")
EXPLORE_LAYERS = listed("EXPLORE_LAYERS")
SIM = ROOT / "sim"
FAULTS = SIM / "explore" / "model" / "faults"
FAULT_TABLE = SIM / "history" / "faults.def"

# What pure objects may call outside picklock: memory and text, nothing that looks at the world.
ALLOWED = set("""
    memcpy memset memcmp memmove memchr strlen strcmp strncmp strncpy strcasecmp strncasecmp strchr strrchr
    strstr strspn strcspn strtol strtoll strtoull snprintf vsnprintf qsort bsearch free calloc
    __snprintf_chk __vsnprintf_chk __memcpy_chk __memset_chk __strcpy_chk __stack_chk_fail
    __assert_fail __ctype_b_loc tolower toupper __ctype_tolower_loc abort exp log
""".split())
# The explorer searches in threads, of which none changes a result.
THREADS = {"pthread_create", "pthread_join", "pthread_mutex_lock", "pthread_mutex_unlock"}
PURE = ["schemes", "checks", "world", "explore"]
# What base/ has for the others, and no pure layer may call: it looks at the world itself.
OURS_IMPURE = {"monotonic_us"}


def files(layer):
    return sorted((SIM / layer).rglob("*.[ch]"))


def test_no_line_of_code_is_too_long():
    """clang-format leaves strings, and what it is told to leave, as they are. Tables (.def) have a row a line."""
    long = [f"{path.relative_to(ROOT)}:{number}" for path in [*SIM.rglob("*.c"), *SIM.rglob("*.h")]
            for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > 100]
    assert not long


def test_no_file_of_code_is_too_long():
    long = {str(path.relative_to(ROOT)): lines for path in [*SIM.rglob("*.c"), *SIM.rglob("*.h")]
            if (lines := len(path.read_text().splitlines())) > 500}
    assert not long


def test_the_folders_are_the_layers():
    assert {path.name for path in SIM.iterdir() if path.is_dir()} == {*LAYERS, "docs", "test"}


@pytest.mark.parametrize("layer", LAYERS)
def test_includes_only_layers_above(layer):
    allowed = LAYERS[:LAYERS.index(layer) + 1]
    for path in files(layer):
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            folder = included.split("/")[0]
            assert folder in allowed, f"{path.relative_to(ROOT)} includes {included}"
            assert (SIM / included).exists() or (BUILD / included).exists(), included


def folder_of(path):
    """The folder that a file of sim/ belongs to, as the layers name it: explore/'s own folders each count."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "explore" else parts[0]


def includes_between_folders():
    """{folder: {folder: an include from the first to the second}}"""
    found = {}
    for path in (path for layer in LAYERS for path in files(layer)):
        name = str(path.relative_to(SIM))
        for included in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            if (SIM / included).exists() and folder_of(included) != folder_of(name):
                found.setdefault(folder_of(name), {})[folder_of(included)] = f"{name} includes {included}"
    return found


def cycle(graph):
    """A way round through the graph, or None: depth-first, with the path in hand."""
    done = set()

    def walk(node, path):
        if node in path:
            return [*path[path.index(node):], node]
        if node in done:
            return None
        done.add(node)
        return next(filter(None, (walk(after, [*path, node]) for after in graph.get(node, ()))), None)
    return next(filter(None, (walk(node, []) for node in graph)), None)


def test_the_folders_of_the_explorer_are_its_layers():
    assert {path.name for path in (SIM / "explore").iterdir() if path.is_dir()} == set(EXPLORE_LAYERS)
    assert not list((SIM / "explore").glob("*.[ch]"))


@pytest.mark.parametrize("layer", EXPLORE_LAYERS)
def test_inside_the_explorer_nothing_includes_to_the_right(layer):
    allowed = EXPLORE_LAYERS[:EXPLORE_LAYERS.index(layer) + 1]
    for path in files(f"explore/{layer}"):
        for included in re.findall(r'^#include "explore/([^"]+)"', path.read_text(), re.M):
            assert included.split("/")[0] in allowed, f"{path.relative_to(ROOT)} includes explore/{included}"


# Libraries that are preloaded into other programs: none of ours is there to be called.
PRELOADED = ("live/clock_shim.c", "live/reads_shim.c", "worker/shim/")
# The steps of a scheme: one enum a scheme, in its own file (schemes/skeleton.c).
STEPS_OF_A_SCHEME = "enum step"


def test_a_tag_names_one_type():
    """Also that of a table (`static const struct row {`), of a member, and in a library that is preloaded."""
    places = {}
    for path in sorted(SIM.rglob("*.[ch]")):
        for kind, tag in re.findall(r"\b(struct|enum|union) (\w+)\s*\{", path.read_text()):
            if f"{kind} {tag}" != STEPS_OF_A_SCHEME:
                places.setdefault(tag, []).append(str(path.relative_to(SIM)))
    assert places and not {tag: names for tag, names in places.items() if len(names) > 1}


def test_no_cycle_between_folders():
    graph = includes_between_folders()
    round_trip = cycle(graph)
    assert not round_trip, [graph[a][b] for a, b in zip(round_trip, round_trip[1:])]


@pytest.mark.parametrize("graph, expected", [
    ({"a": ["b"], "b": ["c"], "c": []}, None),
    ({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c", "b"]),
    ({"a": ["b", "c"], "b": ["d"], "c": ["d"]}, None),
])
def test_a_cycle_is_seen(graph, expected):
    assert cycle(graph) == expected


@pytest.fixture(scope="module", autouse=True)
def each_file_has_an_object():
    """A first build has read several as one."""
    make("parts.a")


def undefined(objects):
    """What these object files call that picklock itself does not define."""
    assert objects
    ours = subprocess.run(["nm", "--defined-only", "-g", *BUILD.glob("*/*.o"), *BUILD.glob("explore/**/*.o")], text=True,
                          capture_output=True, check=True).stdout
    defined = {line.split()[-1] for line in ours.splitlines() if len(line.split()) == 3}
    calls = set()
    listed = subprocess.run(["nm", "-u", *objects], text=True, capture_output=True, check=True)
    calls |= {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines() if len(line.split()) == 2}
    return calls - (defined - OURS_IMPURE) - {"_GLOBAL_OFFSET_TABLE_"}


@pytest.mark.parametrize("layer", PURE)
def test_pure_layers_call_nothing_of_the_world(layer):
    objects = [BUILD / path.relative_to(SIM).with_suffix(".o") for path in files(layer) if path.suffix == ".c"]
    foreign = undefined(objects) - ALLOWED - (THREADS if layer == "explore" else set())
    assert not foreign, f"{layer}/ calls {sorted(foreign)}"


@pytest.mark.parametrize("call, foreign", [
    ("time(0)", {"time"}),
    ("strcmp(getenv(\"A\"), \"\")", {"getenv"}),
    ("failure_set(0, 0, \"\") + (int)strtol(\"1\", 0, 10)", set()),
    *(pytest.param(*row, marks=pytest.mark.long("two others and time() are there")) for row in [
        ("rand()", {"rand"}),
        ("puts(\"x\")", {"puts"}),
        ("getpid() + failure_set(0, 0, \"\")", {"getpid"}),
        ("atoi(\"1\") + clock()", {"atoi", "clock"}),
        ("monotonic_us()", {"monotonic_us"}),
    ]),
])
def test_the_purity_test_sees_impure_code(tmp_path, call, foreign):
    source = tmp_path / "impure.c"
    source.write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n#include <unistd.h>\n"
                      f'#include "base/fail.h"\n#include "base/monotonic.h"\nint f(void);\nint f(void) {{ return (int)({call}); }}\n')
    subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-O0", f"-I{SIM}", "-c", "-o", tmp_path / "impure.o", source],
                   check=True)
    assert undefined([tmp_path / "impure.o"]) - ALLOWED == foreign


@pytest.mark.parametrize("layer, called", [("proxy", "uv_listen"), ("live", "redisAsyncConnect"), ("cmd", "fclose")])
def test_the_purity_test_would_fail_on_an_impure_layer(layer, called):
    assert called in undefined(sorted((BUILD / layer).glob("*.o"))) - ALLOWED




def test_durations_are_taken_from_one_clock():
    found = {str(path.relative_to(SIM)) for layer in LAYERS for path in files(layer)
             if path.suffix == ".c" and re.search(r"\buv_hrtime\(|\bclock_gettime\(CLOCK_MONOTONIC", path.read_text())}
    assert {name for name in found if not name.startswith(PRELOADED)} == {"base/monotonic.c"}


def test_nothing_exits_below_cmd():
    for layer in LAYERS[:-1]:
        for path in files(layer):
            if path.name in ("memory.c", "clock_shim.c"):  # out of memory has one place
                continue
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            calls = re.findall(r"(?<![\w.>])exit\(", text)
            assert not calls, f"{path.relative_to(ROOT)} exits"


def test_every_fault_of_the_explorer_has_a_row_a_file_and_a_story():
    table = FAULT_TABLE.read_text()
    rows = re.findall(r'^FAULT\((\w+),\s*(\w+),\s*"([^"]+)"', table, re.M)
    assert rows and len(rows) == len(re.findall(r"^FAULT\(", table, re.M))
    files = {path.name for path in FAULTS.glob("*.c")} - {"fault.c"}
    assert files == {f"{file}.c" for _, file, _ in rows}
    for _, file, name in rows:
        assert file == name.replace("-", "_")
        text = (FAULTS / f"{file}.c").read_text()
        assert text.startswith(f"/* {file}.c - "), file
        assert re.search(rf"^const struct fault_kind fault_{file}_kind = ", text, re.M), file


# --- a fault is a number; its name is for files and people ---

COMPARES = re.compile(r"\bstrn?(?:case)?cmp\(|\bmemcmp\(|\bstrstr\(")
A_FAULT = re.compile(r"(?:->|\.)fault\b|\bfault_name\(")


def compared_faults(text, names):
    """The statements of a C file that compare a fault's name."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    literals = {f'"{name}"' for name in names}
    return [" ".join(statement.split()) for statement in re.split(r"[;{}]", code)
            if COMPARES.search(statement) and (A_FAULT.search(statement) or any(name in statement for name in literals))]


def fault_names():
    names = re.findall(r'^(?:FAULT|PART)\([^"]*"([^"]+)"', FAULT_TABLE.read_text(), re.M)
    assert len(names) > 20
    return names


def test_no_fault_is_known_by_its_name():
    """What a fault does is read from its row: fault.c alone compares names."""
    for path in [*SIM.rglob("*.[ch]")]:
        if "test" not in path.relative_to(SIM).parts[:1] and path != SIM / "history" / "fault.c":
            found = compared_faults(path.read_text(), fault_names())
            assert not found, f"{path.relative_to(ROOT)}: {found[0]}; history/faults.def has columns for that"


@pytest.mark.parametrize("text, is_found", [
    ('if (!strcmp(event->fault, name)) { a(); }', True),
    ('x = strcmp(name,\n    "restart-empty") == 0;', True),
    ('x = strncmp(fault_name(fault), text, 4);', True),
    ('/* strcmp(name, "crash") */ x = strcmp(name, other);', False),
    ('x = strcmp(a->faults, b->faults); y = event->fault == FAULT_CRASH;', False),
])
def test_a_fault_that_is_known_by_its_name_is_seen(text, is_found):
    assert bool(compared_faults(text, fault_names())) == is_found


# --- flag bits ---

ENUM = re.compile(r"\benum\b[^{};()]*\{([^{}]*)\}")
LITERAL = re.compile(r"^\(?\s*(?:(0x[0-9a-f]+|\d+)u?|1u?\s*<<\s*(\d+))\s*\)?$", re.I)


def literal_bits(text):
    """The enums whose values are 1, 2 and other powers of two, written as numbers."""
    found = []
    for body in ENUM.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
        matches = [LITERAL.match(value.strip()) for value in re.findall(r"=([^,]+)", body)]
        values = [1 << int(m[2]) if m[2] else int(m[1], 0) for m in matches if m]
        if {1, 2} <= set(values) and all(value & value - 1 == 0 for value in values):
            found.append(" ".join(body.split()))
    return found


def test_no_flag_bits_are_numbered_by_hand():
    for path in [*SIM.rglob("*.[ch]"), *SIM.rglob("*.def")]:
        assert not literal_bits(path.read_text()), f"{path.relative_to(ROOT)}: see base/bits.h"


@pytest.mark.parametrize("text, is_found", [
    ("enum a { A = 1, B = 2, C = 128, D = 64, E = 128 };", True),
    ("enum a {\n    A = 1 << 0, /* x */\n    B = 1 << 1,\n};", True),
    ("enum { A = 0x1, B = 0x02u, ALL = A | B };", True),
    ("enum fail { NONE = 0, WRONG = 1, UNKNOWN = 2, INPUT = 64, UNAVAILABLE = 69 };", False),
    ("enum { A = 1 << EVENT_A, B = 1 << EVENT_B };", False),
    ("enum { ROWS = 16, COLUMNS = 2 };", False),
])
def test_flag_bits_that_are_numbered_by_hand_are_seen(text, is_found):
    assert bool(literal_bits(text)) == is_found


CAKE = '#include "base/bits.h"\n#define CAKE(BIT) {}\nBITS(cake, CAKE);\nstruct box {{ {} flags; }};\nBITS_FIT(CAKE, struct box, flags);\n'


@pytest.mark.parametrize("names, type_of_flags, complaint", [
    ([f"B{i}" for i in range(8)], "unsigned char", None),
    ([f"B{i}" for i in range(9)], "unsigned short", None),
    ([f"B{i}" for i in range(9)], "unsigned char", "too narrow for its bits"),
    ([f"B{i}" for i in range(31)], "unsigned", "too many bits"),
    (["B0", "B1", "B0"], "unsigned", "B0"),
])
def test_bits_cannot_be_shared_nor_cut_off(tmp_path, names, type_of_flags, complaint):
    source = tmp_path / "cake.c"
    distinct = "_Static_assert((B0 & B1) == 0 && CAKE_ALL >= (B0 | B1), \"shared\");\n"
    source.write_text(CAKE.format(" ".join(f"BIT({name})" for name in names), type_of_flags) + distinct)
    made = subprocess.run(["cc", "-std=c17", "-fsyntax-only", f"-I{SIM}", source], text=True, capture_output=True)
    assert (made.returncode == 0) == (complaint is None), made.stderr
    assert not complaint or complaint in made.stderr
