# SPDX-License-Identifier: Apache-2.0
"""Measurements without a floor: counts, times of a program's beginning, and memory."""

import os
import re
import statistics
import time
from dataclasses import dataclass

import delay
import rig

MB = 1 << 20
SESSIONS = 1000
DELAYS_S = (0.1, 0.3)  # of a round trip: long against everything that is computed


@dataclass
class Fact:
    """`value` None: not available, the note says why. `held`: bench --check insists on it."""
    key: str
    title: str
    unit: str
    value: float
    target: float = None  # at most
    note: str = ""
    held: bool = False

    def reached(self):
        return None if self.target is None or self.value is None else self.value <= self.target

    def target_text(self):
        return "" if self.target is None else f"<= {self.target:.3g}"


# ---- calls of the allocator

def mallocs(bench_rig, _floor, scale):
    for name, transport in (("tcp", "tcp"), ("shm", "auto")):
        yield from mallocs_over(name, bench_rig, scale, bench_rig.server,
                                lambda server, transport=transport:
                                bench_rig.loops_remote(server, transport))


def mallocs_over(transport, bench_rig, scale, serve, open_loops):
    """`serve` starts a server that is given a program, `open_loops` the loops on it."""
    target = None if transport == "tls" else 0  # OpenSSL's own, for each record
    counted = bench_rig.build.path("perf", "gpuaasd_counted")
    if not os.path.exists(counted):
        yield Fact(f"mallocs_{transport}", f"{transport}: mallocs", "", None,
                   target, "a sanitizer has its own allocator")
        return
    loops = open_loops(serve(program=counted))
    for words, count in ((("launch",), 20000), (("record",), 20000), (("fill",), 20000),
                         (("wait",), 2000), (("in", 4096, "pageable"), 5000),
                         (("in", MB, "pageable"), 50), (("out", 4096, "pageable"), 2000),
                         (("out", MB, "pinned"), 50)):
        name, *rest = words
        number = max(1, round(count * scale))
        loops.ask(name, number, *rest)  # buffers that are kept
        answer = loops.ask(name, number, *rest)
        client, server = answer["client_mallocs"], answer["server_mallocs"]
        what = {4096: " 4 KiB", MB: " 1 MiB"}.get(rest[0], "") if rest else ""
        yield Fact(f"mallocs_{transport}_{name}{what.replace(' ', '_').lower()}",
                   f"{transport}: mallocs in {number} x {name}{what}", "", client + server, target,
                   f"client {client}, server {server}", held=target is not None)


# ---- the processor's time

