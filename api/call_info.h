/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about every op, for both ends: name, how it is answered, and the hash by which two ends
 * find out whether they mean the same by it. */
#ifndef API_CALL_INFO_H
#define API_CALL_INFO_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

enum api_reply {
    API_REPLY_WAIT,   /* the client waits for one reply frame */
    API_REPLY_ASYNC,  /* no reply; a failure arrives later as the context's error */
    API_REPLY_CHUNKS, /* chunk frames, then the reply */
};

struct api_print;

struct api_call_info {
    const char *name;
    uint16_t op;
    uint8_t reply;      /* enum api_reply */
    uint8_t bulk;       /* 1: bytes follow the values, 16-aligned, in the same frame */
    uint64_t signature; /* FNV-1a-64 of name, reply and the wire shape of all fields */
    void (*print)(struct api_print *print, struct ga_reader *args);
};

/* Sorted by op. */
extern const struct api_call_info api_calls[];
extern const size_t api_call_count;

/* NULL: no such op. */
const struct api_call_info *api_call_find(uint16_t op);
/* "?" for an op that is not known. */
const char *api_op_name(uint16_t op);
/* Writes `name(field=value, ...)` of an argument message, cut to `size` bytes with a NUL. Answers
 * the length that the whole text has, like snprintf. The reader is consumed. */
int api_call_print(char *text, size_t size, uint16_t op, struct ga_reader *args);

#endif
