"""The rules of the step interface, and what a scheme declares: whoever breaks one is named with his step, and gets no verdict."""

import re
import subprocess

import pytest
from conftest import ROOT, run
from plugins import SCENARIO, build, mine


# A change of the skeleton, the step that the program must name, and what it must say that it did there. After its first answer
# the skeleton is at step 1.
VIOLATIONS = {
    "a timer that is past": ("out_granted(out);", "out_sleep(out, -5);", 1, "set a timer to a time that is past"),
    "a timer that is years away": ("out_granted(out);", "out_sleep(out, SLEEP_NEVER - 1);", 1, "or years away"),
    "a server that there is not": ("out_set_nx_px(out, SERVER_ONE, lease);", "out_set_nx_px(out, 1, lease);", 0,
                                   "sent to a server that does not exist"),
    "no server at all": ("out_set_nx_px(out, SERVER_ONE, lease);", "out_set_nx_px(out, -1, lease);", 0,
                         "sent to a server that does not exist"),
    "more than an outbox holds": ("out_granted(out);", "for (int i = 0; i < 1000; i++) out_sleep(out, 1);", 1,
                                  "more at once than an outbox holds"),
    "more than a server takes": ("out_granted(out);", "for (int i = 0; i < 3; i++) out_get(out, 0);", 1,
                                 "sent more than one command at once to a server on one lane"),
    "granted twice": ("out_granted(out);", "out_granted(out); out_granted(out);", 1, 'reported "granted" when'),
    "granted as a release": ("out_compared(out, in);", "out_granted(out);", 3, 'reported "granted" when'),
    "two answers": ("out_granted(out);", "out_failed(out); out_refused(out);", 1, "a result that nobody waited for"),
    "the other one's answer": ("out_granted(out);", "out_released(out);", 1, "a result that nobody waited for"),
    "a step that there is not": ("out_granted(out);", "self->at = 77; out_granted(out); return;", None,
                                 "is at a step that its script does not know"),
    "seconds that are not whole": ("out_set_nx_px(out, SERVER_ONE, lease);", "out_set_nx_ex(out, SERVER_ONE, lease);", 0,
                                   "a time to live that its command cannot carry"),
    "an unknown command": ("out_granted(out);", "out_send(out, LANE_MAIN, 0, (struct command){.verb = 9999});", 1,
                           "used a command"),
}

# What only the explorer cannot keep.
LIMITS = {
    "a large number": ("out_granted(out);", "out_granted_with_fence(out, INT64_C(1) << 40);", 1, "a number that"),
    "a token of somebody": ("out_set_nx_px(out, SERVER_ONE, lease);", "out_setnx(out, SERVER_ONE, 17000000);", 0, "a number that"),
    "an hour": ("out_granted(out);", "out_sleep(out, INT64_C(3600000000));", 1, "a time that is too long"),
    "a key for an hour": ("out_granted(out);", "out_expire(out, SERVER_ONE, INT64_C(3600000000));", 1, "a time that is too long"),
}

WORLDS = {
    "sim": ["run", "--on", "sim", SCENARIO],
    "redis": ["run", "--on", "redis", SCENARIO],
    "explore": ["explore", "--fault", "none"],
    "random": ["explore", "--fault", "none", "--search", "random", "--runs", "20"],
    "stress": ["stress", "--duration", "2s", "--clients", "2"],
}


def breaks(tmp_path, words, piece, instead):
    text = mine().replace(piece, instead)
    assert text != mine()
    command, *rest = words
    return run(command, "--scheme", build(tmp_path, text), *rest)


def says_which(ran, step, says):
    at = "" if step is None else f" at its step {step}:"
    assert ran.status == 64 and f"the scheme 'my-lock' broke a rule{at}" in ran.err and says in ran.err, ran


