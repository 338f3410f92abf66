/* SPDX-License-Identifier: Apache-2.0 */
/* Attachment counts of contexts (cuCtxAttach, cuCtxDetach). */
#ifndef FRONT_CORE_ATTACH_H
#define FRONT_CORE_ATTACH_H

#include <stdbool.h>

#include "api/cuda_names.h"

/* Increments the count. False: no memory. */
bool front_attach_more(CUcontext context);
/* Decrements the count. False: it was the last one. */
bool front_attach_less(CUcontext context);
/* To be called when the context has been destroyed. */
void front_attach_forget(CUcontext context);

#endif
