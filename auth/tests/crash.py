# SPDX-License-Identifier: Apache-2.0
"""Crash points of database, audit log and authority: a program that changes them is killed at each
of the system calls that write, and each of these is made to fail; afterwards everything that was
acknowledged is there, nothing is there in part, and no check finds anything.

    crash.py CRASH_STEPS    at some of the calls; with GPUAAS_TEST_FULL=1 at all of them"""

import os
import re
import subprocess
import sys
import tempfile

CALLS = ("pwrite64", "write", "fdatasync", "fsync", "rename", "link", "unlink", "ftruncate",
         "openat")
FAULTS = ("signal=SIGKILL", "error=ENOSPC", "error=EIO")
SCENARIOS = ("store", "audit", "authority")
FULL = os.environ.get("GPUAAS_TEST_FULL") == "1"
SAMPLE = 60  # injections of a scenario, otherwise
# LeakSanitizer cannot work while strace traces.
ENVIRONMENT = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")


class Failed(Exception):
    pass


def steps(program, *words):
    return subprocess.run([program, *words], env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=60)


def traced(program, scenario, folder, options):
    """Runs all steps under strace; the process, and what strace has written."""
    trace = os.path.join(folder, "trace")
    work = os.path.join(folder, "work")
    os.mkdir(work)
    # Only calls about files of the folder count: -P names them by their paths.
    paths = [option for name in FILES[scenario] for option in ("-P", os.path.join(work, name))]
    done = subprocess.run(["strace", "-qq", "-o", trace, *options, *paths, program, "run",
                           scenario, work], env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=120)
    with open(trace, encoding="utf-8", errors="replace") as text:
        return done, text.read(), work


def names(*files):
    """With those that appear beside them."""
    return files


FILES = {
    "store": names("db", "db-wal", "db-journal", "copy", "copy-journal", "db.replaced", "."),
    "audit": names("log", "log/head", "log/audit-2025-11-25.log", "log/audit-2025-11-26.log"),
    "authority": names("db", "db-wal", "ca", "ca/ca.key", "ca/ca.key.new", "ca/ca.pem",
                       "ca/ca.pem.new", "c.key", "c.key.new", "c.pem", "c.pem.new"),
}


def count(program, scenario):
    """How often each call is made."""
    with tempfile.TemporaryDirectory(prefix="gpuaas_crash.") as folder:
        done, trace, _ = traced(program, scenario, folder, ["-e", "trace=" + ",".join(CALLS)])
        if done.returncode != 0:
            raise Failed(f"{scenario} without faults: {done.stderr}")
        made = {call: len(re.findall(rf"^{call}\(", trace, re.M)) for call in CALLS}
    if not made["pwrite64"] + made["write"] or not made["fdatasync"] + made["fsync"]:
        raise Failed(f"{scenario}: strace sees no call that writes: {made}")
    return made


def inject(program, scenario, call, fault, number):
    """True: the fault has come about."""
    with tempfile.TemporaryDirectory(prefix="gpuaas_crash.") as folder:
        done, trace, work = traced(program, scenario, folder, [
            "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={number}"])
        place = f"{scenario}, {call} {number}, {fault}"
        acknowledged = len(done.stdout.splitlines())
        killed = done.returncode == -9 or "killed by SIGKILL" in trace
        if done.returncode != 0 and not killed:
            raise Failed(f"{place}: it does not recover: {done.stderr}")
        checked = steps(program, "check", scenario, work, str(acknowledged))
        if checked.returncode != 0:
            raise Failed(f"{place}: after {acknowledged} steps: {checked.stderr}\n{done.stderr}")
        return killed or "(INJECTED)" in trace


def points(made):
    everything = [(call, fault, number) for call in CALLS for fault in FAULTS
                  for number in range(1, made[call] + 1)]
    if FULL or len(everything) <= SAMPLE:
        return everything
    return [everything[i * len(everything) // SAMPLE] for i in range(SAMPLE)]


def main():
    program = sys.argv[1]
    scenarios = sys.argv[2:] or SCENARIOS
    failures = 0
    for scenario in scenarios:
        made = count(program, scenario)
        came = 0
        for point in points(made):
            try:
                came += inject(program, scenario, *point)
            except Failed as failure:
                failures += 1
                print(failure)
        print(f"{scenario}: {came} faults at {sum(made.values())} calls "
              f"({', '.join(f'{call} {n}' for call, n in made.items() if n)})", flush=True)
        if came == 0:
            failures += 1
            print(f"{scenario}: no fault came about")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
