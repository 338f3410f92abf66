/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/soft/reference.h"

#include <math.h>
#include <string.h>

void reference_vector_add(const struct soft_data *data)
{
    const float *a = data->in[0], *b = data->in[1];
    float *c = data->out[0];
    for (int i = 0; i < data->n; i++) {
        c[i] = a[i] + b[i];
    }
}

void reference_reduction(const struct soft_data *data)
{
    const unsigned *in = data->in[0];
    unsigned sum = 0;
    for (int i = 0; i < data->n; i++) {
        sum += in[i];
    }
    *(unsigned *)data->out[0] = sum;
}

/* The order of loops that vectorises */
void reference_matmul(const struct soft_data *data)
{
    const float *a = data->in[0], *b = data->in[1];
    float *restrict c = data->out[0];
    const size_t n = (size_t)data->n;
    memset(c, 0, n * n * sizeof *c);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            for (size_t j = 0; j < n; j++) {
                c[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
}

static float normal(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail =
        0.39894228f * expf(-0.5f * d * d) *
        (k * (0.31938153f +
              k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

void reference_black_scholes(const struct soft_data *data)
{
    const float rate = 0.02f, volatility = 0.3f;
    const float *price = data->in[0], *strike = data->in[1], *years = data->in[2];
    float *call = data->out[0], *put = data->out[1];
    for (int i = 0; i < data->n; i++) {
        float s = price[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 =
            (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float n1 = normal(d1), n2 = normal(d2), discount = expf(-rate * t);
        call[i] = s * n1 - x * discount * n2;
        put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
    }
}

#define MANDELBROT(name, T)                                                                        \
    void name(const struct soft_data *data)                                                        \
    {                                                                                              \
        int *out = data->out[0], n = data->n;                                                      \
        for (int py = 0; py < n; py++) {                                                           \
            for (int px = 0; px < n; px++) {                                                       \
                T cx = (T)-2 + (T)3 * (T)px / (T)n, cy = (T)-1.5 + (T)3 * (T)py / (T)n;            \
                T x = 0, y = 0;                                                                    \
                int count = 0;                                                                     \
                while (count < 256 && x * x + y * y < (T)4) {                                      \
                    T next = x * x - y * y + cx;                                                   \
                    y = 2 * x * y + cy;                                                            \
                    x = next;                                                                      \
                    count++;                                                                       \
                }                                                                                  \
                out[py * n + px] = count;                                                          \
            }                                                                                      \
        }                                                                                          \
    }

MANDELBROT(reference_mandelbrot32, float)
MANDELBROT(reference_mandelbrot64, double)

void reference_monte_carlo(const struct soft_data *data)
{
    const float *samples = data->in[0];
    float *out = data->out[0];
    for (int option = 0; option < MONTE_CARLO_OPTIONS; option++) {
        float strike = 20.0f + (float)option;
        double sum = 0;
        for (int i = 0; i < data->n; i++) {
            float end = 30.0f * expf(0.01f + 0.25f * samples[i]);
            sum += (double)fmaxf(end - strike, 0.0f);
        }
        out[option] = (float)(sum / data->n);
    }
}

void reference_histogram(const struct soft_data *data)
{
    const unsigned char *in = data->in[0];
    unsigned *bins = data->out[0];
    memset(bins, 0, 256 * sizeof *bins);
    for (int i = 0; i < data->n; i++) {
        bins[in[i]]++;
    }
}

void reference_nbody(const struct soft_data *data)
{
    const float(*bodies)[4] = data->in[0];
    float(*force)[4] = data->out[0];
    for (int i = 0; i < data->n; i++) {
        float x = 0, y = 0, z = 0;
        for (int k = 0; k < data->n; k++) {
            float dx = bodies[k][0] - bodies[i][0], dy = bodies[k][1] - bodies[i][1],
                  dz = bodies[k][2] - bodies[i][2];
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            float scale = bodies[k][3] * inverse * inverse * inverse;
            x += scale * dx;
            y += scale * dy;
            z += scale * dz;
        }
        force[i][0] = x;
        force[i][1] = y;
        force[i][2] = z;
        force[i][3] = 0;
    }
}
