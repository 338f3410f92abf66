/* SPDX-License-Identifier: Apache-2.0 */
/* The values that the calling thread's next object gets (api/driver_places.h). */
#ifndef SOFTGPU_PROCESS_PLACEMENT_H
#define SOFTGPU_PROCESS_PLACEMENT_H

#include <stdint.h>

#include "api/driver_places.h"

void sg_placement_module(const struct cuda_module_layout *layout);
void sg_placement_object(uint64_t handle);
void sg_placement_condition(uint64_t handle);
void sg_placement_memory(uint64_t address);

/* These forget it. NULL or 0: the object may be anywhere. */
const struct cuda_module_layout *sg_placement_take_module(void);
uint64_t sg_placement_take_object(void);
uint64_t sg_placement_take_condition(void);
uint64_t sg_placement_take_memory(void);

#endif
