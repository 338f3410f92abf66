/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic parallelism: grids, copies and fills that kernels submit.
 *
 * Note: none of them begins before the grid that submitted it is complete. A grid may not wait for
 * its launches (CUDA promises neither that they begin nor that they end before), so CUDA allows
 * this order, and it makes streams and events easy: the submissions of one grid run in the order of
 * submission. A grid counts as complete when all its launches are, with all of theirs; the tail
 * stream comes last. */
#ifndef SOFTGPU_EXEC_LAUNCHER_H
#define SOFTGPU_EXEC_LAUNCHER_H

#include "softgpu/exec/program.h"

struct sg_grid;

enum sg_child_kind { SG_CHILD_GRID, SG_CHILD_COPY, SG_CHILD_FILL };

struct sg_child {
    struct sg_child *next;
    enum sg_child_kind kind;
    uint32_t depth; /* of the grid; 0: one that the host launches */
    const struct sg_kernel_code *code;
    uint32_t grid[3], block[3], dynamic_shared;
    uint64_t to, from, to_pitch, from_pitch, width, height; /* COPY and FILL */
    uint8_t value;
    uint32_t budget; /* bytes of it that this takes */
    _Alignas(16) uint8_t params[];
};

struct sg_child_list {
    struct sg_child *first, *last;
};

/* Errors of the device run time: the numbers of cudaError_t. */
enum sg_runtime_error {
    SG_RUNTIME_OK = 0,
    SG_RUNTIME_INVALID_VALUE = 1,
    SG_RUNTIME_NO_MEMORY = 2,
    SG_RUNTIME_INVALID_CONFIGURATION = 9,
    SG_RUNTIME_DEPTH = 65,
    SG_RUNTIME_PENDING = 69,
    SG_RUNTIME_INVALID_FUNCTION = 98,
    SG_RUNTIME_INVALID_HANDLE = 400,
    SG_RUNTIME_OUT_OF_RESOURCES = 701,
    SG_RUNTIME_NOT_SUPPORTED = 801,
};

/* The address at which the thread writes the parameters of a launch; 0 with *error: there is no
 * buffer. `sizes` are grid and block. */
uint64_t sg_launcher_buffer(struct sg_grid *grid, const struct sg_kernel_code *code,
                            const uint32_t sizes[6], uint32_t dynamic_shared,
                            enum sg_runtime_error *error);
/* Launches the kernel of the buffer; the buffer is free again whatever the result is. */
enum sg_runtime_error sg_launcher_launch(struct sg_grid *grid, uint64_t buffer, bool tail);
/* A buffer without a kernel, and a launch that names the kernel. */
enum sg_runtime_error sg_launcher_describe(struct sg_grid *grid, uint64_t buffer,
                                           const struct sg_kernel_code *code,
                                           const uint32_t sizes[6], uint32_t dynamic_shared);
/* Submits a copy or fill; sets the child's `next`, `code` and `depth`. */
enum sg_runtime_error sg_launcher_order(struct sg_grid *grid, const struct sg_child *what,
                                        bool tail);

/* The last error of one thread: cudaGetLastError clears it, cudaPeekAtLastError does not. */
enum sg_runtime_error sg_launcher_error(struct sg_grid *grid, uint64_t thread, bool take);
void sg_launcher_set_error(struct sg_grid *grid, uint64_t thread, enum sg_runtime_error error);
/* A new stream or event, which is just a number. */
uint64_t sg_launcher_handle(struct sg_grid *grid);
bool sg_launcher_handle_good(struct sg_grid *grid, uint64_t handle);
/* The address of a text that kernels may read. 0: there is none. */
uint64_t sg_launcher_text(const struct sg_grid *grid, enum sg_runtime_error error, bool name);

/* Puts the submissions of the grid in front of `todo`: first its children, then its tail stream. */
void sg_launcher_take(struct sg_grid *grid, struct sg_child_list *todo);
struct sg_child *sg_child_pop(struct sg_child_list *list);
/* Frees the remaining buffers, errors and children of a launch by the host. */
void sg_launcher_leave(struct sg_launcher *launcher, uint64_t root, struct sg_child_list *todo);
/* Does a copy or fill. False: kernels may not access the memory at *address. */
bool sg_child_move(const struct sg_child *child, const struct sg_map *map, uint64_t *address);
void sg_child_free(struct sg_launcher *launcher, struct sg_child *child);

#endif
