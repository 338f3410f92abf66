/* SPDX-License-Identifier: Apache-2.0 */
/* The facts that an object was made from: those that it takes to make its like on another GPU or in
 * another process. They are kept where the object is made, because nobody knows them later; facts
 * that the driver still knows then are left to it.
 *
 *   kind               kept                          and else
 *   context            its flags, its part of SMs    the primary flag; cuCtxGetLimit
 *   stream             flags, priority               attributes: cuStreamGetAttribute
 *   event              struct server_event: flags    when it was done: cuEventElapsedTime
 *   array, mipmap      shape, levels                 contents: by copies
 *   level of one       which                         goes with the whole
 *   memory             struct range: all of it       access rights: cuMemGetAccess
 *   physical memory    device, bytes                 mappings: struct range
 *   module             JIT options, its image        contents of variables: by copies
 *   function           what the program has set      name, attributes: cuFuncGetName and the like
 *   texture, surface   its array                     the rest: cuTexObjectGetResourceDesc, others
 *   green context      which multiprocessors
 *   executable graph   the calls it is made of       later changes: the last of each node
 *   its variables      value, flags
 *
 * Kernels hold some numbers that the driver has chosen: of textures and surfaces, variables of
 * conditional nodes, addresses of functions and of a module's variables. Making the object again is
 * of use only where the driver can give it the same number (struct cuda_driver_traits). */
#ifndef SERVER_APP_CREATION_H
#define SERVER_APP_CREATION_H

#include <stdbool.h>

#include "api/constants.h"
#include "api/cuda_names.h"
#include "server/app/frame_record.h"

struct made_context {
    unsigned flags;
    bool part;    /* it has so many of the multiprocessors: */
    uint32_t sms; /* as asked for */
};

struct made_stream {
    unsigned flags;
    int priority; /* as the driver has understood it */
};

struct made_array {
    CUDA_ARRAY3D_DESCRIPTOR shape; /* of the whole; of a level: empty */
    uint32_t levels;               /* of a mipmapped array; 0: it is an array */
    uint32_t level;                /* of a level of one */
};

/* Besides its image (struct image), which the module keeps. */
struct made_module {
    uint32_t max_registers, optimization; /* JIT options; 0: the driver's own */
};

/* Facts that no call of the driver tells. */
struct made_function {
    bool cache_set, banks_set;
    CUfunc_cache cache;
    CUsharedconfig banks;
};

struct made_green {
    uint64_t pairs[API_GREEN_WORDS]; /* of multiprocessors, as ga_green_create has them */
};

/* Later parameters of a node of the executable. */
struct made_graph_change {
    bool off;                   /* it is not done */
    struct frame_record frames; /* the last other parameters; empty: it has those of the graph */
};

struct made_graph {
    uint64_t flags; /* of cuGraphInstantiateWithFlags */
    struct frame_record frames;
    uint32_t count;                    /* of its nodes */
    struct made_graph_change *changes; /* by node; NULL: there are none */
};

#endif
