#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command gpuaas, GPUAAS_TRACE, and GPUAAS_DEVICES with UUIDs."""

import re

from lib import harness
from lib.harness import expect


def gpuaas(build):
    return build.path("bin", "gpuaas")


def test_run(build):
    with harness.serving(build) as server:
        env = build.environment()
        command = [gpuaas(build), "run", "--servers", server.address, "--",
                   build.program("vector_add")]
        harness.run_passing(command, env)
        env["GPUAAS_SERVERS"] = server.address
        harness.run_passing([gpuaas(build), "run", build.program("vector_add_shared")], env)


def test_asking_takes_nothing(build):
    """Whether there are GPUs is asked before the program starts: no backend process is made ready
    for that, and the program gets no descriptor of it."""
    with harness.serving(build) as server:
        spares = server.wait_spares()
        command = [gpuaas(build), "run", "--servers", server.address, "--", "ls", "/proc/self/fd"]
        process = harness.run(command, build.environment())
        expect(process.out.lines[:3] == ["0", "1", "2"] and len(process.out.lines) == 4,
               process.report())
        expect(server.spares() == spares, "the same spares as before")


def test_devices(build):
    with harness.serving(build, gpus=3) as server:
        command = [gpuaas(build), "run", "--servers", server.address]
        for words, numbers in ((["--devices", "2,0"], "20"), (["--devices=1"], "1"),
                               ([], "012")):
            process = harness.run([*command, *words, build.program("devices")],
                                  build.environment())
            names = "".join(line.split(",")[0][-1] for line in process.out.lines)
            expect(names == numbers, f"devices {numbers} are due\n{process.report()}")


def uuids(build, server, **env):
    process = harness.run([build.program("devices")], build.remote([server], **env))
    return [line.split(", ")[-1] for line in process.out.lines]


def test_devices_by_uuid(build):
    """The UUIDs as the program itself sees them choose, and say the order."""
    with harness.serving(build, gpus=2) as server:
        seen = uuids(build, server)
        expect(len(seen) == 2 and seen[0] != seen[1], f"two UUIDs are due: {seen}")
        turned = uuids(build, server, GPUAAS_DEVICES=",".join(reversed(seen)))
        expect(turned == seen[::-1], f"the other order is due: {turned}")


def test_uuids_are_of_one_server(build):
    """Two of one machine share none; the same one has the same again."""
    seen = []
    for host in ("127.0.0.1", "127.0.0.2", "127.0.0.1"):
        with harness.serving(build, config=harness.configuration(2, host)) as server:
            seen.append(uuids(build, server))
    expect(seen[0] == seen[2] and not set(seen[0]) & set(seen[1]), f"{seen}")


def test_arguments_and_status(build):
    env = build.environment(preload=False)
    process = harness.run([gpuaas(build), "run", "--servers=a,b:1", "--force", "--", "sh", "-c",
                           'echo "$GPUAAS_SERVERS|$LD_LIBRARY_PATH|$1"; exit 7', "x", "--servers"],
                          env, status=7)
    servers, path, argument = process.out.lines[0].split("|")
    expect(servers == "a,b:1" and argument == "--servers", process.report())
    expect(path.split(":")[0] == build.path("lib", "gpuaas"), process.report())


def test_trace_summary(build):
    with harness.serving(build) as server:
        env = build.remote([server], GPUAAS_TRACE="summary")
        process = harness.run_passing([build.program("vector_add")], env)
        for pattern in (r"calls?\b", r"round trips?\b", r"bytes\b|[KM]i?B\b", r"wait"):
            expect(re.search(pattern, process.err.text, re.IGNORECASE),
                   f"{pattern!r} is missing in the summary\n{process.report()}")
        for line in process.err.lines:
            print("  " + line)
        quiet = harness.run_passing([build.program("vector_add")], build.remote([server]))
        expect(not quiet.err.text, f"a silent run is due\n{quiet.report()}")


def test_trace_calls(build):
    """Each call as it is sent, in order, and each wait."""
    with harness.serving(build) as server:
        env = build.remote([server], GPUAAS_TRACE="calls")
        process = harness.run_passing([build.program("vector_add")], env)
        said = [match[1] for match in map(re.compile(r"\] (?:call: (\w+)|wait: \d+ us$)").search,
                                          process.err.lines) if match]
        due = ["ga_module_load", "ga_launch", "ga_copy_out", None]  # None: a wait
        after = iter(said)
        expect(all(what in after for what in due), f"{due} in this order\n{process.report()}")


if __name__ == "__main__":
    harness.main(globals())
