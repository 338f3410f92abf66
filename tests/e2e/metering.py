#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPU time: what gpuaasd says that an application has used of a GPU's engines is what the GPU says,
which a software GPU does (SOFTGPU_TRACE): kernels of 10 us, in one stream and several, beside
copies, with waits and pauses, and as graphs. Work that runs side by side counts once."""


from lib import harness
from lib.gpu_log import measure, union
from lib.harness import expect

EXACT = 0.05  # of what the GPU says
EDGE_NS = 200_000  # and that beside, for all batches together
ENGINES = ("compute", "to the device", "to the host")


def check(said, spans, most_ns=EDGE_NS):
    for name, got, spans_of in zip(ENGINES, said, spans):
        true = union(spans_of)
        print(f"{name}: {got} ns measured, {true} ns by the GPU, {len(spans_of)} slices")
        expect(abs(got - true) <= EXACT * true + most_ns,
               f"{name}: {got} ns measured, {true} ns by the GPU")


def test_one_stream(build):
    said, spans = measure(build, "stream")
    check(said, spans)
    expect(len(spans[0]) >= 5000 and said[3] >= 5000, f"{said}, {len(spans[0])}")


def test_side_by_side_counts_once(build):
    said, spans = measure(build, "streams")
    check(said, spans)
    together = sum(end - begin for begin, end in spans[0])
    expect(said[0] < 0.7 * together, f"{said[0]} ns measured, {together} ns of all kernels")


def test_who_waits_does_not_work(build):
    said, spans = measure(build, "waits")
    check(said, spans, 1_000_000)


def test_pauses_are_none(build):
    said, spans = measure(build, "pauses")
    check(said, spans, 200_000_000)  # of more than 600 ms: it may be slow to submit


def test_graphs(build):
    said, spans = measure(build, "graph")
    check(said, spans)


if __name__ == "__main__":
    harness.main(globals())
