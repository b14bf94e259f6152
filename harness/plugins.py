"""What the tests of users' schemes share: a skeleton that is changed, the command that builds it, the verdicts of a row."""

import subprocess

from conftest import ROOT

SKELETON = (ROOT / "sim" / "schemes" / "skeleton.c").read_text()
SCENARIO = "scenarios/expired-lease-double-delete.yaml"


def build(folder, text, name="my_lock"):
    source = folder / f"{name}.c"
    source.write_text(text)
    made = folder / f"{name}.so"
    # The command of skeleton.c, as it stands there.
    subprocess.run(["cc", "-std=c17", "-Isim", "-shared", "-fPIC", "-o", made, source], cwd=ROOT,
                   check=True)
    return made


def mine(name="my_lock"):
    return SKELETON.replace("scheme_skeleton", f"scheme_{name}").replace('"skeleton"', '"my-lock"')
