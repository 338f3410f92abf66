#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost that one application can make the node spend has a bound: at the bound that application
gets a documented error, and nobody else notices (docs/limits.md)."""

import ast
import contextlib
import os
import resource
import subprocess
import sys

import check
from check import expect
from lib import harness
from lib.player import Player

SPENDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spender.py")
OUT_OF_MEMORY = 2
SHARES_MOST = 1024  # server/channel.h: CHANNEL_SHARES_MAX
CONFIG = """[server]
listen = tcp://127.0.0.1:0
data_ports = 0
{more}
[gpu.0]
driver = soft
memory = 512MiB
sms = 2
"""


class Spender(Player):
    """spender.py, which has a context."""

    def __init__(self, build, env):
        harness.Process.__init__(self, [sys.executable, SPENDER], env, stdin=subprocess.PIPE)
        self.answers = 0
        expect(self.ask("start()") == "started", self.report())

    def get(self, words):
        return ast.literal_eval(self.ask(words))


@contextlib.contextmanager
def spenders(build, server, count, **env):
    with contextlib.ExitStack() as stack:
        made = [Spender(build, build.remote([server], **env)) for _ in range(count)]
        yield [stack.enter_context(contextlib.closing(program)) for program in made]


def limit_descriptors(pid, more):
    """Allows it only so many more than it has."""
    limit = max(int(name) for name in os.listdir(f"/proc/{pid}/fd")) + 1 + more
    resource.prlimit(pid, resource.RLIMIT_NOFILE,
                     (limit, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))


def test_exported_memory_costs_who_exports_it(build):
    """Three, then eight, export as much as they can; gpuaasd, which has few descriptors left, has
    as many as before, and others start and open what was exported."""
    with harness.serving(build, config=CONFIG.format(more="clients = 16")) as server:
        server.wait_spares()
        limit_descriptors(server.pid, 60)
        for count in (3, 8):
            with spenders(build, server, count) as programs:
                server.wait_spares()
                before = check.descriptors(server.pid)
                for program in programs:
                    program.say(f"share({SHARES_MOST + 10})")
                answers = [ast.literal_eval(program.hear()) for program in programs]
                expect([answer[:2] for answer in answers] ==
                       [(SHARES_MOST, OUT_OF_MEMORY)] * count, f"{answers}")
                expect(check.descriptors(server.pid) == before,
                       f"gpuaasd: {before} became {check.descriptors(server.pid)}")
                with spenders(build, server, 1) as (other,):
                    for answer in answers:
                        expect(other.get(f"open_shared('{answer[2]}')") == 0, other.report())
                    expect(other.get("copies()"), other.report())
                for program in programs:
                    expect(program.get("copies()"), program.report())
        expect("which is the most" in server.err.text, server.report())


MIB = 1 << 20
BUDGET = 64  # MiB, the least that a configuration can say
FIFO_SIZE = 1  # CU_LIMIT_PRINTF_FIFO_SIZE
# A few bytes of text make gigabytes of initial values.
BOMB = ".global .b8 far[2][{bytes}] = {{{{1}},{{1}}}};"
# Each thread has so much local memory.
WIDE = """.visible .entry start()
{{
    .local .align 8 .b8 stack[{bytes}];
    .reg .u64 %s;
    .reg .u32 %v;
    mov.u64 %s, stack;
    mov.u32 %v, 1;
    st.local.u32 [%s], %v;
    ret;
}}
"""


def peak_mib(pid):
    """The most that the process has had in memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) >> 10


@contextlib.contextmanager
def two(build):
    """One that spends, and one that must not notice; the process of the first one. It may grow by
    what its part of the server and its GPU may take."""
    config = CONFIG.format(more=f"application_host_memory = {BUDGET}MiB")
    with harness.serving(build, config=config) as server, spenders(build, server, 1) as (greedy,):
        pid, = server.backends()
        before = peak_mib(pid)
        with spenders(build, server, 1) as (other,):
            yield server, greedy
            expect(other.get("copies()"), other.report())
        grown = peak_mib(pid) - before
        print(f"the greedy one's process has grown by {grown} MiB")
        if build.sanitize == "none":
            expect(grown < 2 * BUDGET + 32, f"{grown} MiB")
        else:  # with red zones, and memory that is kept for a while after it is freed
            expect(grown < 8 * BUDGET, f"{grown} MiB")


def quoted(text):
    return repr(text)


def test_a_small_text_cannot_take_the_machine(build):
    with two(build) as (server, greedy):
        for size in (128 * MIB, 1 << 34, 1 << 39):
            expect(greedy.get(f"load({quoted(BOMB.format(bytes=size))})") == OUT_OF_MEMORY,
                   greedy.report())
        expect(greedy.get("copies()"), "it goes on, too")
        server.wait_for_line("a text of this size may not take so much", 10, server.err)


def test_modules_that_are_loaded_count(build):
    with two(build) as (server, greedy):
        count, code = greedy.get("loads(300)")
        print(f"{count} modules")
        expect(code == OUT_OF_MEMORY and count > 3, greedy.report())
        server.wait_for_line("no memory for parsed PTX: .*application_host_memory", 10, server.err)
        expect(greedy.get("copies()"), "it goes on, too")


def test_managed_variables_count(build):
    with two(build) as (server, greedy):
        text = f".visible .global .attribute(.managed) .b8 large[{2 * BUDGET * MIB}];"
        expect(greedy.get(f"load({quoted(text)})") == OUT_OF_MEMORY, greedy.report())
        server.wait_for_line("no memory for managed variables: .*application_host_memory", 10,
                             server.err)
        expect(greedy.get("copies()"), "it goes on, too")


def test_local_memory_of_blocks_counts(build):
    with two(build) as (server, greedy):
        expect(greedy.get(f"launch({quoted(WIDE.format(bytes=32768))}, 1024, 20)") == 0,
               greedy.report())
        expect(greedy.get(f"launch({quoted(WIDE.format(bytes=131072))}, 1024, 20)") ==
               OUT_OF_MEMORY, greedy.report())
        expect(greedy.get("copies()"), "it goes on, too")
        server.wait_for_line("bytes of local memory are needed at once", 10, server.err)


def test_kernel_output_counts(build):
    with two(build) as (_, greedy):
        expect(greedy.get("loads(1)") == (1, 0), greedy.report())
        expect(greedy.get(f"limit({FIFO_SIZE}, {BUDGET * MIB})") == OUT_OF_MEMORY, greedy.report())
        expect(greedy.get(f"limit({FIFO_SIZE}, {8 * MIB})") == 0, greedy.report())


def test_objects_count(build):
    with two(build) as (server, greedy):
        count, code = greedy.get("events(300000)")
        expect(code == OUT_OF_MEMORY and 20000 < count <= BUDGET * MIB // 512, greedy.report())
        expect(greedy.get("graph(100)") == OUT_OF_MEMORY, greedy.report())
        server.wait_for_line("bytes of host memory are all that .*application_host_memory", 10,
                             server.err)


def test_nodes_of_graphs_count(build):
    with two(build) as (_, greedy):
        for _ in range(3):  # and are given back
            expect(greedy.get("graph(10000)") == 0, greedy.report())
        expect(greedy.get(f"graph({BUDGET * MIB // 2048 + 1})") == OUT_OF_MEMORY, greedy.report())
        greedy.ask("cuda.cuCtxSynchronize()")  # what failed after its call had returned
        expect(greedy.get("graph(10000)") == 0, greedy.report())


if __name__ == "__main__":
    harness.main(globals())
