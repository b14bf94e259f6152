"""`make install` and what comes with it: the program works from any folder, the manual pages and what a shell completes are those
of --help, and `picklock doctor` says what is missing."""

import os
import re
import shlex
import shutil
import subprocess

import pytest
from conftest import BUILD, PICKLOCK, ROOT, run
from pages import has_browser

COMMANDS = re.findall(r"^  ([a-z]+) ", run("--help").out, re.MULTILINE)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Under a prefix with a blank in its path."""
    to = tmp_path_factory.mktemp("install") / "a prefix"
    done = subprocess.run(["make", "-s", "install", f"DESTDIR={to}", "PREFIX=/usr"], cwd=ROOT, text=True, capture_output=True,
                          env={**os.environ, "BUILD": str(BUILD)} if BUILD != ROOT / "build" else None)
    assert done.returncode == 0, done.stderr
    assert not list(to.rglob("__pycache__"))
    return to / "usr"


def call(installed, *words, cwd, **more):
    return subprocess.run([installed / "bin" / "picklock", *map(str, words)], cwd=cwd, text=True, capture_output=True, timeout=120,
                          **more)


def options_of(command):
    """All that its help names in the column of the terms."""
    return {name for term in re.findall(r"^  (--.*?)(?:  |$)", run(command, "--help").out, re.MULTILINE)
            for name in re.findall(r"--[a-z-]+", term)}


def test_it_works_from_any_folder(installed, tmp_path):
    """With its own scenarios, its own libraries for the clocks of servers and of workers."""
    assert call(installed, "list", "scenarios", cwd=tmp_path).stdout.count("\n  ") > 40
    assert {path.name for path in (installed / "share" / "picklock" / "action").iterdir()} >= {"action.yml", "install.sh", "run.sh"}
    played = call(installed, "run", "--scheme", "set-nx-px-cad", cwd=tmp_path)
    assert played.returncode == 0 and " 0 not, 0 unknown" in played.stdout, played.stdout + played.stderr
    once = call(installed, "test", "--once", f"/usr/bin/python3 '{installed}/share/picklock/workers/naive_lock.py'", cwd=tmp_path)
    assert once.returncode == 0 and "A clean hand-over: as expected." in once.stdout, once.stdout + once.stderr
    assert f"{installed}/lib/picklock/picklock-time.so" in call(installed, "doctor", cwd=tmp_path).stdout.replace("\n" + 24 * " ", " ")


def test_scenarios_of_ones_own_come_first(installed, tmp_path):
    (tmp_path / "scenarios").mkdir()
    shutil.copy(ROOT / "scenarios" / "hand-over.yaml", tmp_path / "scenarios")
    listed = call(installed, "list", "scenarios", cwd=tmp_path).stdout
    assert "hand-over" in listed and "eviction" not in listed


def test_a_scheme_is_built_against_what_was_installed(installed, tmp_path):
    """As the .pc file says, but for where this copy stands."""
    pc = (installed / "share/pkgconfig/picklock.pc").read_text()
    assert "includedir=${prefix}/include/picklock\n" in pc and "Cflags: -I\"${includedir}\"\n" in pc
    source = (installed / "share/picklock/skeleton.c").read_text().replace("skeleton", "my_lock")
    (tmp_path / "my_lock.c").write_text(source)
    subprocess.run(["cc", "-std=c17", f"-I{installed}/include/picklock", "-shared", "-fPIC", "-o", "my_lock.so", "my_lock.c"],
                   cwd=tmp_path, check=True)
    searched = call(installed, "explore", "--scheme", "./my_lock.so", "--fault", "none", cwd=tmp_path)
    assert searched.returncode == 0 and "1 safe" in searched.stdout


def test_every_command_has_a_page_with_all_of_its_options(installed):
    pages = installed / "share/man/man1"
    assert {page.name for page in pages.iterdir()} == {"picklock.1"} | {f"picklock-{command}.1" for command in COMMANDS}
    overview = (pages / "picklock.1").read_text()
    for command in COMMANDS:
        assert f"picklock\\-{command} (1)" in overview
        page = (pages / f"picklock-{command}.1").read_text().replace("\\-", "-")
        assert options_of(command) <= set(re.findall(r"--[a-z-]+", page)), command
        assert ".SH EXIT STATUS" in page


def test_help_and_pages_name_what_is_there(installed, tmp_path):
    """The documents, by where they are; a page that is printed for a prefix, by where they will be."""
    named = set()
    for command in COMMANDS:
        text = call(installed, command, "--help", cwd=tmp_path).stdout.replace("\n" + 25 * " ", " ")
        page = call(installed, "man", command, cwd=tmp_path).stdout
        for words in (text, page):
            assert not re.search(r"(?<![\w/])(sim|harness|build)/", words), words
            found = set(re.findall(rf"{re.escape(str(installed))}/[\w./-]*\.md", words))
            assert all(os.path.exists(path) for path in found), found
            named |= found
        for path in re.findall(r"/usr/share/doc/[\w./-]*\.md", (installed / f"share/man/man1/picklock-{command}.1").read_text()):
            assert (installed / path.removeprefix("/usr/")).exists(), path
        assert "(sim/" not in (installed / f"share/man/man1/picklock-{command}.1").read_text()
    assert len(named) >= 3


def test_the_skeleton_names_what_is_there(installed, tmp_path):
    """Its two commands run as they stand, but for where this copy stands."""
    skeleton = (installed / "share/picklock/skeleton.c").read_text()
    build, play = re.findall(r"^ \*     (\S.*)$", skeleton, re.M)
    shutil.copy(installed / "share/picklock/skeleton.c", tmp_path / "my_lock.c")
    (tmp_path / "my_lock.c").write_text(skeleton.replace("scheme_skeleton", "scheme_my_lock"))
    for words in (build, play):
        words = [word.replace("/usr/", f"{installed}/") for word in shlex.split(words)]
        done = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, timeout=120,
                              env={**os.environ, "PATH": f"{installed}/bin:{os.environ['PATH']}"})
        assert done.returncode == 0, done
    refused = call(installed, "explore", "--scheme", "my_lock.c", cwd=tmp_path)
    again = refused.stderr.split("\n")[1]
    assert refused.returncode == 64 and subprocess.run(["sh", "-c", again], cwd=tmp_path).returncode == 0, refused


def test_uninstall_takes_what_install_put_and_nothing_else(tmp_path):
    """What was there before, and what others put there, stays."""
    to = tmp_path / "a root"
    (to / "usr/bin").mkdir(parents=True)

    def call_make(target, prefix="/usr"):
        return subprocess.run([ROOT / f"harness/{target}.sh", to, prefix], text=True, capture_output=True, env={**os.environ, "BUILD": str(BUILD)})

    (to / "usr/share").symlink_to("../elsewhere")
    (to / "elsewhere").mkdir()
    assert call_make("install").returncode == 0
    python = next(to.glob("usr/lib/python3/dist-packages/picklock"))
    subprocess.run(["/usr/bin/python3", "-m", "compileall", "-q", python], check=True)
    (to / "usr/share/picklock/scenarios/another.yaml").write_text("somebody else's\n")
    assert call_make("uninstall").returncode == 0
    left = {str(path.relative_to(to)) for path in to.rglob("*")}
    assert left == {"usr", "usr/bin", "usr/share", "elsewhere", "elsewhere/picklock", "elsewhere/picklock/scenarios", "elsewhere/picklock/scenarios/another.yaml"}
    nothing = call_make("uninstall")
    assert nothing.returncode == 69 and "put nothing here" in nothing.stderr
    shutil.rmtree(to)
    odd = "/opt/some # where"
    assert call_make("install", odd).returncode == 0
    if shutil.which("pkg-config"):
        flags, folder = (subprocess.run(["pkg-config", what, "picklock"], text=True, capture_output=True, check=True,
                                        env={**os.environ, "PKG_CONFIG_PATH": f"{to}{odd}/share/pkgconfig"}).stdout
                         for what in ("--cflags", "--variable=includedir"))
        assert shlex.split(flags) == [f"-I{odd}/include/picklock"] and folder == f"{odd}/include/picklock\n"
    skeleton = (to / odd[1:] / "share/picklock/skeleton.c").read_text()
    build, play = (shlex.split(words) for words in re.findall(r"^ \*     (\S.*)$", skeleton, re.M))
    assert f"-I{odd}/include/picklock" in build and (to / play[-1][1:]).exists()
    assert call_make("uninstall", odd).returncode == 0 and list(to.iterdir()) == []
    for target in ("install", "uninstall"):
        relative = call_make(target, "opt")
        assert relative.returncode == 64 and "PREFIX wants a path from the root" in relative.stderr


@pytest.mark.long("builds everything for a package")
@pytest.mark.skipif(not all(map(shutil.which, ("lintian", "dpkg-buildpackage", "dh"))), reason="no lintian, or no debhelper, here")
def test_the_package_pleases_lintian(tmp_path):
    made = subprocess.run([ROOT / "harness/deb.sh"], env={**os.environ, "BUILD": str(tmp_path)}, text=True, capture_output=True)
    [package] = tmp_path.glob("picklock_*.deb")
    looked = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", package], text=True, capture_output=True)
    assert looked.returncode == 0 and looked.stdout == "", (made, looked)
    inside = subprocess.run(["dpkg-deb", "-c", package], text=True, capture_output=True, check=True).stdout
    assert "./usr/bin/picklock\n" in inside and "share/picklock/installed" not in inside and "__pycache__" not in inside
    compiled = subprocess.run(["dpkg-deb", "--info", package, "postinst"], text=True, capture_output=True, check=True).stdout
    assert "py3compile" in compiled and "/usr/share" not in compiled  # it would leave __pycache__ among what people copy


def pages_of(installed):
    pages = [*(installed / "share/doc/picklock").rglob("*.md"), *(installed / "share/picklock").rglob("*.md")]
    assert len(pages) > 20
    return pages


def outside_workflows(page):
    """Those are for a copy of the tree."""
    return re.sub(r"```yaml\n(?:(?!```).)*actions/checkout.*?```", "", page.read_text(), flags=re.S)


def test_installed_documents_name_the_program_as_it_is_called_there(installed):
    """But a workflow, which builds it from a copy of the tree, calls that one: its blocks are those of the tree."""
    for page in pages_of(installed):
        for line in outside_workflows(page).splitlines():
            assert "build/picklock" not in line.replace("build/picklock_", "") or line.startswith("$ make"), (page, line)
    for name in ("README.md", "reports/README.md"):
        workflows = re.findall(r"```yaml\n.*?```", (ROOT / name).read_text(), re.S)
        assert workflows == re.findall(r"```yaml\n.*?```", (installed / "share/doc/picklock" / name).read_text(), re.S)
        assert any("build/picklock" in text for text in workflows)


def test_every_link_of_an_installed_document_goes_somewhere(installed):
    links = 0
    for page in pages_of(installed):
        for target in re.findall(r"\[[^\]\n]*\]\(([^)\s]+)\)", page.read_text()):
            if "://" not in target and not target.startswith("#"):
                assert (page.parent / target.split("#")[0]).exists(), (page, target)
                links += 1
    assert links > 100


def test_every_file_that_a_command_of_an_installed_document_names_is_there(installed):
    """As it will be named when DESTDIR is gone."""
    named = 0
    for page in pages_of(installed):
        for path in re.findall(r"(?<![\w.])/usr/(?:share|include)/picklock[\w./-]*", outside_workflows(page)):
            assert (installed / path.removeprefix("/usr/")).exists() or "NAME" in path or path.endswith("scenarios/"), (page, path)
            named += 1
        for line in outside_workflows(page).splitlines():
            if line.startswith("$ ") and not line.startswith("$ make"):
                assert not re.search(r"(?<![\w/])(sim|scenarios|harness)/[\w/]*\w\.\w", line), (page, line)
    assert named > 50


def test_the_examples_of_the_documents_run_where_they_are_installed(installed, tmp_path):
    """A history of each kind, as EXAMPLES.md calls it, and a run folder."""
    shown = re.findall(r"^## `([a-z-]+)`\n\n`picklock (check /usr[^`]*)`: ", (installed / "share/doc/picklock/sim/docs/EXAMPLES.md").read_text(), re.M)
    assert len(shown) > 20
    for cause, words in [shown[0], shown[-1]]:
        checked = call(installed, *[word.replace("/usr", str(installed)) for word in words.split()], cwd=tmp_path)
        assert checked.returncode == 1 and cause in checked.stdout, checked
    told = call(installed, "report", installed / "share/picklock/example", cwd=tmp_path)
    assert told.returncode in (0, 1) and "unlock-bug" in told.stdout, told


def test_no_page_gives_an_order_by_accident():
    """What stands at the start of a line of a page is one of our orders, or text without any."""
    for command in COMMANDS:
        for line in run("man", command).out.splitlines():
            if line.startswith((".", "'")):
                assert re.match(r"\.(TH|nh|SH|TP|PP|B|BR|I)\b", line), line
            assert not re.search(r"\\[^-e&]", line), line


def test_bash_completes_what_help_names():
    """In a real bash: commands, options, and the names that may stand behind an option."""
    script = run("completion", "bash").out
    ask = """
        answer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _picklock; echo "${COMPREPLY[*]}"; }
        answer picklock re
        answer picklock run --on ''
        answer picklock explore --fault stall,cr
        answer picklock stress --scheme set-nx-ex
        answer picklock check --json ''
        answer picklock explore --no
        answer picklock help sto
        answer picklock man stre
        answer picklock completion ''
        answer picklock check --format ''
        answer picklock convert --to ''
        answer picklock check --model o
        answer picklock explore --model ''
        answer picklock check --time-unit ''
        answer picklock stress --progress ''
        answer {picklock} run expired-lease-d
        answer {picklock} run --on sim hand-over late-gr
        answer {picklock} test 'python3 my_lock.py' late-gr
        answer {picklock} test late-gr
        answer {picklock} stress late-gr
    """.replace("{picklock}", shlex.quote(str(PICKLOCK)))
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], text=True, capture_output=True, check=True, cwd=ROOT)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "replay report", "redis sim", "stall,crash", "set-nx-ex-del set-nx-ex-get-del", "", "--no-cache --no-extend --no-reductions", "", "stress", "bash zsh fish",
        "picklock jepsen-edn jepsen-json", "knossos porcupine perfetto", "owner-mutex", "", "ns us ms s", "words json none",
        "expired-lease-double-delete", "late-grant", "late-grant", "", ""]
    for command in COMMANDS:
        words = re.search(rf"^        {command}\) words='(.*)' ;;$", script, re.MULTILINE).group(1).split()
        assert set(words) == options_of(command) | {"--help"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_what_is_printed(shell, tmp_path):
    script = run("completion", shell).out
    for command in COMMANDS:
        for option in options_of(command):
            assert option in script or f"-l {option[2:]}" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        done = subprocess.run([shell, "-n", tmp_path / "script"], text=True, capture_output=True)
        assert done.returncode == 0 and done.stderr == ""


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish_completes_scenarios():
    ask = "".join(f"complete -C '{shlex.quote(str(PICKLOCK))} {words}'; " for words in ("run late-gr", "test foo late-gr", "stress late-gr"))
    done = subprocess.run(["fish", "-c", f"{run('completion', 'fish').out}\n{ask}"], text=True, capture_output=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["late-grant", "late-grant"] and done.stderr == ""


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_zsh_completes_scenarios():
    """What it offers for them; whether it asks for them is a matter of its own _arguments."""
    script = run("completion", "zsh").out
    ask = f"""
        compdef() {{ }}; _call_program() {{ shift; "$@" }}; compadd() {{ print -l -- ${{(P)2}} }}; _files() {{ print files }}
        program={shlex.quote(str(PICKLOCK))}; _picklock_scenarios"""
    done = subprocess.run(["zsh", "-f"], input=f"compdef() {{ }}\n{script}\n{ask}\n", text=True, capture_output=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == [*run("list", "scenarios", "--names", cwd=ROOT).out.splitlines(), "files"] and done.stderr == ""
    offered = re.findall(r"^    (\w+)\)\n(?:.* \\\n)*.*'\*:scenario:_picklock_scenarios'", script, re.M)
    assert offered == ["run", "test"]


def test_wrong_words_are_refused():
    for words, said in [(["completion", "bsh"], "completion knows bash, zsh and fish, not 'bsh'; did you mean 'bash'?"),
                        (["completion"], "completion wants the name of a shell"),
                        (["man", "rnu"], "unknown command 'rnu'; did you mean 'run'?"),
                        (["man", "run", "test"], "man takes one command, not 2"),
                        (["list", "--names", "--json"], "list prints --json or --names, not both"),
                        (["doctor", "me"], "doctor takes no operand, such as 'me'")]:
        refused = run(*words)
        assert refused.status == 64 and said in refused.err and refused.out == "", refused


# --- doctor ---


def said_of(ran, subject):
    """Its line, with those that go on from it."""
    return next(line for line in ran.out.replace("\n" + 24 * " ", " ").splitlines() if line[9:].startswith(subject))


def test_doctor_finds_this_machine_fit():
    """It is: the suite runs here."""
    looked = run("doctor")
    assert looked.status == 0 and looked.err == ""
    assert said_of(looked, "redis-server").startswith("ok ")
    assert said_of(looked, "steering").startswith("ok ")
    assert f"{BUILD}/picklock-time.so" in said_of(looked, "workers' time")  # no "..", wherever it is
    for subject in ("python3", "redis", "pytest"):
        assert said_of(looked, subject + " ").startswith("ok "), looked
    assert said_of(looked, "browser").startswith("ok " if has_browser() else "- ")


@pytest.mark.parametrize("there", [[], ["chromium"], ["chromium", "chromedriver"]])
def test_doctor_says_what_tests_need(tmp_path, there):
    """One row each, of which the last has two programs: with what to install, and what is not to be had until then."""
    for name in ["python3", *there]:
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")  # imports nothing
        (tmp_path / name).chmod(0o755)
    looked = run("doctor", env={"PATH": f"{tmp_path}:/nowhere"})
    for module, package in [("redis ", "python3-redis"), ("pytest", "python3-pytest")]:
        said = said_of(looked, module)
        assert said.startswith("- ") and said.endswith(f"apt-get install {package}"), looked
    said = said_of(looked, "browser")
    assert said.startswith("ok " if len(there) == 2 else "- "), looked
    assert len(there) == 2 or f"no {'chromedriver' if there else 'chromium'}: " in said and "chromium-driver" in said, looked


def test_doctor_misses_what_is_not_there(tmp_path):
    looked = run("doctor", env={"PATH": str(tmp_path)})
    assert looked.status == 69
    assert said_of(looked, "redis-server").startswith("MISSING ") and "apt-get install redis-server" in looked.out
    assert said_of(looked, "node").startswith("- ") and "apt-get install nodejs" in looked.out


def test_doctor_tells_a_server_that_drops_the_library(tmp_path):
    """It runs, and its clock is its own: nothing but --real-time is to be had."""
    wrapper = tmp_path / "redis-server"
    wrapper.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {shutil.which("redis-server")} "$@"\n')
    wrapper.chmod(0o755)
    looked = run("doctor", "--redis-server", wrapper)
    assert looked.status == 0
    assert said_of(looked, "redis-server").startswith("ok ")
    assert said_of(looked, "steering").startswith("- ") and "--real-time" in said_of(looked, "steering")


def test_a_page_that_cannot_be_printed_is_not_installed(tmp_path):
    """A program that fails in the middle leaves no half page that looks whole."""
    fake = tmp_path / "build"
    fake.mkdir()
    for name in ("picklock-clock.so", "picklock-time.so"):
        shutil.copy(BUILD / name, fake)
    (fake / "picklock").write_text(f'#!/bin/sh\n[ "$1" != man ] || {{ echo .TH; exit 70; }}\nexec "{PICKLOCK}" "$@"\n')
    (fake / "picklock").chmod(0o755)
    done = subprocess.run([ROOT / "harness/install.sh", tmp_path / "to", "/usr"], env={**os.environ, "BUILD": str(fake)},
                          text=True, capture_output=True)
    assert done.returncode != 0
    assert not list((tmp_path / "to").rglob("*.1"))


def test_the_python_package_is_found(installed):
    """By Python, and by pytest without being named; and it finds the program on the PATH."""
    folder = next((installed / "lib").glob("python3*/dist-packages"))
    code = "import picklock, picklock.pytest_plugin; print(picklock.__file__); print(picklock.program())"
    env = {**os.environ, "PYTHONPATH": str(folder), "PATH": f"{installed}/bin:{os.environ['PATH']}"}
    done = subprocess.run(["/usr/bin/python3", "-c", code], env=env, text=True, capture_output=True, check=True)
    assert done.stdout == f"{folder}/picklock/__init__.py\n{installed}/bin/picklock\n"
    asked = subprocess.run(["/usr/bin/python3", "-m", "pytest", "--help", "-p", "no:cacheprovider"], env=env, cwd=folder, text=True,
                           capture_output=True, check=True)
    assert "--picklock-lock" in asked.stdout
