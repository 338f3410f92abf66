// SPDX-License-Identifier: Apache-2.0
// Gravitation between all pairs of bodies in double, leapfrog steps; positions go through shared
// memory tile by tile.
#include <vector>

#include "check.h"

static const int bodies = 384, steps = 4, tile = 128;
static const double step = 1e-3, softening = 1e-4;

struct Body {
    double x, y, z, mass;
};
struct Velocity {
    double x, y, z;
};

__host__ __device__ static void pull(const Body &me, const Body &other, Velocity &sum)
{
    double dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    double square = dx * dx + dy * dy + dz * dz + softening;
    double factor = other.mass / (square * sqrt(square));
    sum.x += dx * factor;
    sum.y += dy * factor;
    sum.z += dz * factor;
}

__host__ __device__ static void advance(const Body &old, const Velocity &force, Velocity &velocity,
                                        Body &next)
{
    velocity.x += step * force.x;
    velocity.y += step * force.y;
    velocity.z += step * force.z;
    next.x = old.x + step * velocity.x;
    next.y = old.y + step * velocity.y;
    next.z = old.z + step * velocity.z;
    next.mass = old.mass;
}

__global__ void integrate(const Body *old, Body *next, Velocity *velocities)
{
    __shared__ Body cache[tile];
    int i = blockIdx.x * tile + threadIdx.x;
    Body me = old[i];
    Velocity force = {0, 0, 0};
    for (int start = 0; start < bodies; start += tile) {
        cache[threadIdx.x] = old[start + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < tile; j++)
            pull(me, cache[j], force);
        __syncthreads();
    }
    advance(me, force, velocities[i], next[i]);
}

int main()
{
    std::vector<Body> old(bodies), next(bodies), result(bodies);
    std::vector<Velocity> velocities(bodies, Velocity{0, 0, 0});
    Random random(8);
    for (Body &body : old)
        body = {random.unit() - 0.5, random.unit() - 0.5, random.unit() - 0.5,
                (0.5 + random.unit()) / bodies};
    Body *device[2];
    Velocity *device_velocities;
    const size_t bytes = bodies * sizeof(Body);
    CHECK(cudaMalloc(&device[0], bytes));
    CHECK(cudaMalloc(&device[1], bytes));
    CHECK(cudaMalloc(&device_velocities, bodies * sizeof(Velocity)));
    CHECK(cudaMemcpy(device[0], old.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_velocities, 0, bodies * sizeof(Velocity)));
    for (int i = 0; i < steps; i++) {
        integrate<<<bodies / tile, tile>>>(device[i % 2], device[(i + 1) % 2], device_velocities);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpy(result.data(), device[steps % 2], bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < steps; i++) {
        for (int a = 0; a < bodies; a++) {
            Velocity force = {0, 0, 0};
            for (int b = 0; b < bodies; b++)
                pull(old[a], old[b], force);
            advance(old[a], force, velocities[a], next[a]);
        }
        old.swap(next);
    }
    double worst = 0;
    for (int i = 0; i < bodies; i++)
        worst = fmax(worst, fabs(old[i].x - result[i].x) + fabs(old[i].y - result[i].y) +
                                fabs(old[i].z - result[i].z));
    if (!(worst < 1e-12))
        fail("a body is %g away from its place", worst);
    CHECK(cudaFree(device[0]));
    CHECK(cudaFree(device[1]));
    CHECK(cudaFree(device_velocities));
    printf("%d bodies, %d steps, positions agree to 1e-12\n", bodies, steps);
    return passed();
}
