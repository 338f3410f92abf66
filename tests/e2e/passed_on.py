#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that a program has exported counts for its tenant for as long as any program has it: when
its maker has freed it, or has ended, who has opened it first is charged, then the next one
(docs/quotas.md). It is never counted twice."""

import contextlib
import tempfile

from lib import ctl, harness
from lib.harness import expect, wait_until
from lib.passing import OUT_OF_MEMORY, Program

MIB = 1 << 20
# MiB. A program may have 2 MiB that it has not asked for, until the tenant lacks memory: that
# changes no whole step.
LIMIT, STEP = 111, 8
CONFIG = """[server]
listen = tcp://127.0.0.1:0
data_ports = 0
admin_socket = {folder}/admin.sock
store = {folder}/store.db
client_cache = 0
{keys}
[gpu.0]
driver = soft
memory = 512MiB
sms = 2
"""


class Node:
    def __init__(self, build, server, admin):
        self.build, self.server, self.admin = build, server, admin
        self.programs = []

    def program(self):
        self.programs.append(Program(self.build, self.server))
        return self.programs[-1]

    def ends(self, program, killed=False):
        """Until its session is gone."""
        before = len(self.admin.items("sessions"))
        self.programs.remove(program)
        if not killed:
            program.popen.stdin.close()
            program.wait(60)
        program.end()
        wait_until(lambda: len(self.admin.items("sessions")) == before - 1, 20,
                   "its session has ended")

    def used(self):
        """MiB of each session, in whole steps; None: they are not what the tenant has."""
        tenant = self.admin.json("tenant", "show", "default")["used"]["gpu_mem_bytes"]
        each = [session["gpu_mem_bytes"] for session in self.admin.items("sessions")]
        return sorted(one // MIB // STEP * STEP for one in each) if sum(each) == tenant else None

    def expect(self, *each):
        """This is used, and the tenant gets the rest of its limit. (A session that has ended may be
        in no list before its process has.)"""
        due = sorted(each)
        wait_until(lambda: self.used() == due, 20, f"{due} is used\n{self.server.report()}")
        rest = LIMIT // STEP * STEP - sum(due)
        wait_until(lambda: self.room() == rest, 20, f"{rest} is left\n{self.server.report()}")
        wait_until(lambda: self.used() == due, 20, f"{due} is used\n{self.server.report()}")

    def room(self):
        program, took = self.program(), 0
        while (code := program.get(f"take({STEP})")) == 0:
            took += STEP
        expect(code == OUT_OF_MEMORY, program.report())
        self.ends(program)
        return took


@contextlib.contextmanager
def node(build, keys="", extra=None):
    with tempfile.TemporaryDirectory(prefix="gpuaas-passed-on-") as folder:
        config = CONFIG.format(folder=folder, keys=keys)
        with harness.serving(build, config=config, extra=extra) as server:
            admin = ctl.Ctl(build, folder)
            admin.run("tenant", "set-quota", "default", f"gpu-mem={LIMIT}MiB")
            here = Node(build, server, admin)
            try:
                yield here
            finally:
                for program in here.programs:
                    program.end()


def test_again_and_again(build):
    """A program exports and ends, another one keeps what it had: the limit is met all the same."""
    with node(build) as here:
        keeper = here.program()
        for done in range(2):
            maker = here.program()
            expect(maker.get("take(40)") == 0, maker.report())
            keeper.get(f"open_shared({maker.get('share()')!r})")
            here.expect(40 * done, 40)
            here.ends(maker)
            here.expect(40 * done + 40)
        maker = here.program()
        expect(maker.get("take(40)") == OUT_OF_MEMORY, "past the limit\n" + maker.report())
        told = f"limit gpu-mem of tenant default: {LIMIT}MiB allowed"
        wait_until(lambda: told in maker.err.text, 10, "it is told\n" + maker.report())
        here.ends(maker)
        keeper.get("close_shared()")
        here.expect(40)
        here.ends(keeper)
        here.expect()


def test_its_maker_frees_it(build):
    """It goes on, and may not take again what another program has."""
    with node(build) as here:
        maker, keeper = here.program(), here.program()
        expect(maker.get("take(64)") == 0, maker.report())
        keeper.get(f"open_shared({maker.get('share()')!r})")
        maker.get("give()")
        here.expect(0, 64)
        expect(maker.get("take(64)") == OUT_OF_MEMORY, maker.report())
        expect(maker.get("take(32)") == 0, maker.report())
        keeper.get("close_shared()")
        here.expect(0, 32)
        expect(keeper.get("take(64)") == 0, keeper.report())


def test_from_one_to_the_next(build):
    """In the order in which they have opened it, when they are killed, too."""
    with node(build) as here:
        maker, one, other = (here.program() for _ in range(3))
        expect(maker.get("take(32)") == 0 and maker.get("take(16)") == 0, maker.report())
        handle = maker.get("share()")
        for program in (one, other):
            program.get(f"open_shared({handle!r})")
        here.expect(0, 0, 48)
        here.ends(maker, killed=True)
        here.expect(0, 16)
        expect(one.get("take(8)") == 0, one.report())
        here.expect(0, 24)  # who has opened it first
        here.ends(one, killed=True)
        here.expect(16)
        other.get("close_shared()")
        here.expect(0)


def test_memory_without_an_address(build):
    """Memory that travels as a descriptor, also when the importer passes it on."""
    with node(build) as here:
        maker, one, other = (here.program() for _ in range(3))
        expect(maker.get("create(64)") == 0, maker.report())
        one.get("import_from(*{})".format(maker.get("export()")))
        other.get("import_from(*{})".format(one.get("export()")))
        here.expect(0, 0, 64)
        here.ends(one)
        here.expect(0, 64)
        here.ends(maker)
        here.expect(64)
        other.get("release()")
        here.expect(0)


def test_one_process_for_several_programs(build):
    """Applications of one process hand over within it."""
    with node(build, "spare_backends = 0", {"GPUAAS_TEST_SEATS": "8"}) as here:
        maker, keeper = here.program(), here.program()
        expect(maker.get("take(64)") == 0, maker.report())
        keeper.get(f"open_shared({maker.get('share()')!r})")
        here.ends(maker)
        here.expect(64)
        keeper.get("close_shared()")
        here.expect(0)


if __name__ == "__main__":
    harness.main(globals())
