/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter buffers, pending launches, and the errors of threads. */
#include "softgpu/exec/launcher.h"

#include <stdlib.h>
#include <string.h>

#include "softgpu/engine/budget.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/grid.h"

#define SLOT_BYTES         4096u /* parameters of a launch, at most, as in CUDA */
#define TEXT_BYTES         4096u
#define TEXT_ROOM          64u
#define LAUNCHER_DEPTH_MAX 24u /* as in CUDA */
#define SHARED_MAX         49152u
#define HANDLE_UNIT        16u
#define ERRORS_MAX         65536u /* threads whose last error is kept */

struct slot {
    uint64_t root; /* the launch by the host that uses the slot; 0: free */
    const struct sg_kernel_code *code;
    uint32_t sizes[6], dynamic_shared;
    uint32_t next_free;
};

struct thread_error {
    struct thread_error *next;
    uint64_t root, grid, thread;
    enum sg_runtime_error error;
};

struct sg_launcher {
    pthread_mutex_t lock;
    uint8_t *memory; /* texts, then slots; kernels may access it */
    uint32_t slot_count, free_slot;
    uint32_t pending;
    uint64_t last_handle;
    struct thread_error *errors;
    uint32_t error_count;
    struct slot slots[];
};

static const struct {
    enum sg_runtime_error error;
    const char *name, *text;
} texts[] = {
    {SG_RUNTIME_OK, "cudaSuccess", "no error"},
    {SG_RUNTIME_INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {SG_RUNTIME_NO_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
    {SG_RUNTIME_INVALID_CONFIGURATION, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {SG_RUNTIME_DEPTH, "cudaErrorLaunchMaxDepthExceeded", "launch depth exceeded"},
    {SG_RUNTIME_PENDING, "cudaErrorLaunchPendingCountExceeded", "pending launch count exceeded"},
    {SG_RUNTIME_INVALID_FUNCTION, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {SG_RUNTIME_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {SG_RUNTIME_OUT_OF_RESOURCES, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {SG_RUNTIME_NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
};
#define LAUNCHER_TEXTS (sizeof texts / sizeof texts[0])
_Static_assert((LAUNCHER_TEXTS + 1) * 2 * TEXT_ROOM <= TEXT_BYTES, "");

enum ga_status sg_launcher_create(void *memory, size_t bytes, struct sg_launcher **out)
{
    if (bytes < TEXT_BYTES + SLOT_BYTES) {
        return GA_INVALID;
    }
    uint32_t count = (uint32_t)((bytes - TEXT_BYTES) / SLOT_BYTES);
    struct sg_launcher *made = calloc(1, sizeof *made + count * sizeof made->slots[0]);
    if (made == NULL) {
        return GA_NO_MEMORY;
    }
    pthread_mutex_init(&made->lock, NULL);
    made->memory = memory;
    made->slot_count = count;
    for (uint32_t i = 0; i < count; i++) {
        made->slots[i].next_free = i + 1;
    }
    memset(made->memory, 0, TEXT_BYTES);
    for (size_t i = 0; i <= LAUNCHER_TEXTS; i++) {
        char *room = (char *)made->memory + i * 2 * TEXT_ROOM;
        strcpy(room, i < LAUNCHER_TEXTS ? texts[i].name : "unrecognized error code");
        strcpy(room + TEXT_ROOM, i < LAUNCHER_TEXTS ? texts[i].text : "unrecognized error code");
    }
    *out = made;
    return GA_OK;
}

void sg_launcher_destroy(struct sg_launcher *launcher)
{
    if (launcher != NULL) {
        pthread_mutex_destroy(&launcher->lock);
        free(launcher);
    }
}

uint64_t sg_launcher_text(const struct sg_grid *grid, enum sg_runtime_error error, bool name)
{
    const struct sg_launcher *launcher = grid->launch->launcher;
    size_t i = 0;
    while (i < LAUNCHER_TEXTS && texts[i].error != error) {
        i++;
    }
    return launcher != NULL
               ? (uint64_t)(uintptr_t)launcher->memory + i * 2 * TEXT_ROOM + (name ? 0 : TEXT_ROOM)
               : 0;
}

/* ---- buffers ---- */

static enum sg_runtime_error launcher_check(const struct sg_grid *grid,
                                            const struct sg_kernel_code *code,
                                            const uint32_t sizes[6], uint32_t dynamic_shared)
{
    static const uint32_t most[6] = {2147483647u, 65535, 65535, 1024, 1024, 64};
    uint64_t threads = 1;
    if (code == NULL) {
        return SG_RUNTIME_INVALID_FUNCTION;
    }
    for (int i = 0; i < 6; i++) {
        if (sizes[i] == 0 || sizes[i] > most[i] ||
            (i >= 3 && code->kernel.reqntid[0] && code->kernel.reqntid[i - 3] != sizes[i])) {
            return SG_RUNTIME_INVALID_CONFIGURATION;
        }
        threads *= i >= 3 ? sizes[i] : 1;
    }
    if (threads > 1024) {
        return SG_RUNTIME_INVALID_CONFIGURATION;
    }
    if (threads > code->kernel.max_threads) {
        return SG_RUNTIME_OUT_OF_RESOURCES;
    }
    if (code->kernel.param_bytes > SLOT_BYTES || dynamic_shared > SHARED_MAX ||
        code->kernel.shared_bytes + dynamic_shared > SHARED_MAX) {
        return SG_RUNTIME_INVALID_VALUE;
    }
    return grid->depth >= LAUNCHER_DEPTH_MAX ? SG_RUNTIME_DEPTH : SG_RUNTIME_OK;
}

/* `code` may be NULL: the launch names the kernel. */
static uint64_t launcher_slot_take(struct sg_grid *grid, const struct sg_kernel_code *code,
                                   const uint32_t sizes[6], uint32_t dynamic_shared)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    uint64_t address = 0;
    pthread_mutex_lock(&launcher->lock);
    uint32_t index = launcher->free_slot;
    if (index < launcher->slot_count) {
        struct slot *slot = &launcher->slots[index];
        launcher->free_slot = slot->next_free;
        *slot = (struct slot){.root = grid->root, .code = code, .dynamic_shared = dynamic_shared};
        if (code != NULL && sizes) {
            memcpy(slot->sizes, sizes, sizeof slot->sizes);
        }
        address = (uint64_t)(uintptr_t)launcher->memory + TEXT_BYTES + index * SLOT_BYTES;
    }
    pthread_mutex_unlock(&launcher->lock);
    return address;
}

uint64_t sg_launcher_buffer(struct sg_grid *grid, const struct sg_kernel_code *code,
                            const uint32_t sizes[6], uint32_t dynamic_shared,
                            enum sg_runtime_error *error)
{
    *error = grid->launch->launcher != NULL ? SG_RUNTIME_OK : SG_RUNTIME_NOT_SUPPORTED;
    if (*error == SG_RUNTIME_OK && sizes) {
        *error = launcher_check(grid, code, sizes, dynamic_shared);
    }
    if (*error != SG_RUNTIME_OK) {
        return 0;
    }
    uint64_t address = launcher_slot_take(grid, code, sizes, dynamic_shared);
    *error = address ? SG_RUNTIME_OK : SG_RUNTIME_PENDING;
    return address;
}

/* NULL: no buffer of this launch has that address. Under the lock. */
static struct slot *launcher_slot_of(struct sg_grid *grid, uint64_t buffer)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    uint64_t offset = buffer - (uint64_t)(uintptr_t)launcher->memory - TEXT_BYTES;
    uint64_t index = offset / SLOT_BYTES;
    if (offset % SLOT_BYTES || index >= launcher->slot_count ||
        launcher->slots[index].root != grid->root) {
        return NULL;
    }
    return &launcher->slots[index];
}

static void slot_free(struct sg_launcher *launcher, struct slot *slot)
{
    slot->root = 0;
    slot->next_free = launcher->free_slot;
    launcher->free_slot = (uint32_t)(slot - launcher->slots);
}

enum sg_runtime_error sg_launcher_describe(struct sg_grid *grid, uint64_t buffer,
                                           const struct sg_kernel_code *code,
                                           const uint32_t sizes[6], uint32_t dynamic_shared)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    enum sg_runtime_error error = launcher != NULL
                                      ? launcher_check(grid, code, sizes, dynamic_shared)
                                      : SG_RUNTIME_NOT_SUPPORTED;
    if (error != SG_RUNTIME_OK) {
        return error;
    }
    pthread_mutex_lock(&launcher->lock);
    struct slot *slot = launcher_slot_of(grid, buffer);
    if (slot != NULL) {
        slot->code = code;
        slot->dynamic_shared = dynamic_shared;
        memcpy(slot->sizes, sizes, sizeof slot->sizes);
    }
    pthread_mutex_unlock(&launcher->lock);
    return slot != NULL ? SG_RUNTIME_OK : SG_RUNTIME_INVALID_VALUE;
}

/* ---- what is pending ---- */

static void launcher_append(struct sg_child_list *list, struct sg_child *child)
{
    child->next = NULL;
    if (list->last != NULL) {
        list->last->next = child;
    } else {
        list->first = child;
    }
    list->last = child;
}

struct sg_child *sg_child_pop(struct sg_child_list *list)
{
    struct sg_child *child = list->first;
    if (child != NULL) {
        list->first = child->next;
        list->last = list->first != NULL ? list->last : NULL;
    }
    return child;
}

/* NULL: no memory. */
static struct sg_child *child_alloc(uint32_t param_bytes)
{
    uint32_t bytes = (uint32_t)sizeof(struct sg_child) + param_bytes;
    if (!sg_budget_take(bytes, "launches by a kernel")) {
        return NULL;
    }
    struct sg_child *child = calloc(1, bytes);
    if (child == NULL) {
        sg_budget_give(bytes);
        return NULL;
    }
    child->budget = bytes;
    return child;
}

static void child_drop(struct sg_child *child)
{
    sg_budget_give(child->budget);
    free(child);
}

/* Under the lock. Takes the child over, or frees it. */
static enum sg_runtime_error launcher_submit(struct sg_grid *grid, struct sg_child *child,
                                             bool tail)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    if (child == NULL) {
        return SG_RUNTIME_NO_MEMORY;
    }
    if (launcher->pending >= grid->launch->pending_launches) {
        child_drop(child);
        return SG_RUNTIME_PENDING;
    }
    launcher->pending++;
    child->depth = grid->depth + !tail;
    launcher_append(tail ? &grid->tail : &grid->children, child);
    return SG_RUNTIME_OK;
}

static struct sg_child *launcher_child_make(const struct slot *slot, const void *params)
{
    uint32_t bytes = slot->code->kernel.param_bytes;
    struct sg_child *child = child_alloc(bytes);
    if (child != NULL) {
        child->kind = SG_CHILD_GRID;
        child->code = slot->code;
        child->dynamic_shared = slot->dynamic_shared;
        memcpy(child->grid, slot->sizes, sizeof child->grid);
        memcpy(child->block, slot->sizes + 3, sizeof child->block);
        memcpy(child->params, params, bytes);
    }
    return child;
}

enum sg_runtime_error sg_launcher_launch(struct sg_grid *grid, uint64_t buffer, bool tail)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    if (launcher == NULL) {
        return SG_RUNTIME_NOT_SUPPORTED;
    }
    enum sg_runtime_error error = SG_RUNTIME_INVALID_VALUE;
    pthread_mutex_lock(&launcher->lock);
    struct slot *slot = launcher_slot_of(grid, buffer);
    if (slot != NULL && slot->code != NULL) {
        error =
            launcher_submit(grid, launcher_child_make(slot, (const void *)(uintptr_t)buffer), tail);
    }
    if (slot != NULL) {
        slot_free(launcher, slot);
    }
    pthread_mutex_unlock(&launcher->lock);
    return error;
}

enum sg_runtime_error sg_launcher_order(struct sg_grid *grid, const struct sg_child *what,
                                        bool tail)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    if (launcher == NULL) {
        return SG_RUNTIME_NOT_SUPPORTED;
    }
    struct sg_child *child = child_alloc(0);
    if (child != NULL) {
        const uint32_t budget = child->budget;
        *child = *what;
        child->budget = budget;
    }
    pthread_mutex_lock(&launcher->lock);
    enum sg_runtime_error error = launcher_submit(grid, child, tail);
    pthread_mutex_unlock(&launcher->lock);
    return error;
}

void sg_launcher_take(struct sg_grid *grid, struct sg_child_list *todo)
{
    struct sg_child_list parts[] = {grid->children, grid->tail, *todo}, all = {NULL, NULL};
    for (int i = 0; i < 3; i++) {
        if (parts[i].first == NULL) {
            continue;
        }
        if (all.last != NULL) {
            all.last->next = parts[i].first;
        } else {
            all.first = parts[i].first;
        }
        all.last = parts[i].last;
    }
    *todo = all;
}

void sg_child_free(struct sg_launcher *launcher, struct sg_child *child)
{
    pthread_mutex_lock(&launcher->lock);
    launcher->pending--;
    pthread_mutex_unlock(&launcher->lock);
    child_drop(child);
}

bool sg_child_move(const struct sg_child *child, const struct sg_map *map, uint64_t *address)
{
    for (uint64_t row = 0; child->width && row < child->height; row++) {
        uint64_t to = child->to + row * child->to_pitch,
                 from = child->from + row * child->from_pitch;
        bool copy = child->kind == SG_CHILD_COPY;
        *address = to;
        if (!sg_map_allows(map, to, child->width, SG_MAP_WRITE)) {
            return false;
        }
        *address = from;
        if (copy && !sg_map_allows(map, from, child->width, SG_MAP_READ)) {
            return false;
        }
        if (copy) {
            memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, child->width);
        } else {
            memset((void *)(uintptr_t)to, child->value, child->width);
        }
    }
    return true;
}

