# SPDX-License-Identifier: Apache-2.0
"""CuPy as people use it: elementwise, reductions, scans, indexing, its own kernels. Results are
compared with NumPy; the last line is PASSED."""

import cupy
import numpy


def same(got, want, what):
    numpy.testing.assert_allclose(cupy.asnumpy(got), want, rtol=1e-5, atol=1e-6, err_msg=what)


def elementwise_and_reductions(rng):
    a, b = rng.standard_normal((300, 70)), rng.random((300, 70)) + 0.5
    x, y = cupy.asarray(a), cupy.asarray(b)
    same(cupy.sqrt(y) * 2 - x / y, numpy.sqrt(b) * 2 - a / b, "elementwise")
    same(cupy.where(x > 0, cupy.exp(x), cupy.sin(x)),
         numpy.where(a > 0, numpy.exp(a), numpy.sin(a)), "where")
    same(x.sum(), a.sum(), "sum")
    same(x.sum(axis=0), a.sum(axis=0), "sum along an axis")
    same(y.max(axis=1), b.max(axis=1), "max")
    same(x.mean(), a.mean(), "mean")
    same(x.std(axis=1), a.std(axis=1), "standard deviation")
    same(cupy.argmin(x), numpy.argmin(a), "argmin")
    same(cupy.cumsum(x.ravel()), numpy.cumsum(a.ravel()), "scan")


def shapes_and_types():
    a = numpy.arange(24, dtype=numpy.int32).reshape(2, 3, 4)
    x = cupy.asarray(a)
    same(x.transpose(2, 0, 1)[1:3, :, ::2], a.transpose(2, 0, 1)[1:3, :, ::2], "views")
    same(x[x % 5 == 0], a[a % 5 == 0], "a mask")
    same(cupy.take(x, cupy.asarray([5, 1, 1, 20])), numpy.take(a, [5, 1, 1, 20]), "take")
    same(x.astype(cupy.float16) / 3, a.astype(numpy.float16) / numpy.float16(3), "half precision")
    same(cupy.concatenate([x, x], axis=1), numpy.concatenate([a, a], axis=1), "concatenate")
    counts = cupy.bincount(x.ravel() % 7)
    same(counts, numpy.bincount(a.ravel() % 7), "bincount (atomics)")


def own_kernels():
    raw = cupy.RawKernel(r"""
        extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
        {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] += a * x[i];
        }""", "saxpy")
    x, y = cupy.arange(1000, dtype=cupy.float32), cupy.ones(1000, dtype=cupy.float32)
    raw((8,), (128,), (cupy.float32(3), x, y, cupy.int32(1000)))
    same(y, numpy.arange(1000) * 3.0 + 1, "RawKernel")
    module = cupy.RawModule(code=r"""
        template <typename T> __global__ void twice(T *x) { x[threadIdx.x] *= 2; }""",
                            options=("-std=c++17",), name_expressions=("twice<double>",))
    z = cupy.arange(32, dtype=cupy.float64)
    module.get_function("twice<double>")((1,), (32,), (z,))
    same(z, numpy.arange(32) * 2.0, "RawModule with a template")
    length = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
    same(length(x), numpy.sqrt((numpy.arange(1000.0) ** 2).sum()), "ReductionKernel")

    @cupy.fuse()
    def fused(a, b):
        return cupy.tanh(a) * b + 1

    same(fused(z / 32, z), numpy.tanh(numpy.arange(32) * 2 / 32) * numpy.arange(32) * 2 + 1, "fuse")


def streams_and_memory():
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with first:
        x = cupy.full(5000, 2.0)
        done = first.record()
    second.wait_event(done)
    with second:
        y = x ** 3
    second.synchronize()
    same(y, numpy.full(5000, 8.0), "two streams")
    pinned = cupy.cuda.alloc_pinned_memory(8000)
    host = numpy.frombuffer(pinned, numpy.float64, 1000)
    host[:] = numpy.arange(1000)
    same(cupy.asarray(host) + 1, numpy.arange(1000) + 1.0, "pinned memory")


def main():
    rng = numpy.random.default_rng(1)
    elementwise_and_reductions(rng)
    shapes_and_types()
    own_kernels()
    streams_and_memory()
    print("PASSED")


if __name__ == "__main__":
    main()
