/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of parts of the driver that make no CUDA call. */
#include "front/front.h"

const struct front_host front_host = {.servers = NULL};