/* ---- errors and handles ---- */

static struct thread_error **error_of(struct sg_grid *grid, uint64_t thread)
{
    struct thread_error **at = &grid->launch->launcher->errors;
    while (*at != NULL && ((*at)->grid != grid->id || (*at)->thread != thread)) {
        at = &(*at)->next;
    }
    return at;
}

enum sg_runtime_error sg_launcher_error(struct sg_grid *grid, uint64_t thread, bool take)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    if (launcher == NULL) {
        return SG_RUNTIME_OK;
    }
    pthread_mutex_lock(&launcher->lock);
    struct thread_error **at = error_of(grid, thread), *found = *at;
    enum sg_runtime_error error = found != NULL ? found->error : SG_RUNTIME_OK;
    if (found != NULL && take) {
        *at = found->next;
        free(found);
        launcher->error_count--;
    }
    pthread_mutex_unlock(&launcher->lock);
    return error;
}

void sg_launcher_set_error(struct sg_grid *grid, uint64_t thread, enum sg_runtime_error error)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    if (launcher == NULL || error == SG_RUNTIME_OK) {
        return;
    }
    pthread_mutex_lock(&launcher->lock);
    struct thread_error *at = *error_of(grid, thread);
    if (at == NULL && launcher->error_count < ERRORS_MAX && (at = calloc(1, sizeof *at)) != NULL) {
        launcher->error_count++;
        at->root = grid->root;
        at->grid = grid->id;
        at->thread = thread;
        at->next = launcher->errors;
        launcher->errors = at;
    }
    if (at != NULL) {
        at->error = error;
    }
    pthread_mutex_unlock(&launcher->lock);
}

