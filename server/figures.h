/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of an application, as its backend process counts them: what it holds and has moved. The
 * figures lie in memory that gpuaasd maps, too, so it can read them at any time, and after the
 * process has died. For gpuaasd they are a stranger's numbers: it shows them and believes none. */
#ifndef SERVER_FIGURES_H
#define SERVER_FIGURES_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/gpu_engine.h"
#include "server/channel.h"

#define FIGURES_FD     4 /* the backend process's descriptor of them */
#define FIGURES_BYTES  (1572864u + CHANNEL_SEATS * CONF_GPUS_MAX * 24u)
#define FIGURES_GPUS   64u /* of an application; if it uses more, the last row is for the others */
#define FIGURES_SHAPES 8u  /* of launches, for each GPU of an application */
#define FIGURES_TIMES  8192u    /* pieces of time, of an application; a power of two */
#define FIGURES_WHOLE  1000000u /* millionths: all of a GPU */

/* Each line of eight belongs to one thread most of the time: the first to the submit thread, the
 * second to the sender. Device memory: all that the application makes its driver take, by the table
 * of docs/quotas.md, but memory of another application that this one has opened (gpuaasd knows what
 * of that is charged to it: tenants/lender.h). Host memory of the node: staging slots and overflow,
 * words of host calls, images of modules, logs of their loading, objects and nodes of graphs (for
 * each a fixed amount, for what server and driver keep of it); not what the program shares, which
 * is its own. Ways of bytes, to the node (in) and from it (out): frames of the data connection with
 * what they carry, bulk connections, shared buffers, and the network card by itself (RDMA). */
#define FIGURES(X)                                                                                 \
    X(DEVICE_BYTES, "bytes of device memory")                                                      \
    X(HOST_BYTES, "bytes of host memory")                                                          \
    X(FRAMES_IN, "bytes in by frames")                                                             \
    X(BULK_IN, "bytes in by bulk connections")                                                     \
    X(SHARED_IN, "bytes in by shared buffers")                                                     \
    X(RDMA_IN, "bytes in by RDMA")                                                                 \
    X(SHARED_OUT, "bytes out by shared buffers")                                                   \
    X(CONDITIONS, "conditional variables")                                                         \
    X(FRAMES_OUT, "bytes out by frames")                                                           \
    X(BULK_OUT, "bytes out by bulk connections")                                                   \
    X(RDMA_OUT, "bytes out by RDMA")                                                               \
    X(CONTEXTS, "contexts")                                                                        \
    X(STREAMS, "streams")                                                                          \
    X(EVENTS, "events")                                                                            \
    X(MODULES, "modules")                                                                          \
    X(FUNCTIONS, "functions")                                                                      \
    X(ARRAYS, "arrays")                                                                            \
    X(MIPMAPS, "mipmapped arrays")                                                                 \
    X(TEXTURES, "textures and surfaces")                                                           \
    X(GRAPHS, "executable graphs")                                                                 \
    X(PHYSICALS, "allocations without address")                                                    \
    X(GREENS, "green contexts")                                                                    \
    X(SHARED_BYTES, "bytes of memory that the program shares")                                     \
    X(PINNED_BYTES, "bytes of pinned host memory")                                                 \
    X(MODULE_BYTES, "bytes of images of modules")                                                  \
    X(OBJECTS, "objects")

/* The ways of bytes: WAY(of FIGURE_..._IN and FIGURE_..._OUT) */
#define FIGURES_WAYS(WAY) WAY(FRAMES) WAY(BULK) WAY(SHARED) WAY(RDMA)

enum figure {
#define FIGURE(name, text) FIGURE_##name,
    FIGURES(FIGURE)
#undef FIGURE
        FIGURE_COUNT
};

/* A shape of launches: of one kernel, with this grid and block in blocks and threads, and dynamic
 * shared memory. */
struct figures_shape {
    _Atomic uint64_t count; /* of launches, about; 0: the row is free */
    _Atomic uint64_t function;
    _Atomic uint32_t grid[3], block[3], shared_bytes;
    _Atomic uint32_t share; /* of the GPU's places for warps that it can fill, in millionths */
};

/* Figures of a GPU, in the order in which the application has first used them. */
struct gpu_figures {
    _Alignas(64) _Atomic uint64_t gpu;     /* ordinal in its driver + 1; 0: the row is free */
    _Atomic uint64_t busy_ns[GPU_ENGINES]; /* how long each engine has worked */
    _Atomic uint64_t busy_any_ns;          /* how long any of them has */
    _Atomic uint64_t works; /* launches of kernels and graphs, fills, copies within the GPU */
    /* Copies between host and device, in each direction as GPU_H2D, D2H less 1. */
    _Atomic uint64_t copies[2], copied_bytes[2];
    /* Time of batches of kernels that are done; and the same, each times the share that it fills
     * (meter.h). */
    _Atomic uint64_t done_ns, demand_ns;
    _Atomic uint32_t phase; /* enum gpu_phase, of the work that it has begun last */
    /* All that has been done until then is told, but for what was only submitted since. */
    _Atomic uint64_t looked_ns;
    /* Work of the engine runs since then, as far as is known, and is not told yet; 0: none. With
     * FIGURES_RUNS_MAYBE it was submitted then, and nobody has looked since. */
    _Atomic uint64_t runs_ns[GPU_ENGINES];
    struct figures_shape shapes[FIGURES_SHAPES]; /* the most frequent ones, in no order */
};

