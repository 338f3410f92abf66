#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backend process or gpuaasd dies (kill -9): who used it is told 719 with one line why, others
notice nothing, and what died is there again for the next program at once."""

import os
import signal
import time

import check
from check import Checker, expect, wait_until
from lib import harness


def lines_of_ours(program):
    return harness.logged(program)


def expect_719(victim):
    error = check.victim_result(victim)
    expect(error == 719, f"{error} instead of 719\n{victim.report()}")
    expect(len(lines_of_ours(victim)) == 1, f"one line why is due\n{victim.report()}")


def test_backend(build):
    with harness.serving(build) as server:
        bystander = check.start_bystander(build, server)
        try:
            bystander.wait_for_line("started", 60)
            checker = Checker(build, server, clients=1)
            others = server.backends()
            victim = check.start_steps(build, [server], rounds=0)
            victim.wait_for_line("started", 60)
            backend = next(pid for pid in server.backends() if pid not in others)
            os.kill(backend, signal.SIGKILL)
            killed = time.monotonic()
            victim.wait_for_line(r"error 719\b", 10)
            told = time.monotonic() - killed
            expect_719(victim)
            check.run_steps(build, [server])
            print(f"719 after {told * 1000:.0f} ms")
            checker.check(killed=[backend])
            expect(bystander.running(), f"the bystander has ended\n{bystander.report()}")
            bystander.kill(signal.SIGTERM)
            expect(check.victim_result(bystander) == 0, bystander.report())
        finally:
            bystander.end()


def test_gpuaasd(build):
    with harness.serving(build, host=check.own_host()) as server:
        victim = check.start_steps(build, [server], rounds=0)
        idle = harness.Process([build.program("endless"), "idle"], build.remote([server]))
        try:
            victim.wait_for_line("started", 60)
            idle.wait_for_line("started", 60)
            backends = server.backends()
            expect(len(backends) == 2, f"two backend processes are due: {backends}")
            server.kill()
            server.wait(10)
            killed = time.monotonic()
            with harness.serving(build, config=check.same_address(server)) as again:
                print(f"it serves again after {(time.monotonic() - killed) * 1000:.0f} ms")
                expect(again.address == server.address, f"{again.address}: another address")
                check.run_steps(build, [again])
                expect_719(victim)
                wait_until(lambda: not any(map(harness.alive, backends)), 10,
                           f"no orphans: {backends}")
                Checker(build, again).check()
        finally:
            victim.end()
            idle.end()


def test_gpuaasd_with_ports(build):
    """The data ports of the dead one are free for the next one as well."""
    def config(text):
        return text.replace("data_ports = 0", f"data_ports = {port}-{port + 1}")
    with harness.serving(build) as probe:
        port = int(probe.address.rsplit(":", 1)[1])
    first = config(harness.configuration(1, check.own_host()))
    with harness.serving(build, config=first) as server:
        check.run_steps(build, [server])
        victim = check.start_steps(build, [server], rounds=0)
        try:
            victim.wait_for_line("started", 60)
            server.kill()
            server.wait(10)
            with harness.serving(build, config=config(check.same_address(server, 1))) as again:
                check.run_steps(build, [again])
            expect_719(victim)
        finally:
            victim.end()


def test_gpuaasd_stopped_gracefully(build):
    with harness.serving(build, host=check.own_host()) as server:
        victim = check.start_steps(build, [server], rounds=0)
        try:
            victim.wait_for_line("started", 60)
            server.stop()
            expect_719(victim)
            with harness.serving(build, config=check.same_address(server)) as again:
                check.run_steps(build, [again])
        finally:
            victim.end()


if __name__ == "__main__":
    harness.main(globals())
