/* SPDX-License-Identifier: Apache-2.0 */
/* The private tables of the CUDA runtime: interface facts that are needed to work with it, found
 * by tracing its calls and by reading public projects (ZLUDA, Apache-2.0 and MIT). They contain
 * nothing of the vendor. Without the build option GPUAAS_PRIVATE_TABLES the implementation is
 * left out; then programs with NVIDIA's runtime do not start, and programs that use only the
 * driver API do. */
#ifndef FRONT_TABLES_TABLES_H
#define FRONT_TABLES_TABLES_H

#include <stddef.h>

#include "api/cuda_names.h"

/* The words of the table with this UUID (16 bytes), or NULL. */
const void *front_table_find(const CUuuid *uuid);

#endif
