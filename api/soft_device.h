/* SPDX-License-Identifier: Apache-2.0 */
/* A software GPU as its keys describe it. The server's configuration has these keys in [gpu.N] and
 * hands them on to softgpu as SOFTGPU_DEVICES; both read them here.
 *
 * What a reader would get wrong: a key that is not given has the model's value, not a default of
 * its own, so who reads keys also remembers which ones there were. */
#ifndef API_SOFT_DEVICE_H
#define API_SOFT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SOFT_NAME_BYTES    128
#define SOFT_PROCESSES_MAX 4096 /* that may use the GPUs of one node at a time */
#define SOFT_MODELS                                                                                \
    "generic, quadro2000, quadro4000, c2050, c2070, gtx1080ti, a100, "                             \
    "h100 or h200"

struct soft_device {
    char name[SOFT_NAME_BYTES];
    uint8_t uuid[16];
    uint32_t model;  /* its place in the table; 0: generic */
    uint64_t memory; /* bytes */
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
    uint64_t switch_ns, context_ns;
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

/* Its place in the table, or soft_key_count. */
size_t soft_key_find(const char *name);
/* False: the text is not allowed, nothing changed. */
bool soft_key_read(const struct soft_key *key, const char *text, struct soft_device *device);
/* "key=value" for the keys in `given` (a bit for each by its place) that have another value than
 * the device's model, each but the first behind ','. */
void soft_device_write(FILE *out, const struct soft_device *device, uint64_t given);
/* Gives the keys that are not in `given` the values of the device's model. Of the generic model
 * memory and multiprocessors are what the machine has: half of its memory, at most 4 GiB, and as
 * many as this process has cores. */
void soft_device_complete(struct soft_device *device, uint64_t given);
/* NULL, or which keys of a complete device do not go together and what is allowed. */
const char *soft_device_wrong(const struct soft_device *device);
/* What the cuDeviceGetName of a complete device says unless it has a name: also, where it has not
 * the compute capability of the GPU that it is like, what that has. Up to SOFT_NAME_BYTES. */
void soft_model_name(const struct soft_device *device, char *name, size_t size);
/* Of the machine, in bytes. */
uint64_t soft_machine_memory(void);

#endif
