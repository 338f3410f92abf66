/* SPDX-License-Identifier: Apache-2.0 */
/* Frames before they are queued. */
#include <stdlib.h>
#include <string.h>

#include "server/pipeline/send_queue.h"

/* Size of the values of a pooled frame: enough for the answers to most calls. */
#define POOLED_VALUES 96u
#define POOLED_BYTES  (sizeof(struct send_queue_frame) + sizeof(struct wire_header) + POOLED_VALUES)
#define POOLED_BATCH  64u /* more than there are slots of staging memory by default */
#define POOLED_MAX    1024u

void send_queue_pool_init(struct ga_pool *pool)
{
    ga_pool_init(pool, POOLED_BYTES, POOLED_BATCH, POOLED_MAX);
}

struct send_queue_frame *send_queue_frame_make(struct ga_pool *pool, size_t values, uint16_t opcode,
                                               uint16_t session, uint64_t sequence)
{
    struct send_queue_frame *frame;
    values = (values + 15) & ~(size_t)15;
    pool = values <= POOLED_VALUES ? pool : NULL;
    if (pool != NULL) {
        frame = ga_pool_take(pool);
    } else {
        frame = aligned_alloc(16, sizeof *frame + sizeof(struct wire_header) + values);
    }
    if (frame == NULL) {
        return NULL;
    }
    const struct wire_header header = {.opcode = opcode, .session = session, .sequence = sequence};
    *frame =
        (struct send_queue_frame){.home = pool, .head_bytes = sizeof header, .start = frame->head};
    memcpy(frame->head, &header, sizeof header);
    frame->writer = ga_writer_of(frame->head + sizeof header, values);
    return frame;
}

void send_queue_frame_free(struct send_queue_frame *frame)
{
    if (frame->home != NULL) {
        ga_pool_give(frame->home, frame);
    } else {
        free(frame);
    }
}

/* ---- compression of their bulk */

bool send_queue_compression_wanted(struct send_queue *out, uint32_t bytes)
{
    if (bytes < SEND_QUEUE_BULK_MIN || out->compression.mode == COMPRESSION_OFF) {
        return false;
    }
    pthread_mutex_lock(&out->lock);
    bool wanted = compression_wanted(&out->compression);
    pthread_mutex_unlock(&out->lock);
    return wanted;
}

void send_queue_compression_tried(struct send_queue *out, uint32_t bytes, size_t compressed_bytes,
                                  uint64_t took_ns)
{
    pthread_mutex_lock(&out->lock);
    compression_tried(&out->compression, bytes, compressed_bytes, took_ns);
    pthread_mutex_unlock(&out->lock);
}
