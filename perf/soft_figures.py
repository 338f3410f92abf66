# SPDX-License-Identifier: Apache-2.0
"""The speed of the software GPU's kernels, next to plain C; the cost of a launch and of a load."""

import statistics

from facts import Fact
from figures import MB, Figure

# name of the workload, unit, size, number of units, target of the ratio
SQUARE = 640
WORKLOADS = [
    ("vector_add", "vectorAdd", 16 * MB, lambda n: n, 0.4),
    ("reduction", "reduction", 16 * MB, lambda n: n, 0.25),
    ("reduction_tree", "reduction by barriers", 4 * MB, lambda n: n, None),
    ("matmul16", "tiled matmul, 16x16", SQUARE, lambda n: n ** 3, 0.1),
    ("matmul32", "tiled matmul, 32x32", SQUARE, lambda n: n ** 3, 0.15),
    ("black_scholes", "BlackScholes", MB, lambda n: n, 1.5),
    ("mandelbrot32", "Mandelbrot, float", 512, lambda n: n * n, 1.2),
    ("mandelbrot64", "Mandelbrot, double", 512, lambda n: n * n, 1.2),
    ("monte_carlo", "MonteCarlo, 32 options", MB // 8, lambda n: 32 * n, 1),
    ("histogram", "histogram", 8 * MB, lambda n: n, None),
    ("nbody", "N-body", 2048, lambda n: n * n, None),
]
SQUARES = ("matmul16", "matmul32", "mandelbrot32", "mandelbrot64", "nbody")
# On two cores: grids that run long enough for their beginning and end to count for little.
TWO_CORES = 1.9  # of them, where plain C gains 2
TRIES = 4  # of which the best counts: a moment in which others have a core says nothing
CORES = {"matmul32": SQUARE, "black_scholes": 4 * MB}
LOAD_LINES = 2000


def size_of(name, size, scale):
    """Sizes that every kernel's tiles divide."""
    if name in SQUARES:
        return max(256, round(size * scale ** 0.5) // 256 * 256) if scale < 0.1 else size
    return max(4096, round(size * scale) // 512 * 512)


def kernel_turn(name, size, amount):
    def turn(bench):
        number = size_of(name, size, bench.scale)
        answer = bench.kernels(1).ask(name, number)
        return {"ours": amount(number) / answer["ns"] * 1e3,
                "floor": amount(number) / answer["c_ns"] * 1e3}
    return turn


def cores_turn(name, size):
    """The speed-up of two cores: softgpu next to plain C, which shares nothing and so shows the
    value of this machine's second core at this moment."""
    def turn(bench):
        number = size_of(name, size, bench.scale)
        best = {}
        for cores in TRIES * (1, 2):
            answer = bench.kernels(cores).ask(name, number)
            for what in ("ns", "c_ns"):
                best[cores, what] = min(answer[what], best.get((cores, what), answer[what]))
        return {"ours": best[1, "ns"] / best[2, "ns"],
                "floor": best[1, "c_ns"] / best[2, "c_ns"]}
    return turn


def all_figures():
    figures = []
    for name, title, size, amount, target in WORKLOADS:
        figures.append(Figure(f"softgpu_{name}", f"softgpu: {title}", "M/s", False,
                              kernel_turn(name, size, amount), target))
    for name, title, *_ in WORKLOADS:
        if name in CORES:
            figures.append(Figure(f"softgpu_cores_{name}", f"softgpu: {title}, two cores", "x",
                                  False, cores_turn(name, CORES[name]), TWO_CORES / 2))
    return figures


# ---- facts

def loading(bench_rig, _floor, _scale):
    answer = bench_rig.kernels(1).ask("load", LOAD_LINES)
    ms = statistics.median(answer["each_ns"]) / 1e6 * LOAD_LINES / answer["lines"]
    yield Fact("softgpu_load", f"softgpu: a module of {LOAD_LINES} lines of PTX", "ms", ms, 5,
               f"measured with {answer['lines']} lines")


def launching(bench_rig, _floor, scale):
    soft = bench_rig.loops_local("softgpu", core=-1)
    count = max(10, round(2000 * scale))
    alone, many = (statistics.median(soft.ask("launch_wait", count, each)["p50_ns"] / each / 1e3
                                     for _ in range(5)) for each in (1, 100))
    yield Fact("softgpu_launch", "softgpu: an empty launch and its wait", "us", alone, 5)
    yield Fact("softgpu_launches", "softgpu: an empty launch, one of 100", "us", many, 5)


FACTS = {"softgpu_load": loading, "softgpu_launch": launching}
