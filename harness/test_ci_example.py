"""The CI examples of README.md and of reports/README.md work as they stand: their steps are run in order, each job in a fresh
copy of the tree. Artifacts are imitated by copies that keep no links, as the real ones need not."""

import glob
import json
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
import yaml
from conftest import BUILD, PATIENCE_S, ROOT



def jobs_of(page):
    example, = [block for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S) if "jobs:" in block]
    return yaml.safe_load(example)["jobs"]


ONE_JOB = jobs_of(ROOT / "README.md")
JOBS = jobs_of(ROOT / "reports" / "README.md")
SAFE = (ROOT / "sim" / "schemes" / "skeleton.c").read_text().replace("scheme_skeleton", "scheme_my_lock").replace(
    '"skeleton"', '"my-lock"')


class Machine:
    """Where a job runs: a folder of its own, and what it shares with the others: the artifacts."""

    def __init__(self, folder, artifacts, scheme, matrix):
        self.folder, self.artifacts, self.scheme, self.matrix = folder, artifacts, scheme, matrix
        folder.mkdir()

    def text(self, words):
        words = re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda found: str(self.matrix[found[1]]), words)
        assert "${{" not in words, words
        return words

    def checkout(self, given):
        """The user's repository, which has this one in a folder picklock where the step asks for submodules; else a copy of this one."""
        tree = self.folder / "picklock" if given.get("submodules") else self.folder
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True,
                                capture_output=True, check=True).stdout
        for name in listed.split("\0"):
            if name and (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        (self.folder / "my_lock.c").write_text(self.scheme)
        # what is built is taken along, with its times: make has nothing left to do
        shutil.copytree(BUILD, tree / "build", ignore=lambda path, names: {
            name for name in names if pathlib.Path(path) == BUILD and name in ("test", "sanitised", "clang", "libfuzzer")})

    def upload(self, given):
        source = self.folder / self.text(given["path"])
        target = self.artifacts / self.text(given["name"])
        assert source.exists(), f"there is no {source} to upload"
        assert not target.exists(), f"two artifacts of the name {target.name}"
        target.mkdir(parents=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True,
                            ignore=lambda path, names: [name for name in names if (pathlib.Path(path) / name).is_symlink()])
        else:
            shutil.copy(source, target)

    def download(self, given):
        found = glob.glob(self.text(given["pattern"]), root_dir=self.artifacts)
        for name in found:
            shutil.copytree(self.artifacts / name, self.folder / given["path"] / name)

    def do(self, step):
        if "run" in step:
            done = subprocess.run(["bash", "-e", "-c", self.text(step["run"])], cwd=self.folder, text=True, capture_output=True,
                                  timeout=10 * PATIENCE_S)
            return done.returncode, done.stdout + done.stderr
        uses = {"actions/checkout": self.checkout, "actions/upload-artifact": self.upload,
                "actions/download-artifact": self.download}
        uses[step["uses"].split("@")[0]](step.get("with", {}))
        return 0, ""

    def job(self, steps):
        """(status, what it printed) of the first step that fails."""
        status, said = 0, ""
        for step in steps:
            assert step.get("if", "success()") in ("success()", "always()")
            if status and step.get("if") != "always()":
                continue
            now, printed = self.do(step)
            if now and not status:
                status, said = now, f"{step['run']}\n{printed}"
        return status, said


def played(folder, scheme, dies=()):
    """{job: [(status, what it said)]}; the shards in dies never come to their first step."""
    statuses = {}
    assert JOBS["explore"]["strategy"]["fail-fast"] is False
    for name in ("explore", "report"):
        job = JOBS[name]
        assert job.get("needs", name) in {name, *statuses}
        values = job.get("strategy", {}).get("matrix", {}).get("shard", [None])
        for value in values:
            if value not in dies:
                machine = Machine(folder / f"{name}-{value}", folder / "artifacts", scheme, {"shard": value})
                statuses.setdefault(name, []).append(machine.job(job["steps"]))
    return statuses


def report_of(folder):
    return (folder / "artifacts" / "report" / "report.html").read_text()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a tree without git: nothing to check out")
@pytest.mark.parametrize("change, status", [(None, 0), (("out_compare_and_delete(out, SERVER_ONE, lease)", "out_del(out, SERVER_ONE)"), 1)],
                         ids=["a lock that survives", "a plain DEL"])
def test_the_ten_lines_fail_for_a_broken_lock_only(tmp_path, change, status):
    scheme = SAFE.replace(*change) if change else SAFE
    (job,) = ONE_JOB.values()
    ended, said = Machine(tmp_path / "machine", tmp_path, scheme, {}).job(job["steps"])
    assert ended == status, said
    assert (status == 0) == ("unlock-bug" not in said)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a tree without git: nothing to check out")
def test_the_example_runs_from_checkout_to_report(tmp_path):
    """The skeleton believes in a grant that is told too late: its own doing. Some shards find it, the others are not cancelled."""
    played_out = played(tmp_path, SAFE)
    assert {ended for ended, _ in played_out["explore"]} == {0, 1}, played_out
    assert len(played_out["explore"]) == 4
    (ended, said), = played_out["report"]
    assert ended == 1, said
    assert "missing" not in said and "my-lock" in report_of(tmp_path)
    cases = ET.parse(tmp_path / "report-None" / "junit.xml").getroot().iter("testcase")
    assert len(list(cases)) > 15  # a case a fault


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a tree without git: nothing to check out")
@pytest.mark.long("10 s of CPU")
def test_a_shard_that_died_is_missing(tmp_path):
    (ended, _), = played(tmp_path, SAFE, dies=[3])["report"]
    assert ended in (1, 2)
    results = subprocess.run([BUILD / "picklock", "report", *glob.glob(str(tmp_path / "artifacts" / "campaign-*" / "*-explore")),
                              "--json", "-"], text=True, capture_output=True)
    assert any("3/4" in text for text in json.loads(results.stdout)["missing"]), results
