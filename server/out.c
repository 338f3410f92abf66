/* The output queue of a data connection. */
#include "server/out.h"

#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"

#define OUT_PIECES 64 /* of one system call */

/* Of a frame in a pool: the answers to most calls. */
#define POOLED_VALUES 96u
#define POOLED_BYTES  (sizeof(struct out_frame) + sizeof(struct wire_header) + POOLED_VALUES)
#define POOLED_BATCH  64u /* more than there are slots of staging memory by default */
#define POOLED_MOST   1024u

void out_init(struct server_out *out, struct transport_conn *conn, struct staging *staging)
{
    *out = (struct server_out){.conn = conn, .staging = staging};
    pthread_mutex_init(&out->lock, NULL);
    pthread_cond_init(&out->drained, NULL);
    ga_list_init(&out->frames);
}

void out_pool_init(struct ga_pool *pool)
{
    ga_pool_init(pool, POOLED_BYTES, POOLED_BATCH, POOLED_MOST);
}

struct out_frame *out_frame_make(struct ga_pool *pool, size_t values, uint16_t opcode,
                                 uint16_t session, uint64_t sequence)
{
    struct out_frame *frame;
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
    *frame = (struct out_frame){.home = pool, .head_bytes = sizeof header};
    memcpy(frame->head, &header, sizeof header);
    frame->writer = ga_writer_of(frame->head + sizeof header, values);
    return frame;
}

void out_frame_free(struct out_frame *frame)
{
    if (frame->home != NULL) {
        ga_pool_give(frame->home, frame);
    } else {
        free(frame);
    }
}

static void frame_done(struct server_out *out, struct out_frame *frame)
{
    ga_list_remove(&frame->link);
    out->bytes -= frame->head_bytes + frame->bulk_bytes;
    if (frame->slot != NULL) {
        staging_give(out->staging, frame->slot);
    }
    out_frame_free(frame);
}

void out_append(struct server_out *out, struct out_frame *frame)
{
    ga_writer_finish(&frame->writer);
    uint32_t length = (uint32_t)frame->writer.at + frame->bulk_bytes;
    memcpy(frame->head + offsetof(struct wire_header, length), &length, sizeof length);
    frame->head_bytes = (uint32_t)(sizeof(struct wire_header) + frame->writer.at);
    pthread_mutex_lock(&out->lock);
    out->bytes += frame->head_bytes + frame->bulk_bytes;
    ga_list_append(&out->frames, &frame->link);
    if (out->lost) {
        frame_done(out, frame);
    }
    pthread_mutex_unlock(&out->lock);
}

/* The next bytes to send, as pieces. */
static int pieces_gather(const struct server_out *out, struct iovec pieces[OUT_PIECES])
{
    int count = 0;
    size_t skip = out->sent;
    for (struct ga_list *at = out->frames.next; at != &out->frames && count + 2 <= OUT_PIECES;
         at = at->next) {
        struct out_frame *frame = ga_container(at, struct out_frame, link);
        if (skip < frame->head_bytes) {
            pieces[count++] = (struct iovec){frame->head + skip, frame->head_bytes - skip};
            skip = 0;
        } else {
            skip -= frame->head_bytes;
        }
        if (frame->bulk_bytes > skip) {
            pieces[count++] = (struct iovec){frame->bulk + skip, frame->bulk_bytes - skip};
        }
        skip = 0;
    }
    return count;
}

static void sent_account(struct server_out *out, size_t sent)
{
    out->sent += sent;
    while (!ga_list_empty(&out->frames)) {
        struct out_frame *frame = ga_container(out->frames.next, struct out_frame, link);
        size_t whole = (size_t)frame->head_bytes + frame->bulk_bytes;
        if (out->sent < whole) {
            break;
        }
        out->sent -= whole;
        frame_done(out, frame);
    }
}

enum ga_status out_flush(struct server_out *out)
{
    enum ga_status status = GA_OK;
    bool some = false;
    pthread_mutex_lock(&out->lock);
    while (status == GA_OK && !out->lost && !ga_list_empty(&out->frames)) {
        struct iovec pieces[OUT_PIECES];
        int count = pieces_gather(out, pieces);
        size_t sent;
        (void)GA_FAILPOINT("backend: before sending");
        status = out->conn->ops->send(out->conn, pieces, count, &sent);
        if (status == GA_OK) {
            (void)GA_FAILPOINT("backend: sent");
            sent_account(out, sent);
            some = true;
        }
    }
    out->lost = out->lost || status == GA_LOST;
    if (some || out->lost) {
        pthread_cond_broadcast(&out->drained);
    }
    if (out->lost) {
        status = GA_LOST;
    }
    pthread_mutex_unlock(&out->lock);
    return status;
}

bool out_is_empty(struct server_out *out)
{
    pthread_mutex_lock(&out->lock);
    bool empty = ga_list_empty(&out->frames);
    pthread_mutex_unlock(&out->lock);
    return empty;
}

enum ga_status out_wait_room(struct server_out *out, uint64_t bytes)
{
    pthread_mutex_lock(&out->lock);
    while (out->bytes >= bytes && !out->lost) {
        pthread_cond_wait(&out->drained, &out->lock);
    }
    enum ga_status status = out->lost ? GA_LOST : GA_OK;
    pthread_mutex_unlock(&out->lock);
    return status;
}

void out_end(struct server_out *out)
{
    pthread_mutex_lock(&out->lock);
    out->lost = true;
    while (!ga_list_empty(&out->frames)) {
        frame_done(out, ga_container(out->frames.next, struct out_frame, link));
    }
    pthread_cond_broadcast(&out->drained);
    pthread_mutex_unlock(&out->lock);
}
