# SPDX-License-Identifier: Apache-2.0
"""numba-cuda as people use it: kernels, shared memory, atomics, device functions, ufuncs,
reductions, streams. Results are compared with NumPy; the last line is PASSED."""

import math

import numpy
from numba import cuda, float32, vectorize

TILE = 16


@cuda.jit
def matmul(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.grid(2)
    ty, tx = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range(a.shape[1] // TILE):
        left[ty, tx] = a[row, step * TILE + tx]
        right[ty, tx] = b[step * TILE + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def histogram(x, bins):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i], 1)


@cuda.jit(device=True)
def wave(x):
    return math.sin(x) * math.exp(-x * x)


@cuda.jit
def waves(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = wave(x[i])


@vectorize(["float32(float32, float32)"], target="cuda")
def hypotenuse(a, b):
    return math.sqrt(a * a + b * b)


@cuda.reduce
def largest(a, b):
    return max(a, b)


def main():
    rng = numpy.random.default_rng(2)
    a, b = (rng.random((64, 64), dtype=numpy.float32) for _ in range(2))
    c = cuda.device_array((64, 64), numpy.float32)
    matmul[(4, 4), (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
    numpy.testing.assert_allclose(c.copy_to_host(), a @ b, rtol=1e-4)

    x = rng.integers(0, 10, 5000, dtype=numpy.int32)
    bins = cuda.to_device(numpy.zeros(10, numpy.int32))
    histogram[4, 64](cuda.to_device(x), bins)
    numpy.testing.assert_array_equal(bins.copy_to_host(), numpy.bincount(x, minlength=10))

    stream = cuda.stream()
    t = numpy.linspace(-3, 3, 1000)
    with stream.auto_synchronize():
        y = cuda.device_array_like(t)
        waves[8, 128, stream](cuda.to_device(t, stream=stream), y)
        got = y.copy_to_host(stream=stream)
    numpy.testing.assert_allclose(got, numpy.sin(t) * numpy.exp(-t * t), rtol=1e-9, atol=1e-12)

    numpy.testing.assert_allclose(hypotenuse(a, b), numpy.hypot(a, b), rtol=1e-6)
    assert largest(numpy.arange(777.0)) == 776.0
    print("PASSED")


if __name__ == "__main__":
    main()
