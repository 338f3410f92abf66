/* SPDX-License-Identifier: Apache-2.0 */
/* A software GPU as its keys describe it. The server's configuration has these keys in [gpu.N] and
 * hands them on to softgpu as SOFTGPU_DEVICES; both read them here.
 *
 * Note: a key that is not given has the model's value, not a default of its own, so a reader of
 * keys also remembers which keys were given. */
#ifndef API_SOFT_DEVICE_H
#define API_SOFT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SOFT_NAME_BYTES    128
#define SOFT_PROCESSES_MAX 4096 /* processes that may use the GPUs of a node at a time */
#define SOFT_MODELS                                                                                \
    "generic, quadro2000, quadro4000, c2050, c2070, gtx1080ti, a100, "                             \
    "h100 or h200"

struct soft_device {
    char name[SOFT_NAME_BYTES];
    uint8_t uuid[16];
    uint32_t model;         /* index in the table; 0: generic */
    uint64_t memory;        /* bytes */
    uint64_t context_bytes; /* that each context takes of it */
    uint32_t sms;
    uint32_t capability; /* compute capability: 75 for 7.5 */
    bool vmm;            /* virtual memory management: mapping memory at given addresses */
    uint32_t clock_mhz;
    uint32_t cores, f64_ratio; /* of a multiprocessor */
    uint32_t memory_mbs, bus_bits;
    uint64_t l2_bytes;
    uint32_t copy_engines;
    bool concurrent_kernels;
    uint64_t kernel_limit_ns; /* 0: none */
    bool timing, execute;
    uint64_t kernel_ns; /* 0: counted */
    uint32_t h2d_mbs, d2h_mbs;
    uint64_t h2d_latency_ns, d2h_latency_ns;
    bool overlap_contexts;
    uint64_t switch_ns, context_slice_ns, context_ns; /* slice: 0: none */
};

enum soft_type {
    SOFT_TYPE_NUMBER,     /* uint32_t */
    SOFT_TYPE_BYTES,      /* uint64_t, with KiB, MiB, GiB, TiB */
    SOFT_TYPE_TIME,       /* uint64_t: ns, with ns, us, ms, s; "none" is 0 */
    SOFT_TYPE_FLAG,       /* bool */
    SOFT_TYPE_CAPABILITY, /* uint32_t */
    SOFT_TYPE_MODEL,      /* uint32_t */
};

struct soft_key {
    const char *name;
    enum soft_type type;
    size_t offset; /* in struct soft_device */
    const char *standard;
    uint64_t least, most;
    const char *allowed;
};

extern const struct soft_key soft_keys[];
extern const size_t soft_key_count; /* at most 64 */

/* The key's index in the table, or soft_key_count. */
size_t soft_key_find(const char *name);
/* False: the text is not allowed, nothing changed. */
bool soft_key_read(const struct soft_key *key, const char *text, struct soft_device *device);
/* Writes "key=value" for the keys in `given` (a bit for each index) whose value differs from the
 * model's, separated by ','. */
void soft_device_write(FILE *out, const struct soft_device *device, uint64_t given);
/* Sets the keys that are not in `given` to the values of the device's model. The generic model
 * takes memory and multiprocessors from the machine: half of its memory, at most 4 GiB, and the
 * number of cores of this process. */
void soft_device_complete(struct soft_device *device, uint64_t given);
/* The keys of a complete device that contradict each other, and the allowed values. NULL: none. */
const char *soft_device_wrong(const struct soft_device *device);
/* The default name of a complete device. It includes the model's compute capability if the
 * device has another one. Up to SOFT_NAME_BYTES. */
void soft_model_name(const struct soft_device *device, char *name, size_t size);
/* The machine's memory in bytes. */
uint64_t soft_machine_memory(void);

#endif
