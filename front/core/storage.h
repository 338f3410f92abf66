/* SPDX-License-Identifier: Apache-2.0 */
/* Context-local storage: what a CUDA runtime keeps in a context, under a key of its own. Every
 * runtime call looks something up here, so a lookup that repeats takes no lock. */
#ifndef FRONT_CORE_STORAGE_H
#define FRONT_CORE_STORAGE_H

#include "api/cuda_names.h"

typedef void front_storage_destroy(CUcontext context, void *key, void *value);

/* Replaces what is there (without destroying it). `destroy` may be NULL. */
CUresult front_storage_put(CUcontext context, void *key, void *value,
                           front_storage_destroy *destroy);
/* Removes without destroying. CUDA_ERROR_INVALID_HANDLE: nothing there. */
CUresult front_storage_remove(CUcontext context, void *key);
/* CUDA_ERROR_INVALID_HANDLE: nothing there. */
CUresult front_storage_get(CUcontext context, void *key, void **value);
/* Removes and destroys everything of a context. */
void front_storage_drop(CUcontext context);

#endif
