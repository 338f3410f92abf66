// SPDX-License-Identifier: Apache-2.0
// Thrust and CUB on a million elements: sort, reduce_by_key, scans, unique, reduction, histogram,
// radix sort of pairs, and a block-wide sort. The results are compared with the standard library's.
#include "check.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

static const int count = 1 << 20;

template <typename T>
static void same(const char *what, const std::vector<T> &got, const std::vector<T> &want)
{
    if (got.size() != want.size())
        fail("%s: %zu elements where %zu are due", what, got.size(), want.size());
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != want[i])
            fail("%s: element %zu is wrong", what, i);
    printf("%s: %zu elements\n", what, got.size());
}

template <typename T> static std::vector<T> host(const thrust::device_vector<T> &device)
{
    std::vector<T> copy(device.size());
    thrust::copy(device.begin(), device.end(), copy.begin());
    return copy;
}

static std::vector<uint32_t> numbers(uint32_t below)
{
    Random random(below);
    std::vector<uint32_t> values(count);
    for (auto &value : values)
        value = random.next() % below;
    return values;
}

static void sorts()
{
    auto keys = numbers(1u << 30);
    thrust::device_vector<uint32_t> device(keys.begin(), keys.end());
    thrust::sort(device.begin(), device.end());
    std::sort(keys.begin(), keys.end());
    same("thrust::sort", host(device), keys);

    thrust::device_vector<uint32_t> order(keys.size());
    thrust::sequence(order.begin(), order.end());
    thrust::sort_by_key(device.begin(), device.end(), order.begin(), thrust::greater<uint32_t>());
    std::reverse(keys.begin(), keys.end());
    same("thrust::sort_by_key", host(device), keys);
}

static void by_key()
{
    auto keys = numbers(1000);
    std::sort(keys.begin(), keys.end());
    thrust::device_vector<uint32_t> device(keys.begin(), keys.end()), ones(count, 1u);
    thrust::device_vector<uint32_t> out_keys(count), out(count);
    auto end = thrust::reduce_by_key(device.begin(), device.end(), ones.begin(), out_keys.begin(),
                                     out.begin());
    out_keys.resize(end.first - out_keys.begin());
    out.resize(end.second - out.begin());
    std::vector<uint32_t> want_keys, want;
    for (auto key : keys) {
        if (want_keys.empty() || want_keys.back() != key) {
            want_keys.push_back(key);
            want.push_back(0);
        }
        want.back()++;
    }
    same("thrust::reduce_by_key, keys", host(out_keys), want_keys);
    same("thrust::reduce_by_key, sums", host(out), want);

    device.erase(thrust::unique(device.begin(), device.end()), device.end());
    same("thrust::unique", host(device), want_keys);
}

static void scans()
{
    auto values = numbers(7);
    thrust::device_vector<uint32_t> device(values.begin(), values.end()), out(count);
    thrust::inclusive_scan(device.begin(), device.end(), out.begin());
    std::vector<uint32_t> want(count);
    std::partial_sum(values.begin(), values.end(), want.begin());
    same("thrust::inclusive_scan", host(out), want);

    size_t bytes = 0;
    uint32_t *in = thrust::raw_pointer_cast(device.data());
    uint32_t *sums = thrust::raw_pointer_cast(out.data());
    CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, sums, count));
    thrust::device_vector<char> room(bytes);
    CHECK(cub::DeviceScan::ExclusiveSum(thrust::raw_pointer_cast(room.data()), bytes, in, sums,
                                        count));
    want.insert(want.begin(), 0);
    want.pop_back();
    same("cub::DeviceScan::ExclusiveSum", host(out), want);

    uint64_t sum = thrust::reduce(device.begin(), device.end(), uint64_t(0));
    if (sum != std::accumulate(values.begin(), values.end(), uint64_t(0)))
        fail("thrust::reduce is wrong");
}

static __global__ void block_sort(const float *in, float *out)
{
    typedef cub::BlockRadixSort<float, 128, 4> Sort;
    __shared__ typename Sort::TempStorage room;
    float mine[4];
    cub::LoadDirectBlocked(threadIdx.x, in + blockIdx.x * 512, mine);
    Sort(room).Sort(mine);
    cub::StoreDirectBlocked(threadIdx.x, out + blockIdx.x * 512, mine);
}

static void blocks()
{
    std::vector<float> values;
    for (auto value : numbers(1u << 24))
        values.push_back(0.25f * value - 1000.0f);
    values.resize(1 << 16);
    thrust::device_vector<float> device(values.begin(), values.end()), out(values.size());
    block_sort<<<values.size() / 512, 128>>>(thrust::raw_pointer_cast(device.data()),
                                             thrust::raw_pointer_cast(out.data()));
    CHECK(cudaDeviceSynchronize());
    for (size_t at = 0; at < values.size(); at += 512)
        std::sort(values.begin() + at, values.begin() + at + 512);
    same("cub::BlockRadixSort", host(out), values);
}

int main()
{
    sorts();
    by_key();
    scans();
    blocks();
    return passed();
}
