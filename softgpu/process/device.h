/* SPDX-License-Identifier: Apache-2.0 */
/* One software GPU: its attributes, memory, engines and primary context. Devices are made by cuInit
 * and live as long as the process; all fields that change are under the process's lock. */
#ifndef SOFTGPU_PROCESS_DEVICE_H
#define SOFTGPU_PROCESS_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/gpu_engine.h"
#include "base/list.h"
#include "softgpu/engine/engine.h"
#include "softgpu/node/node.h"
#include "softgpu/node/physical.h"
#include "softgpu/spin.h"

#define SG_WARP_LANES           32
#define SG_BLOCK_THREADS_MAX    1024
#define SG_SHARED_BLOCK_DEFAULT (48u << 10)
#define SG_REGISTERS_SM         65536u
#define SG_PCI_BUS_FIRST        0x10

/* The engine that runs an item of a stream: enum gpu_engine, or the host for functions of the
 * program, of which a long one delays only its stream and other functions. */
enum { SG_ENGINE_HOST = GPU_ENGINES, SG_ENGINES };

struct sg_engine {
    struct ga_list queue; /* items that may run now, by priority */
    unsigned queued;
    unsigned lanes; /* how many items run at once */
    unsigned running;
    struct sg_node_engine *turn; /* the turns of processes at it; NULL: processes do not share it */
    unsigned timed;              /* items that have run and end later by the timing model */
};

struct sg_context;

struct sg_device {
    unsigned ordinal;
    struct soft_device config;
    struct sg_node_device *node; /* the part that all processes share */
    struct sg_physical memory;
    struct ga_list slabs; /* chunks that are divided into small allocations */
    struct sg_map *map;   /* permissions of its kernels */
    struct sg_engine engines[SG_ENGINES];
    uint32_t departures;           /* of `node`, when it was last looked (clock.c) */
    uint64_t looked_ns;            /* that was then */
    bool left;                     /* and a process had left since the look before */
    pthread_cond_t work;           /* the device's threads wait for it */
    unsigned threads, threads_max; /* started; at most, for all lanes together */
    unsigned idle;                 /* threads that wait for work */
    unsigned looking;              /* of the idle threads: awake, they poll `calls` */
    unsigned called;               /* of the looking threads: told that there is work */
    _Atomic unsigned calls;        /* incremented when there is work */
    struct sg_spin spin;
    struct sg_context *primary; /* always there; active while retained */
    unsigned primary_retains;
    unsigned primary_flags;
};

GA_CHECKED enum ga_status sg_device_init(struct sg_device *device, unsigned ordinal,
                                         const struct soft_device *config);

/* Only for devices that have run nothing: tests, and a failing cuInit. */
void sg_device_fini(struct sg_device *device);

static inline int sg_device_pci_bus(const struct sg_device *device)
{
    return SG_PCI_BUS_FIRST + (int)device->ordinal;
}

#endif
