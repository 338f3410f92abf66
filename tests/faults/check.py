# SPDX-License-Identifier: Apache-2.0
"""Conditions that must hold after a fault, whatever it was. One Checker per gpuaasd, made while it
is calm:

    checker = Checker(build, server)       # takes the baseline
    ...                                    # the fault, with programs that are its victims
    checker.check(victims=[...])           # Failure unless all of the below holds within 15 s

- gpuaasd's own table (SIGUSR1), its backend processes, descriptors by kind, and threads, as well as
  /dev/shm and temporary files are what they were: so nothing of a dead application is left, on the
  GPUs neither, because a backend process holds all that its application has there.
- A victim has ended by itself with an error that the README documents, or with right results.
- A backend process that ended by a signal is one that the test itself has killed.
- No sanitizer, assertion or core dump has spoken, in anybody's output.
- The next program works."""

import contextlib
import os
import random
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from lib import harness  # noqa: E402
from lib.harness import Failure, expect, wait_until  # noqa: E402, F401

CLEAN_SECONDS = 15
BYSTANDER_PAUSE_MS = 50
VICTIM_SECONDS = 60  # documented is 30; the rest is for a busy machine

ANY = object()
# Everything, instead of a sample that takes a minute.
ALL = "--all" in sys.argv or os.environ.get("GPUAAS_TEST_FULL") == "1"
if "--all" in sys.argv:
    sys.argv.remove("--all")

# The errors that a program may get after a fault: docs/errors.md.
DOCUMENTED = {2, 46, 100, 719}

COMPLAINTS = re.compile(r"Sanitizer|runtime error:|Assertion .* failed|core dumped|"
                        r"stack smashing|malloc\(\)|free\(\):|double free")
CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE,
           signal.SIGTRAP}


def descriptors(pid):
    """How many of each kind: {'socket': 3, 'memfd:x': 1, ...}"""
    kinds = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue  # closed meanwhile
        # The file of a failpoint is removed when that has fired.
        kind = re.sub(r"[:\[]+\d+\]?$", "", target.removesuffix(" (deleted)"))
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def files_of_ours(folder, ours):
    return sorted(name for name in os.listdir(folder) if ours.search(name))


def program_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None  # it has ended, or is not ours to look at


def orphans(build):
    """Backend processes of this build whose gpuaasd is no more."""
    gpuaasd = os.path.realpath(build.path("bin", "gpuaasd"))
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(OSError, StopIteration):
            if program_of(pid) == gpuaasd:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    backend = b"--backend" in f.read()
                with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
                    parent = next(int(line.split()[1]) for line in f if line.startswith("PPid"))
                if backend and program_of(parent) != gpuaasd:
                    found.append(pid)
    return found


def expect_no_orphans(build):
    wait_until(lambda: not orphans(build), CLEAN_SECONDS, "backend processes die with gpuaasd")


def complaints(text):
    return [line for line in text.splitlines() if COMPLAINTS.search(line)]


def run_steps(build, servers, rounds=1, seconds=VICTIM_SECONDS):
    """The program that the tests use where any program will do."""
    return harness.run_passing([build.program("steps"), str(rounds)], build.remote(servers),
                               seconds)


def start_steps(build, servers, rounds=1, pause_ms=0, **env):
    return harness.Process([build.program("steps"), str(rounds), str(pause_ms)],
                           build.remote(servers, **env))


def start_bystander(build, server):
    """Calls, copies and compares until SIGTERM, with pauses: what it computes costs others."""
    return start_steps(build, [server], rounds=0, pause_ms=BYSTANDER_PAUSE_MS)


@contextlib.contextmanager
def explained(what):
    """A Failure inside says what was done."""
    try:
        yield
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from None


def without_spares(gpus=2):
    """The configuration for tests that arm a failpoint for the next backend process: a spare has
    started before."""
    return harness.configuration(gpus, keys=["spare_backends = 0"])


def own_host():
    """For a gpuaasd whose place another one takes: a port of 127.0.0.1 that is free for a moment
    may be anybody's next one."""
    return "127." + ".".join(str(random.randint(1, 254)) for _ in range(3))


def same_address(server, gpus=2):
    """The configuration of a gpuaasd that takes the place of this one."""
    host, port = server.place.rsplit(":", 1)
    return harness.configuration(gpus, host).replace(f"tcp://{host}:0", f"tcp://{host}:{port}")


