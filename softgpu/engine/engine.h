/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX engine: loads PTX text and executes grids on the CPU. It knows nothing of CUDA handles,
 * contexts or streams; the driver half of softgpu stands on it.
 *
 * Note: device address = host address. A kernel's global pointer is dereferenced as it is, after
 * struct sg_map has allowed the access. Addresses at and above 2^47 are never host memory: they are
 * the windows through which generic addresses reach shared, local and parameter space
 * (SG_WINDOW_*).
 *
 * Source of semantics: PTX ISA 9.0, up to compute_90. */
#ifndef SOFTGPU_ENGINE_ENGINE_H
#define SOFTGPU_ENGINE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct model_counts; /* cost.h */
struct sg_map;       /* permission_map.h */
struct sg_objects;   /* texture_objects.h */

/* ---- Program: parsed, checked and decoded; immutable, shareable between devices and threads. */

struct sg_program;

/* Messages in the form of the JIT log, one per line: "line 12, column 5: error: ...". The caller
 * owns `text`; messages beyond `size` are cut, the text is always NUL-terminated when size > 0.
 * `used` counts the bytes written, without the NUL. */
struct sg_log {
    char *text;
    size_t size, used;
};

enum sg_load_result {
    SG_LOAD_OK,
    SG_LOAD_SYNTAX,      /* not PTX, or wrong PTX: CUDA_ERROR_INVALID_PTX */
    SG_LOAD_UNSUPPORTED, /* valid PTX that this engine does not execute; the log names it */
    SG_LOAD_NO_MEMORY,
    SG_LOAD_UNRESOLVED, /* a function or variable that is declared, used and nowhere defined */
    SG_LOAD_MISPLACED,  /* functions cannot be at that address */
    SG_LOAD_OCCUPIED,   /* another program's functions are there */
};

/* Loads one PTX module. `text` need not be NUL-terminated (one trailing NUL is dropped) and is not
 * kept. `log` may be NULL. `*out` is set only on SG_LOAD_OK. A module with one kernel that cannot
 * be executed is refused as a whole. */
enum sg_load_result sg_program_load(const char *text, size_t bytes, struct sg_log *log,
                                    struct sg_program **out);

/* One of the modules that make a program together. */
struct sg_unit {
    const char *text;
    size_t bytes;
    const char *name; /* for messages; NULL: "unit N", from 1 */
};

#define SG_UNITS_MAX 65535

/* Links PTX modules to one program, as nvlink does with the output of nvcc -rdc=true: a name with
 * .visible, .weak, .common or .extern means one object in all modules, any other name belongs to
 * its module. SG_LOAD_SYNTAX also if two modules define the same name. sg_program_load does the
 * same with one module; with several modules, messages begin with the module's name. */
enum sg_load_result sg_program_link(const struct sg_unit *units, size_t count, struct sg_log *log,
                                    struct sg_program **out);
/* As sg_program_link, with functions at given addresses: `code_base` is what sg_program_code has
 * said of a program of the same modules that exists no more; 0: anywhere. */
enum sg_load_result sg_program_link_at(const struct sg_unit *units, size_t count,
                                       uint64_t code_base, struct sg_log *log,
                                       struct sg_program **out);
/* No image of the program may be left. */
void sg_program_destroy(struct sg_program *program);

/* Where the addresses of functions begin, and how many `bytes` of addresses the program has. */
uint64_t sg_program_code(const struct sg_program *program, uint64_t *bytes);

struct sg_param {
    uint32_t offset, size, align; /* bytes */
};

