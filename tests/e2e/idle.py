#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that use no device for long: gpuaasd ends their connections, and they do not notice."""

import contextlib
import random
import subprocess

from lib import harness
from lib.harness import expect, wait_until

IDLE = "has used nothing for idle_timeout_s"


def configuration(host="127.0.0.1", port=0):
    keys = ["idle_timeout_s = 1", "ticket_s = 1"]
    return harness.configuration(1, host, keys).replace(f"{host}:0", f"{host}:{port}")


def own_host():
    """Where every port is free: another gpuaasd is to take the same one."""
    return "127." + ".".join(str(random.randint(1, 254)) for _ in range(3))


@contextlib.contextmanager
def late_devices(build, servers):
    """The program has counted its devices; each line that it gets makes it use the next one."""
    process = harness.Process([build.program("late_devices")], build.remote(servers),
                              stdin=subprocess.PIPE)
    try:
        process.wait_for_line("started with", 60)
        yield process
    finally:
        process.end()
        process.popen.stdin.close()


def go_on(process):
    process.popen.stdin.write("\n")
    process.popen.stdin.flush()


def expect_passed(process):
    status = process.wait(60)
    expect(status == 0 and process.out.lines[-1] == "PASSED", process.report())
    expect(not harness.logged(process), f"it notices nothing\n{process.report()}")


def test_before_its_first_device(build):
    """semantics S161"""
    with harness.serving(build, config=configuration()) as server, \
            late_devices(build, [server]) as program:
        server.wait_for_line(IDLE, 30, server.err)
        wait_until(lambda: not server.backends(), 20, "its process has ended, too")
        go_on(program)
        expect_passed(program)


def test_one_server_of_two(build):
    """semantics S161; the other one is in use all the time."""
    with harness.serving(build, config=configuration()) as server, \
            harness.serving(build, config=configuration("127.0.0.2")) as other, \
            late_devices(build, [server, other]) as program:
        go_on(program)
        program.wait_for_line("device 0 works", 60)
        other.wait_for_line(IDLE, 30, other.err)
        go_on(program)
        expect_passed(program)


def test_a_server_that_was_started_anew(build):
    """As far as the program has not used it, it is the same server."""
    same = configuration(own_host(), 9955)
    with harness.serving(build, config=same) as server, \
            late_devices(build, [server]) as program:
        server.wait_for_line(IDLE, 30, server.err)
        server.stop()
        with harness.serving(build, config=same):
            go_on(program)
            expect_passed(program)


def test_a_server_that_has_gone(build):
    """Error 46, and the line says why."""
    with harness.serving(build, config=configuration()) as server, \
            late_devices(build, [server]) as program:
        server.wait_for_line(IDLE, 30, server.err)
        server.stop()
        go_on(program)
        expect(program.wait(60) != 0 and "(46," in program.out.text, program.report())
        said = harness.logged(program)
        expect(len(said) == 1 and "Connection refused" in said[0], program.report())


def test_a_server_with_other_devices(build):
    """Error 46: what the program knows of them is no longer true."""
    before = configuration(own_host(), 9955)
    with harness.serving(build, config=before) as server, \
            late_devices(build, [server]) as program:
        server.wait_for_line(IDLE, 30, server.err)
        server.stop()
        with harness.serving(build, config=before.replace("[server]", "[server]\nnode = another")):
            go_on(program)
            expect(program.wait(60) != 0 and "(46," in program.out.text, program.report())
            expect("it has other devices than before" in program.err.text, program.report())


if __name__ == "__main__":
    harness.main(globals())