def ready_or_gone(server):
    """Whether it serves; False: it has ended before."""
    wait_until(lambda: "ready t" in server.err.text or not server.running(),
               harness.START_SECONDS, f"gpuaasd is ready\n{server.report()}")
    server.err.join(0 if server.running() else 5)
    if "ready t" in server.err.text:
        server.wait_ready()
        return True
    return False


@contextlib.contextmanager
def serving_maybe(build, **options):
    """Like harness.serving, but None when gpuaasd ends at once as it should: with status 1 and
    words."""
    server = harness.Server(build, **options)
    try:
        if ready_or_gone(server):
            yield server
            server.stop()
        else:
            expect(server.wait(10) == 1 and server.err.text, server.report())
            expect(not complaints(server.err.text), server.report())
            yield None
    finally:
        server.end()
        server.folder.cleanup()


def victim_result(victim, seconds=VICTIM_SECONDS, documented=frozenset(DOCUMENTED)):
    """Waits for its end: 0 if it passed, the CUDA error it was told, None if it was killed."""
    status = victim.wait(seconds)
    bad = complaints(victim.report())
    expect(not bad, f"{victim}: {bad}\n{victim.report()}")
    if status < 0:
        expect(-status not in CRASHES, f"{victim} crashed: signal {-status}\n{victim.report()}")
        return None
    if status == 0 and victim.out.lines and victim.out.lines[-1] == "PASSED":
        return 0
    told = re.search(r"error (\d+)\b", victim.out.text)
    expect(status != 1 and told, f"{victim}: status {status}, no error told\n{victim.report()}")
    error = int(told.group(1))
    expect(error in documented, f"{victim}: error {error} is not due\n{victim.report()}")
    return error


class Checker:
    def __init__(self, build, server, clients=0):
        """`clients`: programs that run already, and go on running during the fault."""
        self.build = build
        self.server = server
        self.clients = clients
        self.reports = 0
        server.wait_spares()
        wait_until(lambda: len(server.backends()) == clients, CLEAN_SECONDS, "gpuaasd is calm")
        self.before = self.now()
        self.before["table"] = (clients, clients)

    def table(self):
        """(clients, backend processes) as gpuaasd says itself."""
        pattern = r"report: (\d+) clients, (\d+) backend processes"
        self.reports += 1
        self.server.kill(signal.SIGUSR1)
        found = wait_until(lambda: self.matches(pattern), CLEAN_SECONDS, "gpuaasd reports")
        return int(found[-1].group(1)), int(found[-1].group(2))

    def matches(self, pattern):
        found = [match for line in list(self.server.err.lines)
                 if (match := re.search(pattern, line))]
        return found if len(found) >= self.reports else None

    def now(self):
        pid = self.server.pid
        return {"table": self.table(),
                "backend processes": len(self.server.backends()),
                "descriptors": descriptors(pid),
                "threads": len(os.listdir(f"/proc/{pid}/task")),
                "/dev/shm": files_of_ours("/dev/shm", re.compile("gpuaas|softgpu")),
                "/tmp": files_of_ours("/tmp", re.compile("^(gpuaasd|softgpu)"))}

    def check(self, victims=(), killed=(), documented=frozenset(DOCUMENTED), serve=True):
        """`killed`: the backend processes that the test killed, or ANY. The victims' results, as
        victim_result() says them."""
        results = [victim_result(victim, documented=documented) for victim in victims]
        expect(self.server.running(), f"gpuaasd is gone\n{self.server.report()}")
        self.check_clean()
        if serve:
            run_steps(self.build, [self.server])
            self.check_clean()
        self.check_words(killed)
        expect_no_orphans(self.build)
        return results

    def check_clean(self):
        now = {}

        def clean():
            now.update(self.now())
            return now == self.before
        try:
            wait_until(clean, CLEAN_SECONDS, "gpuaasd is as it was")
        except Failure:
            differences = {key: (value, now[key]) for key, value in self.before.items()
                           if now[key] != value}
            raise Failure(f"left behind (before, now): {differences}\n"
                          f"{self.server.report()}") from None

    def check_words(self, killed):
        bad = complaints(self.server.err.text)
        expect(not bad, f"gpuaasd: {bad}\n{self.server.report()}")
        for line in self.server.err.lines:
            ended = re.search(r"backend process (\d+) of .* ended: (.*)", line)
            if ended:
                by_test = "signal 9" in ended.group(2) and (killed is ANY or
                                                            int(ended.group(1)) in killed)
                expect(by_test or not re.search("signal|exit status [^01]", ended.group(2)),
                       f"a backend process crashed: {line}\n{self.server.report()}")
