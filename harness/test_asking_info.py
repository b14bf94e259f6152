"""In a search by asking, what INFO tells a new connection is what it told the first one; on one that is in use the server is asked."""

import collections

from workers import PLAIN, PYTHON, RUN

# Writes down, for its process, what INFO tells it: as it begins, and behind its SET.
TELLS = PLAIN + """
import hashlib

class Worker(Worker):
    def init(self, settings):
        super().init(settings)
        self.tell("new")

    def tell(self, when):
        told = hashlib.sha256(self.ask("INFO", "stats")).hexdigest()
        with open(%r, "a") as file:
            file.write(f"{os.getpid()} {when} {told}\\n")

    def acquire(self, wait_ms):
        is_granted = super().acquire(wait_ms)
        self.tell("used")
        return is_granted

    def close(self):
        self.socket.close()
"""


def test_a_new_connection_is_told_what_the_first_one_was(picklock, tmp_path):
    path, told = tmp_path / "lock.py", tmp_path / "told"
    path.write_text(TELLS % str(told) + RUN)
    ran = picklock("explore", "--worker", f"{PYTHON} -B {path}", "--fault", "none", "--no-cache", timeout=300)
    assert "Decided by asking once" in " ".join(ran.out.split()), ran
    processes = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in told.read_text().splitlines():
        pid, when, text = line.split()
        processes[pid][when].append(text)
    asked = max(processes.values(), key=lambda process: len(process["new"]))
    assert len(asked["new"]) > 10 and len(set(asked["new"])) == 1, processes
    assert len(set(asked["used"])) > 1 and not set(asked["used"]) & set(asked["new"]), processes
