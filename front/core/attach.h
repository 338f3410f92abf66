/* SPDX-License-Identifier: Apache-2.0 */
/* How often programs have attached to contexts. */
#ifndef FRONT_CORE_ATTACH_H
#define FRONT_CORE_ATTACH_H

#include <stdbool.h>

#include "api/cuda_names.h"

/* One more. False: no memory. */
bool front_attach_more(CUcontext context);
/* One less. False: it is the last one. */
bool front_attach_less(CUcontext context);
/* The context has been destroyed. */
void front_attach_forget(CUcontext context);

#endif
