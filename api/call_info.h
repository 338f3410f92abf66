/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about every op, for both ends: its name, its kind of reply, and a hash that shows
 * whether both ends mean the same by it. */
#ifndef API_CALL_INFO_H
#define API_CALL_INFO_H

#include <stddef.h>
#include <stdint.h>

#include "api/signatures.h"
#include "base/cursor.h"
#include "base/gpu_engine.h"

enum api_reply {
    API_REPLY_WAIT,   /* the client waits for one reply frame */
    API_REPLY_ASYNC,  /* no reply; a failure is reported later as the context's error */
    API_REPLY_CHUNKS, /* chunk frames, then the reply */
};

struct api_print;

struct api_call_info {
    const char *name;
    uint16_t op;
    uint8_t reply;      /* enum api_reply */
    uint64_t signature; /* FNV-1a-64 of name, reply and the wire shape of all fields */
    void (*print)(struct api_print *print, struct ga_reader *args);
};

/* The engines of a GPU that a call gives work to. COMPUTE: kernels, and operations that move
 * bytes within a GPU. */
enum api_engine {
    API_ENGINE_NONE,
    API_ENGINE_COMPUTE,
    API_ENGINE_H2D,
    API_ENGINE_D2H,
    API_ENGINE_BOTH, /* it may use all engines: a graph */
};

/* The one engine for which such work is counted; not of NONE. */
static inline enum gpu_engine api_gpu_engine(enum api_engine engine)
{
    return engine == API_ENGINE_H2D ? GPU_H2D : engine == API_ENGINE_D2H ? GPU_D2H : GPU_COMPUTE;
}

/* The work class: the work that a call leaves on a GPU. SHORT: work that ends by itself and
 * soon, tells the program nothing and uses none of its memory. LASTING: any other work. */
enum api_work { API_WORK_LASTING, API_WORK_SHORT, API_WORK_NOTHING };

/* The part of what an application may have that a call takes if it succeeds; a set. */
enum api_charge {
    API_CHARGE_DEVICE = 1, /* device memory that it asks for */
    API_CHARGE_HOST = 2,   /* memory of the server's machine, perhaps only the first time */
    API_CHARGE_OBJECT = 4, /* a place in a table of the server */
};

/* The part of a call that must be kept, so that its outcome can be made again on another GPU or in
 * another process. */
enum api_record {
    API_RECORD_NONE,   /* nothing: it asks, or waits */
    API_RECORD_MAKES,  /* it makes an object: all of the call */
    API_RECORD_SETS,   /* it changes an object: the last such call, or all of them in order */
    API_RECORD_DROPS,  /* it ends an object: what was kept of that is dropped */
    API_RECORD_MEMORY, /* it changes what is mapped where, and who may use it */
    API_RECORD_WORK,   /* it changes contents: they are kept themselves */
};

/* Facts about a call that are known before its frame is read. */
struct api_op_facts {
    uint8_t engine;       /* enum api_engine */
    uint8_t work;         /* enum api_work */
    uint8_t charge;       /* API_CHARGE_* */
    uint8_t record;       /* enum api_record */
    uint16_t bulk_values; /* bytes of values in front of its bulk bytes; 0: it has no bulk */
    uint32_t bulk_max;    /* bytes of bulk, at most */
};

/* By op. An unknown op has no engine, no bulk, charges nothing, and leaves lasting work. */
extern const struct api_op_facts api_op_facts[API_OPS];

static inline struct api_op_facts api_facts(uint16_t op)
{
    return op < API_OPS ? api_op_facts[op] : (struct api_op_facts){0};
}

/* Sorted by op. */
extern const struct api_call_info api_calls[];
extern const size_t api_call_count;

/* NULL: no such op. */
const struct api_call_info *api_call_find(uint16_t op);
/* "?": an unknown op. */
const char *api_op_name(uint16_t op);
/* Writes `name(field=value, ...)` of an argument message, cut to `size` bytes with a NUL.
 * Returns the length of the whole text, like snprintf. The reader is consumed. */
int api_call_print(char *text, size_t size, uint16_t op, struct ga_reader *args);

#endif
