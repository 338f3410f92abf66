#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files that `cmake --install` lays out work from where they were put, with their manual pages,
which are those of these programs. The demo and `./dev build --installed` build all of it; from
nothing that is done only where GPUAAS_TEST_FULL is set, for it takes minutes."""

import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile

from lib import harness
from lib.harness import expect

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DOCS = os.path.join(ROOT, "docs")
BUILD_SECONDS = 3000


def installed(build, prefix):
    harness.run(["cmake", "--install", build.folder, "--prefix", prefix],
                build.environment(preload=False))


def test_installed_programs(build):
    with tempfile.TemporaryDirectory() as prefix:
        installed(build, prefix)
        pages = {os.path.basename(path) for path in glob.glob(prefix + "/share/man/man*/*")}
        expect(pages == {"gpuaas.1", "gpuaasctl.1", "gpuaasd.8", "gpuaasd.conf.5"},
               f"pages: {pages}")
        program = os.path.join(prefix, "bin", "gpuaasd")
        with harness.serving(build, program=program) as server:
            command = [os.path.join(prefix, "bin", "gpuaas"), "run", "--servers", server.address,
                       "--", build.program("vector_add")]
            harness.run_passing(command, build.environment())


def files_below(folder):
    """Their paths from there on."""
    return {os.path.relpath(os.path.join(at, name), folder)
            for at, _, names in os.walk(folder) for name in names}


def titles(page):
    """Anchors of its titles, as GitHub makes them."""
    with open(page, encoding="utf-8") as file:
        return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
                for title in re.findall(r"(?m)^#+ (.*)$", file.read())}


def test_links_of_installed_pages(build):
    """Each leads to a file that is installed, and to a title in it; so do those of the README."""
    with tempfile.TemporaryDirectory() as prefix:
        installed(build, prefix)
        doc = os.path.join(prefix, "share", "doc", "gpuaas")
        pages = {path for path in files_below(doc) if path.endswith(".md")}
        expect({"README.md", "SECURITY.md", "docs/errors.md", "softgpu/README.md"} < pages,
               f"pages: {pages}")
        for page in pages:
            with open(os.path.join(doc, page), encoding="utf-8") as file:
                links = re.findall(r"\]\(([^)\s]+)\)", file.read())
            expect(links or page != "README.md", "the README has links")
            for link in links:
                name, _, anchor = link.partition("#")
                to = os.path.normpath(os.path.join(doc, os.path.dirname(page), name)) if name \
                    else os.path.join(doc, page)
                if not re.match(r"\w+:", link):
                    expect(os.path.isfile(to), f"{page}: the link to {link} is dead")
                    expect(not anchor or anchor in titles(to), f"{page}: {link}: no such title")
        with open(os.path.join(build.folder, "install_manifest.txt"), encoding="utf-8") as file:
            expect(os.path.join(doc, "docs", "errors.md") in file.read().split("\n"),
                   "uninstalling would leave pages behind")


def test_one_target_builds_what_is_installed(build):
    """Asked of ninja: all that is installed and was built, and no test besides."""
    process = harness.run(["ninja", "-C", build.folder, "-t", "commands", "installed"],
                          build.environment(preload=False))
    made = set(process.out.text.split())
    with tempfile.TemporaryDirectory() as prefix:
        installed(build, prefix)
        built = {path for path in files_below(prefix)
                 if not path.startswith(("share/", "lib/systemd/"))}
    expect({"bin/gpuaas", "bin/gpuaasd"} < built, f"installed: {built}")
    expect(built < made, f"`installed` does not build {built - made}")
    tests = [path for path in made if re.match(r"(tests|kernels|perf)/", path)]
    expect(not tests, f"`installed` builds {tests}")


def test_unit_of_systemd(build):
    """It starts the gpuaasd beside it, and systemd finds no mistake in it."""
    with tempfile.TemporaryDirectory() as prefix:
        installed(build, prefix)
        unit = os.path.join(prefix, "lib", "systemd", "system", "gpuaasd.service")
        with open(unit, encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(build.folder, "install_manifest.txt"), encoding="utf-8") as file:
            expect(unit in file.read().split("\n"), "uninstalling would leave it behind")
        expect(f"ExecStart={prefix}/bin/gpuaasd --config /etc/gpuaas/" in text, text)
        if shutil.which("systemd-analyze") is None:
            print("  (no systemd-analyze here to look at it)")
            return
        env = build.environment(preload=False)
        process = harness.run(["systemd-analyze", "verify", "--man=no", unit], env, status=None)
        lines = [line for line in process.err.lines if "gpuaasd" in line]
        expect(not lines, lines)
        harness.run(["systemd-analyze", "security", "--offline=yes", "--threshold=50", unit], env)


def test_demo_and_build_use_that_target(_):
    for name in ("dev", os.path.join("scripts", "demo.sh")):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            expect("configure_and_build release installed\n" in file.read(), name)


def quietly(log, command, terminal=False):
    """The result of `quietly` of scripts/lib.sh for a command with many lines: its exit status and
    the text."""
    words = ["bash", "-c", f'. scripts/lib.sh; quietly "the work" {log} bash -c "$1"', "sh",
             command]
    if terminal:
        words = ["script", "-qec", shlex.join(words), "/dev/null"]
    done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, check=False)
    return done.returncode, done.stdout.decode()


def test_builds_say_little(_):
    """Progress in one line; what a failure said, and where the rest is."""
    talks = "for i in $(seq 500); do echo [$i/500] step; done; sleep 1"
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "new", "log")
        status, text = quietly(log, talks)
        expect(status == 0 and text.count("\n") == 1 and log in text, text)
        with open(log, encoding="ascii") as file:
            expect(len(file.readlines()) == 500, "the log has all of it")
        status, text = quietly(log, talks, terminal=True)
        expect(status == 0 and text.count("\n") == 1 and "the work: 500 of 500, " in text, text)
        status, text = quietly(log, talks + "; echo the cause; exit 7")
        expect(status == 7 and text.count("\n") < 50 and "the cause\n" in text and
               text.strip().endswith(f"all of it is in {log}"), text)


def test_an_interrupted_build_ends(_):
    """Ctrl-C ends what runs quietly, too."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        words = f". scripts/lib.sh; quietly it {log} bash -c 'sleep 99 & echo $!; wait'"
        with subprocess.Popen(["bash", "-c", words], cwd=ROOT,
                              stderr=subprocess.DEVNULL) as shell:
            harness.wait_until(lambda: os.path.exists(log) and os.path.getsize(log), 30, "it runs")
            with open(log, encoding="ascii") as file:
                child = int(file.read())
            shell.send_signal(signal.SIGINT)
            expect(shell.wait(30) == 130, "the shell has ended")
            harness.wait_until(lambda: not os.path.exists(f"/proc/{child}"), 30, "so has its work")