struct sg_kernel { /* borrowed from the program */
    const char *name;
    unsigned sm; /* from its module's .target: 75 for sm_75 */
    const struct sg_param *params;
    uint32_t param_count, param_bytes;
    uint32_t shared_bytes; /* static */
    uint32_t local_bytes;  /* per thread */
    uint32_t const_bytes;  /* of the module's .const variables */
    uint32_t registers;   /* per thread, 1..255: those of the engine's own allocation, in units of 4
                             bytes */
    uint32_t max_threads; /* per block: product of .maxntid or .reqntid, else 1024 */
    uint32_t reqntid[3];  /* 0,0,0: none */
    uint32_t min_blocks;  /* .minnctapersm, 0: none */
    uint32_t cluster[3];  /* .reqnctapercluster; 0,0,0: none */
    uint32_t max_cluster; /* .maxclusterrank: blocks of a cluster, 0: none */
    bool explicit_cluster; /* .explicitcluster: must be launched with a cluster's size */
    bool prints;           /* it may call printf */
    bool mallocs;          /* it may call malloc or free */
    bool launches;         /* it may call the device run time: launch grids, submit copies */
};

/* The targets of its modules. */
struct sg_target {
    unsigned sm;   /* the highest one: 75 for sm_75 */
    unsigned only; /* for sm_90a or sm_100f: the only one it runs on; 0: it runs on `sm` and all
                      later ones */
};

struct sg_target sg_program_target(const struct sg_program *program);
size_t sg_program_kernel_count(const struct sg_program *program);
const struct sg_kernel *sg_program_kernel_at(const struct sg_program *program, size_t index);
/* NULL: no such kernel. */
const struct sg_kernel *sg_program_kernel_find(const struct sg_program *program, const char *name);

enum sg_space { SG_SPACE_GLOBAL, SG_SPACE_CONST };

struct sg_variable { /* borrowed from the program; a module-scope .global or .const variable */
    const char *name;
    uint64_t bytes;
    uint32_t align;
    enum sg_space space;
    bool visible;  /* .visible or .weak: cuModuleGetGlobal finds it */
    bool external; /* .extern: defined elsewhere. A module that *uses* one is SG_LOAD_UNRESOLVED */
    bool managed;  /* the host uses it too, and all images of a library have the same one */
    bool binding;  /* of a texture or surface reference: the handle of its object */
};

size_t sg_program_variable_count(const struct sg_program *program);
const struct sg_variable *sg_program_variable_at(const struct sg_program *program, size_t index);
/* The variable's index, or SIZE_MAX. If several variables have the name (in linked modules), a
 * visible one. */
size_t sg_program_variable_find(const struct sg_program *program, const char *name);

/* ---- Image: a program whose module variables have addresses (a module loaded in a context). -- */

struct sg_image;

/* variable_addresses[i] is the address of variable i: writable memory of the process of its `bytes`
 * and `align`, which the caller owns and keeps until the image is destroyed. (0 is allowed for
 * external variables and for those of 0 bytes.) Variables get their initial values now, zeros
 * without an initialiser; managed variables are left out, since their owner calls
 * sg_program_initialise. GA_NO_MEMORY; GA_INVALID: an address is missing or misaligned. */
enum ga_status sg_image_create(const struct sg_program *program, const uint64_t *variable_addresses,
                               struct sg_image **out);
/* Writes the initial value of one variable. It may contain the addresses of others that have one
 * already. */
void sg_program_initialise(const struct sg_program *program, size_t index,
                           const uint64_t *variable_addresses);
void sg_image_destroy(struct sg_image *image);

/* ---- Execution ---- */

/* Windows of the generic address space. Shared addresses are offsets from SG_WINDOW_SHARED for
 * kernels; the other spaces are alike. */
#define SG_WINDOW_SHARED (UINT64_C(1) << 47)
#define SG_WINDOW_LOCAL  (SG_WINDOW_SHARED + (UINT64_C(1) << 32))
#define SG_WINDOW_PARAM  (SG_WINDOW_LOCAL + (UINT64_C(1) << 32))
#define SG_WINDOW_END    (SG_WINDOW_PARAM + (UINT64_C(1) << 32))

/* Worker threads that run blocks; there is one pool per process, shared by all devices. The thread
 * that calls sg_grid_run works as well, so a pool of 0 workers works, too, without parallelism. */
