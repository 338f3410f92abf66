// SPDX-License-Identifier: Apache-2.0
// Functions by their addresses: tables of them, pointers that the host passes on, virtual
// functions, and recursion as deep as the stack limit lets it be.
#include "check.h"

typedef int (*Function)(int);

__device__ int increment(int x) { return x + 1; }
__device__ int negate(int x) { return -x; }
__device__ int triple(int x) { return 3 * x; }

__device__ Function table[3] = {increment, negate, triple};
__device__ Function favourite = triple;
__constant__ Function second = negate;

__global__ void apply(int *data, Function function)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = second(function(table[i % 3](i)));
}

struct Node {
    __device__ virtual int value() const = 0;
};
struct Leaf : Node {
    int held;
    __device__ Leaf(int held) : held(held) {}
    __device__ int value() const override { return held; }
};
struct Sum : Node {
    const Node *left, *right;
    __device__ Sum(const Node *left, const Node *right) : left(left), right(right) {}
    __device__ int value() const override { return left->value() + right->value(); }
};

__global__ void evaluate(int *data)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Leaf one(1), own(i);
    Sum inner(&own, &one), outer(&inner, &own);
    const Node *nodes[3] = {&one, &inner, &outer};
    data[i] = nodes[i % 3]->value();
}

__device__ __noinline__ int depth(int n, volatile int *seen)
{
    volatile int here[32];
    here[n % 32] = n;
    seen[0] = n;
    return n == 0 ? 0 : 1 + depth(n - 1, seen) + here[n % 32] - n;
}

__global__ void recurse(int *data, int n) { data[0] = depth(n, data + 1); }

int main()
{
    const int n = 300;
    int *data, host[n];
    Function function;
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaMemcpyFromSymbol(&function, favourite, sizeof function));
    apply<<<3, 100>>>(data, function);
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        int expected = -3 * (i % 3 == 0 ? i + 1 : i % 3 == 1 ? -i : 3 * i);
        if (host[i] != expected)
            fail("apply: element %d is %d, %d is right", i, host[i], expected);
    }
    evaluate<<<3, 100>>>(data);
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        int expected = i % 3 == 0 ? 1 : i % 3 == 1 ? i + 1 : 2 * i + 1;
        if (host[i] != expected)
            fail("evaluate: element %d is %d, %d is right", i, host[i], expected);
    }
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 256 << 10));
    recurse<<<1, 1>>>(data, 900);
    CHECK(cudaMemcpy(host, data, sizeof(int), cudaMemcpyDeviceToHost));
    if (host[0] != 900)
        fail("900 calls deep: %d", host[0]);
    CHECK(cudaFree(data));
    return passed();
}
