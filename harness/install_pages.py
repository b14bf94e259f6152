#!/usr/bin/env python3
"""install_pages.py TO PREFIX: what is read of picklock, and what its documents speak of, in TO (the prefix, staged), as `make install` puts it
there. Documents lie in share/doc/picklock as they lie here, so they point at each other. They name the program, and every file that is
installed, by where it will be under PREFIX; a link to a file that is not is text. Standard library only."""

import glob
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = "share/doc/picklock"
SHARE = "share/picklock"

# A file of the tree (a pattern), and the folder below SHARE where it goes.
PLACES = [
    ("scenarios/*.yaml", "scenarios"),
    ("reports/*.schema.json", "schemas"),
    ("sim/worker/*.schema.json", "schemas"),
    ("sim/worker/examples/*.*", "workers"),
    ("sim/worker/java/*", "workers/java"),
    ("sim/worker/go/*", "workers/go"),
    ("sim/schemes/skeleton.c", ""),
    ("sim/test/history1/*.jsonl", "histories/history1"),
    ("sim/test/history2/*.jsonl", "histories/history2"),
    ("sim/test/seeds/jepsen/*", "histories/jepsen"),
    ("harness/campaign.sh", ""),
    ("harness/action/*.*", "action"),
    ("reports/example/**", "example"),
]


def installed_files():
    """{path in the tree: path below the prefix}."""
    found = {}
    for pattern, folder in PLACES:
        base = pattern.split("*")[0]
        for path in glob.glob(pattern, root_dir=ROOT, recursive=True):
            if (ROOT / path).is_file():
                below = os.path.relpath(path, base) if "**" in pattern else os.path.basename(path)
                found[path] = os.path.normpath(f"{SHARE}/{folder}/{below}")
    return found


def installed_folders():
    """{folder in the tree: folder below the prefix}, without a slash behind it; only those that are installed as they are."""
    return {pattern.split("*")[0].rstrip("/"): f"{SHARE}/{folder}" for pattern, folder in PLACES
            if pattern.endswith(("/*", "/**", "/*.*", "/*.yaml", "/*.jsonl"))}


class Pages:
    def __init__(self, prefix):
        self.prefix = re.sub(r"[^\w@%+=:,./-]", r"\\\g<0>", prefix)  # as a shell wants it, in quotes of its commands, too
        self.files = installed_files()
        self.folders = installed_folders()
        found = [ROOT / "README.md", *(path for top in ("sim", "scenarios", "reports") for path in (ROOT / top).rglob("*.md") if ROOT / "reports/runs" not in path.parents)]
        self.pages = {str(path.relative_to(ROOT)) for path in found} | {path for path in self.files if path.endswith(".md")}
        self.where = {**{page: f"{DOCUMENTS}/{page}" for page in self.pages}, **self.files}
        tops = "|".join(sorted({re.escape(path.split("/")[0]) for path in self.files}))
        self.path = re.compile(rf"(?<![\w./-])(?:{tops})/[\w./*-]*")

    def place(self, path):
        """Below the prefix, of a path in the tree that a text may name; None: it is not installed."""
        folder, _, name = path.rpartition("/")
        if path in self.files:
            return self.files[path]
        if folder in self.folders and (not name or re.match(r"(\*|NAME)\.", name)):  # scenarios/, scenarios/*.yaml, scenarios/NAME.yaml
            return f"{self.folders[folder]}/{name}"
        return None

    def named(self, found):
        """A path in a text, as it is named there; a full stop behind it is not its own."""
        path = found[0].rstrip(".")
        place = self.place(path)
        return f"{self.prefix}/{place}{found[0][len(path):]}" if place else found[0]

    def link(self, page, found):
        text, target = found[1], found[2]
        if "://" in target or target.startswith("#"):
            return found[0]
        path, mark, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), path))
        place = self.where.get(path) or self.where.get(f"{path}/README.md")
        return f"[{text}]({os.path.relpath(place, os.path.dirname(self.where[page]))}{mark}{anchor})" if place else text

    def line(self, page, line):
        if line.startswith("$ make"):  # of the tree
            return line
        line = re.sub(r"`picklock` stands for `build/picklock`[^.]*\. *", "", line)
        line = re.sub(r"(?:picklock/)?build/picklock(?!_)", "picklock", line)
        line = line.replace("cc -std=c17 -Isim ", f"cc -std=c17 -I{self.prefix}/include/picklock ")
        link = r"\[([^\]\n]*)\]\(([^)\s]+)\)"
        out, end = [], 0
        for found in re.finditer(link, line):
            out += [self.named_in(page, line[end:found.start()]), self.link(page, found)]
            end = found.end()
        return "".join(out) + self.named_in(page, line[end:])

    def named_in(self, page, text):
        """A heading, and a page about a folder of the sources, speak of the tree; but for commands."""
        if text.startswith("# ") or re.fullmatch(r"sim/(.*/)?README.md", page) and not text.startswith("$ "):
            return text
        return self.path.sub(self.named, text)

    def text(self, page):
        """A workflow is for a copy of the tree, and stays as it is."""
        out, is_workflow = [], False
        lines = (ROOT / page).read_text().split("\n")
        for number, line in enumerate(lines):
            if line.startswith("```"):
                block = lines[number + 1:lines.index("```", number + 1)] if line == "```yaml" else []
                is_workflow = any("actions/checkout" in other for other in block)
            out.append(line if is_workflow else self.line(page, line))
        return "\n".join(out)


def put(source, target, mode):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def put_scheme(pages, source, target):
    """The commands in its comment are those of where it is; what it says of the source tree is not."""
    lines = source.read_text().split("\n")
    target.write_text("\n".join(pages.line("", line) if line.startswith(" *     ") else line for line in lines))


def main():
    os.umask(0o022)
    to, prefix = pathlib.Path(sys.argv[1]), sys.argv[2].rstrip("/")
    pages = Pages(prefix)
    for path, place in sorted(pages.files.items()):
        put(ROOT / path, to / place, 0o755 if path.startswith("harness/") and path.endswith((".sh", ".py")) else 0o644)
    put_scheme(pages, ROOT / "sim/schemes/skeleton.c", to / SHARE / "skeleton.c")
    for page in sorted(pages.pages):
        target = to / pages.where[page]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(pages.text(page))
        target.chmod(0o644)


if __name__ == "__main__":
    main()
