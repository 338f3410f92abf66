/* SPDX-License-Identifier: Apache-2.0 */
/* Assumptions of the design about real drivers, each as a question to this machine's driver
 * (ARCHITECTURE.md names the decisions that depend on them).
 *
 * Note: a "no" is not a failure of the driver; it selects the fallback that is named beside it. */
#ifndef TESTS_GPU_ASSUME_H
#define TESTS_GPU_ASSUME_H

#include <stddef.h>

#include "api/cuda_driver.h"

enum verdict { HOLDS, DIFFERS, CANNOT_TELL };

struct assumption {
    const char *name, *question, *fallback;
    /* Runs in a process of its own, with a context on device 0 current. `seen` gets what was
     * observed, in words. */
    enum verdict (*ask)(char *seen, size_t size);
};

extern const struct assumption assumptions_of_memory[], assumptions_of_work[],
    assumptions_of_answers[];

extern struct cuda_driver driver;
extern CUdevice device;
extern CUcontext context;

/* Ends the process with CANNOT_TELL and says which call answered what. */
void need(CUresult result, const char *call);
#define NEED(call) need(call, #call)

/* "700 CUDA_ERROR_ILLEGAL_ADDRESS"; the text is overwritten by the fourth call from then on. */
const char *name_of(CUresult result);
int attribute(CUdevice_attribute which);
/* A function of the library that the driver table does not have; NULL. */
void *symbol(const char *name);

/* Kernels: wait(flag) spins until *flag is not 0; outside() writes where nothing is; narrow() may
 * be launched with 64 threads a block at most. */
CUfunction kernel(const char *name);
extern const char kernels_ptx[];

/* A word that `wait` watches, and a launch of it in `stream`; release() from another stream. */
CUdeviceptr wait_begin(CUstream stream);
void wait_release(CUdeviceptr flag);

#endif
