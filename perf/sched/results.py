# SPDX-License-Identifier: Apache-2.0
"""The results of a comparison, as text."""

import mixes

AGREE = 0.15
CONSERVED_LEAST = 0.98


def line_of(row):
    ratios = ", ".join(f"{app} {row['measured_s'][app]:.2f} s, {ratio:.2f} of the prediction"
                       for app, ratio in row["ratio"].items())
    return (f"{row['mix']} {row['policy']:5} seed {row['seed']:3}: {ratios}"
            + (f"; {shares_of(row)}" if "shares" in row else "")
            + (f" VOID: {row['void']}" if row["void"] else ""))


def shares_of(row):
    return (", ".join(f"{name} {share:.1%}" for name, share in row["shares"].items())
            + f"; conserved {row['conserved']:.3f}")


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def ratio_of(rows, app):
    """Both are means over seeds."""
    return mean(row["measured_s"][app] for row in rows) / mean(row["completion_s"][app]
                                                               for row in rows)


def by_class(counted):
    """(mix, policy, application, ratio) of the runs that count; 15 % is agreement."""
    keys = {(row["mix"], row["policy"]): None for row in counted}
    for mix, policy in keys:
        rows = [row for row in counted if (row["mix"], row["policy"]) == (mix, policy)]
        for app in rows[0]["measured_s"]:
            yield mix, policy, app, ratio_of(rows, app)


def speedups(counted, of):
    """Policy -> speedup over plain CUDA (Strings, V-D: the mean over applications of their mean
    completion times' ratio), of the runs that both have."""
    base = {(row["mix"], row["seed"]): row for row in counted if row["policy"] == "cuda"}
    found = {}
    for row in counted:
        other = base.get((row["mix"], row["seed"]))
        if other:
            found.setdefault(row["policy"], []).append(
                mean(other[of][app] / row[of][app] for app in row[of]))
    return {policy: (mean(values), len(values)) for policy, values in found.items()}


def gate_line(gate):
    return (f"two programs that take turns, kernels of {gate['kernel_us']} us: {gate['ratio']:.2f} "
            f"of the prediction; with the gate's cost doubled there {gate['doubled']:.2f}"
            f" ({'DIFFERS, as it must' if gate_good(gate) else 'the test FAILS'})")


def gate_good(gate):
    return abs(gate["ratio"] - 1) <= AGREE < abs(gate["doubled"] - 1)


def caption(done):
    return (f"Time scale {done['scale']}, {done['requests']} requests a stream, GPUs "
            f"{' and '.join(done['gpus'])} (emulated), alpha {done['alpha']} (fitted by sim/eval: "
            f"round robin 2.16 times as fast as CUDA), {done['rounds']} rounds, run times "
            f"{mixes.RUNTIME_S}, and all else by the model (assumed). Measured apart: "
            f"{done['alone']}")


def tell_classes(counted):
    """How many differ."""
    wrong = 0
    for mix, policy, app, ratio in by_class(counted):
        differs = abs(ratio - 1) > AGREE
        print(f"  {mix} {policy:5} {app:3} {ratio:.3f}{'  DIFFERS' if differs else ''}")
        wrong += differs
    return wrong


def tell_policies(counted):
    real, model = speedups(counted, "measured_s"), speedups(counted, "completion_s")
    for policy in dict.fromkeys(row["policy"] for row in counted):
        rows = [row for row in counted if row["policy"] == policy and "conserved" in row]
        if rows:
            low = sum(row["conserved"] < CONSERVED_LEAST for row in rows)
            parts = {name: mean(row["shares"][name] for row in rows) for name in rows[0]["shares"]}
            print(f"{policy:5}: " + ", ".join(f"{name} {part:.1%}" for name, part in parts.items())
                  + f"; work conservation {mean(row['conserved'] for row in rows):.3f}, least "
                    f"{min(row['conserved'] for row in rows):.3f} ({low} below {CONSERVED_LEAST})")
        if policy in real:
            print(f"{policy:5}: speedup over plain CUDA {real[policy][0]:.2f}, predicted "
                  f"{model[policy][0]:.2f} ({real[policy][1]} runs)")


def told(done):
    """Prints all. Whether everything that counts agrees."""
    rows = [row for row in done["rows"] if "measured_s" in row]  # all, or it was stopped
    counted = [row for row in rows if not row["void"]]
    print(f"\n{caption(done)}\n{len(rows)} of {len(done['rows'])} runs are done, {len(counted)} "
          f"count")
    wrong = tell_classes(counted)
    tell_policies(counted)
    if "gate" in done:
        print(gate_line(done["gate"]))
        wrong += not gate_good(done["gate"])
    print(f"{wrong} of the comparisons differ by more than {AGREE:.0%}")
    return wrong == 0
