# SPDX-License-Identifier: Apache-2.0
"""The GPU time that tenants are given, as the log of a gpuaasd with `record_phases = yes` says: the
time of their turns, and the time that their work takes besides. In a turn nobody but its owner
keeps the GPU from working: how much of it the owner's programs use on a busy machine is not the
policy's doing. The time between two turns is given to nobody."""

import re

from real import length, overlap, union

WHO = r"(\S+): "
CONNECTED = re.compile(WHO + r"\S+ \(pid (\d+)\): connected")
PHASE = re.compile(WHO + r"phase on GPU 0: \w+ at (\d+) for (\d+) ns")
WAIT = re.compile(WHO + r"turn on GPU 0: wanted at (\d+), granted at \d+, begun at (\d+)")
TURN = re.compile(WHO + r"turn on GPU 0: from (\d+), until (\d+) at most, returned at (\d+)")


def common(one, other):
    """Where both are."""
    found = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return union((begin, end) for begin, end in found if begin < end)


def given_and_wanted(log, tenants):
    """Two maps by tenant: when it was given the GPU, and when it wanted or had it. `tenants`:
    process id -> name."""
    by_address = {address: tenants[int(pid)] for address, pid in CONNECTED.findall(log)
                  if int(pid) in tenants}
    given = {name: [] for name in tenants.values()}
    wanted = {name: [] for name in tenants.values()}
    for address, begin, ns in PHASE.findall(log):
        given[by_address[address]].append((int(begin), int(begin) + int(ns)))
    for address, begin, until, returned in TURN.findall(log):
        given[by_address[address]].append((int(begin), min(int(until), int(returned))))
    for address, begin, end in WAIT.findall(log):
        wanted[by_address[address]].append((int(begin), int(end)))
    given = {name: union(of) for name, of in given.items()}
    return given, {name: union([*of, *given[name]]) for name, of in wanted.items()}


def parts(log, tenants, begin, end):
    """How long all tenants wanted the GPU between begin and end, in seconds; and the part of each
    of what they were given in that time."""
    given, wanted = given_and_wanted(log, tenants)
    contended = [(begin, end)]
    for of in wanted.values():
        contended = common(contended, of)
    had = {name: overlap(contended, of) for name, of in given.items()}
    whole = max(sum(had.values()), 1)
    return length(contended) / 1e9, {name: ns / whole for name, ns in had.items()}
