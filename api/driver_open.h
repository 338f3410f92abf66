/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a CUDA driver into its table. This is the one place that opens a driver library. */
#ifndef API_DRIVER_OPEN_H
#define API_DRIVER_OPEN_H

#include <stddef.h>

#include "base/status.h"

struct cuda_driver;

/* Generated: where each function goes, and the older name of the same function if there is one. */
struct cuda_driver_symbol {
    const char *name;
    const char *older; /* or NULL */
    size_t offset;
};
extern const struct cuda_driver_symbol cuda_driver_symbols[];
extern const size_t cuda_driver_symbol_count;
/* Stands for whatever the library lacks; answers CUDA_ERROR_NOT_SUPPORTED. Also generated. */
extern void (*const cuda_driver_missing)(void);

/* The table by which our own forwarding client is recognised (cuGetExportTable): 16 bytes. A server
 * must never open that library as its driver: it would call itself. */
#define CUDA_DRIVER_FORWARDS_UUID                                                                  \
    {                                                                                              \
        0x67, 0x70, 0x75, 0x61, 0x61, 0x73, 0x2d, 0x66, 0x6f, 0x72, 0x77, 0x61, 0x72, 0x64, 0x73,  \
            0x31                                                                                   \
    }

/* The table that says what CUDA has no attribute for. Our own drivers give it out; of others we
 * know no more than CUDA says. */
#define CUDA_DRIVER_TRAITS_UUID                                                                    \
    {                                                                                              \
        0x67, 0x70, 0x75, 0x61, 0x61, 0x73, 0x2d, 0x74, 0x72, 0x61, 0x69, 0x74, 0x73, 0x2d, 0x2d,  \
            0x31                                                                                   \
    }

enum {
    CUDA_DEVICE_PTX_ONLY = 1, /* runs PTX, and no machine code */
    CUDA_DEVICE_AFFINITY = 2, /* a context may have some of the multiprocessors only */
};

struct cuda_driver_traits {
    size_t bytes; /* of this table: it may grow at its end */
    /* A CUresult. `traits`: CUDA_DEVICE_*. */
    int (*device_traits)(int device, unsigned *traits);
};

/* What our own driver says in words, on a stderr that is not its process's: a line that begins so.
 * The client says it in the same words that a driver of its own process would. */
#define CUDA_DRIVER_SAYS "gpuaas error: softgpu: "

/* Opens the library at `path` (absolute) and fills the table. Nothing is initialised: the caller
 * calls driver->cuInit. GA_INVALID: not absolute, not a library, not a CUDA driver, or our own
 * client; `why` (never NULL) then says which. */
GA_CHECKED enum ga_status cuda_driver_open(struct cuda_driver *driver, const char *path, char *why,
                                           size_t why_size);

#endif
