#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Privileges of backend processes: started by root, they run as another user without any
capability; started by anybody, they have none and gain none. If memory runs out, they go before
gpuaasd. taken_over.py tests the sandbox."""

import os
import re
import subprocess
import tempfile

from lib import harness
from lib.harness import expect, wait_until

USER, GROUPS = 61234, (61236, 61237)  # this machine has none of these names, and needs none
NOBODY = 65534
NONE = "0" * 16
TASKS = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
         "Seccomp")


def status(path):
    with open(f"{path}/status", encoding="ascii", errors="replace") as f:
        pairs = (line.split(":", 1) for line in f)
        return {name: text.split() for name, text in pairs if name in TASKS}


def threads(pid):
    return [status(f"/proc/{pid}/task/{task}") for task in os.listdir(f"/proc/{pid}/task")]


def score(pid):
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as f:
        return int(f.read())


def configured(*keys, gpus=1):
    return harness.configuration(gpus, keys=keys)


def as_root(test):
    def run(build):
        if os.geteuid() == 0:
            test(build)
        else:
            print("only root can change the user of processes")
    run.__name__ = test.__name__
    return run


def the_backend(pid):
    """The one of the program that runs, when that of the program before has gone."""
    def found():
        return [child for child in harness.children(pid)
                if harness.name_of(child) == "gpuaasd-backend"]
    wait_until(lambda: len(found()) == 1, 30, "one backend process serves")
    return found()[0]


def each_backend(build, server):
    """A spare, and the process of a program that runs; with a program that has passed."""
    harness.run_passing([build.program("vector_add")], build.remote([server]))
    spares = server.wait_spares()
    with harness.running([build.program("endless"), "idle"], build.remote([server])) as program:
        program.wait_for_line("started", 60)
        yield the_backend(server.pid)
        yield server.wait_spares(besides=spares)[0]
        expect(program.running(), program.report())


def expect_nothing_to_use(build, facts, sandbox=True):
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        expect(facts[name] == [NONE], f"{name}: {facts}")
    expect(facts["Seccomp"] == ["2" if sandbox else "0"], f"{facts}")
    if build.sanitize != "thread":  # whose own thread starts before main
        expect(facts["NoNewPrivs"] == ["1"], f"{facts}")
        if os.geteuid() == 0:
            expect(facts["CapBnd"] == [NONE], f"{facts}")


@as_root
def test_another_user(build):
    groups = ",".join(map(str, GROUPS))
    config = configured(f"backend_user = {USER}", f"backend_groups = {groups}")
    with harness.serving(build, config=config) as server:
        server.wait_for_line(f"backend processes run as user {USER}, group {USER}", 10, server.err)
        for backend in each_backend(build, server):
            for facts in threads(backend):
                expect(facts["Uid"] == [str(USER)] * 4 and facts["Gid"] == [str(USER)] * 4, facts)
                expect(facts["Groups"] == [str(group) for group in GROUPS], f"{facts}")
                expect_nothing_to_use(build, facts)


@as_root
def test_standard_user(build):
    """gpuaas, if this machine has it."""
    found = subprocess.run(["id", "-u", "gpuaas"], capture_output=True, text=True, check=False)
    user = found.stdout.strip() or str(NOBODY)
    with harness.serving(build, gpus=1) as server:
        for backend in each_backend(build, server):
            expect(status(f"/proc/{backend}")["Uid"] == [user] * 4, status(f"/proc/{backend}"))


@as_root
def test_root_without_privileges(build):
    with harness.serving(build, config=configured("backend_user = root")) as server:
        expect("backend processes run as root" in server.err.text, server.report())
        for backend in each_backend(build, server):
            for facts in threads(backend):
                expect(facts["Uid"] == ["0"] * 4, f"{facts}")
                expect_nothing_to_use(build, facts)


def test_without_sandbox(build):
    with harness.serving(build, config=configured("sandbox = no")) as server:
        for backend in each_backend(build, server):
            for facts in threads(backend):
                expect_nothing_to_use(build, facts, sandbox=False)


def as_nobody():
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


@as_root
def test_started_by_another_user(build):
    with tempfile.NamedTemporaryFile("w", prefix="gpuaas-", suffix=".conf") as file:
        os.chmod(file.name, 0o644)
        command = [*as_nobody(), build.path("bin", "gpuaasd"), "--config", file.name]
        file.write(configured(f"backend_user = {USER}"))
        file.flush()
        process = harness.run(command, build.environment(preload=False), status=1)
        expect(re.search(rf"\[server\] backend_user: only root can .* as user {NOBODY}$",
                         process.err.text, re.M), process.report())
        file.seek(0)
        file.truncate()
        file.write(configured())
        file.flush()
        with harness.running(command, build.environment(preload=False)) as gpuaasd:
            address = gpuaasd.wait_for_line(r"ready tcp://(\S+)", 30, gpuaasd.err).group(1)
            env = build.environment(build.path("lib", "gpuaas"), {"GPUAAS_SERVERS": address})
            harness.run_passing([build.program("vector_add")], env)
            with harness.running([build.program("endless"), "idle"], env) as program:
                program.wait_for_line("started", 60)
                for facts in threads(the_backend(gpuaasd.pid)):
                    expect(facts["Uid"] == [str(NOBODY)] * 4, f"{facts}")
                    expect_nothing_to_use(build, {**facts, "CapBnd": [NONE]})


@as_root
def test_names_that_this_machine_does_not_have(build):
    for key, value in (("backend_user", "no.such.user"), ("backend_groups", "1,no.such.group")):
        with tempfile.NamedTemporaryFile("w", prefix="gpuaas-", suffix=".conf") as file:
            file.write(configured(f"{key} = {value}"))
            file.flush()
            process = harness.run([build.path("bin", "gpuaasd"), "--config", file.name],
                                  build.environment(preload=False), status=1)
            expect(re.search(rf"\[server\] {key}: this machine has no \S+ no\.such\.",
                             process.err.text), process.report())


def test_descriptors_that_gpuaasd_has_inherited(build):
    """Those of whoever started it are not for backend processes."""
    shell = ["sh", "-c", 'exec "$@" 9</etc/hostname', "sh"]
    with harness.serving(build, gpus=1, prefix=shell) as server:
        expect("9" in server.descriptors(), server.descriptors())
        for backend in each_backend(build, server):
            folder = f"/proc/{backend}/fd"
            links = [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]
            expect("/etc/hostname" not in links, f"{links}")


def may_protect_itself():
    """Whether root is root here: containers lack this capability."""
    effective = int(status("/proc/self")["CapEff"][0], 16)
    return effective >> 24 & 1 == 1  # CAP_SYS_RESOURCE


def test_memory_killer(build):
    with harness.serving(build, gpus=1) as server:
        for backend in each_backend(build, server):
            expect(score(backend) == 500, f"{score(backend)}")
        due = -500 if may_protect_itself() else score(os.getpid())
        expect(score(server.pid) == due, f"{score(server.pid)}, {due} is due")


if __name__ == "__main__":
    harness.main(globals())
