# SPDX-License-Identifier: Apache-2.0
"""The papers' application mixes at a time scale: one scenario for the simulator, which also draws
the trace that gpuaas-load replays, and a configuration of gpuaasd with the same GPU and the same
settings. Everything that the model knows a time of is scaled: run times, with them copies and
kernels, latencies, switches, making a context, and the settings of the policy. The rest,
starting a program and forwarding a call, is measured alone (measure_alone in real.py) and
given to the simulator."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sim",
                                "eval"))

from bed import PAIRS, RUNTIME_S  # noqa: E402

MIXES = ["A", "F", "N", "P", "S", "W"]  # chosen before any run
POLICIES = ["none", "rr", "las", "fs", "tfs", "ps"]  # ps without packing
MODEL = "c2050"
ALPHA = 0.5  # mean time between arrivals by run time
ROUNDS = 100
# Software GPUs copy with the machine's processors: links are slower by this, and copies smaller, so
# they take the same time by the model.
BYTES = 1 / 50
LINK_MBS = 8000

GPU_NS = {"h2d_latency": 10_000, "d2h_latency": 10_000, "switch_time": 25_000}
CONTEXT_NS = 150_000_000
POLICY_NS = {"slice": 10_000_000, "epoch": 100_000_000, "quantum": 1_000_000_000,
             "horizon": 2_000_000, "hold": 500_000}
LEAST_NS = {"slice": 100_000, "epoch": 1_000_000, "quantum": 1_000_000, "horizon": 100_000,
            "hold": 10_000}


def scaled(times, scale, least=None):
    return {key: max(round(ns * scale), (least or {}).get(key, 0)) for key, ns in times.items()}


def policy_times(scale):
    return scaled(POLICY_NS, scale, LEAST_NS)


def scenario(mix, scale, requests, alone=None):
    """The text of a scenario; `alone`: what cannot be scaled, as real.measure_alone tells it."""
    alone = alone or {"start_ns": 0, "operation_ns": 0}
    lines = ["[run]", "isolation = app", f"forward = {alone['operation_ns']}ns",
             "warmup_percent = 0",
             "[policy]", *(f"{key} = {ns}ns" for key, ns in policy_times(scale).items()),
             "[node.0]", "threads = 0",
             "[gpu.0]", "node = 0", f"model = {MODEL}",
             *(f"{key} = {ns}ns" for key, ns in scaled(GPU_NS, scale).items()),
             f"context_time = {round(CONTEXT_NS * scale) + alone['start_ns']}ns"]
    for app in PAIRS[mix]:
        lines += [f"[app.{app}]", f"table = {app}", f"rounds = {ROUNDS}",
                  f"runtime = {round(RUNTIME_S[app] * scale * 1e9)}ns",
                  f"[stream.{app}]", f"app = {app}", f"alpha = {ALPHA}", f"requests = {requests}"]
    return "\n".join(lines) + "\n"


def configuration(scale, policy):
    keys = {"driver": "soft", "model": MODEL, "memory": "1GiB", "timing": "yes", "execute": "no",
            "context_time": f"{round(CONTEXT_NS * scale)}ns", "policy": policy,
            "h2d_bandwidth_mbs": round(LINK_MBS * BYTES),
            "d2h_bandwidth_mbs": round(LINK_MBS * BYTES),
            **{key: f"{ns}ns" for key, ns in scaled(GPU_NS, scale).items()},
            **{key: f"{ns}ns" for key, ns in policy_times(scale).items()}}
    return ("[server]\nlisten = tcp://127.0.0.1:0\ndata_ports = 0\n[gpu.0]\n" +
            "".join(f"{key} = {value}\n" for key, value in keys.items()))


def seeds(count):
    return random.Random(20261127).sample(range(1, 1000), count)
