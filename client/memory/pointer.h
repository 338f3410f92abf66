/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of pointers. */
#ifndef CLIENT_MEMORY_POINTER_H
#define CLIENT_MEMORY_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "front/front.h"

/* Answers front/. */
bool client_pointer(uint64_t address, struct front_pointer *pointer);

#endif
