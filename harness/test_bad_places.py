"""Every way in which a history can be refused, of all three formats: file, line, column, and what was expected. A sentence of the code
that no row here brings about fails the last test."""

import json
import re

import pytest

from conftest import ROOT, run
from test_history_pieces import refused_pieces
from test_bad_input import CALL, EDN_CALL, EDN_OK, END, HEAD, JSON_CALL, RETURN, event

LEASE = ("--model", "lease-lock", "--lease", "300ms")


def head(**more):
    return json.dumps({**json.loads(HEAD), **more}) + "\n"


def without(name):
    return json.dumps({key: value for key, value in json.loads(HEAD).items() if key != name}) + "\n"


def opaque(effects=None, **more):
    """The execution of a foreign command, as the first event."""
    command = {"name": "EVALSHA", "keys": ["lock"], **more.pop("opaque", {})}
    return HEAD + event(0, 1, "execute", server=0, reply="ok", opaque=command, **({} if effects is None else {"effects": effects}), **more) + END


def created(**more):
    return {"key": "lock", "did": "created", "new": 3, **more}


def edn(fields):
    return "{:process 0 :type :invoke :f :acquire " + fields + "}\n"


def in_list(value):
    return edn(f":value [{value} nil]")


TYPED = {"server": 0, "verb": "SETNX", "key": "lock", "value": 3}
# N@FIELD: line N, the column of that name of a field.
OURS = [
    ("", "1:1", "the file is empty: not a history"),
    ("{}\n", "1:1", 'the first line wants "history": "picklock.history/2"'),
    ("[]\n", "1:1", "a line of a history is a JSON object"),
    (head(history="picklock.history/9"), "1@history", "a history of version 'picklock.history/9'; this program reads"),
    (without("seed"), "1:1", "the head has no 'seed'"),
    (head(sceme="x"), "1@sceme", "the head has an unknown field 'sceme'; did you mean 'scheme'?"),
    (head(scheme=7), "1@scheme", "'scheme' wants a text"),
    (head(scenario="x" * 64), "1@scenario", "'scenario' is longer than 63 bytes"),
    (head(clients=0), "1@clients", "'clients' is 0; it goes from 1 to"),
    (head(servers="1"), "1@servers", "'servers' wants a whole number"),
    (head(seed="x"), "1@seed", "'seed' wants a number of at most 64 bits, as a text"),
    (head(names=["A"]), "1@names", "'names' wants a list of 2 names, one for each client"),
    (head(names=["A", 7]), "1@names", "'names' wants a text"),
    (head(processes=["A"]), "1@processes", "'processes' wants a list of 2 names"),
    (head(program=7), "1@program", "'program' wants a text"),
    (head(incomplete=7), "1@incomplete", "'incomplete' wants a text"),
    (head(closed="yes"), "1@closed", "'closed' wants true or false"),
    (head(promises="token"), "1@promises", "'promises' wants a list of what the lock promises"),
    (head(promises=[], scheme="set-nx-px-cad"), "1@promises", "'promises' are stated of a foreign lock; 'set-nx-px-cad' is a scheme of ours"),
    (head(promises=[7]), "1@promises", "a promise is a text"),
    (head(promises=["tokn"]), "1@promises", "no lock promises 'tokn'; did you mean 'token'?"),
    (head(promises=["token", "token"]), "1@promises", "'promises' has 'token' twice"),
    (HEAD + "{\n", "2:1", "not JSON: "),
    (HEAD + CALL[:20], "2:21", "the file ends in the middle of a line: it was cut off"),
    (HEAD + '{"x": "' + "y" * 70000, "2:65537", "a line longer than 65536 bytes: not a history of ours"),
    (HEAD + CALL, "3:1", "no end line: the file was cut off"),
    (HEAD + CALL + '{"end": 2}\n', "3:2", "the end line counts 2 events, there are 1"),
    (HEAD + CALL + '{"end": "1"}\n', "3:2", "'end' wants a whole number"),
    (HEAD + CALL + '{"end": 1, "x": 1}\n', "3@x", "a line with 'end' has no other field than its own"),
    (HEAD + CALL + '{"end": 1, "vacuous": 1}\n', "3@vacuous", "'vacuous' wants a text"),
    (HEAD + CALL + '{"end": 1, "incomplete": "x", "proved": 2}\n', "3@proved", "'proved'"),
    (HEAD + CALL + '{"end": 1, "proved": 1}\n', "3@proved", "'proved' goes with 'incomplete', which says why"),
    (HEAD + CALL + "rubbish\n", "3:1", "not JSON: "),
    (HEAD + CALL + '{"i": 1, "note": xyz}\n', "3:18", "not JSON: "),
    (HEAD + event(0, 5, "call") + event(1, 6, "return", result="released"), "3@result", "'acquire' never ends in 'released': it knows none, granted, refused, failed, "),
    (HEAD + CALL + '{"end": 1}\n\n', "4:1", "something stands behind the end line, which is the last"),
    (HEAD + '{"i": 0, "kind": "call"}\n', "2:1", "an event wants 'i', 't' and 'kind'"),
    (HEAD + event(0, 1, "cal"), "2:18", "'kind' knows no 'cal'; did you mean 'call'?"),
    (HEAD + event(0, 1, 7), "2:18", "'kind' wants a text"),
    (HEAD + event(0, 1, "call", attemp=1), "2@attemp", "an event has no field 'attemp'; did you mean 'attempt'?"),
    (HEAD + event(0, 1, "call", op="aquire"), "2@op", "'op' knows no 'aquire'; did you mean 'acquire'?"),
    (HEAD + event(0, 1, "call", op=7), "2@op", "'op' wants a text"),
    (HEAD + event(0, 1, "call", token="\u00fc"), "2@token", "'token' is no value: printable ASCII, any other byte as \\xNN"),
    (HEAD + '{"i": 0, "t": 1, "kind": "call", "client": 0}\n', "2:1", "an event of kind 'call' wants 'op'"),
    (HEAD + '{"i": 0, "t": 1, "kind": "call", "op": "acquire"}\n', "2:1", "an event of kind 'call' wants 'client'"),
    (HEAD + '{"i": 0, "t": 1, "kind": "exit"}\n', "2:1", "an event of kind 'exit' wants 'client'"),
    (HEAD + event(0, 1, "send", verb="SETNX", key="lock"), "2:1", "an event of kind 'send' wants 'server'"),
    (HEAD + event(0, 1, "call", **{"from": 5}), "2@from", "'from' is later than 't'"),
    (HEAD + event(0, 5, "call") + event(1, 6, "call"), "3@attempt", "the call of 'acquire' in attempt 1 stands above already"),
    (HEAD + event(0, 5, "call") + event(1, 6, "return", result="granted") + event(2, 7, "call"), "4@attempt",
     "the call of 'acquire' in attempt 1 stands above already"),
    (HEAD + event(0, 5, "call", op="release") + event(1, 6, "call", op="release"), "3@attempt",
     "the call of 'release' in attempt 1 stands above already"),
    (HEAD + event(0, 5, "call") + event(1, 4, "return", result="granted"), "3:10", "'t' is 4, earlier than 5 of the event before: time runs forwards"),
    (HEAD + event(0, 1, "call", lock=1), "2@lock", "'lock' is 1; the head knows 1"),
    (HEAD + event(1, 1, "call"), "2:2", "event 1 where 0 should follow: what is between is missing"),
    (HEAD + CALL + CALL, "3:2", "event 0 where 1 should follow: that one stands above already"),
    (opaque([created()], opaque={"keys": "lock"}), "2@keys", "'keys' wants a list of the lock's keys"),
    (opaque([created()], opaque={"keys": [7]}), "2@keys", "wants a text"),
    (opaque([created()], opaque={"keys": ["lck"]}), "2@keys", "a lock has no key 'lck'; did you mean 'lock'?"),
    (opaque([created()], opaque={"keys": ["lock", "lock"]}), "2@keys", "'keys' has 'lock' twice"),
    (opaque(opaque={"digest": "12"}), "2@digest", "'digest' wants 16 digits of 0 to f, as a text"),
    (opaque(opaque={"name": "\u00fc"}), "2@name", "'name' has a byte that is not printable ASCII: it is written \\xNN"),
    (HEAD + event(0, 1, "execute", server=0, reply="ok", opaque=7), "2@opaque", "'opaque' wants an object"),
    (opaque(opaque={"nam": "x"}), "2@nam", "'opaque' has no field 'nam'; did you mean 'name'?"),
    (HEAD + event(0, 1, "execute", server=0, reply="ok", opaque={"name": "x"}), "2@opaque", "'opaque' wants 'name' and 'keys'"),
    (opaque([{"key": "lock", "did": "read", "new": 3}]), "2:", "an effect 'read' has no 'new'"),
    (opaque([{"key": "lock", "did": "created"}]), "2:", "an effect 'created' wants 'new'"),
    (opaque([{"key": "lock", "did": "refused", "old": 3, "unlike": 4}]), "2:", "an effect has 'old' or 'unlike', not both"),
    (opaque([created(before="present")]), "2:", "an effect 'created' of a key that was present before"),
    (opaque([created(before="presnt")]), "2@before", "'before' knows no 'presnt'; did you mean 'present'?"),
    (opaque([created(wanted="se")]), "2@wanted", "'wanted' knows no 'se'"),
    (opaque([created(did="creatd")]), "2@did", "'did' knows no 'creatd'; did you mean 'created'?"),
    (opaque([7]), "2:", "an effect is an object"),
    (opaque([created(nw=3)]), "2@nw", "an effect has no field 'nw'; did you mean 'new'?"),
    (opaque([{"key": "lock"}]), "2:", "an effect wants 'key' and 'did'"),
    (opaque([created(), created()]), "2:", "two effects on the key 'lock': one says it all"),
    (opaque(7), "2@effects", "'effects' wants a list of at most"),
    (opaque([created(key="fence")]), "2:1", "an effect on the key 'fence', which is not among the command's 'keys'"),
    (HEAD + event(0, 1, "execute", inferred=True, reply="ok", **TYPED), "2:1", "an event of kind 'execute' is never 'inferred'"),
    (HEAD + event(0, 1, "call", opaque={"name": "x", "keys": ["lock"]}), "2:1", "an event of kind 'call' has no command"),
    (opaque([created()], **{key: value for key, value in TYPED.items() if key != "server"}), "2:1",
     "an opaque command has no 'verb', 'key', 'value', 'number' or 'ttl'"),
    (HEAD + event(0, 1, "send", server=0, opaque={"name": "x", "keys": ["lock"]}, effects=[created()]), "2:1",
     "'effects' are those of an opaque command that is executed"),
]
EDN = [
    ("", "1:1", "there is no operation of a process in it"),
    ('{:a "\\u12x4"}', "1:10", "\\u wants four hexadecimal digits"),
    ('{:a "\\q"}', "1:7", "no such escape in a text"),
    ('{:a "x', "1:7", "the file ends within a text: it was cut off"),
    ('{:a "' + "x" * 70000, "1:65537", "a value longer than 65536 bytes"),
    ("{:a " + "x" * 70000, "1:65537", "a value longer than 65536 bytes"),
    ("{:a \x01}", "1:5", "no value begins with byte 1"),
    ("{:a 1x}", "1:5", "'1x' is no number"),
    ("{:a\n  1/0}", "2:3", "'1/0' is no number"),
    ("{:a ##Nan}", "1:", "no value is called '##Nan'"),
    ("{:a \\nosuch}", "1:5", "no character is called '\\nosuch'"),
    ("{:a \\u00g0}", "1:5", "no character is called '\\u00g0'"),
    ("{:a \\", "1:6", "the file ends within a value: it was cut off"),
    ("{:process 1/2 :type :invoke :f :acquire}", "1:11", "an operation wants ':process', a number from 0 or :nemesis"),
    (edn(":time #{7}"), "1:45", "':time' wants a whole number"),
    ("[" * 100, "1:34", "values nested deeper than 32"),
    ("[{:type :invoke]", "1:16", "']' closes nothing that is open"),
    ("{:type :invoke :f #inst}", "1:24", "a '#' without its value"),
    ("{:type :invoke :value [#_]}", "1:26", "a '#' without its value"),
    ("{:type :invoke :value [#_ #_ 1]}", "1:31", "a '#' without its value"),
    ("{:type # :invoke}", "1:9", "a '#' without its value"),
    (EDN_CALL + "#inst", "2:6", "the file ends within a value: it was cut off"),
    ("{:type :invoke :f}", "1:18", "a map with a key, 'f', that has no value"),
    ("{:type :invoke :f", "1:18", "the file ends within a value: it was cut off"),
    ("{:a [" + "1 " * 50000 + "]}", "1:65538", "a value longer than 65536 bytes"),
    (edn(":f :release"), "1:39", "'f' twice: a map has a key once"),
    (edn(":value {:key 1 :key 2}"), "1:", "'key' twice: a map has a key once"),
    ("[] {}", "1:4", "something stands behind the end"),
    ("[" + EDN_CALL, "2:1", "the file ends within its list: it was cut off"),
    ("".join(edn(f":value [{key} nil]").replace("process 0", f"process {key}") for key in range(10002)), "1000", "more than 10000"),
    ("".join(edn("").replace("process 0", f"process {key}") for key in range(10002)), "10001:1", "more than 10000 processes at once, counted at each lock"),
    (EDN_CALL + "{:type :info :f :acquire :process 0 :time 6000}\n" + EDN_CALL.replace("5000", "7000"), "3:1", "process 0 has ended in :info, and is not heard of again"),
    (EDN_CALL + EDN_CALL, "2:1", "process 0 begins an operation within another one"),
    (EDN_OK, "1:1", "process 0 ends an operation that it has not begun"),
    ("{:process 0 :f :acquire}", "1:1", "an operation wants ':type': invoke, ok, fail or info"),
    ("{:process 0 :type :nvoke :f :acquire}", "1:19", "no operation is of ':type' 'nvoke'; did you mean 'invoke'?"),
    ("{:process 0 :type 7}", "1:19", "an operation wants ':type'"),
    ("{:process 0 :type :ok}", "1:1", "an operation wants ':f', such as acquire, release or renew"),
    ("{:process 0 :type :ok :f :steal}", "1:26", "a lock has no ':f' 'steal'; it has acquire, release and renew"),
    (edn(":tme 7"), "1:39", "an operation has no field ':tme'; did you mean ':time'?"),
    (edn(":value {:fnce 7}"), "1:46", "a ':value' has no field ':fnce'; did you mean ':fence'?"),
    (in_list("1") + in_list('"1"').replace("process 0", "process 1"), "2:46", "the key 1 is a text here, where keys were numbers"),
    (in_list("[1]"), "1:46", "the key of a lock is a text or a whole number"),
    (in_list("x" * 64), "1:46", "the key of a lock has at most 63 bytes"),
    (in_list('"\\u0000"'), "1:46", "the key of a lock is UTF-8, and has no NUL byte in it"),
    (in_list("1") + edn("").replace("process 0", "process 1"), "2:1", "':value' names no lock, and those before name theirs: [KEY VALUE], also where VALUE is nil"),
    (edn("") + in_list("1").replace("process 0", "process 1"), "2:46", "':value' names the lock 1, and those before name none: [KEY VALUE] is a lock"),
    (edn(""), "1:1", "an operation wants ':time' (ns), where there is a lease", *LEASE),
    (edn("") + edn(":time 7").replace("process 0", "process 1"), "2:45", "a ':time', and the operations before have none"),
    (edn(":time 7") + edn("").replace("process 0", "process 1"), "2:1", "an operation wants ':time', as those before have it"),
    (edn(":time 1.5"), "1:45", "':time' wants a whole number (ns; see --time-unit)"),
    (edn(":time -1"), "1:45", "':time' is -1 ns: it counts from 0"),
    (edn(":time 9000000000000000000"), "1:45", "':time' is 9000000000000000000 ns; it goes to 1000000000000000 us"),
    (edn(":time 7") + edn(":time 6").replace("process 0", "process 1"), "2:45", "':time' is 6 ns, earlier than 7 ns of the operation before: time runs forwards"),
    (EDN_CALL + EDN_OK.replace(":time", ':value "9" :time'), "2:42", "a fencing token is a whole number", "--model", "fenced-lock"),
    (EDN_CALL + EDN_OK.replace(":time", ':value 99999999999999999999 :time'), "2:42", "a fencing token has at most 64 bits", "--model", "fenced-lock"),
    ("7", "1:1", "an operation is a map"),
    ("{:process -1}", "1:11", "an operation wants ':process', a number from 0 or :nemesis"),
    (edn("").replace("process 0", "process 9"), "1:1", "process 9 follows process 5, where 4 run at once, and that one has not ended in :info", "--concurrency", "4"),
]
JSON = [(JSON_CALL.replace('"acquire"', "acquire"), f"1:{JSON_CALL.index('acquire')}", "'acquire' is no JSON"),
        (JSON_CALL.replace('"acquire"', "1/2"), f"1:{JSON_CALL.index('acquire')}", "'1/2' is no number")]
