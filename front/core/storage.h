/* SPDX-License-Identifier: Apache-2.0 */
/* Context-local storage: values that a CUDA runtime keeps in a context under its key. Every
 * runtime call reads one, so a repeated lookup takes no lock. */
#ifndef FRONT_CORE_STORAGE_H
#define FRONT_CORE_STORAGE_H

#include "api/cuda_names.h"

typedef void front_storage_destroy(CUcontext context, void *key, void *value);

/* Replaces the value without destroying the old one. `destroy` may be NULL. */
CUresult front_storage_put(CUcontext context, void *key, void *value,
                           front_storage_destroy *destroy);
/* Removes the value without destroying it. CUDA_ERROR_INVALID_HANDLE: there is none. */
CUresult front_storage_remove(CUcontext context, void *key);
/* CUDA_ERROR_INVALID_HANDLE: there is no value. */
CUresult front_storage_get(CUcontext context, void *key, void **value);
/* Removes and destroys all values of a context. */
void front_storage_drop(CUcontext context);

#endif
