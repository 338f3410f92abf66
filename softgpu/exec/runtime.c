/* SPDX-License-Identifier: Apache-2.0 */
/* The device run time, as kernels call it; see runtime.def and launcher.h. Each function runs for
 * one lane. Its result is also the thread's last error. */
#include <stddef.h>
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/builtin.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/generic.h"
#include "softgpu/exec/grid.h"
#include "softgpu/exec/kernel_heap.h"
#include "softgpu/exec/launcher.h"
#include "softgpu/exec/runtime.h"

#define RUNTIME_STREAM_TAIL            3u /* cudaStreamTailLaunch */
#define RUNTIME_STREAM_FIRE_AND_FORGET 4u /* cudaStreamFireAndForget */
#define RUNTIME_NON_BLOCKING           1u /* cudaStreamNonBlocking */
#define RUNTIME_DISABLE_TIMING         2u /* cudaEventDisableTiming */
#define RUNTIME_VERSION                13000

struct lane {
    struct sg_warp *warp;
    const struct sg_insn *in;
    const struct sg_call *call;
    struct sg_grid *grid;
    unsigned number;
    uint64_t thread; /* its number in the grid */
    uint64_t result; /* of functions whose result is no error */
};

static uint64_t runtime_argument(const struct lane *lane, uint32_t index)
{
    return sg_builtin_argument(lane->warp, lane->call, index, lane->number);
}

/* An argument of type dim3. */
static void runtime_argument_dim(const struct lane *lane, uint32_t index, uint32_t out[3])
{
    for (uint32_t i = 0; i < 12; i++) {
        ((uint8_t *)out)[i] =
            *sg_local_at(lane->warp, lane->number, lane->warp->sp + lane->call->in[index].from + i);
    }
}

/* Writes through a pointer argument. An invalid one is a fault, as on hardware. */
static void write_bytes(struct lane *lane, uint64_t address, const void *value, unsigned bytes)
{
    uint8_t *to = address % bytes
                      ? NULL
                      : sg_generic_at(lane->warp, lane->number, address, bytes, SG_MAP_WRITE);
    if (to != NULL) {
        memcpy(to, value, bytes);
    } else {
        sg_warp_fault(lane->warp, lane->in, lane->number, SG_FAULT_ILLEGAL_ADDRESS, address,
                      "the device run time writes where the kernel may not write");
    }
}

static void write_int(struct lane *lane, uint32_t index, int value)
{
    write_bytes(lane, runtime_argument(lane, index), &value, 4);
}

static void write_long(struct lane *lane, uint32_t index, uint64_t value)
{
    write_bytes(lane, runtime_argument(lane, index), &value, 8);
}

static const struct sg_kernel_code *code_of(const struct lane *lane, uint64_t address)
{
    return sg_program_entry(lane->grid->launch->image->program, address);
}

static enum sg_runtime_error runtime_stream_check(const struct lane *lane, uint64_t stream)
{
    bool good = stream == 0 || stream == RUNTIME_STREAM_TAIL ||
                stream == RUNTIME_STREAM_FIRE_AND_FORGET ||
                sg_launcher_handle_good(lane->grid, stream);
    return good ? SG_RUNTIME_OK : SG_RUNTIME_INVALID_HANDLE;
}

/* ---- launches ---- */

static enum sg_runtime_error runtime_buffer(struct lane *lane)
{
    enum sg_runtime_error error = SG_RUNTIME_INVALID_VALUE;
    lane->result = runtime_argument(lane, 1) <= 4096
                       ? sg_launcher_buffer(lane->grid, NULL, NULL, 0, &error)
                       : 0;
    return error;
}

static enum sg_runtime_error runtime_buffer_v2(struct lane *lane)
{
    uint32_t sizes[6];
    enum sg_runtime_error error;
    const struct sg_kernel_code *code = code_of(lane, runtime_argument(lane, 0));
    runtime_argument_dim(lane, 1, sizes);
    runtime_argument_dim(lane, 2, sizes + 3);
    if (code == NULL) {
        lane->result = 0;
        return SG_RUNTIME_INVALID_FUNCTION;
    }
    lane->result =
        sg_launcher_buffer(lane->grid, code, sizes, (uint32_t)runtime_argument(lane, 3), &error);
    return error;
}

static enum sg_runtime_error launch_in(struct lane *lane, uint64_t parameters, uint64_t stream)
{
    enum sg_runtime_error error = runtime_stream_check(lane, stream);
    return error == SG_RUNTIME_OK
               ? sg_launcher_launch(lane->grid, parameters, stream == RUNTIME_STREAM_TAIL)
               : error;
}

