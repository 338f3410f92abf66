# SPDX-License-Identifier: Apache-2.0
"""The cost of all services of gpuaasd together to a program, call by call: a tenant with every
limit, accounts that are written each second, metering, and a policy on the GPU. The floor is the
same program on a gpuaasd that has none of them. The sides take turns, and each is first in turn."""

import functools
import statistics
from dataclasses import dataclass

import mix
from figures import KB, MB, Figure
from tenant_figures import BOUND, QUOTAS, Tenants, first_ms

WAY = {"tcp": "tcp", "shm": "auto"}
PROGRAMS = 48
FEW = 2  # programs, where only the counts are checked
ROUNDS = 6  # of the sides, in a turn
# All programs together do not meet them.
LIMITS = [limit.replace("4GiB", "64GiB").replace("=1GiB", "=64GiB") for limit in QUOTAS]


@dataclass
class Operation:
    """Words that perf_loops takes, how often in a round, and how the time of one is told: by the
    median of single calls, or by the time of all."""
    key: str
    title: str
    words: tuple
    count: int
    singly: bool = True

    def us(self, bench, loops):
        count = bench.count(self.count)
        answer = loops.ask(self.words[0], count, *self.words[1:])
        return answer["p50_ns"] / 1e3 if self.singly else answer["ns"] / count / 1e3


OPERATIONS = [
    Operation("wait", "cuMemGetInfo", ("wait",), 1000),
    Operation("event", "record an event and wait for it", ("waits", 0, "event"), 1000),
    Operation("query", "record, wait, ask for the event", ("query",), 1000),
    Operation("module", "load a module", ("waits", 0, "module"), 200),
    Operation("copy_in", "a copy in that blocks, 4 KiB", ("waits", 0, "in"), 1000),
    Operation("copy_out", "a copy out that blocks, 4 KiB", ("waits", 0, "out"), 1000),
    Operation("launch_1", "launch and wait", ("launch_wait", 1), 1000),
    Operation("launch_100", "100 launches and wait", ("launch_wait", 100), 200),
    Operation("launches", "launches", ("launch",), 100000, False),
    Operation("allocate", "allocate, fill, free", ("allocate", 4 * KB), 20000, False),
]
for _size, _name, _count in ((4 * KB, "4k", 5000), (MB, "1m", 100), (64 * MB, "64m", 2)):
    for _words in ("in", "out"):
        OPERATIONS.append(Operation(f"{_words}_{_name}", f"{_words}, {_size // KB} KiB",
                                    (_words, _size, "pageable"), _count, False))


@functools.cache
def servers(rig):
    """(server, variables of its programs) without services, and with all."""
    tenants = Tenants(rig, lines=["ledger_interval_s = 1"], gpu_lines=["policy = tfs"],
                      quotas=LIMITS)
    return (rig.server(["ledger_interval_s = 0"]), {}), (tenants.server, tenants.token())


@functools.cache
def sides(rig, transport):
    """The environments of programs of the floor and of ours."""
    return [(server, rig.build.remote([server], GPUAAS_TRANSPORT=WAY[transport],
                                      GPUAAS_COMPRESSION="off", **more))
            for server, more in servers(rig)]


@functools.cache
def loops(rig, transport):
    return [rig.loops(env) for _, env in sides(rig, transport)]


def in_turns(rounds, measures):
    """The medians of both."""
    found = ([], [])
    for number in range(rounds):
        for side in (0, 1)[::1 if number % 2 else -1]:
            found[side].append(measures[side]())
    return {"floor": statistics.median(found[0]), "ours": statistics.median(found[1])}


def operation_turn(transport, operation):
    def turn(bench):
        return in_turns(bench.count(ROUNDS), [functools.partial(operation.us, bench, program)
                                              for program in loops(bench.rig, transport)])
    return turn


def first_turn(transport):
    def turn(bench):
        return in_turns(bench.count(ROUNDS), [
            functools.partial(first_ms, bench.rig, server, env)
            for server, env in sides(bench.rig, transport)])
    return turn


@functools.cache
def crowds(rig, transport, count):
    found = [[rig.loops(env) for _ in range(count)] for _, env in sides(rig, transport)]
    for crowd in found:
        for program in crowd:
            program.ask("mix_fill", 1, MB)
    return found


def crowd_turn(transport):
    def turn(bench):
        count = FEW if bench.scale < 0.1 else PROGRAMS
        return in_turns(2, [lambda crowd=crowd: mix.measure(bench, crowd, MB)[1] * mix.CALLS / 1e3
                            for crowd in crowds(bench.rig, transport, count)])
    return turn


def all_figures():
    found = []
    for transport in WAY:
        found += [Figure(f"tenants_{operation.key}_{transport}",
                         f"{transport}: {operation.title}, all services", "us", True,
                         operation_turn(transport, operation), BOUND)
                  for operation in OPERATIONS]
        found += [Figure(f"tenants_first_{transport}", f"{transport}: first call, all services",
                         "ms", True, first_turn(transport), BOUND),
                  Figure(f"tenants_crowd_{transport}",
                         f"{transport}: {PROGRAMS} programs together, all services", "k calls/s",
                         False, crowd_turn(transport), 1 / BOUND)]
    return found