struct sg_pool;
enum ga_status sg_pool_create(unsigned workers, struct sg_pool **out);
/* No grid may be running. */
void sg_pool_destroy(struct sg_pool *pool);

/* The sink of kernels' printf. `write` is called by any thread that works on the grid, with one
 * formatted record of `bytes` (not 0); it counts as `charge` bytes of the FIFO, as on GPUs. */
enum sg_output { SG_OUTPUT_STDOUT = 1, SG_OUTPUT_STDERR = 2 };
struct sg_printer {
    void (*write)(struct sg_printer *printer, enum sg_output output, const char *text, size_t bytes,
                  uint32_t charge);
};

/* The heap of malloc and free in kernels: `bytes` from `base`, memory that kernels may access.
 * NULL: no memory. */
struct sg_kernel_heap;
struct sg_kernel_heap *sg_kernel_heap_make(uint64_t base, uint64_t bytes);
/* Not while a kernel runs that may use the heap; NULL is allowed. */
void sg_kernel_heap_free(struct sg_kernel_heap *heap);
/* The blocks that are taken now, and their bytes; NULL has none. */
void sg_kernel_heap_usage(struct sg_kernel_heap *heap, uint64_t *blocks, uint64_t *bytes);
/* Which blocks are taken, as bytes; `records` has room for sg_kernel_heap_record_bytes. */
size_t sg_kernel_heap_record_bytes(const struct sg_kernel_heap *heap);
void sg_kernel_heap_records(struct sg_kernel_heap *heap, void *records);
/* A heap with these blocks taken. GA_NO_MEMORY; GA_INVALID: they are no records of such a heap. */
enum ga_status sg_kernel_heap_remake(uint64_t base, uint64_t bytes, const void *records,
                                     size_t record_bytes, struct sg_kernel_heap **out);

/* Launches by kernels: buffers for their parameters, and the pending launches. Grids that run at
 * the same time may share a launcher. `memory`, which kernels may access, is the caller's; its
 * first 4 KiB are reserved, the rest is divided into buffers of 4 KiB. GA_INVALID: it is too small
 * for one. */
struct sg_launcher;
enum ga_status sg_launcher_create(void *memory, size_t bytes, struct sg_launcher **out);
void sg_launcher_destroy(struct sg_launcher *launcher);

/* Properties of the device that kernels can query; attributes and limits by CUDA's numbers. False:
 * there is no such property. */
struct sg_device_facts {
    int device, device_count;
    bool (*attribute)(const struct sg_device_facts *facts, int device, int attribute, int *value);
    bool (*limit)(const struct sg_device_facts *facts, int limit, uint64_t *value);
    bool (*occupancy)(const struct sg_device_facts *facts, const struct sg_kernel *kernel,
                      uint32_t block_threads, uint64_t dynamic_shared, int *blocks);
};

