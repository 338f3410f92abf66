/* SPDX-License-Identifier: Apache-2.0 */
/* The private tables of the CUDA runtime: facts needed to work together with it, found by watching
 * what it calls and by reading public projects (ZLUDA, Apache-2.0 and MIT). Nothing of the vendor
 * is in here. The build option GPUAAS_PRIVATE_TABLES leaves the file behind this header out; a
 * program with NVIDIA's runtime then does not start, one that uses the driver API alone does. */
#ifndef FRONT_TABLES_TABLES_H
#define FRONT_TABLES_TABLES_H

#include <stddef.h>

#include "api/cuda_names.h"

/* The words of the table with this UUID (16 bytes), or NULL. */
const void *front_table_find(const CUuuid *uuid);

#endif
