"""beginning_worker.py - a lock whose token tells when, by both clocks, and how its process began. Standard library only."""

import os
import time

import picklock_worker
from scheme_worker import TOKEN, SetNxPxCad

BEGAN_NS, BEGAN_AT_NS, DRAWN = time.monotonic_ns(), time.time_ns(), os.urandom(8).hex()


class Beginning(SetNxPxCad):
    promises = TOKEN

    def draw(self):
        self.token = f"{time.monotonic_ns() - BEGAN_NS} {time.time_ns() - BEGAN_AT_NS} {DRAWN} {os.urandom(4).hex()}"


picklock_worker.run(Beginning)
