"""Results that nobody can be told are none: a standard output that is full, closed, or whose reader has gone."""

import subprocess

import pytest
from conftest import PATIENCE_S, PICKLOCK, ROOT, run

ONE = "scenarios/expired-lease-double-delete.yaml"
REFUSED = "standard output: cannot be written"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("run")
    ran = run("run", "--on", "sim", ONE, "--out", out)
    assert ran.status == 0, ran
    return out / "latest"


COMMANDS = {
    "--help": ["--help"],
    "--version": ["--version"],
    "list": ["list"],
    "list --json": ["list", "--json"],
    "run --help": ["run", "--help"],
    "run": ["run", "--on", "sim", ONE, "--out", "TMP"],
    "run --json -": ["run", "--on", "sim", ONE, "--out", "TMP", "--json", "-"],
    "explore": ["explore", "--scheme", "setnx-del", "--fault", "none"],
    "explore --witness": ["explore", "--scheme", "setnx-del", "--fault", "resend", "--witness"],
    "explore --frontier": ["explore", "--scheme", "setnx-del", "--fault", "none", "--frontier"],
    "stress": ["stress", "--scheme", "set-nx-px-cad", "--clients", "2", "--duration", "20ms", "--no-faults", "--out", "TMP"],
    "replay": ["replay", "--on", "sim", "SCHEDULE", "--out", "TMP"],
    "check": ["check", "HISTORY"],
    "check --json -": ["check", "HISTORY", "--json", "-"],
    "report": ["report", "FOLDER"],
    "report --timeline": ["report", "FOLDER", "--timeline"],
    "report --markdown -": ["report", "FOLDER", "--markdown", "-"],
    "proxy": ["proxy"],
}


def words_of(name, folder, tmp_path):
    places = {"TMP": tmp_path, "FOLDER": folder,  # an overrun, which is no failure
              "SCHEDULE": folder / "schedules" / "expired-lease-double-delete-set-nx-px-cad.schedule",
              "HISTORY": folder / "histories" / "expired-lease-double-delete-set-nx-px-cad.jsonl"}
    return [PICKLOCK, *(str(places.get(word, word)) for word in COMMANDS[name])]


@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_cannot_be_told_is_a_failure(name, where, folder, tmp_path):
    words = words_of(name, folder, tmp_path)
    done = subprocess.run(["sh", "-c", f'"$@" {where}', "sh", *words], cwd=ROOT, text=True,
                          capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 70 and REFUSED in done.stderr, done


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "proxy"])
def test_what_is_told_is_no_failure(name, folder, tmp_path):
    """Neither a closed stdin nor a closed stderr keeps a result from being told."""
    words = words_of(name, folder, tmp_path)
    done = subprocess.run(["sh", "-c", '"$@" <&- 2>&-', "sh", *words], cwd=ROOT, text=True,
                          capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0 and done.stdout, done


def test_a_file_never_takes_the_place_of_a_closed_output(tmp_path):
    """With stdout closed, the first file that is opened would be it: what is printed would stand in results.json."""
    done = subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "sh", PICKLOCK, "run", "--on", "sim", ONE, "--json",
                           tmp_path / "it.json", "--out", tmp_path / "runs"], cwd=ROOT, timeout=PATIENCE_S)
    assert done.returncode == 70
    kept = run("report", tmp_path / "runs" / "latest", "--json", "-")
    assert kept.status == 0, kept
    assert (tmp_path / "it.json").read_text().startswith("{")
    assert "picklock" not in (tmp_path / "it.json").read_text().split("}")[-1]


def test_a_reader_that_has_gone(tmp_path):
    """`picklock run | true`: the report is on the disk, and the status is not that of a verdict."""
    done = subprocess.run(["bash", "-c", '"$@" | true; exit "${PIPESTATUS[0]}"', "bash", PICKLOCK, "run", "--on",
                           "sim", "--out", tmp_path], cwd=ROOT, text=True, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 70 and REFUSED in done.stderr, done
    assert (tmp_path / "latest" / "results.json").exists()


@pytest.mark.parametrize("words", [["--no-faults", "--crash", "30%"], ["--crash", "30%", "--no-faults"]])
def test_a_rate_that_is_said_stands_beside_no_faults(tmp_path, words):
    ran = run("stress", "--scheme", "set-nx-px-cad", "--clients", "4", "--duration", "300ms", "--seed", "1",
              "--out", tmp_path, "--json", "-", *words)
    assert ran.status in (0, 1, 2), ran  # 2: of so few crashes none need strike inside a hold
    assert ran.rows[0]["faults"] > 0, ran
    said = " ".join(ran.err.split())
    assert "30.00% of operations crash" in said and "0.00% of sections stall" in said, ran.err


def test_no_faults_alone_means_none(tmp_path):
    ran = run("stress", "--scheme", "set-nx-px-cad", "--clients", "4", "--duration", "300ms", "--seed", "1",
              "--out", tmp_path, "--json", "-", "--no-faults")
    assert ran.status == 0 and ran.rows[0]["faults"] == 0, ran


def exclusions(ran):
    return {p["verdict"] for p in ran.json["results"][0]["properties"] if p["property"].endswith("-exclusion")}


@pytest.mark.parametrize("rates, status, verdict", [(["--no-faults"], 0, {"holds"}),
                                                    (["--no-faults", "--crash", "0.0001%"], 2, {"unknown"}),
                                                    (["--no-faults", "--lose-reply", "100%"], 2, {"unknown"})])
def test_stress_that_struck_no_hold_has_found_nothing(tmp_path, rates, status, verdict):
    """Nobody wanted a fault; of a rate so small none strikes; and nobody is granted anything, whose keys stay behind."""
    ran = run("stress", "--scheme", "set-nx-px-cad", "--clients", "4", "--duration", "500ms", "--timeout", "5s" if status == 0
              else "100ms", "--out", tmp_path, "--json", "-", *rates)
    assert ran.status == status and exclusions(ran) == verdict, ran
    shown = run("report", tmp_path / "latest")
    assert shown.status == status, shown
    assert ("without any fault" in shown.out) == (ran.rows[0]["faults"] == 0), shown


def test_a_report_that_could_not_be_put_anywhere_is_told_before_any_work(tmp_path):
    """And no empty folder is left; one below the folder that the run makes can be put."""
    refused = run("run", "--on", "sim", ONE, "--out", tmp_path / "runs", "--json", tmp_path / "no folder/results.json")
    assert refused.status == 64 and refused.out == "" and "results.json: cannot be written: No such file" in refused.err, refused
    assert not list((tmp_path / "runs").iterdir())
    assert run("run", "--on", "sim", ONE, "--out", tmp_path / "new", "--json", tmp_path / "new/results.json").status == 0
    assert (tmp_path / "new/results.json").exists()