uint64_t sg_launcher_handle(struct sg_grid *grid)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    if (launcher == NULL) {
        return 0;
    }
    pthread_mutex_lock(&launcher->lock);
    uint64_t handle = ++launcher->last_handle * HANDLE_UNIT;
    pthread_mutex_unlock(&launcher->lock);
    return handle;
}

bool sg_launcher_handle_good(struct sg_grid *grid, uint64_t handle)
{
    struct sg_launcher *launcher = grid->launch->launcher;
    if (launcher == NULL || handle == 0 || handle % HANDLE_UNIT) {
        return false;
    }
    pthread_mutex_lock(&launcher->lock);
    bool good = handle / HANDLE_UNIT <= launcher->last_handle;
    pthread_mutex_unlock(&launcher->lock);
    return good;
}

void sg_launcher_leave(struct sg_launcher *launcher, uint64_t root, struct sg_child_list *todo)
{
    struct sg_child *child;
    while ((child = sg_child_pop(todo)) != NULL) {
        sg_child_free(launcher, child);
    }
    pthread_mutex_lock(&launcher->lock);
    for (uint32_t i = 0; i < launcher->slot_count; i++) {
        if (launcher->slots[i].root == root) {
            slot_free(launcher, &launcher->slots[i]);
        }
    }
    for (struct thread_error **at = &launcher->errors; *at != NULL;) {
        struct thread_error *error = *at;
        if (error->root == root) {
            *at = error->next;
            free(error);
            launcher->error_count--;
        } else {
            at = &error->next;
        }
    }
    pthread_mutex_unlock(&launcher->lock);
}
