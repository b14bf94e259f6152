"""What `make demo` says at its end: that the naive scheme was caught is the point, and nothing else is."""

import os
import signal
import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT

SCENARIO = "expired-lease-double-delete"


@pytest.mark.parametrize("naive, safe, status, says", [
    ("holds", "violated", 0, ["What was shown: the naive scheme, set-nx-ex-del, was caught",
                              "overruns of the safe scheme, set-nx-px-cad, are not a bug", "Both are on the page reports/runs/"]),
    ("violated", "violated", 2, ["Nothing was shown"]),
    ("violated", "holds", 1, ["not what the demonstration is about", "found in: set-nx-px-cad"]),
    ("holds", "holds", 1, ["not what the demonstration is about", "found in: set-nx-ex-del set-nx-px-cad"]),
])
def test_the_end_says_what_was_shown(tmp_path, naive, safe, status, says):
    """A scenario is in the place of the stress; what it expects of mutual exclusion decides who is caught."""
    text = (ROOT / "scenarios" / f"{SCENARIO}.yaml").read_text()
    (tmp_path / f"{SCENARIO}.yaml").write_text(text[:text.index("expect:")] + f"""expect:
  set-nx-ex-del: {{ mutual-exclusion: {naive}, lease-exclusion: violated, release-own: violated }}
  set-nx-px-cad: {{ mutual-exclusion: {safe} }}
""")
    stand_in = tmp_path / "stand-in"
    stand_in.write_text(f"#!/bin/sh\n[ $1 = run ] || exec '{PICKLOCK}' run --on sim {SCENARIO}.yaml\n")
    stand_in.chmod(0o755)
    done = subprocess.run([ROOT / "harness" / "demo.sh", stand_in], cwd=tmp_path, text=True, capture_output=True,
                          timeout=PATIENCE_S)
    assert done.returncode == status, done
    end = done.stdout[done.stdout.index("report: "):]
    assert all(words in end for words in says), done
    own = done.stdout[done.stdout.rindex("report: "):].splitlines()[1:] + [line for line in done.stdout.splitlines() if line.startswith("A naive")]
    assert all(len(line) <= 80 for line in own), own
    if status == 0:
        assert (tmp_path / end.split()[-1]).is_file(), done


def test_who_waits_is_told_by_time(tmp_path):
    """Whatever the command says or does not say; here it waits until that has been told twice. The seconds are short ones."""
    (tmp_path / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.01\n")
    (tmp_path / "sleep").chmod(0o755)
    still = [ROOT / "harness" / "still.sh", "sh", "-c", "read go; exit 7"]
    with subprocess.Popen(still, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}) as process:
        try:
            assert [process.stdout.readline() for _ in range(2)] == ["  still at it, 4 s\n", "  still at it, 8 s\n"]
            process.stdin.write("go\n")
            process.stdin.close()
            assert process.wait(PATIENCE_S) == 7
            process.stdout.read()  # has an end: nothing is left that would write
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    inside = subprocess.run(still, input="\n", env={**os.environ, "STILL_AT_IT": "yes"}, text=True, capture_output=True, timeout=PATIENCE_S)
    assert (inside.returncode, inside.stdout) == (7, "")
