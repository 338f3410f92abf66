/* SPDX-License-Identifier: Apache-2.0 */
/* Whether CUDA has been initialised. */
#ifndef FRONT_CORE_INIT_H
#define FRONT_CORE_INIT_H

#include <stdbool.h>

/* True: cuInit has succeeded, and this process is not a forked child. */
bool front_initialised(void);

#endif
