# SPDX-License-Identifier: Apache-2.0
"""One program: built, run on softgpu, run through a server; and what came of it."""

import dataclasses
import os
import re
import signal
import subprocess
import time

PASSED, WAIVED, FAILED, REFUSED, TIMEOUT, UNBUILT = (
    "passed", "waived", "failed", "refused", "timeout", "not built")

# Messages of the driver about unsupported features; the table gives them as reasons.
REFUSALS = ("not supported", "CUDA_ERROR_NOT_SUPPORTED", "NotSupported", "no kernel image",
            "operation not supported", "unsupported")


@dataclasses.dataclass
class Program:
    name: str
    command: list               # argv; None: it was not built
    folder: str                 # where it runs
    failed_words: tuple = ("test failed", "result = fail", "failed!", "mismatch", "test fail")
    passed_words: tuple = ()    # if any: one of them must be printed (they say that it checks)
    reason: str = ""            # why it was not built
    complains: bool = False     # it fails on purpose: what our libraries log is no failure


@dataclasses.dataclass
class Outcome:
    state: str
    reason: str = ""
    seconds: float = 0.0
    output: str = ""
    launches: int = 0


def reason_of(text):
    """The line that says most, of the end of an output."""
    # The part of a log line that is equal in each run
    lines = [re.sub(r"^\S+ (gpuaas)\[\d+\]", r"\1", line.strip())
             for line in text.splitlines() if line.strip()]
    for words in (("not supported in this form", "is not supported"), ("error", "Error", "ERROR"),
                  ("fail", "FAIL", "mismatch")):
        for line in reversed(lines):
            if any(word in line for word in words):
                return line[:160]
    return lines[-1][:160] if lines else "no output"


def judge(program, code, text, seconds):
    # Their own comparison says how much differs, and then, by its threshold, whether that is right.
    low = re.sub(r"\(%\) of bytes mismatched", "", text.lower())
    if code == 2 and "waiv" in low or code == 2 and "exiting" in low:
        return Outcome(WAIVED, reason_of(text), seconds, text)
    # Many programs look at no error code: what our libraries log counts as well.
    complaints = not program.complains and re.findall(r"^\S+ gpuaas\[\d+\] error: .*", text, re.M)
    wrong = code != 0 or complaints or any(word in low for word in program.failed_words)
    if not wrong and program.passed_words:
        wrong = not any(word.lower() in low for word in program.passed_words)
    if not wrong:
        return Outcome(PASSED, "", seconds, text)
    if code < 0:
        name = signal.Signals(-code).name
        return Outcome(FAILED, f"killed by {name}", seconds, text)
    refused = any(word in text for word in REFUSALS)
    return Outcome(REFUSED if refused else FAILED, reason_of(text), seconds, text)


def run(program, environment, limit_s):
    if not program.command:
        return Outcome(UNBUILT, program.reason)
    begun = time.monotonic()
    process = subprocess.Popen(program.command, cwd=program.folder, env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        text = out.decode(errors="replace")
        return Outcome(TIMEOUT, f"not over after {limit_s} s", limit_s, text)
    text = out.decode(errors="replace")
    return judge(program, process.returncode, text, time.monotonic() - begun)
