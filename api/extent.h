/* SPDX-License-Identifier: Apache-2.0 */
/* How much an allocation takes of a GPU's memory: small ones share chunks of it in units of 512
 * bytes, larger ones have whole chunks. Software GPUs allocate so; of NVIDIA's driver it is the
 * rule of thumb that follows from the alignment of its addresses and from its granularity of
 * mappings. */
#ifndef API_EXTENT_H
#define API_EXTENT_H

#include <stdint.h>

#define API_EXTENT_UNIT  512u
#define API_EXTENT_SMALL ((uint64_t)1 << 20)
#define API_EXTENT_CHUNK ((uint64_t)2 << 20)

/* UINT64_MAX: more than there can be. */
static inline uint64_t api_extent(uint64_t bytes)
{
    uint64_t unit = bytes <= API_EXTENT_SMALL ? API_EXTENT_UNIT : API_EXTENT_CHUNK;
    return bytes > UINT64_MAX - unit ? UINT64_MAX : (bytes + unit - 1) / unit * unit;
}

#endif
