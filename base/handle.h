/* SPDX-License-Identifier: Apache-2.0 */
/* A handle: 64 bits that name an object of a session: type (8), generation (24), index (32). A
 * handle is a name, not a pointer: a look-up compares all three parts, so a stale or foreign
 * handle is detected. Index and generation are never 0, hence no handle equals CUDA's stream
 * names 0, 1 and 2. */
#ifndef BASE_HANDLE_H
#define BASE_HANDLE_H

#include <stdint.h>

enum ga_handle_type {
    GA_HANDLE_NONE = 0,
    GA_HANDLE_CONTEXT,
    GA_HANDLE_STREAM,
    GA_HANDLE_EVENT,
    GA_HANDLE_MODULE,
    GA_HANDLE_FUNCTION,
    GA_HANDLE_LIBRARY,
    GA_HANDLE_KERNEL,
    GA_HANDLE_LINK,
    GA_HANDLE_ARRAY,
    GA_HANDLE_MIPMAP,
    GA_HANDLE_TEXTURE, /* or surface; kernels have the driver's own handle */
    GA_HANDLE_GRAPH,
    GA_HANDLE_NODE,
    GA_HANDLE_EXEC,
    GA_HANDLE_USER_OBJECT,
    GA_HANDLE_MEMPOOL,
    GA_HANDLE_PHYSICAL,  /* memory without an address (cuMemCreate) */
    GA_HANDLE_REFERENCE, /* to a texture or surface */
    GA_HANDLE_GREEN,     /* a green context; also as a context */
    GA_HANDLE_RESOURCES, /* device resources of a green context */
    GA_HANDLE_TYPES
};

static inline uint64_t ga_handle_make(enum ga_handle_type type, uint32_t generation, uint32_t index)
{
    return (uint64_t)type << 56 | (uint64_t)(generation & 0xffffffu) << 32 | index;
}

static inline enum ga_handle_type ga_handle_type_of(uint64_t handle)
{
    uint64_t type = handle >> 56;
    return type < GA_HANDLE_TYPES ? (enum ga_handle_type)type : GA_HANDLE_NONE;
}

static inline uint32_t ga_handle_generation(uint64_t handle)
{
    return (uint32_t)(handle >> 32) & 0xffffffu;
}

static inline uint32_t ga_handle_index(uint64_t handle)
{
    return (uint32_t)handle;
}

#endif
