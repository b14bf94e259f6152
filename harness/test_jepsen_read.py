"""Jepsen histories of lock tests, EDN and JSON: what is read, and where bad ones are refused."""

import json
import re

import pytest
from conftest import ROOT
from jepsen import LEASE, SEEDS, judge, op, story, write


@pytest.mark.parametrize("keys, words", [
    ([1, 2, "x"], None), (["1", "2", "x"], None),
    ([1, "x", "1"], "3:76: the key 1 is a text here, where keys were numbers: they would be taken for one"),
    (["-7", 5], "2:76: the key 5 is a number here, where keys were texts of digits"),
    (["a\0b"], "the key of a lock is UTF-8, and has no NUL byte in it"),
    (["\ud83d"], "the key of a lock is UTF-8"),
], ids=["numbers", "texts", "a text that is a number", "a number", "a NUL byte", "half a pair"])
def test_two_keys_are_never_taken_for_one(picklock, tmp_path, keys, words):
    path = write(tmp_path / "a.json", [op("invoke", "acquire", process, process, [key, None]) for process, key in enumerate(keys)])
    ran = picklock("check", path, "--format", "jepsen-json", *LEASE)
    assert ran.status == (64 if words else 2) and (words or "") in ran.err, ran


NAMES_NONE = "':value' names no lock, and those before name theirs: [KEY VALUE], also where VALUE is nil"
NAMES_ONE = "':value' names the lock n1, and those before name none: [KEY VALUE] is a lock and its value; a fence that stands beside something"


@pytest.mark.parametrize("values, words", [
    ([["n1", None], ["n1", 1], None, None], "3:76: " + NAMES_NONE),
    ([["n1", None], None, None, None], "2:72: " + NAMES_NONE),
    ([None, ["n1", 7], None, None], "2:72: " + NAMES_ONE),
    ([None, {"key": "n1", "fence": 7}, None, None], "2:72: " + NAMES_ONE),
    ([["n1", None], ["n1", 1], {"key": "n1"}, ["n1", None]], None),
    ([None, {"fence": 7}, "n1", 3], None),
], ids=["not of the release", "not of the end", "an owner and a fence", "only of the end", "of all", "of none"])
def test_all_operations_name_their_lock_or_none_does(picklock, tmp_path, values, words):
    """Else what is done to one would be taken for what is done to another one, and a right lock would be blamed."""
    steps = [("invoke", "acquire"), ("ok", "acquire"), ("invoke", "release"), ("ok", "release")]
    path = write(tmp_path / "a.json", [op(*step, 0, time, value) for time, (step, value) in enumerate(zip(steps, values, strict=True))])
    ran = picklock("check", path, "--format", "jepsen-json", "--model", "owner-mutex")
    assert ran.status == (64 if words else 2) and (words or "") in ran.err, ran


@pytest.mark.parametrize("escaped", [True, False], ids=["escaped", "as it is"])
@pytest.mark.parametrize("keys, status", [("\u00fc\u00e9", 2), ("\u20ac\u20ad", 2), ("\U0001f512\U0001f513", 2), ("\u00fc\u00fc", 1)])
def test_a_key_may_have_any_letters(picklock, tmp_path, keys, status, escaped):
    """Two clients hold at once: of two keys that is nothing; of one it is a violation."""
    ops = [op(kind, "acquire", process, 10 * process + (kind == "ok"), [key, None]) for process, key in enumerate(keys) for kind in ("invoke", "ok")]
    path = tmp_path / "a.json"
    path.write_text("".join(json.dumps(one, ensure_ascii=escaped) + "\n" for one in ops))
    ran = picklock("check", path, "--format", "jepsen-json", "--model", "mutex")
    assert ran.status == status, ran


INVOKE = '{:type :invoke :f :acquire :process 0 :time 5}'


