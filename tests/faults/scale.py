#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Very many clients of one gpuaasd: they come all at once, are all greeted, cost little memory each
and no processor while they do nothing, and leave nothing. With GPUAAS_TEST_FULL=1 as many as
software GPUs allow, else some."""

import contextlib
import os
import time

import check
from check import Checker, expect
from crowd import Crowd, allow_descriptors
from lib import harness
from resources import expect_calm

FULL = os.environ.get("GPUAAS_TEST_FULL") == "1"
CLIENTS = 4000 if FULL else 1500  # 4094 are allowed
GREET_SECONDS = 60  # without any answer
KIB_OF_A_CLIENT = 24  # a sanitizer keeps more
CLEAN_SECONDS = 60


def configuration(clients, *more):
    return harness.configuration(2, keys=[f"clients = {clients}", "handshake_timeout_s = 120",
                                          *more])


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def descriptors_allowed(pid):
    with open(f"/proc/{pid}/limits", encoding="ascii") as f:
        return next(int(line.split()[3]) for line in f if line.startswith("Max open files"))


def test_a_storm_of_clients(build):
    count = allow_descriptors(CLIENTS)
    with harness.serving(build, config=configuration(count + 10)) as server:
        server.wait_spares()
        descriptors = len(server.descriptors())
        before = resident_kib(server.pid)
        begin = time.monotonic()
        with contextlib.closing(Crowd(server.address, count)) as crowd:
            welcomed = crowd.greet(GREET_SECONDS)
            seconds = time.monotonic() - begin
            expect(welcomed == count, f"{welcomed} of {count} are greeted\n{server.report()}")
            each = (resident_kib(server.pid) - before) / count
            print(f"{count} clients greeted in {seconds:.1f} s, {each:.1f} KiB each")
            expect(build.sanitize != "none" or each < KIB_OF_A_CLIENT, f"{each} KiB of a client")
            expect_calm(server.pid, f"gpuaasd with {count} clients")
            check.run_steps(build, [server])
        harness.wait_until(lambda: len(server.descriptors()) == descriptors, CLEAN_SECONDS,
                           "the connections of all are closed")
        check.run_steps(build, [server])


def test_more_clients_than_allowed(build):
    """The first ones to use a device are served, the others are told; and all is well when they
    have gone."""
    with harness.serving(build, config=configuration(20)) as server:
        checker = Checker(build, server)
        with contextlib.closing(Crowd(server.address, 50, opens=True)) as crowd:
            expect(crowd.greet(GREET_SECONDS) == 20, server.report())
            expect("refused: it serves 20 applications already" in server.err.text,
                   server.report())
        checker.check()


def test_clients_that_use_nothing_do_not_count(build):
    with harness.serving(build, config=configuration(20)) as server:
        checker = Checker(build, server)
        with contextlib.closing(Crowd(server.address, 50)) as crowd:
            expect(crowd.greet(GREET_SECONDS) == 50, server.report())
            check.run_steps(build, [server])
        checker.check()


def test_descriptors_are_raised(build):
    prefix = ["prlimit", "--nofile=100:2000"]
    config = configuration(500, "pending_connections = 100")
    with harness.serving(build, config=config, prefix=prefix) as server:
        allowed = descriptors_allowed(server.pid)
        expect(1100 < allowed < 2000, f"{allowed} are allowed, 500 clients need more than 1000")
        expect("descriptors" not in server.err.text, server.report())
        check.run_steps(build, [server])


def test_descriptors_that_cannot_be_raised_are_told(build):
    prefix = ["prlimit", "--nofile=100:400"]
    with harness.serving(build, config=configuration(500), prefix=prefix) as server:
        expect(descriptors_allowed(server.pid) == 400, "all that are allowed are used")
        server.wait_for_line("400 descriptors are allowed here, enough for 116 clients", 10,
                             server.err)
        check.run_steps(build, [server])


if __name__ == "__main__":
    harness.main(globals())