@pytest.mark.parametrize("world", ["sim", "explore"])
@pytest.mark.parametrize("violation", VIOLATIONS)
def test_a_scheme_that_breaks_a_rule_is_named_with_its_step(tmp_path, world, violation):
    piece, instead, step, says = VIOLATIONS[violation]
    says_which(breaks(tmp_path, WORLDS[world], piece, instead), step, says)


@pytest.mark.parametrize("violation", ["a timer that is past", "seconds that are not whole"])
@pytest.mark.parametrize("world", ["redis", "stress", "random"])
def test_in_every_world(tmp_path, world, violation):
    piece, instead, step, says = VIOLATIONS[violation]
    says_which(breaks(tmp_path, WORLDS[world], piece, instead), step, says)


@pytest.mark.parametrize("ttl", ["lease->ttl_us / 1000", "lease->ttl_us - 1"])
def test_milliseconds_that_are_not_whole(tmp_path, ttl):
    """The explorer's lease is a few ticks, of which it may be any part: there it is told what becomes of the key."""
    own = "struct lease own = *lease; own.ttl_us = %s; out_set_nx_px(out, SERVER_ONE, &own);" % ttl
    for world in ("sim", "redis"):
        says_which(breaks(tmp_path, WORLDS[world], "out_set_nx_px(out, SERVER_ONE, lease);", own), 0, "cannot carry")


@pytest.mark.parametrize("limit", LIMITS)
def test_what_the_explorer_cannot_keep_is_said(tmp_path, limit):
    piece, instead, step, says = LIMITS[limit]
    says_which(breaks(tmp_path, WORLDS["explore"], piece, instead), step, says)


def test_a_timer_of_no_time_rings_at_once(tmp_path, picklock):
    """A rest of 0 before the answer: the same lock."""
    text = mine().replace("out_granted(out);", "out_sleep(out, 0);\n    AWAIT(self, RESTED);\n    out_granted(out);")
    text = text.replace("ASKED, HELD", "ASKED, RESTED, HELD")
    ran = picklock("explore", "--scheme", f"{build(tmp_path, text)},set-nx-px-cad", "--fault", "none,stall", "--json", "-")
    found = {}
    for row in ran.rows:
        found.setdefault(row["scheme"], {})[row["fault"], row["property"]] = row["verdict"]
    assert found["my-lock"] == found["set-nx-px-cad"]


# --- what a scheme declares is looked at by the explorer, which relies on it ---

SCHEMES = ROOT / "sim" / "schemes"
# Those whose step function stands in another file.
PARTS = {"set_nx_px_cad_weak_token": ["set_nx_px_cad"], "stamp_getset_inverted": ["stamp_getset"]}
BUILT_IN = sorted(path.stem for path in SCHEMES.glob("*.c") if path.stem not in ("schemes", "outbox", "skeleton"))


def as_plugin(folder, scheme, *changes):
    """A scheme of the table as a user's, with changes."""
    text = re.sub(r'\.name = "[^"]*"', '.name = "my-lock"', (SCHEMES / f"{scheme}.c").read_text(), count=1)
    text = text.replace(f"const struct scheme scheme_{scheme} =", "const struct scheme scheme_my_lock =", 1)
    for piece, instead in changes:
        assert piece in text, piece
        text = text.replace(piece, instead)
    (folder / "my_lock.c").write_text(text)
    made = folder / "my_lock.so"
    subprocess.run(["cc", "-std=c17", "-w", "-Isim", "-shared", "-fPIC", "-o", made, folder / "my_lock.c",
                    *(SCHEMES / f"{part}.c" for part in PARTS.get(scheme, []))], cwd=ROOT, check=True)
    return made


@pytest.mark.parametrize("scheme", BUILT_IN)
def test_a_scheme_that_is_what_it_declares_is_not_refused(tmp_path, scheme):
    ran = run("explore", "--scheme", as_plugin(tmp_path, scheme), "--fault", "none,stall,client-clock+lose-reply",
              "--states", "60000")
    assert ran.status in (0, 1, 2) and "broke a rule" not in ran.err, ran


