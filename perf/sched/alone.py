# SPDX-License-Identifier: Apache-2.0
"""Times that do not scale with the model's, measured apart from the mixes: how long a program
takes to start until it has its context, what forwarding adds to an operation, when gpuaasd sees
that one has ended, how long it really waits for a session to go on, and what it costs to pass a
turn from one session to another."""

import statistics
from bisect import bisect_right

import mixes
import real

STARTS = 8
ROUNDS = 200
SHORT_NS = 300_000
BYTES = 8_000_000  # more than what travels within a call, which is no pinned memory
LAUNCH_NS = 3000  # MODEL_LAUNCH_NS of model/constants.def
COPY_RATE = 0.78  # MODEL_LINK_SHARE; pageable memory has half of it
PHASES = f"""h2d 0 {BYTES} pageable
kernel {SHORT_NS} 1 1 0
d2h 0 {BYTES} pageable
"""
TURNS = 300
TURN_KERNEL_NS, CHECK_KERNEL_NS = 600_000, 250_000
CHECK_SCALE = 0.5  # so that these kernels, too, are longer than a slice
PAUSES = 150
BRIEF = "h2d 0 2000 pageable\ncpu 8000000\n"
LONG_NS = 3_000_000


def trace(requests):
    return "gpuaas-trace 1\ngpu c2050\n" + "".join(
        f"request {stream} {arrival} {rounds}\n{phases}"
        for stream, arrival, rounds, phases in requests)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def programs(build, policy, scale):
    """Programs one after the other: how long one takes until it has its context, beyond what making
    one takes by the model; and an operation of the last, beyond the model."""
    requests = [("X", 0 if i == 0 else "after", 5, PHASES) for i in range(STARTS)]
    requests.append(("X", "after", ROUNDS, PHASES))
    run = real.replay(build, trace(requests), policy, scale, 2)
    start = mean(line["ready"] - line["begin"] for line in run.lines) - mixes.CONTEXT_NS * scale
    rate = mixes.LINK_MBS * 1e6 * COPY_RATE * (0.5 if policy == "cuda" else 1)
    copy_ns = BYTES / rate * 1e9 + mixes.GPU_NS["h2d_latency"] * scale
    last = max(run.lines, key=lambda line: line["request"])
    operation = ((last["end"] - last["ready"]) / ROUNDS - SHORT_NS - LAUNCH_NS - 2 * copy_ns) / 3
    return start, operation


def on_one_gpu(build, scale, one, other):
    """Two programs that pass the GPU to each other, each (phases, rounds)."""
    # Requests take the GPUs in turn: the second one only makes the third use the first GPU.
    requests = [("X", 0, one[1], one[0]), ("U", 1, 1, "cpu 1\n"), ("Y", 2, other[1], other[0])]
    return real.replay(build, trace(requests), "rr", scale, 3)


def turns(build, scale, kernel_ns, runs):
    """While two programs with kernels of this length pass the GPU to each other, in some runs, the
    medians of: from the end of a kernel to the next one's; from the end to the next grant."""
    of_runs = [turns_once(build, scale, kernel_ns) for _ in range(runs)]
    return [statistics.median(times) for times in zip(*of_runs)]


def turns_once(build, scale, kernel_ns):
    kernels = f"kernel {kernel_ns} 1 1 0\n", TURNS
    run = on_one_gpu(build, scale, kernels, kernels)
    ends = sorted(at + ns for gpu, at, ns in run.phases if gpu == 0)
    middle = ends[len(ends) // 5:-len(ends) // 5]
    return (middle[-1] - middle[0]) / (len(middle) - 1), statistics.median(granted_behind(run))


def granted_behind(run, most_ns=float("inf")):
    """From the end of each operation of at most this length to the grant for another session that
    has waited for its end."""
    phases = sorted((at + ns, ns) for gpu, at, ns in run.phases if gpu == 0)
    ends = [end for end, _ in phases]
    for gpu, wanted, granted, _ in run.turns:
        last = bisect_right(ends, granted) - 1
        if gpu == 0 and last >= 0 and wanted < ends[last] and phases[last][1] <= most_ns:
            yield granted - ends[last]


def held(build, scale):
    """From the end of a short copy, behind which its program pauses within its turn, to the grant
    for another session."""
    run = on_one_gpu(build, scale, (BRIEF, PAUSES), (f"kernel {LONG_NS} 1 1 0\n", PAUSES * 3))
    return statistics.median(granted_behind(run, LONG_NS / 2))


def measure(build, scale, runs):
    """For programs by themselves ("cuda") and through gpuaasd ("daemon")."""
    turn, seen = turns(build, scale, TURN_KERNEL_NS, runs)
    hold = statistics.median(held(build, scale) for _ in range(runs))
    of_turns = {"gate_ns": turn - TURN_KERNEL_NS - LAUNCH_NS - seen, "seen_ns": seen,
                "hold_ns": hold - seen - mixes.policy_times(scale)["hold"]}
    found = {}
    for way, policy in (("cuda", "cuda"), ("daemon", "none")):
        start, operation = programs(build, policy, scale)
        times = {**mixes.NOTHING, "start_ns": start, "operation_ns": operation,
                 **(of_turns if way == "daemon" else {})}
        found[way] = {key: max(round(ns), 0) for key, ns in times.items()}
    return found


def gate_check(build, scale, remote, runs):
    """Whether the comparison sees what the gate costs: shorter kernels than those it was measured
    with take as long as predicted, and not as long as with twice the cost."""
    kernel_ns = CHECK_KERNEL_NS + LAUNCH_NS
    took, _ = turns(build, scale * CHECK_SCALE, CHECK_KERNEL_NS, runs)
    turn_ns = remote["seen_ns"] + remote["gate_ns"]
    return {"kernel_us": CHECK_KERNEL_NS // 1000, "took_us": round(took / 1000),
            "ratio": took / (kernel_ns + turn_ns),
            "doubled": took / (kernel_ns + 2 * turn_ns)}
