/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a CUDA driver as a table of its functions. Driver libraries are opened nowhere else. */
#ifndef API_DRIVER_OPEN_H
#define API_DRIVER_OPEN_H

#include <stddef.h>

#include "base/status.h"

struct cuda_driver;
struct cuda_driver_places;

/* Generated: the member of each function, and the function's older name, if any. */
struct cuda_driver_symbol {
    const char *name;
    const char *older; /* or NULL */
    size_t offset;
};
extern const struct cuda_driver_symbol cuda_driver_symbols[];
extern const size_t cuda_driver_symbol_count;
/* Generated: replaces functions that the library lacks; returns CUDA_ERROR_NOT_SUPPORTED. */
extern void (*const cuda_driver_missing)(void);

/* The UUID of the table that identifies our client library (cuGetExportTable). A server must
 * never open that library as its driver: it would call itself. */
#define CUDA_DRIVER_FORWARDS_UUID                                                                  \
    {                                                                                              \
        0x67, 0x70, 0x75, 0x61, 0x61, 0x73, 0x2d, 0x66, 0x6f, 0x72, 0x77, 0x61, 0x72, 0x64, 0x73,  \
            0x31                                                                                   \
    }

/* The UUID of the table of device traits for which CUDA has no attribute. Only our own drivers
 * have it. */
#define CUDA_DRIVER_TRAITS_UUID                                                                    \
    {                                                                                              \
        0x67, 0x70, 0x75, 0x61, 0x61, 0x73, 0x2d, 0x74, 0x72, 0x61, 0x69, 0x74, 0x73, 0x2d, 0x2d,  \
            0x31                                                                                   \
    }

enum {
    CUDA_DEVICE_PTX_ONLY = 1, /* runs PTX, but no machine code */
    CUDA_DEVICE_AFFINITY = 2, /* a context may have a part of the multiprocessors */
};

struct cuda_driver_traits {
    size_t bytes; /* of this table: it may grow at its end */
    /* Returns a CUresult. `traits`: CUDA_DEVICE_*. */
    int (*device_traits)(int device, unsigned *traits);
    /* The context (CUcontext) whose kernels have printed what the calling thread is just writing
     * to stdout or stderr; NULL: it writes nothing, or what it writes is of no context. */
    void *(*output_context)(void);
    /* How to make objects again with the values that they had (api/driver_places.h); NULL: this
     * driver cannot. */
    const struct cuda_driver_places *(*places)(void);
    /* Returns a CUresult. Kernels of this context (CUcontext) that are launched from now on may run
     * for so many milliseconds (0: for ever), then they are stopped with
     * CUDA_ERROR_LAUNCH_TIMEOUT. */
    int (*kernel_limit)(void *context, unsigned long long ms);
    /* Both return a CUresult. A descriptor, which the caller owns, by which other processes have
     * the event (CUevent, made with CU_EVENT_INTERPROCESS); and an event of the current context by
     * a descriptor of another process, which stays the caller's. Nobody else needs to be trusted
     * with what they share then. */
    int (*event_export)(void *event, int *fd);
    int (*event_import)(int fd, void **event);
};

/* The beginning of a line of our own driver on the stderr of a server. The client writes such
 * lines as a local driver would. */
#define CUDA_DRIVER_SAYS "gpuaas error: softgpu: "

/* Opens the library at `path` (absolute) and fills the table. The caller calls driver->cuInit.
 * GA_INVALID: not absolute, not a library, not a CUDA driver, or our own client; `why` (never
 * NULL) says which. */
GA_CHECKED enum ga_status cuda_driver_open(struct cuda_driver *driver, const char *path, char *why,
                                           size_t why_size);

#endif