@pytest.mark.parametrize("text, place, words", [
    ('{:type :ok :f :acquire :process 0 :time 5}', "1:1", "has not begun"),
    (f'{INVOKE}\n{INVOKE}', "2:1", "within another one"),
    (INVOKE + '\n {:type :ok :f :release :process 0 :time 6}', "2:2", "has not begun"),
    (INVOKE + '\n{:type :ok :f :acquire :process 0 :time -1}', "2:41", "':time' is -1 ns: it counts from 0"),
    ('{:type :invoke :f :acquire :process 0 :time 5000000}\n{:type :ok :f :acquire :process 0 :time 1000}', "2:41", "time runs forwards"),
    ('{:type :invok :f :acquire :process 0}', "1:8", "did you mean 'invoke'"),
    ('{:type :invoke :f :aquire :process 0}', "1:19", "did you mean 'acquire'"),
    ('{:type :invoke :f', "1:18", "cut off"),
    ('[' * 100, "1:34", "nested deeper"),
    ('[{:type :invoke]', "1:16", "closes nothing"),
    ('{:type :invoke :f}', "1:18", "no value"),
    ('{:type "' + "x" * 100000, "1:", "longer than"),
    ('[' + '{:a [' + "1 " * 100000 + ']}]', "1:65539", "longer than"),
    ('7', "1:1", "is a map"),
    ('{:type :invoke :f :acquire :process :x1}\n{:process -3}', "2:11", "process"),
    ('[] {}', "1:4", "behind the end"),
], ids=range(16))
def test_what_is_bad_is_refused_with_its_place(picklock, tmp_path, text, place, words):
    path = tmp_path / "a.edn"
    path.write_text(text)
    ran = picklock("check", path, "--format", "jepsen-edn")
    assert ran.status == 64 and f"{path}:{place}" in ran.err and words in ran.err, ran


@pytest.mark.parametrize("options, words", [
    (("--format", "jepsen-end"), "did you mean"), (("--model", "mutex"), "--format"),
    (("--format", "jepsen-edn", "--model", "mutx"), "did you mean 'mutex'"), (("--format", "jepsen-edn", "--model", "lease-lock"), "--lease"),
    (("--format", "jepsen-edn", "--model", "mutex", "--lease", "1s"), "no lease"), (("--format", "jepsen-edn", "--timeline"), "--timeline")])
def test_options_that_do_not_go_together(picklock, options, words):
    ran = picklock("check", SEEDS / "overrun.edn", *options)
    assert ran.status == 64 and words in ran.err, ran


def test_bytes_that_are_no_utf_8(picklock, tmp_path):
    path = tmp_path / "a.edn"
    path.write_bytes(INVOKE.encode()[:-1] + b' :error "\xff\x00\xfe"}\n')
    assert picklock("check", path, "--format", "jepsen-edn").status == 2


def test_more_clients_than_bits(picklock, tmp_path):
    """A client that nobody saw ask is a gap, whoever else asked: also one whose number is beyond those of an unsigned."""
    words = {"history": "picklock.history/2", "scheme": "set-nx-px-cad", "scenario": "x", "world": "redis", "server_version": "", "clients": 300, "servers": 1,
             "locks": 1, "lease_us": 300000, "unit_us": 1000, "clock_error_us": 0, "seed": "1", "names": [f"c{i}" for i in range(300)]}
    command = {"server": 0, "verb": "SET_NX_PX", "key": "lock", "value": 5, "ttl": 300000}
    of_one = [{"kind": "call", "op": "acquire"}, {"kind": "send"} | command, {"kind": "execute", "op": "acquire", "reply": "ok"} | command,
              {"kind": "hear", "reply": "ok"} | command, {"kind": "return", "op": "acquire", "result": "granted"}]
    unseen = [{"kind": "call", "op": "acquire"}, {"kind": "return", "op": "acquire", "result": "refused"}]
    for other in (33, 299):
        events = [each | {"client": client} for client, story in ((1, of_one), (other, unseen)) for each in story]
        lines = [words, *({"i": i, "t": i, "attempt": 1, "token": 5} | each for i, each in enumerate(events)), {"end": len(events)}]
        path = tmp_path / "a.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        found = json.loads(picklock("check", path, "--json", "-").out)["results"][0]["properties"]
        always = next(each for each in found if each["property"] == "always-expires")
        assert always["verdict"] == "unknown" and f"c{other}'s acquire was answered" in always["witness"][0], always


@pytest.mark.parametrize("fences, is_violated", [((0, 0), True), ((5, 0), True), ((0, 1), False), ((-2, -1), False), ((None, 0), False)])
def test_a_fence_may_be_any_number(picklock, tmp_path, fences, is_violated):
    """Also 0, and a grant at the beginning of time is one."""
    ops = [op(kind, f, process, time, fence) for process, fence in enumerate(fences)
           for kind, f, time in (("invoke", "lock", 3 * process), ("ok", "lock", 3 * process), ("invoke", "unlock", 3 * process + 1), ("ok", "unlock", 3 * process + 2))]
    _, found = judge(picklock, write(tmp_path / "a.json", ops), "--model", "fenced-lock")
    assert found["fence-order"][0] == ("violated" if is_violated else "unknown")


