#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No server can be reached: a CUDA error in bounded time, and one line on stderr that names each
address and why."""

import contextlib
import re
import socket
import sys
import threading

from lib import harness
from lib.addresses import refusing_address, silent_address
from lib.harness import expect


def run_devices(build, servers):
    env = build.environment(build.path("lib", "gpuaas"), {"GPUAAS_SERVERS": servers})
    process = harness.run([build.program("devices")], env, seconds=60, status=1)
    # 100: cudaErrorNoDevice
    expect(re.search(r"\(100,", process.out.text), f"error 100 is due\n{process.report()}")
    return process


def lines_about(process, address):
    return [line for line in process.err.lines if address in line]


def test_refused(build):
    first, second = refusing_address(), refusing_address()
    process = run_devices(build, f"{first},{second}")
    lines = lines_about(process, first)
    expect(len(lines) == 1 and second in lines[0] and "is gpuaasd started" in lines[0],
           f"one line that names both addresses and why\n{process.report()}")
    expect(process.seconds < 20, f"it took {process.seconds:.1f} s")


def test_silent(build):
    refusing = refusing_address()
    with silent_address() as silent:
        process = run_devices(build, f"{silent},{refusing}")
    lines = lines_about(process, silent)
    expect(len(lines) == 1 and refusing in lines[0],
           f"one line that names both addresses\n{process.report()}")
    expect(process.seconds < 30, f"it took {process.seconds:.1f} s")


def gpuaas(build, *words, status, **env):
    command = [build.path("bin", "gpuaas"), *words]
    return harness.run(command, build.environment(extra=env), seconds=60, status=status)


def test_run_ends_before_the_program(build):
    """125, as what env and timeout say when they themselves fail; the program is not started."""
    first, second = refusing_address(), refusing_address()
    process = gpuaas(build, "run", "--servers", f"{first},{second}", "--", "echo", "started",
                     status=125)
    expect(not process.out.text, f"the program has run\n{process.report()}")
    expect(len(lines_about(process, first)) == 1 and "refused" in process.err.text and
           "--force" in process.err.lines[-1] and len(process.err.lines) == 2, process.report())
    for words in (["--compilers", "ptx"], ["--compilers", "machine"]):
        gpuaas(build, "run", "--servers", first, *words, "--", "echo", "started", status=125)


def test_run_is_forced(build):
    # Not sh, which dies with ThreadSanitizer preloaded
    program = "print('started'); raise SystemExit(3)"
    process = gpuaas(build, "run", "--servers", refusing_address(), "--force", "--",
                     sys.executable, "-c", program, status=3)
    expect(process.out.lines == ["started"] and not process.err.text, process.report())


def test_run_without_a_device(build):
    """Servers answer, and the choice leaves none of their devices."""
    with harness.serving(build, gpus=1) as server:
        words = ["run", "--servers", server.address, "--", "echo", "started"]
        for env, cause in (({"GPUAAS_DEVICES": "7"}, "GPUAAS_DEVICES=7 chooses none"),
                           ({"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES is set and empty")):
            process = gpuaas(build, *words, status=125, **env)
            expect(not process.out.text and cause in process.err.text, process.report())
        process = gpuaas(build, *words, status=0, GPUAAS_DEVICES="0")
        expect(process.out.lines == ["started"], process.report())


def test_devices_without_a_server(build):
    address = refusing_address()
    process = gpuaas(build, "devices", "--servers", address, status=1)
    expect(len(lines_about(process, address)) == 1, process.report())


def test_one_of_two_serves(build):
    refusing = refusing_address()
    with harness.serving(build, gpus=1) as server:
        env = build.remote([server])
        env["GPUAAS_SERVERS"] += "," + refusing
        process = harness.run([build.program("devices")], env)
        expect(len([line for line in process.out.lines if line.startswith("device ")]) == 1,
               f"one device\n{process.report()}")
        expect(len(lines_about(process, refusing)) == 1,
               f"one line about the other server\n{process.report()}")


def test_nonsense(build):
    process = run_devices(build, "localhost:99999,no-such-host.invalid")
    lines = lines_about(process, "localhost:99999")
    expect(len(lines) == 1 and "port" in lines[0] and "no-such-host.invalid" in lines[0],
           f"one line that names both and why\n{process.report()}")


def test_spaces_between(build):
    """The mistake of who knows lists of words."""
    process = run_devices(build, "localhost localhost:1")
    expect("separated by commas" in process.err.text, process.report())


def test_nobody_is_named(build):
    for servers in ("", ",", ",,", " , ,", "\t", "\t,\t"):
        process = run_devices(build, servers)
        expect("GPUAAS_SERVERS is not set" in process.err.text and len(process.err.lines) == 1,
               f"{servers!r}\n{process.report()}")


def test_port_zero(build):
    process = run_devices(build, "127.0.0.1:0")
    expect("the port is 1 to 65535" in process.err.text, process.report())


def test_another_protocol(build):
    """Something answers that is no gpuaasd."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def greet():
            with contextlib.suppress(OSError):
                connection = listener.accept()[0]
                with connection:
                    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n")
                    connection.recv(4096)
        threading.Thread(target=greet, daemon=True).start()
        process = run_devices(build, "127.0.0.1:%d" % listener.getsockname()[1])
    expect("is this the port of gpuaasd?" in process.err.text, process.report())


def test_too_long(build):
    """An address that no host can have, alone and as one of far too many."""
    process = run_devices(build, "h" * 5000)
    expect(any("h" * 50 in line and "too long" in line for line in process.err.lines),
           process.report())
    process = run_devices(build, ",".join(["h" * 300] * 300))
    expect(any("more than 256" in line for line in process.err.lines), process.report())


def test_no_list(build):
    process = run_devices(build, "")
    expect("GPUAAS_SERVERS" in process.err.text, process.report())


if __name__ == "__main__":
    harness.main(globals())
