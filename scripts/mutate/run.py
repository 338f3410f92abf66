# SPDX-License-Identifier: Apache-2.0
"""Running one test of the build, bounded in time; nothing that it started is left behind."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

import rewrite
import tree

MARK = "MUTANT_RUN"  # in the environment of all that a run starts
marks = iter(range(1, 1 << 60))
marks_lock = threading.Lock()


@dataclass(frozen=True)
class Test:
    name: str
    command: tuple  # none: its program is not built
    env: tuple      # NAME=VALUE
    folder: str
    skips: int      # exit status of a test that could not run
    limit: float    # seconds, of ctest


def listed(labels, wrong_names):
    """The tests of the build that have one of the labels."""
    text = subprocess.run(["ctest", "--test-dir", tree.BUILD, "--show-only=json-v1"], check=True,
                          capture_output=True, text=True).stdout
    found = []
    for test in json.loads(text)["tests"]:
        values = {each["name"]: each["value"] for each in test.get("properties", [])}
        if not set(values.get("LABELS", [])) & set(labels) or wrong_names.search(test["name"]):
            continue
        found.append(Test(test["name"], tuple(test.get("command", ())), tuple(
            values.get("ENVIRONMENT", [])), values.get("WORKING_DIRECTORY", tree.BUILD),
            int(values.get("SKIP_RETURN_CODE", -1)), float(values.get("TIMEOUT", 600))))
    return found


def environment(test, mark, number, reached):
    env = dict(os.environ)
    for pair in test.env:
        name, _, value = pair.partition("=")
        env[name] = value
    env[MARK] = mark
    env[rewrite.VARIABLE] = str(number)
    if reached is not None:
        env[rewrite.REACHED] = reached
    return env


def last_in_line():
    """Makes the kernel end this process first if memory runs out."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w",
                                            encoding="ascii") as file:
        file.write("1000")


def end_all(mark=None):
    """Ends every process that a run has started, or any run of ours, wherever it hangs now."""
    begins = f"{MARK}={os.getpid()}.".encode()
    wanted = f"{MARK}={mark}".encode()
    for _ in range(20):
        found = False
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                pairs = file.read().split(b"\0")
                if wanted in pairs if mark else any(at.startswith(begins) for at in pairs):
                    os.kill(int(name), signal.SIGKILL)
                    found = True
        if not found:
            return
        time.sleep(0.02)


def run(test, number, seconds, reached=None, output=None):
    """("passed", "failed", "late" or "skipped", seconds that it took)."""
    with marks_lock:
        mark = f"{os.getpid()}.{next(marks)}"
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        to = stack.enter_context(open(output, "wb")) if output else subprocess.DEVNULL
        process = subprocess.Popen(test.command, cwd=test.folder, stdin=subprocess.DEVNULL,
                                   stdout=to, stderr=subprocess.STDOUT if output else to,
                                   env=environment(test, mark, number, reached),
                                   start_new_session=True, preexec_fn=last_in_line)
        try:
            status = process.wait(seconds)
            verdict = ("passed" if status == 0 else "skipped" if status == test.skips
                       else "failed")
        except subprocess.TimeoutExpired:
            verdict = "late"
        finally:
            took = time.monotonic() - start
            end_all(mark)
            process.wait()
    return verdict, took