struct sg_launch {
    const struct sg_image *image;
    const struct sg_kernel *kernel; /* of the image's program */
    uint32_t grid[3], block[3];     /* blocks, threads; all at least 1; block product <= 1024 */
    /* Blocks of a cluster; each divides the grid's; product <= SG_CLUSTER_MAX. 0,0,0: from the
     * kernel, or none. */
    uint32_t cluster[3];
    uint32_t dynamic_shared; /* bytes */
    const void *params;      /* param_bytes bytes, borrowed until the grid is done */
    /* Whose kernel it is: no other owner's kernels see what it leaves in shared and local memory.
     */
    uint64_t owner;
    const struct sg_map *map;
    uint32_t sm_count;  /* %nsmid; 0 counts as 1 */
    uint32_t clock_mhz; /* of %clock; 0 counts as 1000 */
    uint32_t warps_sm;  /* of a multiprocessor, at most: %nwarpid; 0 counts as 32 */
    /* Bytes: the unit in which shared memory is given to blocks (0 counts as 1), and what of each
     * block's is reserved for the system. */
    uint32_t shared_unit, shared_reserved;
    uint32_t max_workers;    /* threads that may work on it at once, the caller included; 0: all */
    uint32_t stack_bytes;    /* per thread, for kernels that recurse; 0: the engine's own minimum */
    const _Atomic int *stop; /* may be NULL; nonzero: give up soon, SG_FAULT_STOPPED */
    uint64_t limit_ns;       /* each grid may run for so long, then SG_FAULT_TIMEOUT; 0: no limit */
    /* May be NULL. While it is not 0, threads that work on the grid call give_way(turn) between
     * instructions; that call may take long. */
    const _Atomic uint32_t *waiting;
    void (*give_way)(void *turn);
    void *turn;
    /* Not NULL: a cooperative launch. All blocks are resident and run in turn, so they may wait for
     * each other. It points to SG_GRID_WORKSPACE writable bytes that kernels may access; they are
     * set up here, and kernels read their address from %envreg1 and %envreg2
     * (cooperative_groups/details/driver_abi.h). */
    void *workspace;
    struct sg_printer *printer;  /* NULL: output is discarded */
    struct sg_kernel_heap *heap; /* NULL: malloc returns NULL */
    struct sg_objects
        *objects; /* textures and surfaces (texture_objects.h); NULL: there are none */
    struct sg_launcher *launcher; /* NULL: kernels cannot launch; they get cudaErrorNotSupported */
    uint32_t pending_launches;    /* at most, of all that use the launcher */
    const struct sg_device_facts *facts; /* NULL: no property is known */
    struct model_counts
        *counts; /* the counts of executed instructions are added here; NULL: nothing is counted */
};

/* Local memory of a block of so many threads, which counts towards the budget (budget.h). A grid
 * whose blocks cannot all run beside each other for lack of it runs with fewer at a time; one that
 * has not even one, or that is cooperative, ends with SG_FAULT_NO_MEMORY. */
uint64_t sg_launch_local_bytes(const struct sg_kernel *kernel, uint32_t threads,
                               uint32_t stack_bytes);

#define SG_GRID_WORKSPACE 8
#define SG_CLUSTER_MAX    16

enum sg_fault_code {
    SG_FAULT_NONE,
    SG_FAULT_ILLEGAL_ADDRESS,
    SG_FAULT_MISALIGNED,
    SG_FAULT_TRAP,
    SG_FAULT_ASSERT,
    SG_FAULT_STACK, /* calls too deep */
    SG_FAULT_STOPPED,
    SG_FAULT_NO_MEMORY,
    SG_FAULT_INVALID_PC,
    SG_FAULT_HEAP,           /* free of an address that is no block of the heap */
    SG_FAULT_TIMEOUT,        /* the time limit is over */
    SG_FAULT_DEADLOCK,       /* all threads of a block wait for each other and none can go on */
    SG_FAULT_INVALID_LAUNCH, /* sizes outside what struct sg_launch allows; nothing ran */
};

/* Static text, never NULL. */
const char *sg_fault_name(enum sg_fault_code code);

struct sg_fault { /* the first fault of the grid; if several threads fault, which one is first is
                     not determined */
    enum sg_fault_code code;
    uint64_t address;                /* ILLEGAL_ADDRESS and MISALIGNED: the generic address */
    uint32_t block[3], thread[3];    /* of the thread that faulted */
    uint32_t line;                   /* line of the PTX text, 0: unknown */
    char kernel[128], function[128]; /* function: the one that faulted */
    char source[256];                /* the source file according to .loc; "": none */
    uint32_t source_line;
    char text[160]; /* one sentence for the user */
};

/* Runs the whole grid, with the grids that it launches, and returns when no thread works on it any
 * more; blocks are distributed over the pool. `out->code` says how it ended. Any thread may call
 * it, for several grids at once. */
void sg_grid_run(struct sg_pool *pool, const struct sg_launch *launch, struct sg_fault *out);
/* Adds the counts of a grid in which each thread executes every instruction once. */
void sg_grid_estimate(const struct sg_launch *launch, struct model_counts *counts);

#endif