RELEASES = "out_compare_and_delete(out, SERVER_ONE, lease);"
STATE = "    int64_t at; /* enum step */\n"
FIELDS = "fields[] = {FIELD_STEP}"
REMEMBERS = (STATE, STATE + "    int64_t since;\n")
# Scheme, changes, and what the explorer must say of them.
DECLARED = {
    "an instant as a count": ("watchdog_guarded", [("FIELD_TIME", "FIELD_COUNT")], "is declared FIELD_COUNT and keeps an instant of the clock"),
    "an instant as a value": ("redlock", [("FIELD_TIME", "FIELD_VALUE")], "is declared FIELD_VALUE and keeps an instant of the clock"),
    "a count as an instant": ("redlock", [("FIELD_COUNT", "FIELD_TIME")], "is declared FIELD_TIME and keeps what does not move"),
    "a token as an instant": ("skeleton", [REMEMBERS, (FIELDS, "fields[] = {FIELD_STEP, FIELD_TIME}"),
                                           ("out_granted(out);", "self->since = lease->token;\n    out_granted(out);")],
                              "is declared FIELD_TIME and keeps what does not move"),
    "seconds as a count": ("skeleton", [REMEMBERS, (FIELDS, "fields[] = {FIELD_STEP, FIELD_COUNT}"),
                                        ("out_granted(out);", "self->since = in->now_us / 1000000;\n    out_granted(out);")],
                           "field 1 of .fields, counted from 0, is declared FIELD_COUNT and keeps an instant in a unit of its own"),
    "the time of day": ("skeleton", [("out_granted(out);", "if (in->now_us / 1000000 % 2) out_granted(out); else out_refused(out);")],
                        "behaves differently when the clock shows another time"),
    "a static variable": ("skeleton", [("out_granted(out);", "static int turns;\n    if (turns++ % 2) out_granted(out); else out_refused(out);")],
                          "remembers something outside its state"),
    "servers that are not alike": ("redlock", [("    SCRIPT(self);", "    if (in->kind == MOMENT_REPLY && in->server == 1 && self->at == 1) out_sleep(out, 1);\n    SCRIPT(self);")],
                                   "declares .is_even_handed, but does not do the same with every server"),
}


@pytest.mark.parametrize("what", DECLARED)
def test_a_wrong_declaration_is_the_schemes_own_fault(tmp_path, what):
    """It was called a defect of picklock: the explorer's ways led nowhere in the real world."""
    scheme, changes, says = DECLARED[what]
    ran = run("explore", "--scheme", as_plugin(tmp_path, scheme, *changes), "--fault", "none,stall", "--states", "60000")
    assert ran.status == 64 and "the scheme 'my-lock' broke a rule at its step" in ran.err and says in ran.err, ran
    assert "defect" not in ran.err, ran


def test_a_field_of_no_kind_is_refused(tmp_path):
    made = as_plugin(tmp_path, "redlock", ("FIELD_TIME", "(enum scheme_field)77"))
    ran = run("explore", "--scheme", made, "--fault", "none")
    assert ran.status == 64 and "a field of an unknown kind" in ran.err, ran


@pytest.mark.parametrize("fence, status", [(255, 0), (256, 0), (65535, 0), (65536, 64), (-1, 64)])
def test_a_fence_of_any_size_is_judged_or_refused(tmp_path, fence, status):
    text = mine().replace("out_granted(out);", f"out_granted_with_fence(out, {fence});")
    ran = run("explore", "--scheme", build(tmp_path, text), "--fault", "none", "--section", "write", "--json", "-", "--fail-on", "never")
    assert ran.status == status, ran
    if status:
        assert "a fence that is not 0 to 65535" in ran.err
    else:  # the same one for every grant
        assert {row["cause"] for row in ran.rows if row["property"] == "fence-order"} == {"fence-disorder"}
