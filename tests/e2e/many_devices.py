#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thousand software GPUs in one node, used by one application in one backend process."""

from lib import harness
from lib.harness import expect

DEVICES = 1000
MEGABYTES = 100  # of the backend process, for all of them


def configuration(devices):
    gpus = "".join(f"[gpu.{i}]\ndriver = soft\nmemory = 64MiB\nsms = 1\n" for i in range(devices))
    return "[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\n" + gpus


def resident_megabytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        fields = dict(line.split(":") for line in f.read().splitlines()[1:])
    return int(fields["Rss"].split()[0]) / 1000


def test_all_at_once(build):
    with harness.serving(build, config=configuration(DEVICES)) as server, \
            harness.running([build.program("all_devices"), "wait"],
                            build.remote([server])) as program:
        program.wait_for_line("started", 300)
        expect(program.out.lines[0] == f"{DEVICES} devices", program.report())
        backends = server.backends()
        expect(len(backends) == 1, f"one process serves all, not {backends}")
        used = resident_megabytes(backends[0])
        print(f"{used:.1f} MB resident")
        if build.sanitize == "none":
            expect(used <= MEGABYTES, f"{used:.1f} MB, {MEGABYTES} at most")


if __name__ == "__main__":
    harness.main(globals())
