# SPDX-License-Identifier: Apache-2.0
"""Statistics of pairs of runs: a ratio for each figure and pair, the median of these, and its 95 %
confidence interval. The interval is that of the sign test: it counts the ratios on either side,
assumes no distribution, resamples nothing, and gives the same answer every time."""

import math
import statistics
from dataclasses import dataclass

CONFIDENCE = 0.95


def rank(count):
    """The interval goes from the rank-th smallest to the rank-th largest. None: too few for it."""
    tail, below = 0.0, 0
    for number in range(count):
        tail += math.comb(count, number) / 2 ** count
        if 2 * tail > 1 - CONFIDENCE:
            break
        below = number + 1
    return below or None


def interval(ratios):
    at = rank(len(ratios))
    if at is None:
        return 0.0, math.inf
    ordered = sorted(ratios)
    return ordered[at - 1], ordered[-at]


def slower(new, old, less_is_better):
    """How many times as long it takes now; of a rate the inverse is that."""
    if not less_is_better:
        new, old = old, new
    if old == 0:
        return 1.0 if new == 0 else math.inf
    return new / old


@dataclass
class Result:
    key: str
    ratios: list

    def median(self):
        return statistics.median(self.ratios)

    def holds(self, bound):
        """The claim "not slower than by that factor" is shown: all of the interval is below."""
        return interval(self.ratios)[1] < bound

    def verdict(self, bound):
        if self.holds(bound):
            return "ok"
        return "SLOWER" if interval(self.ratios)[0] > bound else "NOT SHOWN"


def results(pairs):
    """The figures that all (new, old) runs have; a run is {key: (value, less is better)}."""
    if not pairs:
        return []
    keys = [key for key in pairs[0][0]
            if all(key in run and run[key][0] is not None for pair in pairs for run in pair)]
    return [Result(key, [slower(new[key][0], old[key][0], new[key][1]) for new, old in pairs])
            for key in keys]


def report(found, bound, count):
    if not found:
        return "no figure was measured"
    width = max(len(result.key) for result in found)
    lines = [f"{'':{width}}  median  95 % interval"]
    for result in found:
        low, high = interval(result.ratios)
        lines.append(f"{result.key:{width}}  {result.median():6.3f}  {low:.3f} to {high:.3f}  "
                     f"{result.verdict(bound)}")
    lines.append(f"ratio of {count} pairs of runs, time-like: over 1 is slower now; the interval "
                 f"is the sign test's; ok: all of it is below {bound:g}")
    return "\n".join(lines)
