/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools, for front/. */
#ifndef SOFTGPU_CALLS_MEMPOOL_H
#define SOFTGPU_CALLS_MEMPOOL_H

#include "front/front.h"

/* front_host.mempool. */
extern const struct front_mempool_host sg_call_mempool;

#endif
