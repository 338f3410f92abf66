/* SPDX-License-Identifier: Apache-2.0 */
#include "server/app/frame_record.h"

#include <stdlib.h>
#include <string.h>

#include "server/charge/ledger.h"

#define FRAME_ALIGN     16u
#define FRAME_BYTES_MAX (sizeof(struct wire_header) + WIRE_VALUES_MAX + FRAME_ALIGN)

static size_t frame_bytes(size_t size)
{
    return (sizeof(struct wire_header) + size + FRAME_ALIGN - 1) & ~(size_t)(FRAME_ALIGN - 1);
}

static CUresult frame_record_resize(struct frame_record *record, struct ledger *ledger, size_t room)
{
    size_t more = room > record->room ? room - record->room : 0;
    CU_TRY(ledger_charge(ledger, FIGURE_HOST_BYTES, more));
    uint8_t *bytes = realloc(record->bytes, room);
    if (bytes == NULL) {
        ledger_return(ledger, FIGURE_HOST_BYTES, more);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    ledger_return(ledger, FIGURE_HOST_BYTES, record->room - (room - more));
    record->bytes = bytes;
    record->room = room;
    return CUDA_SUCCESS;
}

CUresult frame_record_reserve(struct frame_record *record, struct ledger *ledger)
{
    return record->room - record->used >= FRAME_BYTES_MAX
               ? CUDA_SUCCESS
               : frame_record_resize(record, ledger,
                                     record->used + record->used / 2 + 2 * FRAME_BYTES_MAX);
}

void frame_record_add(struct frame_record *record, const struct wire_header *header,
                      const uint8_t *values, size_t size)
{
    size_t bytes = frame_bytes(size);
    if (header->sequence == record->last_sequence) {
        return;
    }
    if (record->room - record->used < bytes) {
        record->failed = true;
        return;
    }
    struct wire_header kept = *header;
    kept.length = (uint32_t)size;
    uint8_t *at = record->bytes + record->used;
    memset(at, 0, bytes);
    memcpy(at, &kept, sizeof kept);
    if (size != 0) {
        memcpy(at + sizeof kept, values, size);
    }
    record->used += bytes;
    record->last_sequence = header->sequence;
}

void frame_record_shrink(struct frame_record *record, struct ledger *ledger)
{
    if (record->used != 0) {
        (void)frame_record_resize(record, ledger, record->used);
    }
}

void frame_record_fini(struct frame_record *record, struct ledger *ledger)
{
    ledger_return(ledger, FIGURE_HOST_BYTES, record->room);
    free(record->bytes);
    *record = (struct frame_record){0};
}

const struct wire_header *frame_record_next(const struct frame_record *record, size_t *at,
                                            const uint8_t **values)
{
    if (*at == record->used) {
        return NULL;
    }
    const struct wire_header *header = (const void *)(record->bytes + *at);
    *values = record->bytes + *at + sizeof *header;
    *at += frame_bytes(header->length);
    return header;
}
