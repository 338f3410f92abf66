// SPDX-License-Identifier: Apache-2.0
// Functions by their addresses, virtual functions, recursion, structures by value, alloca.
typedef unsigned (*Function)(unsigned);

__device__ unsigned plus_one(unsigned x) { return x + 1; }
__device__ unsigned doubled(unsigned x) { return 2 * x; }
__device__ unsigned squared(unsigned x) { return x * x; }
__device__ unsigned digits(unsigned x) // calls itself
{
    Function self = digits;
    return x < 10 ? 1 : 1 + self(x / 10);
}

__device__ Function table[4] = {plus_one, doubled, squared, digits};
__constant__ Function constant_table[2] = {squared, plus_one};

struct Mixed {
    int number;
    Function function;
    float grid[2][3];
};
__device__ Mixed mixed = {7, doubled, {{1, 2, 3}, {4, 5, 6}}};

extern "C" __global__ void pointers(unsigned *out, Function given)
{
    unsigned t = threadIdx.x;
    unsigned r = table[t % 4](t); // four targets in a warp
    if (t % 3 == 0)
        r += constant_table[t / 3 % 2](r) * 1000;
    r += mixed.function(mixed.number) + (unsigned)mixed.grid[1][2];
    if (given)
        r ^= given(t);
    out[t] = r;
}

// The addresses as the host sees them; another kernel of the module calls by them.
extern "C" __global__ void take_addresses(Function *to)
{
    to[0] = plus_one;
    to[1] = doubled;
    to[2] = table[2];
    to[3] = constant_table[0];
}

struct Shape {
    __device__ virtual float area() const { return 0; }
    __device__ virtual int corners() const { return 0; }
    float scale;
};
struct Square : Shape {
    float side;
    __device__ float area() const override { return scale * side * side; }
    __device__ int corners() const override { return 4; }
};
struct Circle : Shape {
    float radius;
    __device__ float area() const override { return scale * 3 * radius * radius; }
};

__device__ __noinline__ float measure(const Shape *shape)
{
    return shape->area() + 100 * shape->corners();
}

extern "C" __global__ void virtuals(float *out)
{
    Square square;
    Circle circle;
    Shape plain;
    square.scale = circle.scale = plain.scale = 2;
    square.side = threadIdx.x;
    circle.radius = threadIdx.x + 1;
    const Shape *shapes[3] = {&square, &circle, &plain};
    out[threadIdx.x] = measure(shapes[threadIdx.x % 3]);
}

struct Big {
    int a[6];
    double d;
    char c;
};
typedef Big (*Changer)(Big, int);

__device__ __noinline__ Big rotate(Big b, int by)
{
    Big r = b;
    for (int i = 0; i < 6; i++)
        r.a[i] = b.a[(i + by) % 6];
    r.d = b.d * by;
    r.c = b.c + 1;
    return r;
}
__device__ __noinline__ Big reversed(Big b, int by)
{
    Big r = rotate(b, by);
    for (int i = 0; i < 6; i++)
        r.a[i] = -b.a[5 - i];
    return r;
}
__device__ Changer changers[2] = {rotate, reversed};

extern "C" __global__ void structures(double *out)
{
    Big b;
    for (int i = 0; i < 6; i++)
        b.a[i] = threadIdx.x * 10 + i;
    b.d = 1.5;
    b.c = 'a';
    Big r = changers[threadIdx.x & 1](b, 2 + threadIdx.x % 3);
    r = rotate(r, 1);
    out[threadIdx.x] = r.a[0] * 1000 + r.a[5] + r.d / 8 + r.c;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ void sort(int *v, int low, int high)
{
    if (low >= high)
        return;
    int pivot = v[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (v[i] < pivot)
            i++;
        while (v[j] > pivot)
            j--;
        if (i <= j) {
            int x = v[i];
            v[i++] = v[j];
            v[j--] = x;
        }
    }
    sort(v, low, j);
    sort(v, i, high);
}

extern "C" __global__ void recursions(unsigned *out, int *values)
{
    unsigned t = threadIdx.x;
    out[t] = ackermann(t % 3, t % 5);
    sort(values + t * 40, 0, 20 + t % 20 - 1);
}

__device__ __noinline__ int sum_of(int n)
{
    int *p = (int *)__builtin_alloca(n * sizeof(int));
    for (int i = 0; i < n; i++)
        p[i] = i * (int)threadIdx.x;
    int below = n > 3 ? sum_of(n - 3) : 0; // must not touch what is ours
    for (int i = 0; i < n; i++)
        below += p[i];
    return below;
}

extern "C" __global__ void allocas(int *out)
{
    volatile int *first = (volatile int *)__builtin_alloca((threadIdx.x % 7 + 1) * sizeof(int));
    first[threadIdx.x % 7] = threadIdx.x;
    int sum = sum_of(threadIdx.x % 11 + 1);
    out[threadIdx.x] = sum + first[threadIdx.x % 7];
}

extern "C" __global__ void too_much_alloca(int *out, int bytes)
{
    volatile int *p = (volatile int *)__builtin_alloca(bytes);
    p[0] = 1;
    out[0] = p[0];
}
