#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The request monitor: gpuaasctl shows what a session does on a GPU (phase, copies, shapes of
launches, demand), and what has been learnt of a program from its sessions."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile

from lib import ctl, harness
from lib.gpu_log import GPU, union
from lib.harness import expect, wait_until

# 8 of 128 warps: what a launch of `metered` fills.
SMALL = GPU + "sms = 2\n"
SHARE = 100 * 8 // 128
LAUNCHES = 5000
MIB = 1 << 20
SCENARIO = """[run]
policy = none
[gpu.0]
node = 0
model = a100
[app.recorded]
trace = {trace}
[stream.recorded]
app = recorded
arrivals = trace
"""


@contextlib.contextmanager
def node(build, gpu=SMALL):
    with tempfile.TemporaryDirectory(prefix="gpuaas-monitor-") as folder:
        config = ctl.configuration(folder, gpus=0) + gpu
        with harness.serving(build, config=config) as server:
            yield server, ctl.Ctl(build, folder)


@contextlib.contextmanager
def running(build, server, way, line):
    program = harness.Process([build.program("metered"), way], build.remote([server]),
                              stdin=subprocess.PIPE)
    try:
        program.wait_for_line(line, harness.PROGRAM_SECONDS)
        yield program
    finally:
        program.end()


def session_use(admin):
    """The use of the only GPU by the only session; None: nothing yet."""
    sessions = admin.items("sessions")
    use = admin.json("sessions", "show", sessions[0]["id"])["use"] if sessions else []
    return use[0] if use else None


def settled(admin, launches):
    """As session_use, once the monitor knows that all is done."""
    def done():
        use = session_use(admin)
        return use if use and use["launches"] >= launches and use["phase"] == "DFL" else None
    return wait_until(done, 60, f"{launches} launches are done")


def finish(program):
    program.popen.stdin.close()
    expect(program.wait(60) == 0, program.report())


def test_kernels(build):
    with node(build) as (server, admin):
        with running(build, server, "stream", "PASSED") as program:
            use = settled(admin, LAUNCHES)
            shape = use["shapes"][0]
            expect((shape["grid"], shape["block"], shape["shared_bytes"]) ==
                   ([2, 1, 1], [128, 1, 1], 0), f"{shape}")
            expect(shape["gpu_share_percent"] == SHARE, f"{shape}")
            expect(len(use["shapes"]) == 1 and
                   0.95 * LAUNCHES <= shape["launches_estimate"] <= use["launches"], f"{use}")
            expect(use["copies_in"] == use["copies_out"] == 0, f"{use}")
            expect(abs(use["demand_estimate_ms"] - use["compute_ms"] * SHARE / 100) <= 1, f"{use}")
            text = admin.text("sessions", "show", admin.items("sessions")[0]["id"])
            expect("2,1,1" in text and "ESTIMATE" in text, text)
            finish(program)
        row = wait_until(lambda: next((row for row in admin.items("feedback")
                                       if not admin.items("sessions")), None), 30, "it has ended")
        expect((row["tenant"], row["program"], row["sessions"]) ==
               ("default", "metered", 1), f"{row}")
        expect(row["launches"] == use["launches"] and row["compute_ms"] >= 45 and
               row["wall_ms"] >= row["gpu_ms"], f"{row}")


def test_copies_and_a_second_session(build):
    with node(build) as (server, admin):
        for sessions in (1, 2):
            with running(build, server, "waits", "PASSED") as program:
                use = settled(admin, 6 * 520)
                for way in ("in", "out"):
                    expect(use[f"copied_{way}_bytes"] == 12 * MIB and use[f"copies_{way}"] >= 12,
                           f"{use}")
                expect(use["bandwidth_estimate_bytes_per_s"] > MIB, f"{use}")
                finish(program)
            wait_until(lambda: not admin.items("sessions"), 30, "it has ended")
            row, = admin.items("feedback", "default")
            expect(row["sessions"] == sessions and
                   row["copied_in_bytes"] == sessions * 12 * MIB, f"{row}")
        expect(admin.items("feedback", "nobody") == [], "nobody has run")
        expect("metered" in admin.text("feedback"), "the table has no program")


