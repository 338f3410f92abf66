/* SPDX-License-Identifier: Apache-2.0 */
/* What an object was made from: what it takes to make its like on another GPU or in another
 * process. It is kept where the object is made, because nobody can tell it later; what the driver
 * can still tell at the time is left to it.
 *
 *   kind               kept                          and else
 *   context            its flags, its part of SMs    the primary flag, and limits
 *   stream             flags, priority               attributes: cuStreamGetAttribute
 *   event              struct server_event: flags
 *   array, mipmap      shape, levels                 contents: by copies
 *   level of one       which                         goes with the whole
 *   memory             struct range: all of it       access rights: cuMemGetAccess
 *   physical memory    device, bytes                 mappings: struct range
 *   module             JIT options                   the image: struct server_module has it
 *
 * Empty, because what they are made from is a sequence of frames, which only a record of the frames
 * themselves could repeat: executable graphs (ga_graph_begin to its end, and later changes),
 * conditional variables, green contexts. Empty, because kernels hold a number that the driver has
 * chosen: textures and surfaces. Functions: their name is the client's to say again. */
#ifndef SERVER_SESSION_CREATION_H
#define SERVER_SESSION_CREATION_H

#include "api/cuda_names.h"

struct made_context {
    unsigned flags;
    uint32_t sms; /* multiprocessors that were asked for; 0: all */
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

#endif
