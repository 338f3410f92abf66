/* SPDX-License-Identifier: Apache-2.0 */
/* See engine_fixture.h. Used by criterion tests and by bench_engine, hence plain abort. */
#include "softgpu/tests/engine_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "softgpu/engine/permission_map.h"

static _Noreturn void fail(const char *what, const char *detail)
{
    fprintf(stderr, "engine fixture: %s: %s\n", what, detail);
    abort();
}

void engine_open(struct engine *engine, unsigned workers)
{
    memset(engine, 0, sizeof *engine);
    engine->map = sg_map_create();
    if (engine->map == NULL || sg_pool_create(workers, &engine->pool) != GA_OK) {
        fail("open", "no memory");
    }
}

static void unload(struct engine *engine)
{
    sg_image_destroy(engine->image);
    sg_program_destroy(engine->program);
    free(engine->addresses);
    engine->image = NULL;
    engine->program = NULL;
    engine->addresses = NULL;
}

void engine_close(struct engine *engine)
{
    unload(engine);
    sg_pool_destroy(engine->pool);
    sg_map_destroy(engine->map);
}

void *engine_memory(struct engine *engine, size_t bytes)
{
    size_t size = (bytes + SG_MAP_CHUNK - 1) / SG_MAP_CHUNK * SG_MAP_CHUNK;
    /* two chunks more: one to align in, one that stays inaccessible */
    uint8_t *memory = mmap(NULL, size + 2 * SG_MAP_CHUNK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fail("memory", "mmap");
    }
    uint64_t at = (PTR(memory) + SG_MAP_CHUNK - 1) / SG_MAP_CHUNK * SG_MAP_CHUNK;
    if (sg_map_set(engine->map, at, size, SG_MAP_READ | SG_MAP_WRITE) != GA_OK) {
        fail("memory", "sg_map_set");
    }
    return (void *)(uintptr_t)at;
}

void engine_load_units(struct engine *engine, const struct sg_unit *units, size_t count)
{
    char messages[1024];
    struct sg_log log = {messages, sizeof messages, 0};
    unload(engine);
    if (sg_program_link(units, count, &log, &engine->program) != SG_LOAD_OK) {
        fail("load", messages);
    }
    size_t variables = sg_program_variable_count(engine->program);
    engine->addresses = calloc(variables + 1, sizeof engine->addresses[0]);
    for (size_t i = 0; i < variables; i++) {
        const struct sg_variable *variable = sg_program_variable_at(engine->program, i);
        engine->addresses[i] = PTR(engine_memory(engine, variable->bytes + 1));
    }
    if (sg_image_create(engine->program, engine->addresses, &engine->image) != GA_OK) {
        fail("image", "refused");
    }
}

void engine_load_file(struct engine *engine, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.ptx", SG_TEST_KERNELS, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("open", path);
    }
    static char text[8 << 20];
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    engine_load_units(engine, &(struct sg_unit){text, bytes, NULL}, 1);
}

void engine_load_text(struct engine *engine, const char *ptx)
{
    engine_load_units(engine, &(struct sg_unit){ptx, strlen(ptx), NULL}, 1);
}

void *engine_variable(struct engine *engine, const char *name)
{
    size_t index = sg_program_variable_find(engine->program, name);
    if (index == SIZE_MAX) {
        fail("variable", name);
    }
    return (void *)(uintptr_t)engine->addresses[index];
}

void engine_launch_3d(struct engine *engine, const char *name, const uint32_t grid[3],
                      const uint32_t block[3], uint32_t dynamic_shared, const uint64_t *params,
                      size_t param_count)
{
    const struct sg_kernel *kernel = sg_program_kernel_find(engine->program, name);
    uint8_t bytes[4096] = {0};
    if (kernel == NULL || kernel->param_count != param_count) {
        fail(kernel != NULL ? "wrong number of parameters" : "no such kernel", name);
    }
    for (size_t i = 0; i < param_count; i++) {
        uint32_t size = kernel->params[i].size;
        memcpy(bytes + kernel->params[i].offset, &params[i], size < 8 ? size : 8);
    }
    struct sg_launch launch = {
        .image = engine->image,
        .kernel = kernel,
        .grid = {grid[0], grid[1], grid[2]},
        .block = {block[0], block[1], block[2]},
        .cluster = {engine->cluster[0], engine->cluster[1], engine->cluster[2]},
        .dynamic_shared = dynamic_shared,
        .params = bytes,
        .map = engine->map,
        .sm_count = 4,
        .max_workers = engine->max_workers,
        .warps_sm = engine->warps_sm,
        .shared_unit = engine->shared_unit,
        .shared_reserved = engine->shared_reserved,
        .stop = engine->stop,
        .limit_ns = engine->limit_ns,
        .waiting = engine->waiting,
        .give_way = engine->give_way,
        .turn = engine,
        .workspace = engine->workspace,
        .launcher = engine->launcher,
        .pending_launches = engine->pending_launches,
        .counts = engine->counts,
        .printer = engine->printer,
        .objects = engine->objects,
        .heap = engine->heap,
    };
    sg_grid_run(engine->pool, &launch, &engine->fault);
}

uint64_t engine_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

uint64_t engine_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

uint64_t engine_random(uint64_t *state)
{
    uint64_t x = *state ? *state : 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x;
}