static enum sg_runtime_error runtime_launch_v2(struct lane *lane)
{
    return launch_in(lane, runtime_argument(lane, 0), runtime_argument(lane, 1));
}

static enum sg_runtime_error runtime_launch(struct lane *lane)
{
    uint32_t sizes[6];
    runtime_argument_dim(lane, 2, sizes);
    runtime_argument_dim(lane, 3, sizes + 3);
    uint64_t parameters = runtime_argument(lane, 1);
    enum sg_runtime_error error =
        sg_launcher_describe(lane->grid, parameters, code_of(lane, runtime_argument(lane, 0)),
                             sizes, (uint32_t)runtime_argument(lane, 4));
    return error == SG_RUNTIME_OK ? launch_in(lane, parameters, runtime_argument(lane, 5)) : error;
}

/* ---- errors ---- */

static enum sg_runtime_error runtime_last_error(struct lane *lane)
{
    lane->result = sg_launcher_error(lane->grid, lane->thread, true);
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_peek_error(struct lane *lane)
{
    lane->result = sg_launcher_error(lane->grid, lane->thread, false);
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_error_string(struct lane *lane)
{
    lane->result =
        sg_launcher_text(lane->grid, (enum sg_runtime_error)runtime_argument(lane, 0), false);
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_error_name(struct lane *lane)
{
    lane->result =
        sg_launcher_text(lane->grid, (enum sg_runtime_error)runtime_argument(lane, 0), true);
    return SG_RUNTIME_OK;
}

/* ---- the device ---- */

static enum sg_runtime_error runtime_device_count(struct lane *lane)
{
    const struct sg_device_facts *facts = lane->grid->launch->facts;
    write_int(lane, 0, facts != NULL ? facts->device_count : 1);
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_device(struct lane *lane)
{
    const struct sg_device_facts *facts = lane->grid->launch->facts;
    write_int(lane, 0, facts != NULL ? facts->device : 0);
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_attribute(struct lane *lane)
{
    const struct sg_device_facts *facts = lane->grid->launch->facts;
    int value;
    if (facts == NULL || !facts->attribute(facts, (int)runtime_argument(lane, 2),
                                           (int)runtime_argument(lane, 1), &value)) {
        return SG_RUNTIME_INVALID_VALUE;
    }
    write_int(lane, 0, value);
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_limit(struct lane *lane)
{
    const struct sg_device_facts *facts = lane->grid->launch->facts;
    uint64_t value;
    if (facts == NULL || !facts->limit(facts, (int)runtime_argument(lane, 1), &value)) {
        return SG_RUNTIME_INVALID_VALUE;
    }
    write_long(lane, 0, value);
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_config(struct lane *lane)
{
    write_int(lane, 0, 0); /* no preference; the default bank size */
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_version(struct lane *lane)
{
    write_int(lane, 0, RUNTIME_VERSION);
    return SG_RUNTIME_OK;
}

/* ---- streams and events: what a grid orders is done in order, so there is nothing to do ---- */

static enum sg_runtime_error runtime_stream_create(struct lane *lane)
{
    if ((uint32_t)runtime_argument(lane, 1) != RUNTIME_NON_BLOCKING) {
        return SG_RUNTIME_INVALID_VALUE;
    }
    write_long(lane, 0, sg_launcher_handle(lane->grid));
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_event_create(struct lane *lane)
{
    if ((uint32_t)runtime_argument(lane, 1) != RUNTIME_DISABLE_TIMING) {
        return SG_RUNTIME_INVALID_VALUE;
    }
    write_long(lane, 0, sg_launcher_handle(lane->grid));
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_handle_destroy(struct lane *lane)
{
    return sg_launcher_handle_good(lane->grid, runtime_argument(lane, 0))
               ? SG_RUNTIME_OK
               : SG_RUNTIME_INVALID_HANDLE;
}

static enum sg_runtime_error runtime_stream_wait(struct lane *lane)
{
    return sg_launcher_handle_good(lane->grid, runtime_argument(lane, 1))
               ? runtime_stream_check(lane, runtime_argument(lane, 0))
               : SG_RUNTIME_INVALID_HANDLE;
}

static enum sg_runtime_error runtime_event_record(struct lane *lane)
{
    return sg_launcher_handle_good(lane->grid, runtime_argument(lane, 0))
               ? runtime_stream_check(lane, runtime_argument(lane, 1))
               : SG_RUNTIME_INVALID_HANDLE;
}

/* ---- memory: of the heap that malloc takes from ---- */

static enum sg_runtime_error runtime_allocate(struct lane *lane)
{
    struct sg_kernel_heap *heap = lane->grid->launch->heap;
    uint64_t bytes = runtime_argument(lane, 1), address = 0;
    if (bytes != 0) {
        address = heap != NULL ? sg_kernel_heap_take(heap, bytes, 256) : 0;
        if (!address) {
            return SG_RUNTIME_NO_MEMORY;
        }
    }
    write_long(lane, 0, address);
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_release(struct lane *lane)
{
    struct sg_kernel_heap *heap = lane->grid->launch->heap;
    uint64_t address = runtime_argument(lane, 0);
    bool good =
        address == 0 || (heap != NULL && sg_kernel_heap_give(heap, address) == SG_HEAP_GIVEN);
    return good ? SG_RUNTIME_OK : SG_RUNTIME_INVALID_VALUE;
}

/* ---- copies ---- */

static enum sg_runtime_error runtime_order(struct lane *lane, const struct sg_child *what,
                                           uint64_t stream)
{
    enum sg_runtime_error error = runtime_stream_check(lane, stream);
    if (error == SG_RUNTIME_OK && what->height > 1 &&
        (what->to_pitch < what->width ||
         (what->kind == SG_CHILD_COPY && what->from_pitch < what->width))) {
        error = SG_RUNTIME_INVALID_VALUE;
    }
    return error == SG_RUNTIME_OK
               ? sg_launcher_order(lane->grid, what, stream == RUNTIME_STREAM_TAIL)
               : error;
}

static enum sg_runtime_error runtime_copy(struct lane *lane)
{
    const struct sg_child what = {.kind = SG_CHILD_COPY,
                                  .to = runtime_argument(lane, 0),
                                  .from = runtime_argument(lane, 1),
                                  .width = runtime_argument(lane, 2),
                                  .height = 1};
    return runtime_order(lane, &what, runtime_argument(lane, 4));
}

static enum sg_runtime_error runtime_copy_2d(struct lane *lane)
{
    const struct sg_child what = {.kind = SG_CHILD_COPY,
                                  .to = runtime_argument(lane, 0),
                                  .to_pitch = runtime_argument(lane, 1),
                                  .from = runtime_argument(lane, 2),
                                  .from_pitch = runtime_argument(lane, 3),
                                  .width = runtime_argument(lane, 4),
                                  .height = runtime_argument(lane, 5)};
    return runtime_order(lane, &what, runtime_argument(lane, 7));
}

static enum sg_runtime_error runtime_fill(struct lane *lane)
{
    const struct sg_child what = {.kind = SG_CHILD_FILL,
                                  .to = runtime_argument(lane, 0),
                                  .value = (uint8_t)runtime_argument(lane, 1),
                                  .width = runtime_argument(lane, 2),
                                  .height = 1};
    return runtime_order(lane, &what, runtime_argument(lane, 3));
}

static enum sg_runtime_error runtime_fill_2d(struct lane *lane)
{
    const struct sg_child what = {.kind = SG_CHILD_FILL,
                                  .to = runtime_argument(lane, 0),
                                  .to_pitch = runtime_argument(lane, 1),
                                  .value = (uint8_t)runtime_argument(lane, 2),
                                  .width = runtime_argument(lane, 3),
                                  .height = runtime_argument(lane, 4)};
    return runtime_order(lane, &what, runtime_argument(lane, 5));
}

/* ---- functions ---- */

/* Writes a struct cudaFuncAttributes. */
static enum sg_runtime_error runtime_function_attributes(struct lane *lane)
{
    const struct sg_kernel_code *code = code_of(lane, runtime_argument(lane, 1));
    if (code == NULL) {
        return SG_RUNTIME_INVALID_FUNCTION;
    }
    const struct sg_kernel *kernel = &code->kernel;
    const uint64_t sizes[3] = {kernel->shared_bytes, kernel->const_bytes, kernel->local_bytes};
    const uint32_t shared_left = kernel->shared_bytes < 49152 ? 49152 - kernel->shared_bytes : 0;
    const uint32_t numbers[] = {kernel->max_threads, kernel->registers, 75, 75, 0,
                                shared_left,         (uint32_t)-1};
    uint64_t at = runtime_argument(lane, 0);
    for (unsigned i = 0; i < 3 && !lane->warp->faulted; i++) {
        write_bytes(lane, at + 8 * i, &sizes[i], 8);
    }
    for (unsigned i = 0; i < 29 && !lane->warp->faulted; i++) { /* the rest is zeros */
        uint32_t value = i < sizeof numbers / sizeof numbers[0] ? numbers[i] : 0;
        write_bytes(lane, at + 24 + 4 * i, &value, 4);
    }
    return SG_RUNTIME_OK;
}

static enum sg_runtime_error runtime_occupancy(struct lane *lane)
{
    const struct sg_device_facts *facts = lane->grid->launch->facts;
    const struct sg_kernel_code *code = code_of(lane, runtime_argument(lane, 1));
    int blocks;
    if (code == NULL) {
        return SG_RUNTIME_INVALID_FUNCTION;
    }
    if (facts == NULL ||
        !facts->occupancy(facts, &code->kernel, (uint32_t)runtime_argument(lane, 2),
                          runtime_argument(lane, 3), &blocks)) {
        return SG_RUNTIME_INVALID_VALUE;
    }
    write_int(lane, 0, blocks);
    return SG_RUNTIME_OK;
}

/* ---- all of them ---- */

static void runtime_run(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask,
                        enum sg_runtime_error (*function)(struct lane *))
{
    const struct sg_block *block = warp->block;
    struct sg_grid *grid = block->grid;
    const uint32_t *size = grid->launch->grid;
    uint64_t number = block->id[0] + (block->id[1] + (uint64_t)block->id[2] * size[1]) * size[0];
    for (uint32_t left = mask; left && !warp->faulted; left &= left - 1) {
        struct lane lane = {.warp = warp,
                            .in = in,
                            .call = sg_builtin_call(warp, in),
                            .grid = grid,
                            .number = (unsigned)__builtin_ctz(left),
                            .result = UINT64_MAX};
        lane.thread = number * 1024 + warp->index * SG_LANES + lane.number;
        enum sg_runtime_error error = function(&lane);
        sg_launcher_set_error(grid, lane.thread, error);
        sg_builtin_return(warp, lane.call, lane.number,
                          lane.result != UINT64_MAX ? lane.result : (uint64_t)error);
    }
}

#define RUNTIME_FUNCTIONS                                                                          \
    RUNTIME_HANDLER(buffer)                                                                        \
    RUNTIME_HANDLER(buffer_v2)                                                                     \
    RUNTIME_HANDLER(launch)                                                                        \
    RUNTIME_HANDLER(launch_v2)                                                                     \
    RUNTIME_HANDLER(last_error)                                                                    \
    RUNTIME_HANDLER(peek_error)                                                                    \
    RUNTIME_HANDLER(error_string)                                                                  \
    RUNTIME_HANDLER(error_name)                                                                    \
    RUNTIME_HANDLER(device_count)                                                                  \
    RUNTIME_HANDLER(device)                                                                        \
    RUNTIME_HANDLER(attribute)                                                                     \
    RUNTIME_HANDLER(limit)                                                                         \
    RUNTIME_HANDLER(config)                                                                        \
    RUNTIME_HANDLER(stream_create)                                                                 \
    RUNTIME_HANDLER(handle_destroy)                                                                \
    RUNTIME_HANDLER(stream_wait)                                                                   \
    RUNTIME_HANDLER(event_create)                                                                  \
    RUNTIME_HANDLER(event_record)                                                                  \
    RUNTIME_HANDLER(allocate)                                                                      \
    RUNTIME_HANDLER(release)                                                                       \
    RUNTIME_HANDLER(copy)                                                                          \
    RUNTIME_HANDLER(copy_2d)                                                                       \
    RUNTIME_HANDLER(fill)                                                                          \
    RUNTIME_HANDLER(fill_2d)                                                                       \
    RUNTIME_HANDLER(version)                                                                       \
    RUNTIME_HANDLER(function_attributes)                                                           \
    RUNTIME_HANDLER(occupancy)

#define RUNTIME_HANDLER(name)                                                                      \
    static void run_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)          \
    {                                                                                              \
        runtime_run(warp, in, mask, runtime_##name);                                               \
    }
RUNTIME_FUNCTIONS
#undef RUNTIME_HANDLER

const struct sg_runtime_function sg_runtime_functions[] = {
#define RUNTIME(function, name, result, ...) {name, run_##function, result, {__VA_ARGS__}},
#include "softgpu/exec/runtime.def"
#undef RUNTIME
};
const size_t sg_runtime_function_count =
    sizeof sg_runtime_functions / sizeof sg_runtime_functions[0];
