# SPDX-License-Identifier: Apache-2.0
"""Times that do not scale with the model's, measured apart from the mixes: how long a program
takes to start until it has its context, what forwarding adds to an operation, and what it costs to
pass a turn from one session to another."""

import statistics

import mixes
import real

STARTS = 8
ROUNDS = 200
SHORT_NS = 300_000
BYTES = 2_000_000
LAUNCH_NS = 3000  # MODEL_LAUNCH_NS of model/constants.def
COPY_RATE = 0.78  # MODEL_LINK_SHARE; pageable memory has half of it
PHASES = f"""h2d 0 {BYTES} pageable
kernel {SHORT_NS} 1 1 0
d2h 0 {BYTES} pageable
"""
TURNS = 300
TURN_KERNEL_NS, CHECK_KERNEL_NS = 600_000, 300_000


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


def turns(build, scale, kernel_ns, runs):
    """From the end of a kernel to the next one's, while two programs pass the GPU to each other:
    the median of some runs."""
    return statistics.median(turns_once(build, scale, kernel_ns) for _ in range(runs))


def turns_once(build, scale, kernel_ns):
    kernel = f"kernel {kernel_ns} 1 1 0\n"
    # Requests take the GPUs in turn: the second one only makes the third use the first GPU.
    requests = [("X", 0, TURNS, kernel), ("U", 1, 1, "cpu 1\n"), ("Y", 2, TURNS, kernel)]
    run = real.replay(build, trace(requests), "rr", scale, 3)
    ends = sorted(at + ns for gpu, at, ns in run.phases if gpu == 0)
    middle = ends[len(ends) // 5:-len(ends) // 5]
    return (middle[-1] - middle[0]) / (len(middle) - 1)


def measure(build, scale, runs):
    """For programs by themselves ("cuda") and through gpuaasd ("daemon")."""
    gate = turns(build, scale, TURN_KERNEL_NS, runs) - TURN_KERNEL_NS - LAUNCH_NS
    found = {}
    for way, policy in (("cuda", "cuda"), ("daemon", "none")):
        start, operation = programs(build, policy, scale)
        found[way] = {"start_ns": max(round(start), 0), "operation_ns": max(round(operation), 0),
                      "gate_ns": max(round(gate), 0) if way == "daemon" else 0}
    return found


def gate_check(build, scale, remote, runs):
    """Whether the comparison sees what the gate costs: shorter kernels than those it was measured
    with take as long as predicted, and not as long as with twice the cost."""
    kernel_ns = CHECK_KERNEL_NS + LAUNCH_NS
    took = turns(build, scale, CHECK_KERNEL_NS, runs)
    return {"kernel_us": CHECK_KERNEL_NS // 1000, "took_us": round(took / 1000),
            "ratio": took / (kernel_ns + remote["gate_ns"]),
            "doubled": took / (kernel_ns + 2 * remote["gate_ns"])}