struct figures {
    _Alignas(64) _Atomic uint64_t of[FIGURE_COUNT];
    _Atomic uint32_t fault;      /* CUresult that may be the GPU's failure; 0: none */
    _Atomic uint32_t silent;     /* 1: it is ended because it gives no sign of life */
    _Atomic uint64_t busy_at_ns; /* when it was last seen to call or to wait for work */
    _Atomic uint64_t rate_waits; /* how often it has seen that a rate lets it wait */
    /* Host memory that its driver counts by itself, as it was within the last second; what is shown
     * of host memory has it besides. */
    _Atomic uint64_t driver_bytes;
    struct gpu_figures gpus[FIGURES_GPUS];
};

/* Bytes to the node, and from it, by all ways. Any thread. */
static inline uint64_t figures_in(const struct figures *figures)
{
#define FIGURES_WAY(way)                                                                           \
    +atomic_load_explicit(&figures->of[FIGURE_##way##_IN], memory_order_relaxed)
    return FIGURES_WAYS(FIGURES_WAY);
#undef FIGURES_WAY
}

static inline uint64_t figures_out(const struct figures *figures)
{
#define FIGURES_WAY(way)                                                                           \
    +atomic_load_explicit(&figures->of[FIGURE_##way##_OUT], memory_order_relaxed)
    return FIGURES_WAYS(FIGURES_WAY);
#undef FIGURES_WAY
}

/* When the engines of the GPUs have worked, so that gpuaasd can tell which applications have worked
 * at a time: the last pieces of time, each once, in the order in which they were measured. The
 * pieces of one engine are disjoint, and together busy_ns. */
struct figures_times {
    _Alignas(64) _Atomic uint64_t count; /* so many so far; the next one is at that place */
    struct figures_time {
        _Atomic uint64_t from;
        _Atomic uint64_t what; /* figures_time_word() */
    } of[FIGURES_TIMES];
};

#define FIGURES_RUNS_MAYBE 1u /* a bit of runs_ns */

#define FIGURES_TIME_ENDS 1u /* the work is done then */
#define FIGURES_TIME_ONE  2u /* it is a single one: a kernel, a copy */

/* The word of a piece of this length, for the row of a GPU; with these bits. */
static inline uint64_t figures_time_word(uint32_t row, enum gpu_engine engine, uint64_t length,
                                         unsigned bits)
{
    return length << 10 | (uint64_t)bits << 8 | row << 2 | engine;
}

static inline uint32_t figures_time_row(uint64_t word)
{
    return word >> 2 & (FIGURES_GPUS - 1);
}

/* GPU_ENGINES: there is no such. */
static inline enum gpu_engine figures_time_engine(uint64_t word)
{
    return (enum gpu_engine)(word & 3);
}

static inline unsigned figures_time_bits(uint64_t word)
{
    return word >> 8 & 3;
}

static inline uint64_t figures_time_length(uint64_t word)
{
    return word >> 10;
}

/* Device memory of one GPU. */
struct figures_memory {
    _Atomic uint64_t bytes;
    _Atomic uint64_t peak;   /* the most bytes so far */
    _Atomic uint64_t begins; /* see figures_memory_kib_ms */
};

/* Device memory times the time for which it was held, up to now, in KiB ms. Each allocation counts
 * up what it holds times when it began, each release takes that away; what is held times now, less
 * that, is the sum (modulo 2^64). A read during a change may get nonsense. */
static inline uint64_t figures_memory_kib_ms(const struct figures_memory *memory, uint64_t now_ms)
{
    uint64_t begins = atomic_load_explicit(&memory->begins, memory_order_acquire);
    uint64_t held = atomic_load_explicit(&memory->bytes, memory_order_relaxed);
    return held / 1024 * now_ms - begins;
}

/* Adds `more` bytes to the held memory (to subtract, pass the two's complement). Whole KiB count,
 * so that a later subtraction takes away what was added. */
static inline void figures_memory_change(struct figures_memory *memory, uint64_t more,
                                         uint64_t now_ms)
{
    uint64_t before = atomic_fetch_add_explicit(&memory->bytes, more, memory_order_relaxed);
    uint64_t after = before + more;
    uint64_t peak = atomic_load_explicit(&memory->peak, memory_order_relaxed);
    atomic_fetch_add_explicit(&memory->begins, (after / 1024 - before / 1024) * now_ms,
                              memory_order_release);
    while (after > peak &&
           !atomic_compare_exchange_weak_explicit(&memory->peak, &peak, after, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* Figures of the applications of a process, by their seats. */
struct figures_page {
    struct figures seats[CHANNEL_SEATS];
    struct figures_times times[CHANNEL_SEATS];
    _Alignas(64) _Atomic uint32_t pending; /* connections that have not shown a ticket */
    /* Memory of each GPU, by its index in the list that clients see; their bytes together are
     * DEVICE_BYTES. */
    _Alignas(4096) struct figures_memory memory[CHANNEL_SEATS][CONF_GPUS_MAX];
};

#define FIGURES_TENANT_BYTES 4096u

/* Figures of a tenant, in memory that gpuaasd and the backend processes of its applications map. */
struct figures_tenant {
    /* Rises after each change of the device memory that is charged to the tenant, and of its
     * limits: a process need not ask gpuaasd again while no other has changed it. */
    _Alignas(64) _Atomic uint64_t changes;
};

_Static_assert(FIGURE_FRAMES_OUT % 8 == 0, "the sender has a line of its own");
_Static_assert(sizeof(struct figures_page) <= FIGURES_BYTES, "they have their pages");
_Static_assert(sizeof(struct figures_tenant) <= FIGURES_TENANT_BYTES, "the same");
_Static_assert(FIGURES_GPUS == 64 && GPU_ENGINES == 3, "a word has 6 bits for the one, 2");

#endif
