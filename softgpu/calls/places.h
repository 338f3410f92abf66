/* SPDX-License-Identifier: Apache-2.0 */
/* front_host.places. */
#ifndef SOFTGPU_CALLS_PLACES_H
#define SOFTGPU_CALLS_PLACES_H

#include "api/driver_places.h"

extern const struct cuda_driver_places sg_call_places;

#endif
