/* SPDX-License-Identifier: Apache-2.0 */
/* A record of frames: calls of the client, kept word by word to be carried out again. */
#ifndef SERVER_APP_FRAME_RECORD_H
#define SERVER_APP_FRAME_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "api/wire.h"

struct ledger;

struct frame_record {
    uint8_t *bytes; /* frames, each on a multiple of 16 */
    size_t used, room;
    bool failed;            /* one did not find room */
    uint64_t last_sequence; /* of the newest frame: a call is kept once */
};

/* Makes room for one more frame, whatever it is; charges the ledger for it.
 * CUDA_ERROR_OUT_OF_MEMORY may also be what the application may not have. */
CUresult frame_record_reserve(struct frame_record *record, struct ledger *ledger);
/* Appends a frame, for which there must be room. Allocates nothing. */
void frame_record_add(struct frame_record *record, const struct wire_header *header,
                      const uint8_t *values, size_t size);
/* Gives back the room that is not used. */
void frame_record_shrink(struct frame_record *record, struct ledger *ledger);
void frame_record_fini(struct frame_record *record, struct ledger *ledger);
/* The frame at `*at` (from 0 on), which then is the next one; NULL: the end. `*values` are as long
 * as the header says. */
const struct wire_header *frame_record_next(const struct frame_record *record, size_t *at,
                                            const uint8_t **values);

#endif
