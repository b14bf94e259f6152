#!/usr/bin/python3
"""How many small slips in the schemes does `picklock explore` notice? A line of a scheme is changed, the scheme is built as a
plugin, and its cells at the default bounds are held against the original's:
noticed is what is violated, and was not, or for another cause.

Whoever survives must stand here with the reason. `make mutations`; `--sample N` takes N of them, as CI does. Fewer noticed than
harness/mutations.txt says of all is a failure as well, so that a reason does not take a slip's place unseen. mutations_checks.py
does the same for the checks."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve() / "picklock"
COUNTS = ROOT / "harness" / "mutations.txt"
SCHEMES = ROOT / "sim" / "schemes"

SAME = "the same lock: "
UNSEEN = "not seen: "

# scheme, a piece of its source, what stands there instead, and why it survives (None: it must be noticed).
SLIPS = [
    ("set_nx_px_cad", "out_set_nx_px(out, SERVER_ONE, lease);", "out_setnx(out, SERVER_ONE, lease->token);", None),
    ("set_nx_px_cad", "if (!moment_is_ok(in)) {", "if (in->kind == MOMENT_LOST) {", None),
    ("set_nx_px_cad", "out_no_set(out, in);", "out_failed(out);", None),
    ("set_nx_px_cad", "out_no_set(out, in);", "out_refused(out);", None),
    ("set_nx_px_cad", "out_compare_and_delete(out, SERVER_ONE, lease);", "out_del(out, SERVER_ONE);", None),
    ("set_nx_px_cad", "out_compared(out, in);", "out_released(out);", None),
    ("set_nx_px_cad", "out_compared(out, in);", "out_not_mine(out);", None),
    ("set_nx_px_cad", "out_compared(out, in);", "out_failed(out);",
     UNSEEN + "a release that succeeds may say \"failed\": truthful is about \"refused\" and \"not mine\""),
    ("set_nx_px_cad", "out_compare_and_delete(out, SERVER_ONE, lease);\n    AWAIT(self, COMPARED);",
     "AWAIT(self, COMPARED);", None),
    ("setnx_expire_del", "if (!moment_is_integer(in, 1)) {", "if (!moment_is_reply(in, REPLY_INTEGER)) {", None),
    ("setnx_expire_del", "out_del(out, SERVER_ONE);", "out_get(out, SERVER_ONE);", None),
    ("multi_setnx_expire_del", "if (in->reply.value != 1) {", "if (in->reply.value == 1) {", None),
    ("lua_setnx_expire_del", "if (!moment_is_integer(in, 1)) {", "if (moment_is_integer(in, 0)) {", None),
    ("set_nx_ex_get_del", "in->reply.value != lease->token", "in->reply.value == lease->token", None),
    ("stamp_del_setnx", "out_del(out, SERVER_ONE);", "out_get(out, SERVER_ONE);", None),
    ("watch_multi_del", "if (!moment_is_value(in, lease->token)) {", "if (moment_is_nil(in)) {", None),
    ("watch_multi_del", ".verb = VERB_WATCH}", ".verb = VERB_UNWATCH}", None),
    ("watch_multi_del", "in->reply.value == 1", "in->reply.value >= 0",
     SAME + "a watched key that was mine cannot be gone when EXEC runs"),
    ("redlock", "return servers > lease->servers / 2;", "return servers >= lease->servers / 2;", None),
    ("redlock", "return servers > lease->servers / 2;", "return servers > lease->servers / 2 + 1;",
     UNSEEN + "as exclusive, and less available: no property asks how many servers may be missing"),
    ("redlock", "- (now_us - self->asked_us)", "", None),
    ("redlock", "|| !redlock_is_valid(self, lease, in->now_us)", "", None),
    ("redlock", "drift_us = lease->ttl_us / 100 + 2 * lease->unit_us", "drift_us = 0",
     UNSEEN + "clocks jump, but none runs faster than another"),
    ("redlock", "- drift_us > 0;", "- drift_us >= 0;", SAME + "at ticks, of which the drift is a part"),
    ("redlock", "server++)\n        out_compare_and_delete", "server += 2)\n        out_compare_and_delete", None),
    ("fenced", "in->reply.value <= 0", "in->reply.value < 0", SAME + "no fence is 0"),
    ("watchdog", "lease->ttl_us / 3", "lease->ttl_us", None),
    ("watchdog", "lease->ttl_us / 3", "lease->ttl_us / 2",
     UNSEEN + "the margin of a renewal: at three ticks a half is rounded up, and one lost renewal is two faults"),
    ("watchdog", "out_compare_and_expire(out, LANE_RENEW, SERVER_ONE, lease);",
     "out_send(out, LANE_RENEW, SERVER_ONE, (struct command){.verb = VERB_PEXPIRE, .ttl_us = lease->ttl_us});", None),
    ("watchdog", "out_sleep(out, SLEEP_NEVER);\n        SCRIPT_RETURN", "SCRIPT_RETURN",
     SAME + "a script that is over does nothing when its timer rings"),
    ("watchdog_guarded", "if (in->now_us >= self->ends_us)\n        return false;", "", None),
    ("watchdog_guarded", "if (in->now_us >= self->ends_us) {\n        out_comp", "if (false) {\n        out_comp", None),
    ("watchdog_guarded", "self->is_renewing = 0;", "", None),
    ("watchdog_guarded", "self->ends_us = self->asked_us + lease->ttl_us;", "self->ends_us = in->now_us + lease->ttl_us;",
     UNSEEN + "takes three faults: slow-work+late-reply+lose-request"),
    ("watchdog_guarded", "left_us < third_us ? left_us : third_us", "third_us",
     UNSEEN + "at three ticks a third is one; --lease-ticks 6 --fault slow-work+late-reply shows it"),
    ("watchdog_guarded", "if (moment_is_integer(in, 0))\n            return false;", "",
     SAME + "the loss is told later, but by the end of the lease"),
    ("watchdog_guarded", "out_sleep(out, SLEEP_NEVER);\n            out_lost", "out_lost",
     SAME + "a script that is over does nothing when its timer rings"),
    ("watchdog_guarded", "    out_sleep(out, SLEEP_NEVER);\n    out_compare_and_delete", "    out_compare_and_delete",
     SAME + "the timer is not listened to while it releases"),
    ("watchdog_guarded", "&& self->is_renewing == 0", "",
     UNSEEN + "two renewals under way are told apart only when one of them is late and another lost"),
]


@functools.cache
def explored(scheme, fault):
    """{(fault, property): (verdict, cause)}; a text: it tripped, and how."""
    done = subprocess.run([PROGRAM, "explore", "--scheme", scheme, "--fault", fault, "--json", "-"], cwd=ROOT, text=True,
                          capture_output=True)
    if not done.stdout:
        return done.stderr.strip().splitlines()[-1]
    return {(row["fault"], found["property"]): (found["verdict"], found["cause"])
            for row in json.loads(done.stdout)["results"] for found in row["properties"]}


def name_of(text):
    return re.search(r'\.name = "([^"]*)"', text)[1]


def built(folder, number, scheme, piece, instead):
    """The changed scheme as a plugin; None: that piece of its source is not there (once) any more."""
    text = (SCHEMES / f"{scheme}.c").read_text()
    if piece not in text:
        return None
    name = f"slip_{number}"
    text = text.replace(piece, instead, 1).replace(f"scheme_{scheme} =", f"scheme_{name} =")
    text = text.replace(f"{scheme}_step(", f"{name}_step(").replace(f"= {scheme}_step", f"= {name}_step")
    text = text.replace(f'.name = "{name_of(text)}"', f'.name = "{name}"', 1)
    source = folder / f"{name}.c"
    source.write_text(text)
    subprocess.run(["cc", "-std=c17", "-w", "-Isim", "-shared", "-fPIC", "-o", source.with_suffix(".so"), source],
                   cwd=ROOT, check=True)
    return source.with_suffix(".so")


def faults():
    listed = subprocess.run([PROGRAM, "list", "faults", "--json"], text=True, check=True, capture_output=True)
    return ["none"] + [fault["name"] for fault in json.loads(listed.stdout)["faults"] if fault["schemes"]]


def noticed(original, changed, all_faults):
    """The first cell that is worse, in words; None: none is. No further fault is searched than that."""
    for fault in all_faults:
        after = explored(changed, fault)
        if isinstance(after, str):
            if isinstance(explored(original, fault), str):
                continue
            return f"trips: {after}"
        bad = [cell for cell in sorted(after) if after[cell][0] == "violated"]
        before = explored(original, fault) if bad else {}
        for cell in bad:
            if before[cell] != after[cell]:
                return f"{' '.join(cell)}: {' '.join(map(str, before[cell]))} -> {' '.join(map(str, after[cell]))}"
    return None


def judge(folder, all_faults, number):
    """(as it should be, was noticed, a line that says what happened)"""
    scheme, piece, instead, reason = SLIPS[number]
    plugin = built(folder, number, scheme, piece, instead)
    words = f"{scheme}: {' '.join(piece.split())}  ->  {' '.join(instead.split()) or 'nothing'}"
    if not plugin:
        return False, False, f"STALE     {words}\n          that line is not there any more"
    found = noticed(name_of((SCHEMES / f"{scheme}.c").read_text()), str(plugin), all_faults)
    if found:
        return reason is None, True, f"noticed   {words}\n          {found}"
    return reason is not None, False, f"{'survives ' if reason else 'SURVIVES '} {words}\n          {reason or 'why?'}"


def main():
    parser = argparse.ArgumentParser(description="Which slips in the schemes does the explorer notice?")
    parser.add_argument("--sample", type=int, default=len(SLIPS))
    sample = parser.parse_args().sample
    numbers = sorted(range(len(SLIPS)), key=lambda number: hashlib.sha256(repr(SLIPS[number]).encode()).hexdigest())[:sample]
    all_faults = faults()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda number: judge(pathlib.Path(folder), all_faults, number), numbers))
    for _, _, line in results:
        print(line)
    unseen = sum(1 for number in numbers if (SLIPS[number][3] or "").startswith(UNSEEN))
    must = sum(1 for slip in SLIPS if slip[3] is None)
    wanted = int(re.search(r"^schemes\s+(\d+)", COUNTS.read_text(), re.M)[1])
    print(f"\nschemes: {len(numbers)} of {len(SLIPS)} slips: {sum(seen for _, seen, _ in results)} noticed, {unseen} known not to be "
          f"seen; of all {must} must be noticed, at least {wanted} (harness/mutations.txt)")
    return 0 if must >= wanted and all(good for good, _, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