ROWS = [(form, row) for form, rows in (("picklock", OURS), ("jepsen-edn", EDN), ("jepsen-json", JSON)) for row in rows]


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """What each row is told, by its number."""
    folder, told = tmp_path_factory.mktemp("bad"), []
    for number, (form, (text, _, _, *options)) in enumerate(ROWS):
        path = folder / str(number)
        path.write_text(text)
        told.append((path, run("check", path, "--format", form, *options)))
    return told + [(None, ran) for _, _, ran in refused_pieces(folder)]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[f"{form}: {row[2][:50]}" for form, row in ROWS])
def test_it_is_refused_where_it_stands(refusals, number):
    text, place, words = ROWS[number][1][:3]
    path, ran = refusals[number]
    if "@" in place:
        line, name = place.split("@")
        place = f"{line}:{text.splitlines()[int(line) - 1].index(json.dumps(name) + ':') + 1}: "
    assert ran.status == 64 and not ran.out and f"{path}:{place}" in ran.err and words in ran.err, ran
    assert re.search(rf"^picklock: {re.escape(str(path))}:\d+:\d+: ", ran.err), ran


def sentences():
    """Of the code, that refuse something at a place: the format of each."""
    for path in sorted((ROOT / "sim" / "history").glob("*.c")):
        text = re.sub(r'"\s*(?:PRId64|PRIu64|JSON_INTEGER_FORMAT)\s*"', "d", path.read_text())
        text = re.sub(r'%"\s*PRId64', '%d"', re.sub(r'"\s+"', "", text))
        for call in re.finditer(r"\b(?:reader_refuses|reader_unknown|reader_other|form_refuse|refuse_here|check_names)\(((?:[^()]|\([^()]*\))*?)\)(?=[;\s])", text):
            if "struct" not in call[1] and re.search(r'"[^"]{4}', call[1]):
                words = re.findall(r'"((?:[^"\\]|\\.)*)"', call[1])
                yield max(words, key=len, default=""), f"{path.name}: {call[0]}"


def test_every_sentence_of_the_code_has_its_row(refusals):
    told = "\n".join(ran.err for _, ran in refusals)
    found = list(sentences())
    assert len(found) > 110
    missing = [where for words, where in found if len(words) > 8 and not words.startswith("%s")
               and not re.search(re.sub(r"%(?:\\?\.\d+)?[a-z]+", ".*", re.escape(words.replace('\\"', '"').replace("\\\\", "\\").replace("%.40s", "%s"))), told)]
    assert not missing, "\n".join(missing)
