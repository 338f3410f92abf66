# SPDX-License-Identifier: Apache-2.0
"""The papers' application mixes at a time scale: one scenario for the simulator, which also draws
the trace that gpuaas-load replays, and software GPUs with the same models and settings. Everything
that the model knows a time of is scaled: run times, with them copies and kernels, latencies,
switches, making a context, and the settings of the policy. The rest, starting a program, forwarding
a call and passing a turn on, is measured apart (alone.py) and given to the simulator."""

import argparse
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sim",
                                "eval"))

from bed import PAIRS, RUNTIME_S  # noqa: E402

MIXES = ["A", "F", "N", "P", "S", "W"]  # chosen before any run
# cuda: programs use the first GPU by themselves. The others: through gpuaasd, which has this
# policy (none: whoever comes first) on each GPU; requests take the GPUs in turn. ps without
# packing.
POLICIES = ["cuda", "none", "rr", "las", "fs", "tfs", "ps"]
GPUS = ["c2050", "quadro2000"]
ALPHA = 0.6  # mean time between arrivals by run time; as in sim/eval, which fits it
ROUNDS = 10  # Table I prints none; 10 to 10,000 are plausible
# Software GPUs copy with the machine's processors: links are slower by this, and copies smaller, so
# they take the same time by the model. No copy then fills a staging slot: each is one piece.
BYTES = 1 / 500
LINK_MBS = 8000
SMALL_BYTES = 4096  # such copies to a GPU travel within the call (server/calls/copy.c)

GPU_NS = {"h2d_latency": 10_000, "d2h_latency": 10_000, "switch_time": 25_000}
CONTEXT_NS = 150_000_000
POLICY_NS = {"slice": 10_000_000, "epoch": 100_000_000, "quantum": 1_000_000_000,
             "horizon": 2_000_000, "hold": 500_000}
LEAST_NS = {"slice": 100_000, "epoch": 1_000_000, "quantum": 1_000_000, "horizon": 100_000,
            "hold": 10_000}
# A backend process looks for the end of an operation after a twentieth of its age, at most a
# millisecond (server/conn/completer.c). The time that a call takes varies, and that
# decides who comes first.
SEEN = ["late_percent = 5", "late_most = 1ms", "forward_spread = 50"]
NOTHING = {"start_ns": 0, "operation_ns": 0, "gate_ns": 0, "seen_ns": 0, "hold_ns": 0}


def scaled(times, scale, least=None):
    return {key: max(round(ns * scale), (least or {}).get(key, 0)) for key, ns in times.items()}


def policy_times(scale):
    return scaled(POLICY_NS, scale, LEAST_NS)


def gpus_of(policy):
    return GPUS[:1] if policy == "cuda" else GPUS


def phase_ns(mix, scale):
    """The mean phase of a mix's shorter application."""
    return min(RUNTIME_S[app] for app in PAIRS[mix]) * scale * 1e9 / (ROUNDS * 4)


def head(scale, policy, alone):
    """The sections of a scenario that say on what the applications run."""
    lines = ["[run]", "isolation = app", f"pinned = {'no' if policy == 'cuda' else 'yes'}",
             f"unpinned_most = {round(SMALL_BYTES / BYTES)}",
             f"policy = {'none' if policy == 'cuda' else policy}", "balance = grr_node",
             f"forward = {alone['operation_ns']}ns", f"gate = {alone['gate_ns']}ns",
             f"seen = {alone['seen_ns']}ns",
             "warmup_percent = 0", *([] if policy == "cuda" else SEEN),
             "[policy]", *(f"{key} = {ns + alone['hold_ns'] * (key == 'hold')}ns"
                           for key, ns in policy_times(scale).items()),
             "[node.0]", "threads = 0", "cpus = 1000"]
    for number, model in enumerate(gpus_of(policy)):
        lines += [f"[gpu.{number}]", "node = 0", f"model = {model}",
                  *(f"{key} = {ns}ns" for key, ns in scaled(GPU_NS, scale).items()),
                  f"context_time = {round(CONTEXT_NS * scale) + alone['start_ns']}ns"]
    return lines


def applications(mix, scale):
    for app in PAIRS[mix]:
        yield from (f"[app.{app}]", f"table = {app}", f"rounds = {ROUNDS}",
                    f"runtime = {round(RUNTIME_S[app] * scale * 1e9)}ns")


def scenario(mix, scale, requests):
    """The text of a scenario that draws when the requests of a mix arrive (gpuaas-sim trace)."""
    lines = [*head(scale, "none", NOTHING), *applications(mix, scale)]
    for app in PAIRS[mix]:
        lines += [f"[stream.{app}]", f"app = {app}", f"alpha = {ALPHA}", f"requests = {requests}"]
    return "\n".join(lines) + "\n"


def requests(trace, mix, scale, policy, alone):
    """The text of a scenario with these requests. Each is a stream and thus a tenant of its own, as
    programs are on a gpuaasd without accounts. `alone`: what cannot be scaled (alone.py)."""
    lines = [*head(scale, policy, alone), *applications(mix, scale)]
    for number, (app, arrival) in enumerate(re.findall(r"^request (\w+) (\d+) ", trace, re.M)):
        lines += [f"[stream.{app}-{number}]", f"app = {app}", "arrivals = once", "requests = 1",
                  f"start = {arrival}ns"]
    return "\n".join(lines) + "\n"


def gpu_keys(model, scale):
    return {"model": model, "memory": "1GiB", "timing": "yes", "execute": "no",
            "context_time": f"{round(CONTEXT_NS * scale)}ns",
            "h2d_bandwidth_mbs": round(LINK_MBS * BYTES),
            "d2h_bandwidth_mbs": round(LINK_MBS * BYTES),
            **{key: f"{ns}ns" for key, ns in scaled(GPU_NS, scale).items()}}


def configuration(scale, policy, spares):
    """gpuaasd's. Processes are kept ready, so that all programs start alike; the log says when a
    session has waited for its turn, and what the GPUs have done."""
    text = ("[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\n"
            f"spare_backends = {spares}\nrecord_phases = yes\n")
    for number, model in enumerate(gpus_of(policy)):
        keys = {"driver": "soft", "policy": policy, **gpu_keys(model, scale),
                **{key: f"{ns}ns" for key, ns in policy_times(scale).items()}}
        text += f"[gpu.{number}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
    return text


def devices(scale):
    """The GPUs as SOFTGPU_DEVICES, for programs that use software GPUs by themselves."""
    return ";".join(",".join(f"{key}={value}" for key, value in gpu_keys(model, scale).items())
                    for model in gpus_of("cuda"))


def read(text):
    names = list(PAIRS) if text == "all" else text.split(",")
    for name in names:
        if name not in PAIRS:
            raise argparse.ArgumentTypeError(f"no mix {name}: {', '.join(PAIRS)}, or all")
    return names


def seeds(count):
    return random.Random(20261127).sample(range(1, 1000), count)
