# SPDX-License-Identifier: Apache-2.0
"""Simulators that cheat, one for each check: what the check must not let pass."""

import itertools

from bed import Bed


def is_packed(run):
    return "isolation = packed" in run[0] or run[1].get("run.isolation") == "packed"


def faster(result, factor):
    for stream in result["streams"]:
        stream["completion_mean_s"] /= factor
    return result


def idle_gain(one, run):
    """TFS is faster although nobody waits."""
    return faster(one(run), 1.1 if run[1].get("run.policy") == "tfs" else 1)


def less_work(one, run):
    """Packed sessions have less to do."""
    result = one(run)
    if is_packed(run):
        result["gpus"][0]["compute_busy_s"] *= 0.99
    return result


def more_engines(one, run):
    """Packed, a GPU does more at a time than it has engines."""
    result = one(run)
    result["end_s"] /= 4 if is_packed(run) else 1
    return result


def gain_for_all(one, run):
    """Whatever is packed is faster."""
    return faster(one(run), 1.05 if is_packed(run) else 1)


def no_debts(one, run):
    """TFS forgets what a tenant owes."""
    text, settings, seed, against = run
    return one((text, {**settings, **({"run.policy": "fs"} if settings.get("run.policy") == "tfs"
                                      else {})}, seed, against))


CALLS = itertools.count(1)


def no_replay(one, run):
    """Runs depend on more than the seed."""
    result = one(run)
    result["end_s"] += next(CALLS) * 1e-9
    return result


def other_caption(one, run):
    """Captions have defaults, whatever was set."""
    return one(run)


RIGS = {1: idle_gain, 2: less_work, 3: more_engines, 4: gain_for_all, 5: gain_for_all,
        11: no_debts, 13: no_replay, 14: other_caption}


class Rigged(Bed):
    def __init__(self, sim, number):
        super().__init__(sim)
        self.rig = RIGS[number]

    def one(self, run):
        return self.rig(super().one, run)

    def caption(self):
        if self.rig is other_caption:
            self.done = [(text, {}, seed, None) for text, _, seed, _ in self.done]
        return super().caption()