@pytest.mark.parametrize("fence", ["9", 9.5, [1, 2, 3], {"fence": True}])
def test_a_fence_that_is_no_number_is_refused(picklock, tmp_path, fence):
    path = write(tmp_path / "a.json", [op("invoke", "lock", 0, 0), op("ok", "lock", 0, 1, fence)])
    ran = picklock("check", path, "--format", "jepsen-json", "--model", "fenced-lock")
    column = path.read_text().splitlines()[1].index(json.dumps(fence)) + 1
    assert ran.status == 64 and f"{path}:2:{column}: a fencing token is a whole number" in ran.err, ran
    assert picklock("check", path, "--format", "jepsen-json", "--model", "mutex").status == 2


def test_the_schema_is_of_what_is_read(picklock, tmp_path):
    """What it allows is read, and what it does not is refused; the functions are those of the page."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "reports" / "jepsen.schema.json").read_text())
    jsonschema.validate(json.loads((SEEDS / "fences.json").read_text()), schema)
    good = op("invoke", "acquire", 0, 0)
    names = schema["$defs"]["operation"]["oneOf"][1]["properties"]["f"]["enum"]
    page = (ROOT / "sim" / "docs" / "HISTORIES.md").read_text()
    assert len(names) == 10 and all(f"`{name}`" in page for name in names)
    tried = [(good, True), (good | {"process": "nemesis", "f": "kill"}, True), (good | {"note": [1]}, True),
             *((good | {"f": name}, True) for name in names),
             (good | {"f": "steal"}, False), (good | {"type": "maybe"}, False), (good | {"process": -1}, False), (good | {"time": 1.5}, False),
             ({"type": "invoke", "f": "acquire"}, False)]
    for shown, is_good in tried:
        assert jsonschema.Draft202012Validator(schema).is_valid(shown) is is_good, shown
        path = write(tmp_path / "a.json", [good, shown | {"process": 1} if shown.get("process") == 0 else shown])
        ran = picklock("check", path, "--format", "jepsen-json")
        assert ran.status == (2 if is_good else 64), (shown, ran)


@pytest.mark.parametrize("added", ["#_ :a", "#_ #_ :a :b", "#_ #_ [1 #_ 2] {:f :c} ", "#_#inst \"x\" ", "#_ [#_ 1] ", "#_ #{1 #_ 2}"])
def test_what_is_discarded_is_as_if_it_were_not_there(picklock, tmp_path, added):
    """As EDN has it: of two marks in a row each takes a value, and one within a list ends with it."""
    lines = (SEEDS / "two-at-once.edn").read_text().splitlines()
    assert all(", :f" in line for line in lines if line.startswith("{"))
    other = tmp_path / "discards.edn"
    other.write_text("\n".join(f"#t {added} " + line.replace(", :f", f" {added} , #t {added} :f", 1) for line in lines))
    assert judge(picklock, other) == judge(picklock, SEEDS / "two-at-once.edn")


@pytest.mark.parametrize("text", ["", "; nothing\n", "[]", "{:process :nemesis, :type :info, :f :kill}"])
def test_a_file_without_an_operation_is_no_history(picklock, tmp_path, text):
    (tmp_path / "a.edn").write_text(text)
    ran = picklock("check", tmp_path / "a.edn", "--format", "jepsen-edn")
    assert ran.status == 64 and "there is no operation of a process in it" in ran.err, ran


SLIPS = '{:process 0, :type :invoke, :f :acquire, :time 1000000}\n{:process 0, :type :ok, :f :acquire, %s}\n'


@pytest.mark.parametrize("field, place, words", [
    (":tme 2000000", "2:38", "an operation has no field ':tme'; did you mean ':time'?"),
    (":time 2000000, :eror :unsupported", "2:53", "an operation has no field ':eror'; did you mean ':error'?"),
    (":time 2000000, :valeu 3", "2:53", "an operation has no field ':valeu'; did you mean ':value'?"),
    (":time 2000000, :value {:fnce 3}", "2:60", "a ':value' has no field ':fnce'; did you mean ':fence'?"),
    (":index 2", "2:1", "an operation wants ':time', as those before have it"),
])
@pytest.mark.parametrize("language", ["edn", "json"])
def test_a_field_that_is_one_letter_off_is_refused(picklock, tmp_path, field, place, words, language):
    """As in a history of ours; fields of one's own are left alone. The time counts, be it that nothing has a lease."""
    path, text = tmp_path / f"a.{language}", SLIPS % field
    if language == "json":
        text = re.sub(r":([a-z]\w*)", r'"\1"', re.sub(r":(\w+) ", r":\1: ", text))
        place = place.split(":")[0] + ":"
    path.write_text(text)
    ran = picklock("check", path, "--format", f"jepsen-{language}")
    assert ran.status == 64 and f"{path}:{place}" in ran.err and words in ran.err, ran
    path.write_text(text.replace("tme", "timestamp").replace("eror", "exception").replace("valeu", "val").replace("fnce", "fnord").replace("2000000", "0")
                    .replace(":time 1000000", "").replace('"time": 1000000', '"x": 1').replace(":time 0", "").replace('"time": 0', '"x": 1'))
    assert picklock("check", path, "--format", f"jepsen-{language}").status == 2, path.read_text()


