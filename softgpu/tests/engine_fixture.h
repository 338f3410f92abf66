/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of the engine's tests: a program loaded from PTX, memory that kernels may access, and
 * launches. A fixture is one "device": one map, one pool, one image at a time. */
#ifndef SG_TESTS_ENGINE_FIXTURE_H
#define SG_TESTS_ENGINE_FIXTURE_H

#include "softgpu/engine/engine.h"

struct engine {
    struct sg_map *map;
    struct sg_pool *pool;
    struct sg_program *program;
    struct sg_image *image;
    uint64_t *addresses;   /* of the module's variables */
    struct sg_fault fault; /* of the last launch */
    const _Atomic int *stop;
    uint64_t limit_ns; /* 0: none */
    const _Atomic uint32_t *waiting;
    void (*give_way)(void *turn); /* with the engine */
    uint32_t max_workers;
    struct sg_objects *objects;
    struct sg_kernel_heap *heap;
    uint32_t cluster[3];          /* of the next launches; 0: from the kernel */
    struct sg_launcher *launcher; /* NULL: kernels cannot launch */
    uint32_t pending_launches;
    void *workspace; /* of cooperative grids; NULL: the next ones are not */
    struct sg_printer *printer;
    struct model_counts *counts; /* NULL: nothing is counted */
    /* As in struct sg_launch. */
    uint32_t warps_sm, shared_unit, shared_reserved;
};

/* All of them end the test with a message when they fail. */
void engine_open(struct engine *engine, unsigned workers);
void engine_close(struct engine *engine);
void engine_load_file(struct engine *engine, const char *name); /* of the built test kernels */

void engine_load_units(struct engine *engine, const struct sg_unit *units, size_t count);
void engine_load_text(struct engine *engine, const char *ptx);

/* Zeroed memory that kernels may read and write, followed by memory that they may not. Never freed
 * before the process ends. */
void *engine_memory(struct engine *engine, size_t bytes);
void *engine_variable(struct engine *engine, const char *name);

/* Launches; engine->fault tells the result. Parameters are 8-byte values unless the kernel declares
 * another size: then the low bytes are taken. */
void engine_launch_3d(struct engine *engine, const char *kernel, const uint32_t grid[3],
                      const uint32_t block[3], uint32_t dynamic_shared, const uint64_t *params,
                      size_t param_count);
#define ENGINE_LAUNCH(engine, kernel, grid_x, block_x, shared, ...)                                \
    do {                                                                                           \
        const uint64_t params_[] = {__VA_ARGS__};                                                  \
        engine_launch_3d((engine), (kernel), (const uint32_t[3]){(grid_x), 1, 1},                  \
                         (const uint32_t[3]){(block_x), 1, 1}, (shared), params_,                  \
                         sizeof params_ / sizeof params_[0]);                                      \
    } while (0)
#define PTR(p) ((uint64_t)(uintptr_t)(p))
uint64_t engine_f32(float x);
uint64_t engine_f64(double x);

/* An xorshift generator: the same numbers in every run. */
uint64_t engine_random(uint64_t *state);

#endif
