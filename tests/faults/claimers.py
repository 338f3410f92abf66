#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that ask for tickets without end, by several connections and several requests at once,
and open nothing, keep nobody out (docs/quotas.md, docs/protocol.md): no tenant that has GPUs for
itself, nobody beside such a tenant, and no other program of their own tenant whose limits leave
room."""

import contextlib
import struct
import threading
import time

import check
import raw
from check import expect, wait_until
from lib import harness
from lib.limited import limited
from lib.two_tenants import gpu, two_tenants

CONNECTIONS, AT_ONCE = 4, 4
ASKED = 200  # by an application, before the next one comes in its place
STARTS = 4
TICKET_S = 2
PLACES = 12


class Claimer:
    """Asks by one connection after the other, until it is told to stop. It reads what it gets."""

    def __init__(self, address, token, asked):
        self.address, self.token, self.asked = address, token, asked
        self.ending, self.tickets, self.refused = False, 0, 0
        self.client, self.lost = None, None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while not self.ending:
                try:
                    with raw.Raw(self.address, token=self.token) as self.client:
                        self.ask()
                except AssertionError:  # not even welcome, while a limit is met
                    self.refused += 1
                    time.sleep(0.05)
        except (OSError, TypeError) as problem:
            self.lost = problem  # of consequence only if it was to go on

    def ask(self):
        control = self.client.control
        for number in range(AT_ONCE):
            self.client.say(control, raw.OPEN, struct.pack("<I", 0), number)
        for number in range(AT_ONCE, self.asked):
            opcode, _ = self.client.hear(control)
            self.tickets += opcode == raw.TICKET
            self.refused += opcode == raw.REFUSED
            if self.ending:
                return
            self.client.say(control, raw.OPEN, struct.pack("<I", 0), number)

    def end(self):
        self.ending = True
        if self.client is not None:
            with contextlib.suppress(OSError):
                self.client.control.shutdown(2)  # it may wait for its turn
        self.thread.join()


@contextlib.contextmanager
def claimers(server, token="", asked=ASKED):
    """Starts so many of them, all of which have had a ticket; they go on until the end."""
    made = [Claimer(server.address, token, asked) for _ in range(CONNECTIONS)]
    try:
        wait_until(lambda: all(each.tickets for each in made), 60, "each of them gets tickets")
        yield made
        expect(all(each.lost is None for each in made), f"they go on: {[e.lost for e in made]}")
        print([(each.tickets, each.refused) for each in made])
    finally:
        for each in made:
            each.end()


def expect_starts(build, server, env, token):
    with claimers(server, token) as made:
        for _ in range(STARTS):
            before = sum(each.tickets for each in made)
            harness.run_passing([build.program("vector_add")], env)
            wait_until(lambda: sum(each.tickets for each in made) > before, 60,
                       "they get tickets again afterwards")


def test_beside_a_tenant_that_has_gpus_for_itself(build):
    with two_tenants(build, "exclusive") as (server, lab, other):
        expect_starts(build, server, gpu(lab, 0), other["GPUAAS_TOKEN"])


def test_of_a_tenant_that_has_gpus_for_itself(build):
    with two_tenants(build, "exclusive") as (server, lab, other):
        expect_starts(build, server, gpu(other, 0), lab["GPUAAS_TOKEN"])


def test_that_never_leave(build):
    """Each has had its process for so long that it counts as a session (docs/quotas.md)."""
    with two_tenants(build, "exclusive", f"ticket_s = {TICKET_S}\n") as (server, lab, other):
        with claimers(server, other["GPUAAS_TOKEN"], asked=10**9) as made:
            time.sleep(2 * TICKET_S + 1)
            harness.run_passing([build.program("vector_add")], gpu(lab, 0))
            before = sum(each.tickets for each in made)
            wait_until(lambda: sum(each.tickets for each in made) > before, 60,
                       "they get tickets again afterwards")


def test_that_take_all_places(build):
    """Those of one tenant, none of which opens its device."""
    with two_tenants(build, "app", f"clients = {PLACES}\n") as (server, lab, other), \
            contextlib.ExitStack() as stack:
        for _ in range(PLACES):
            client = stack.enter_context(raw.Raw(server.address, token=other["GPUAAS_TOKEN"]))
            client.say(client.control, raw.OPEN, struct.pack("<I", 0))
        with contextlib.suppress(AssertionError, TypeError):
            raw.Raw(server.address, token=other["GPUAAS_TOKEN"])
            expect(False, "all places are taken")
        for _ in range(STARTS):
            harness.run_passing([build.program("vector_add")], gpu(lab, 0))


def test_of_the_same_tenant(build):
    for limit in ("sessions=1", "gpus=1"):
        with check.explained(limit), limited(build, limit, gpus=2) as server:
            expect_starts(build, server, gpu(build.remote([server]), 1), "")


if __name__ == "__main__":
    harness.main(globals())
