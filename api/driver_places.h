/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that can make objects again with the values that they had before. Device code and
 * programs hold values that the driver has chosen: addresses of variables and of functions, handles
 * of textures, surfaces and conditions. A server that destroys an application's objects and makes
 * them again *places* each at its old value, so nobody can tell. (Contents are the server's: it
 * copies those of the variables that module_variable lists, and the four bytes at the handle of a
 * condition.)
 *
 * Note: a `place` call concerns the next object of that kind that the calling *thread* makes,
 * whether that succeeds or not; then it is forgotten. Other threads are not concerned. */
#ifndef API_DRIVER_PLACES_H
#define API_DRIVER_PLACES_H

#include <stddef.h>
#include <stdint.h>

enum cuda_variable_kind {
    CUDA_VARIABLE_GLOBAL,   /* __device__, a static variable of a device function, a text */
    CUDA_VARIABLE_CONSTANT, /* __constant__ */
    CUDA_VARIABLE_MANAGED,  /* __managed__ */
    CUDA_VARIABLE_BINDING,  /* of a texture or surface reference: the handle of its object */
};

/* A variable of a module: memory that kernels change, or that programs set by cuMemcpy. */
struct cuda_module_variable {
    const char *name; /* not always unique; borrowed from the module */
    uint64_t address; /* 0: it has no memory */
    uint64_t bytes;   /* 0: it has no memory */
    enum cuda_variable_kind kind;
};

/* The values that the driver has chosen for a module. */
struct cuda_module_layout {
    uint64_t code_base; /* pointers to functions lie in [code_base, code_base + code_bytes) */
    uint64_t code_bytes;
    uint64_t runtime_base;  /* memory of the device run time, for kernels that launch kernels; */
    uint64_t runtime_bytes; /* 0: there are none. Nothing in it needs to be copied */
    size_t variable_count;  /* the same for all modules of an image */
    /* The address of each variable, in the order of module_variable. module_layout does not touch
     * it; module_place reads it. */
    const uint64_t *addresses;
};

/* The heap of malloc in kernels of a context: its memory, whose contents the server copies, and
 * which blocks of it are taken. */
struct cuda_kernel_heap {
    uint64_t base, bytes; /* 0, 0: the context has none */
    int used;             /* a kernel that may call malloc or free was launched */
    size_t record_bytes;  /* of the records: bytes that mean something to this driver alone */
    void *records;        /* the caller's room for them */
};

/* Facts that decide whether a context can be made again. */
struct cuda_context_state {
    /* Blocks that kernels have got from malloc and have not freed; 0: none. */
    uint64_t heap_blocks, heap_bytes;
    int heap_used;      /* a kernel that may call malloc or free was launched */
    int output_pending; /* kernels have printed what no call has written yet */
    uint64_t pending;   /* operations that were submitted and are not complete */
    int printed; /* a kernel that may print was launched: CU_LIMIT_PRINTF_FIFO_SIZE is fixed */
};

/* All functions return a CUresult. Any thread may call them. CUDA_ERROR_INVALID_HANDLE: there is no
 * such object. */
struct cuda_driver_places {
    size_t bytes; /* of this table: it may grow at its end */

    /* `module` is a CUmodule. */
    int (*module_layout)(void *module, struct cuda_module_layout *layout);
    /* Variable `index` of the module, from 0. CUDA_ERROR_INVALID_VALUE: there are fewer. */
    int (*module_variable)(void *module, size_t index, struct cuda_module_variable *variable);

    /* The next module that this thread loads (cuModuleLoad*) gets this layout; the layout and its
     * addresses are borrowed until then. NULL: where the driver likes, as without the call. The
     * load returns CUDA_ERROR_INVALID_VALUE if the layout is not one of this image, and
     * CUDA_ERROR_ALREADY_ACQUIRED if something else is at one of its addresses; then nothing has
     * been made. Contents are those of a new module. */
    int (*module_place)(const struct cuda_module_layout *layout);

    /* The next texture or surface object that this thread makes gets this handle; 0: any. Making
     * it returns CUDA_ERROR_ALREADY_ACQUIRED if an object of the context has it. Other objects
     * never get a handle that was placed. */
    int (*object_place)(uint64_t handle);

    /* The next handle of a condition that this thread makes (cuGraphConditionalHandleCreate) is
     * this one; 0: any. Making it returns CUDA_ERROR_ALREADY_ACQUIRED if something else is at its
     * address. */
    int (*condition_place)(uint64_t handle);

    /* The next memory that this thread gets from cuMemAlloc is at this address; 0: any.
     * CUDA_ERROR_ALREADY_ACQUIRED and CUDA_ERROR_INVALID_VALUE as for modules. */
    int (*memory_place)(uint64_t address);

    /* Keeps the place of a variable, of a condition, of memory from cuMemAlloc, of a kernel heap or
     * of a module's runtime_base: `address` is where it begins. When it is freed, it stays taken
     * until something has been placed there (not by a call that fails), or until address_release.
     * CUDA_ERROR_INVALID_VALUE: none of these begins there. */
    int (*address_keep)(uint64_t address);
    /* Ends that; what lies there now stays. No error if the place is not kept. */
    int (*address_release)(uint64_t address);

    /* Tells the heap of a context (CUcontext). If heap->records is not NULL, it has room for
     * heap->record_bytes bytes, as many as an earlier call has told; CUDA_ERROR_INVALID_VALUE if
     * that does not fit. */
    int (*heap_read)(void *context, struct cuda_kernel_heap *heap);
    /* Makes the heap of a context that has none yet: before its first module, and with the limit
     * CU_LIMIT_MALLOC_HEAP_SIZE that the other context had. CUDA_ERROR_ALREADY_ACQUIRED: it has
     * one, or something else is at `base`. CUDA_ERROR_INVALID_VALUE: the heap does not fit the
     * limit, or the records are damaged. */
    int (*heap_place)(void *context, const struct cuda_kernel_heap *heap);

    /* `context` is a CUcontext. CUDA_ERROR_INVALID_CONTEXT. */
    int (*context_state)(void *context, struct cuda_context_state *state);
    /* From now on the context is one whose kernels may have printed. */
    int (*context_prints)(void *context);

    /* How much memory of the device (CUdevice) this process has, whoever has asked for it: whole
     * granules, and parts of those that small allocations share. Memory that it has
     * freed and other processes still have open is theirs. */
    int (*memory_held)(int device, uint64_t *bytes);
    /* The memory of this machine that the driver has taken for the program and counts, besides that
     * of GPUs: parsed code, blocks that run, managed variables. */
    int (*host_held)(uint64_t *bytes);

    /* Unloads a module that has just been loaded and that nothing has used. Unlike cuModuleUnload
     * it does not wait. CUDA_ERROR_NOT_PERMITTED: it is a library's. */
    int (*module_drop)(void *module);
};

#endif
