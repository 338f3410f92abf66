# SPDX-License-Identifier: Apache-2.0
"""Runs of two sides in turns: A B, B A, A B, ..., so that drift (of the machine's speed or heat)
affects both equally. A run is a command that writes its results to NAME.json."""

import contextlib
import json
import os
import signal
import subprocess


class Failed(Exception):
    """A run without figures; the text names it and has its last output."""


def sequence(count):
    """(pair, whether the new side runs): the new one first in every other pair."""
    for number in range(count):
        first = number % 2 == 0
        yield number, first
        yield number, not first


def figures(path):
    """{key: (value, less is better)} of what perf/bench.py writes. Facts are costs, all of them."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    return ({figure["key"]: (figure["columns"]["ours"]["median"], figure["better"] == "less")
             for figure in found["figures"]} |
            {fact["key"]: (fact["value"], True) for fact in found["facts"]})


def stop(process):
    """An interrupted run ends its processes; if it does not, we do."""
    for number, seconds in ((signal.SIGINT, 30), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def run(command, name):
    """The figures of one run. `name`: where it writes, without .json."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name + ".json")
    with open(name + ".log", "w+", encoding="utf-8") as log:
        process = subprocess.Popen([*command, "--out", name], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait()
        except BaseException:
            stop(process)
            raise
        log.seek(0)
        said = log.read().strip()
    if status != 0:
        raise Failed(f"{' '.join(command)}: exit status {status}: {said[-1500:]}")
    return figures(name + ".json")


def alternate(new, old, count, folder, progress, pairs):
    """Appends (new, old) to `pairs`, which is the caller's also if this is interrupted."""
    half = {}
    for number, is_new in sequence(count):
        progress(number)
        half[is_new] = run(new if is_new else old, os.path.join(folder, "new" if is_new else "old"))
        if len(half) == 2:
            pairs.append((half.pop(True), half.pop(False)))
