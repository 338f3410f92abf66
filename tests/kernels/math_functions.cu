// SPDX-License-Identifier: Apache-2.0
// sin, cos, exp, log, pow and others in float and double against the host's, in units in the last
// place. The bounds are those of the CUDA C++ Programming Guide plus one for the host's rounding.
#include <vector>

#include "check.h"

enum { functions = 9, count = 1024 };
static const char *const names[functions] = {"sin",  "cos", "exp",   "log", "pow",
                                             "sqrt", "erf", "atan2", "cbrt"};

template <typename Real> __global__ void evaluate(const Real *x, const Real *y, Real *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Real a = x[i], b = y[i];
    out[0 * count + i] = sin(a);
    out[1 * count + i] = cos(a);
    out[2 * count + i] = exp(b);
    out[3 * count + i] = log(fabs(a) + Real(0.001));
    out[4 * count + i] = pow(fabs(a) + Real(0.001), b);
    out[5 * count + i] = sqrt(fabs(a));
    out[6 * count + i] = erf(b);
    out[7 * count + i] = atan2(a, b);
    out[8 * count + i] = cbrt(a);
}

// In long double, so that the comparison adds no error of its own.
static long double right(int function, long double a, long double b, long double offset)
{
    switch (function) {
    case 0: return sinl(a);
    case 1: return cosl(a);
    case 2: return expl(b);
    case 3: return logl(offset);
    case 4: return powl(offset, b);
    case 5: return sqrtl(fabsl(a));
    case 6: return erfl(b);
    case 7: return atan2l(a, b);
    default: return cbrtl(a);
    }
}

template <typename Real> static Real next_after(Real value);
template <> float next_after(float value) { return nextafterf(fabsf(value), INFINITY); }
template <> double next_after(double value) { return nextafter(fabs(value), INFINITY); }

template <typename Real>
static void run(const char *type, const double (&bounds)[functions])
{
    std::vector<Real> x(count), y(count), out(functions * count);
    Random random(9);
    for (int i = 0; i < count; i++) {
        // A quarter is large: the range reduction of sin and cos then takes its long way.
        double scale = i % 4 == 3 ? 1e7 : 20;
        x[i] = (Real)((random.unit() - 0.5) * scale);
        y[i] = (Real)((random.unit() - 0.5) * 8);
    }
    Real *device_x, *device_y, *device_out;
    CHECK(cudaMalloc(&device_x, count * sizeof(Real)));
    CHECK(cudaMalloc(&device_y, count * sizeof(Real)));
    CHECK(cudaMalloc(&device_out, functions * count * sizeof(Real)));
    CHECK(cudaMemcpy(device_x, x.data(), count * sizeof(Real), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_y, y.data(), count * sizeof(Real), cudaMemcpyHostToDevice));
    evaluate<Real><<<count / 128, 128>>>(device_x, device_y, device_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), device_out, functions * count * sizeof(Real),
                     cudaMemcpyDeviceToHost));
    for (int function = 0; function < functions; function++) {
        long double worst = 0;
        for (int i = 0; i < count; i++) {
            Real offset = (Real)((Real)fabs(x[i]) + Real(0.001));
            long double exact = right(function, x[i], y[i], offset);
            Real rounded = (Real)exact;
            long double unit = next_after(rounded) - (Real)fabs(rounded);
            long double error = fabsl(out[function * count + i] - exact) / unit;
            if (!(error <= bounds[function]))
                fail("%s of (%.17g, %.17g) in %s is %.17g, %.17Lg is right (%.1Lf units)",
                     names[function], (double)x[i], (double)y[i], type,
                     (double)out[function * count + i], exact, error);
            worst = error > worst ? error : worst;
        }
        printf("%-6s %-5s off by at most %.2Lf units in the last place\n", type, names[function],
               worst);
    }
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));
    CHECK(cudaFree(device_out));
}

int main()
{
    //                 sin cos exp log pow sqrt erf atan2 cbrt
    run<float>("float", {3, 3, 3, 2, 5, 1, 3, 4, 2});
    run<double>("double", {3, 3, 2, 2, 3, 1, 3, 3, 2});
    return passed();
}