def processor_ns(pid):
    """The processor time of all live threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def launch_processor(bench_rig, _floor, scale):
    """Launches as fast as they can be posted; threads that poll in vain are counted as well."""
    count = max(1000, round(1000000 * scale))
    for name, transport, target in (("tcp", "tcp", 250), ("shm", "auto", None)):
        server = bench_rig.server(["spare_backends = 0"])
        loops = bench_rig.loops_remote(server, transport)
        loops.ask("launch", count // 10)
        [backend] = server.backends()
        costs = []
        for _ in range(max(1, round(5 * min(scale, 1)))):
            before = [processor_ns(pid) for pid in (loops.popen.pid, backend)]
            loops.ask("launch", count)
            costs.append([(processor_ns(pid) - ns) / count
                          for pid, ns in zip((loops.popen.pid, backend), before)])
        client, backends = (statistics.median(column) for column in zip(*costs))
        yield Fact(f"launch_processor_{name}", f"{name}: processor's time of a launch", "ns",
                   client + backends, target, f"program {client:.0f}, backend {backends:.0f}")


# ---- the beginning of a program

def first_calls(bench_rig, floor, scale):
    """From cuInit until the first waiting call is answered."""
    rtt_ns = floor.ask(32, 0, 65536, MB, 32, 65536, max(10, round(2000 * scale)),
                       "block")["p50_ns"]
    bound_ms = 4 * rtt_ns / 1e6 + 5
    for key, title, spares, target in (
            ("first_call_cold", "first call, no spare backend process", 0, None),
            ("first_call_spare", "first call, spare backend process", 1, bound_ms)):
        server = bench_rig.server([f"spare_backends = {spares}"])
        times = []
        for _ in range(max(2, round(10 * scale))):
            loops = bench_rig.loops_remote(server)
            times.append(loops.opened["first_ns"] / 1e6)
            loops.end()
            time.sleep(0.3)  # the next spare is being started
        yield Fact(key, title, "ms", statistics.median(times), target,
                   f"{min(times):.1f}..{max(times):.1f} ms; a round trip is {rtt_ns / 1e3:.0f} us")


def round_trips(process):
    """(after connecting, to connect), as GPUAAS_TRACE=summary says."""
    match = re.search(r"round trips (\d+) \(and (\d+) to connect\)", process.err.text)
    return int(match.group(1)), int(match.group(2))


def hello(bench_rig, _floor, scale):
    """The round trips of the program hello, as counted by the client and as shown by a slow
    link."""
    first = delay.free_ports()
    ports = range(first, first + delay.DATA_PORTS)
    server = bench_rig.server([f"data_ports = {ports[1]}-{ports[-1]}",
                               f"advertise_address = {delay.NEAR}"], null=False, port=ports[0])
    link = delay.SlowLink(ports)
    bench_rig.stack.callback(link.close)
    env = bench_rig.build.remote([server], GPUAAS_TRACE="summary")
    env["GPUAAS_SERVERS"] = f"{delay.NEAR}:{ports[0]}"
    program = bench_rig.build.program("hello")
    seconds = {}
    for link.delay_s in DELAYS_S:
        times = []
        for _ in range(max(2, round(4 * scale))):
            process = rig.harness.run_passing([program], env)
            times.append(process.seconds)
        seconds[link.delay_s] = min(times)  # what disturbs only adds
    calls, connecting = round_trips(process)
    yield Fact("hello_round_trips", "hello: round trips after connecting", "", calls, 4,
               f"and {connecting} to connect, two of them TCP's own", held=True)
    short, long = DELAYS_S
    waited = (seconds[long] - seconds[short]) / (long - short)
    yield Fact("hello_waited", "hello: round trips by a slow link", "", waited,
               calls + connecting - 2 + 0.5, f"{seconds[short] * 1e3:.0f} ms and "
               f"{seconds[long] * 1e3:.0f} ms when one takes {short * 1e3:.0f} and "
               f"{long * 1e3:.0f} ms; TCP's own not counted")
    large = rig.harness.run_passing([bench_rig.build.program("vector_add")],
                                    bench_rig.build.remote([server], GPUAAS_TRACE="summary"))
    yield Fact("vector_add_round_trips", "vector_add: round trips after connecting", "",
               round_trips(large)[0], 4, "three allocations of 4 MiB")


# ---- memory

def resident(pid):
    """Bytes: all that is resident, and with shared pages divided by their users."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        found = dict(re.findall(r"^(Rss|Pss):\s+(\d+) kB", f.read(), re.MULTILINE))
    return int(found["Rss"]) * 1024, int(found["Pss"]) * 1024


def idle_memory(bench_rig, _floor, _scale):
    server = bench_rig.server(["spare_backends = 0"], null=False)
    bench_rig.loops_remote(server)
    time.sleep(1)
    [backend] = server.backends()
    rss, pss = resident(backend)
    yield Fact("idle_memory", "backend process with an idle session", "MB", rss / 1e6,
               8 if bench_rig.build.sanitize == "none" else None,
               f"{pss / 1e6:.1f} MB with shared pages divided; gpuaasd itself "
               f"{resident(server.pid)[0] / 1e6:.1f} MB")


def idle_sessions(bench_rig, _floor, scale):
    """A session is an application's device, so the sessions need as many GPUs."""
    count = max(2, round(SESSIONS * scale))
    held = bench_rig.build.sanitize == "none" and count == SESSIONS
    fact = Fact("idle_sessions", f"backend process with {count} idle sessions", "MB", None,
                100 if held else None)
    try:
        server = bench_rig.server(["spare_backends = 0"], null=False, gpus=count)
        loops = bench_rig.loops_remote(server)
        loops.ask("contexts", count)
        time.sleep(1)
        [backend] = server.backends()
        rss, pss = resident(backend)
        fact.value = rss / 1e6
        fact.note = f"{pss / 1e6:.1f} MB with shared pages divided"
    except (rig.Failure, rig.harness.Failure) as failure:
        complaint = re.search(r"(?:error: |\.conf:\d+: )(.*)", str(failure))
        fact.note = complaint.group(1) if complaint else str(failure).splitlines()[0]
    yield fact


ALL = {"mallocs": mallocs, "launch_processor": launch_processor, "first_call": first_calls,
       "hello": hello, "idle_memory": idle_memory, "idle_sessions": idle_sessions}