@pytest.mark.parametrize("unit, status, words", [
    (None, 1, "note: Times are read as ns: all 4 lines last 2 us, less than the lease of 300ms. If they are ms: --time-unit ms; if not: --time-unit ns."),
    ("ns", 1, ""), ("us", 1, ""), ("ms", 2, ""), ("s", 1, ""), ("m", 64, "there is no time unit 'm'; there are ns, us, ms and s")])
def test_times_that_look_like_milliseconds_are_told(picklock, tmp_path, unit, status, words):
    """Two grants, two seconds from each other: a violation, if they are nanoseconds."""
    path = tmp_path / "a.edn"
    path.write_text("".join("{:process %d, :type :%s, :f :acquire, :time %d}\n" % one
                            for one in ((0, "invoke", 1), (0, "ok", 2), (1, "invoke", 2000), (1, "ok", 2001))))
    ran = picklock("check", path, "--format", "jepsen-edn", *LEASE, *(("--time-unit", unit) if unit else ()))
    assert ran.status == status and words in " ".join((ran.out + ran.err).split()) and ("note:" in ran.out) is (unit is None), ran


def test_times_that_can_be_nanoseconds_are_not_doubted(picklock, tmp_path):
    assert "note:" not in picklock("check", SEEDS / "overrun.edn", "--format", "jepsen-edn", *LEASE).out
    path = write(tmp_path / "a.json", story((0, "acquire", "ok"), (0, "release", "ok")))
    assert "note:" not in picklock("check", path, "--format", "jepsen-json").out


def test_a_time_beyond_what_is_judged_is_refused(picklock, tmp_path):
    path = write(tmp_path / "a.json", [op("invoke", "acquire", 0, 0) | {"time": 10 ** 18}])
    ran = picklock("check", path, "--format", "jepsen-json", "--time-unit", "s")
    assert ran.status == 64 and "1:58: ':time' is 1000000000000000000 s; it goes to 1000000000000000 us" in ran.err, ran


@pytest.mark.parametrize("name, given", [("two-at-once.edn", None), ("two-at-once.edn", "jepsen-json"), ("fences.json", None), ("fences.json", "jepsen-edn"),
                                         ("ours", "jepsen-edn"), ("ours", "jepsen-json")])
def test_who_names_another_format_is_told_which(picklock, name, given):
    path = ROOT / "sim/test/history1/foreign.jsonl" if name == "ours" else SEEDS / name
    right = "picklock" if name == "ours" else "jepsen-" + name.rpartition(".")[2]
    for command in (["check"], ["convert", "--to", "perfetto"]):
        ran = picklock(*command, path, *(["--format", given] if given else []))
        assert ran.status == 64 and ran.err.endswith(f"\nit looks like a history of another format: --format {right}\n"), ran
    assert "looks like" not in picklock("check", path, "--format", right).err


def test_what_is_bad_of_its_own_format_is_not_said_to_be_another(picklock, tmp_path):
    """Nor what is of none, nor what comes through a pipe and is gone."""
    for name, text, options in [("a.edn", "{:type :invoke :f :acquire :process x}", ["--format", "jepsen-edn"]), ("b", "no history", []), ("c", "{}", []),
                                ("d", '{"type": "invoke", "process": "x", "f": "acquire"}', ["--format", "jepsen-json"])]:
        (tmp_path / name).write_text(text)
        ran = picklock("check", tmp_path / name, *options)
        assert ran.status == 64 and "looks like" not in ran.err, ran
    piped = picklock("check", "-", input=(SEEDS / "two-at-once.edn").read_text())
    assert piped.status == 64 and "looks like" not in piped.err