def test_what_is_learnt_belongs_to_the_tenant(build):
    """It goes with a tenant that is renamed, and not to the next one of its name."""
    def run(server, admin, tenant, *expected):
        token = os.path.join(admin.folder, "token")
        admin.run("token", "issue", tenant, "--out", token)
        harness.run_passing([build.program("hello")],
                            build.remote([server], GPUAAS_TOKEN_FILE=token))
        os.remove(token)
        wait_until(lambda: sorted((row["tenant"], row["sessions"])
                                  for row in admin.items("feedback")) == sorted(expected),
                   10, f"{expected}")

    with tempfile.TemporaryDirectory(prefix="gpuaas-monitor-") as folder:
        keys = f"auth = on\nstore = {folder}/store.db"
        config = ctl.configuration(folder, keys=keys)
        with harness.serving(build, config=config) as server:
            admin = ctl.Ctl(build, folder)
            admin.run("tenant", "add", "lab")
            run(server, admin, "lab", ("lab", 1))
            admin.run("tenant", "rename", "lab", "hall")
            admin.run("tenant", "add", "lab")
            run(server, admin, "lab", ("hall", 1), ("lab", 1))
            run(server, admin, "hall", ("hall", 2), ("lab", 1))
            admin.run("tenant", "rm", "lab", "--yes")
            admin.run("tenant", "add", "lab")
            expect(admin.items("feedback", "lab") == [], "the new one has run nothing")
            run(server, admin, "lab", ("hall", 2), ("lab", 1))


def test_the_phase_is_that_of_the_work(build):
    with node(build, GPU.replace("kernel_time = 10us", "kernel_time = 5ms")) as (server, admin):
        with running(build, server, "long", "begins"):
            wait_until(lambda: (session_use(admin) or {}).get("phase") == "KL", 60,
                       "kernels run, so the phase is KL")


def test_recorded_phases_are_a_trace(build):
    """record_phases = yes: the log has what the monitor has measured, and gpuaas-sim takes it."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-monitor-") as folder:
        config = ctl.configuration(folder, gpus=0, keys="record_phases = yes") + SMALL
        admin = ctl.Ctl(build, folder)
        log, trace = os.path.join(folder, "log"), os.path.join(folder, "waits.trace")
        with harness.serving(build, config=config) as server:
            with running(build, server, "waits", "PASSED") as program:
                use = settled(admin, 6 * 520)
                finish(program)
            wait_until(lambda: not admin.items("sessions"), 30, "it has ended")
            with open(log, "w", encoding="utf-8") as file:
                file.write(server.err.text)
        script = os.path.join(ctl.ROOT, "scripts", "sim", "recorded.py")
        made = harness.run([sys.executable, script, "--gpu", "a100", log], build.environment())
        lines = [line.split() for line in made.out.lines]
        expect(lines[:2] == [["gpuaas-trace", "1"], ["gpu", "a100"]], made.out.text[:300])
        sums = {kind: sum(int(words[1]) for words in lines if words[0] == kind)
                for kind in ("kernel", "h2d", "d2h")}
        kernels = [(int(at), int(at) + int(ns)) for at, ns in
                   re.findall(r": kernel at (\d+) for (\d+) ns", server.err.text)]
        expect(sums["kernel"] == sum(end - begin for begin, end in kernels), f"{sums}\n{kernels}")
        # Some of them may run side by side, if the machine is slow
        expect(abs(union(kernels) / 1e6 - use["compute_ms"]) <= 2, f"{kernels}\n{use}")
        expect(sum(int(words[2]) for words in lines if words[0] == "h2d") == 12 * MIB, f"{sums}")
        with open(trace, "w", encoding="utf-8") as file:
            file.write(made.out.text)
        scenario = os.path.join(folder, "recorded.ini")
        with open(scenario, "w", encoding="utf-8") as file:
            file.write(SCENARIO.format(trace=trace))
        process = harness.run([build.path("bin", "gpuaas-sim"), "run", scenario],
                              build.environment())
        expect("recorded" in process.out.text, process.report())


if __name__ == "__main__":
    harness.main(globals())
