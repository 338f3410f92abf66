// SPDX-License-Identifier: Apache-2.0
// Matrix units as CUDA C++ offers them (nvcuda::wmma): a product of matrices of several tiles in
// half precision with single-precision sums, with an element-wise step on fragments; and of bytes.
#include <vector>

#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

static const int N = 64, TILE = 16;

// d = 2 * a * b + c; a is row by row, b column by column. One warp makes one tile.
__global__ void multiply_halves(const half *a, const half *b, const float *c, float *d)
{
    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum, old;
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < N; k += TILE) {
        wmma::load_matrix_sync(fa, a + row * N + k, N);
        wmma::load_matrix_sync(fb, b + column * N + k, N);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::load_matrix_sync(old, c + row * N + column, N, wmma::mem_row_major);
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] = 2 * sum.x[i] + old.x[i];
    wmma::store_matrix_sync(d + row * N + column, sum, N, wmma::mem_row_major);
}

// Through shared memory, in tiles of 8 x 32 and 32 x 8.
template <int M, int W>
__global__ void multiply_bytes(const signed char *a, const signed char *b, int *d)
{
    __shared__ signed char tile[M * TILE];
    wmma::fragment<wmma::matrix_a, M, W, TILE, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, W, TILE, signed char, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, M, W, TILE, int> sum;
    const int row = blockIdx.y * M, column = blockIdx.x * W;
    wmma::fill_fragment(sum, 0);
    for (int k = 0; k < N; k += TILE) {
        for (int i = threadIdx.x; i < M * TILE; i += 32)
            tile[i] = a[(row + i / TILE) * N + k + i % TILE];
        __syncwarp();
        wmma::load_matrix_sync(fa, tile, TILE);
        wmma::load_matrix_sync(fb, b + column * N + k, N);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(d + row * N + column, sum, N, wmma::mem_row_major);
}

template <typename T> static T *on_device(const std::vector<T> &host)
{
    T *device;
    CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

static void halves()
{
    std::vector<half> a(N * N), b(N * N);
    std::vector<float> c(N * N), d(N * N);
    for (int i = 0; i < N * N; i++) {
        a[i] = __float2half((float)(i * 7 % 13 - 6) / 4);
        b[i] = __float2half((float)(i * 5 % 11 - 5) / 8);
        c[i] = (float)(i % 17);
    }
    half *da = on_device(a), *db = on_device(b);
    float *dc = on_device(c), *dd = on_device(d);
    multiply_halves<<<dim3(N / TILE, N / TILE), 32>>>(da, db, dc, dd);
    CHECK(cudaMemcpy(d.data(), dd, N * N * sizeof(float), cudaMemcpyDeviceToHost));
    for (int row = 0; row < N; row++) {
        for (int column = 0; column < N; column++) {
            float want = 0; // every sum is exact
            for (int k = 0; k < N; k++)
                want += __half2float(a[row * N + k]) * __half2float(b[column * N + k]);
            want = 2 * want + c[row * N + column];
            if (d[row * N + column] != want)
                fail("halves: row %d, column %d: %g, %g wanted", row, column,
                     (double)d[row * N + column], (double)want);
        }
    }
}

template <int M, int W> static void bytes()
{
    std::vector<signed char> a(N * N), b(N * N);
    std::vector<int> d(N * N);
    for (int i = 0; i < N * N; i++) {
        a[i] = (signed char)(i * 37 % 256 - 128);
        b[i] = (signed char)(i * 91 % 256 - 128);
    }
    signed char *da = on_device(a), *db = on_device(b);
    int *dd = on_device(d);
    multiply_bytes<M, W><<<dim3(N / W, N / M), 32>>>(da, db, dd);
    CHECK(cudaMemcpy(d.data(), dd, N * N * sizeof(int), cudaMemcpyDeviceToHost));
    for (int row = 0; row < N; row++) {
        for (int column = 0; column < N; column++) {
            int want = 0;
            for (int k = 0; k < N; k++)
                want += a[row * N + k] * b[column * N + k];
            if (d[row * N + column] != want)
                fail("bytes, tiles of %d x %d: row %d, column %d: %d, %d wanted", M, W, row, column,
                     d[row * N + column], want);
        }
    }
}

int main()
{
    halves();
    bytes<16, 16>();
    bytes<8, 32>();
    bytes<32, 8>();
    printf("products of %d x %d matrices agree\n", N, N);
    return passed();
}