def test_build_from_nothing(build):
    """In a copy of what git knows, by the commands of the README."""
    if not os.environ.get("GPUAAS_TEST_FULL") or not os.path.exists(os.path.join(ROOT, ".git")):
        print("  (left out: GPUAAS_TEST_FULL is not set)")
        return
    env = build.environment(preload=False, extra={"CUDA_HOME": build.cuda})
    with tempfile.TemporaryDirectory() as folder:
        tree, prefix = os.path.join(folder, "tree"), os.path.join(folder, "prefix")
        os.mkdir(tree)
        harness.run(["sh", "-c", 'git -C "$1" ls-files -z | tar -C "$1" -c --null -T - | '
                     'tar -C "$2" -x', "sh", ROOT, tree], env)
        built = harness.run([os.path.join(tree, "dev"), "build", "--installed"], env, BUILD_SECONDS)
        print(f"  built from nothing in {built.seconds:.0f} s")
        harness.run(["cmake", "--install", os.path.join(tree, "build", "release"), "--prefix",
                     prefix], env)
        expect({"bin/gpuaas", "bin/gpuaasd", "lib/gpuaas/libcuda.so.1", "lib/softgpu/libcuda.so.1"}
               < files_below(prefix), f"installed: {files_below(prefix)}")


def manual(name):
    with open(os.path.join(DOCS, "man", name), encoding="utf-8") as file:
        return file.read()


def test_config_manual_is_of_this_build(build):
    process = harness.run([build.path("bin", "gpuaasd"), "--config-manual"],
                          build.environment(preload=False))
    expect(process.out.text + "\n" == manual("gpuaasd.conf.5"),
           "docs/man/gpuaasd.conf.5 is old: write it with gpuaasd --config-manual")


def test_manuals_name_every_option(build):
    for words, page in ((["gpuaasd"], "gpuaasd.8"), (["gpuaas"], "gpuaas.1"),
                        (["gpuaas", "run"], "gpuaas.1"), (["gpuaas", "devices"], "gpuaas.1"),
                        (["gpuaas", "status"], "gpuaas.1")):
        text = manual(page).replace("\\-", "-")
        process = harness.run([build.path("bin", words[0]), *words[1:], "--help"],
                              build.environment(preload=False))
        for option in set(re.findall(r"--\w[\w-]*", process.out.text)):
            expect(option in text, f"{page} does not have {option}")


def printed(build, option):
    process = harness.run([build.path("bin", "gpuaas"), option], build.environment(preload=False))
    return process.out.text + "\n"


def test_environment_page_is_of_this_build(build):
    with open(os.path.join(DOCS, "environment.md"), encoding="utf-8") as file:
        expect(file.read() == printed(build, "--environment-page"),
               "docs/environment.md is old: write it with gpuaas --environment-page")


def test_manual_has_the_environment_of_this_build(build):
    section = re.search(r"(?ms)^\.\\\" Written by gpuaas.*?(?=^\.SH EXIT STATUS)",
                        manual("gpuaas.1"))
    expect(section and section.group() == printed(build, "--environment-manual"),
           "gpuaas.1 has an old section ENVIRONMENT: write it with gpuaas --environment-manual")


def test_page_has_the_help_of_variables(build):
    """The page about configuration shows some of the variables, as --help has them."""
    variables = dict(re.findall(r"(?m)^  ([A-Z_]+) +(\S.*)$", printed(build, "--help")))
    expect({"GPUAAS_SERVERS", "GPUAAS_KEY", "SOFTGPU_NODE"} <= set(variables), f"{variables}")
    with open(os.path.join(DOCS, "configuration.md"), encoding="utf-8") as file:
        rows = re.findall(r"(?m)^\| `([A-Z_]+)` \| (.*) \|$", file.read())
    expect(rows, "the page has a table of variables")
    for name, text in rows:
        expect(variables.get(name) == text, f"page: {text}; --help: {variables.get(name)}")


def test_manuals_render(build):
    expect(shutil.which("groff"), "groff is installed (./dev setup)")
    for path in glob.glob(os.path.join(DOCS, "man", "*")):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path], capture_output=True,
                              text=True, check=False)
        expect(done.returncode == 0 and not done.stderr, f"{path}: {done.stderr}")


if __name__ == "__main__":
    harness.main(globals())
