/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of the GPU the variables of a PTX text take: those that its module declares in
 * the state spaces .global and .const (PTX ISA, "State Spaces" and "Variables").
 *
 * What a reader would get wrong: the text is not parsed. Whatever else it says is left to the
 * driver's compiler; bodies, parameters and comments are skipped. */
#ifndef SERVER_IMAGE_PTX_VARIABLES_H
#define SERVER_IMAGE_PTX_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Without those that are .extern; each in an extent of its own (api/extent.h). `heap`: the text may
 * use the heap of kernels. Takes time for `size` bytes, and no memory. GA_INVALID: a declaration is
 * not understood, or they are more than 2^48 bytes. */
GA_CHECKED enum ga_status ptx_variables(const char *text, size_t size, uint64_t *bytes, bool *heap);

#endif
