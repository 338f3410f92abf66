# SPDX-License-Identifier: Apache-2.0
"""The shares that tenants get of a GPU under true fair share, on gpuaasd beside the simulator's
prediction and what they are entitled to. All of them always have work: programs launch a kernel
before the last one is done, and of those that come and go there are two at a time. Therefore each
is entitled to its weight among all, of the time in which all of them want the GPU. Compared is what
they are *given* of it: their turns, and what their work takes besides (given.py), which a busy
machine does not change. Their parts of the time that the GPU has *worked* are the same if it works
all the time; where it worked for less than BUSY, they are told, and not compared: turns are by the
clock, and a machine that is slow to serve takes more of those with short kernels. A look may be off
by a kernel of the tenant: nothing interrupts one. It is VOID if all wanted the GPU at the same time
for less than half of it."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack

import real  # noqa: F401  (the path of the end-to-end tests)
import given
from lib import entitlement
from lib import harness

HOLDS = ["500us", "50ms"]  # the default, and a long one
BUSY = 0.9
AT_A_TIME = 2
CONTENDED = 0.5
WINDOW_S, WARM_S = 10, 2
TAIL_S = 5  # until the log has the turns of the look
PREDICTED_S, REQUEST_MS = 100, 1000  # of the simulator
BESIDE_FRIENDS, BESIDE_HOSTILE = 0.05, 0.10


class Tenant:
    """Kernels of so many ms; `renews`: a process for each."""

    def __init__(self, weight, kernel_ms, renews=False):
        self.weight, self.kernel_ms, self.renews = weight, kernel_ms, renews


# Name -> (bound, tenants)
CASES = {
    "short kernels": (BESIDE_FRIENDS, {"a": Tenant(1, 10), "b": Tenant(1, 10)}),
    "short kernels, 3 : 1": (BESIDE_FRIENDS, {"a": Tenant(3, 10), "b": Tenant(1, 10)}),
    "kernels longer than a turn": (BESIDE_FRIENDS, {"a": Tenant(1, 20), "b": Tenant(1, 130)}),
    "kernels longer than a turn, 3 : 1":
        (BESIDE_FRIENDS, {"a": Tenant(3, 20), "b": Tenant(1, 130)}),
    "three tenants":
        (BESIDE_FRIENDS, {"a": Tenant(1, 20), "b": Tenant(1, 34), "c": Tenant(2, 130)}),
    "processes come and go": (BESIDE_FRIENDS, {"a": Tenant(1, 20), "b": Tenant(1, 1000, True)}),
    "a hostile one": (BESIDE_HOSTILE, {"a": Tenant(1, 34), "hostile": Tenant(1, 1900)}),
    "a hostile one whose processes come and go":
        (BESIDE_HOSTILE, {"a": Tenant(1, 34), "hostile": Tenant(1, 1900, True)}),
}


def parts_of(used):
    whole = sum(used.values())
    return {name: value / whole for name, value in used.items()} if whole > 0 else used


def entitled_to(tenants):
    return parts_of({name: tenant.weight for name, tenant in tenants.items()})


def scenario(tenants, hold):
    lines = ["[run]", "policy = tfs", f"until = {PREDICTED_S}s", "warmup_percent = 0", "[policy]",
             f"hold = {hold}", "[node.0]", "threads = 0", "cpus = 1000", "[gpu.0]", "node = 0",
             "model = c2050", "context_time = 0s"]
    for name, tenant in tenants.items():
        kernels = 1 if tenant.renews else max(1, REQUEST_MS // tenant.kernel_ms)
        lines += [f"[app.{name}]", f"runtime = {tenant.kernel_ms * kernels}ms", "gpu_share = 1",
                  "transfer_share = 0", f"rounds = {kernels}", "bandwidth_mbs = 0", "places = 1",
                  f"[stream.{name}]", f"app = {name}", f"tenant = {name}",
                  f"weight = {tenant.weight}", "arrivals = closed", "requests = 0",
                  f"count = {AT_A_TIME}"]  # a kernel of one waits while the other one's runs
    return "\n".join(lines) + "\n"


def predicted(build, tenants, hold):
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        file.write(scenario(tenants, hold))
        file.flush()
        done = subprocess.run([build.path("bin", "gpuaas-sim"), "run", file.name, "--quiet",
                               "--json", "-"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    run = json.loads(done.stdout)
    return parts_of({tenant["name"]: tenant["contended_service_s"] for tenant in run["tenants"]})


def work(here, name, tenant, stack):
    for _ in range(AT_A_TIME if tenant.renews else 1):
        if tenant.renews:
            thread = threading.Thread(target=here.requests, args=(name, tenant.kernel_ms, 1))
            thread.start()
            stack.callback(thread.join)
        else:
            stack.callback(here.program(name, tenant.kernel_ms, way="ahead").end)


def ended(here):
    here.ending = True


def looked(build, tenants, hold, seconds):
    """How long all wanted the GPU, what each was given of that time, what each has had of the time
    that the GPU has worked, and for which part of the time it has."""
    limits = {name: ([f"share={100 * tenant.weight}"], None, 0)
              for name, tenant in tenants.items()}
    with entitlement.node(build, "tfs", limits, f"hold = {hold}\n",
                       "record_phases = yes") as here, ExitStack() as stack:
        for name, tenant in tenants.items():
            work(here, name, tenant, stack)
        stack.callback(ended, here)  # before all others
        harness.wait_until(lambda: all(here.used_s().get(name, 0) > 0 for name in tenants), 120,
                           "all work")
        time.sleep(WARM_S)
        before, since = here.used_s(), time.monotonic_ns()
        time.sleep(seconds)
        after, until = here.used_s(), time.monotonic_ns()
        time.sleep(TAIL_S)
        all_want_s, parts = given.parts(here.server.err.text, here.tenants, since, until)
    used = {name: after[name] - before[name] for name in tenants}
    return all_want_s, parts, parts_of(used), sum(used.values()) / ((until - since) / 1e9)


def is_due(tenant, due, got, bound, work_s):
    """Whether that is what it is entitled to, to within the bound and a kernel of its own."""
    return abs(got - due) <= bound * due + tenant.kernel_ms / 1000 / max(work_s, 1e-9)


def off(tenants, due, got, bound, seconds):
    return [name for name, tenant in tenants.items()
            if not is_due(tenant, due[name], got[name], bound, seconds)]


def measure(build, name, hold, options):
    bound, tenants = CASES[name]
    due, prediction = entitled_to(tenants), predicted(build, tenants, hold)
    for _ in range(options.tries):
        all_want_s, parts, worked, busy = looked(build, tenants, hold, options.seconds)
        if all_want_s >= CONTENDED * options.seconds:
            break
    compared = [(parts, all_want_s)] + [(worked, busy * options.seconds)] * (busy >= BUSY)
    row = {"case": name, "hold": hold, "bound": bound, "entitled": due, "predicted": prediction,
           "given": parts, "all_want_s": all_want_s, "worked": worked, "busy": busy,
           "load": os.getloadavg()[0], "void": all_want_s < CONTENDED * options.seconds,
           "off": sorted({name for got in compared for name in off(tenants, due, got[0], bound,
                                                                   got[1])})}
    print(line_of(row), flush=True)
    return row


def line_of(row):
    told = ", ".join(f"{name} {row['given'][name]:.3f} (worked {row['worked'][name]:.3f}, "
                     f"predicted {row['predicted'][name]:.3f}, entitled to {due:.3f})"
                     for name, due in row["entitled"].items())
    end = f"; all wanted it for {row['all_want_s']:.1f} s, it worked for {row['busy']:.0%}"
    end += " VOID" if row["void"] else \
        f" MORE THAN {row['bound']:.0%} OFF: {', '.join(row['off'])}" if row["off"] else ""
    return f"{row['case']}, hold {row['hold']}: {told}{end}"


def run(build, options):
    """Whether all that count are as they must be."""
    rows = [measure(build, name, hold, options) for name in options.cases for hold in options.holds]
    counted = [row for row in rows if not row["void"]]
    print(f"{len(counted)} of {len(rows)} looks count; "
          f"{sum(not row['off'] for row in counted)} give all tenants what they are entitled to")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return not any(row["off"] for row in counted)


def cases(text):
    names = list(CASES) if text == "all" else [name for name in CASES if text in name]
    return names
