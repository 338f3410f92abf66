/* SPDX-License-Identifier: Apache-2.0 */
/* See tape.h. This file stores and finds recorded frames; tape_conn.c has the two transports. */
#include "tests/fuzz/tape.h"

#include <sys/mman.h>

#include "tests/fuzz/input.h"
#include "tests/fuzz/tape_store.h"

struct tape *tape_make(void)
{
    void *memory = mmap(NULL, sizeof(struct tape), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    FUZZ_CHECK(memory != MAP_FAILED);
    return memory;
}

/* ---- keeping */

void tape_asked(struct tape *tape, unsigned number, enum tape_kind kind,
                const struct wire_header *header)
{
    FUZZ_CHECK(tape->answer_count < TAPE_ANSWERS);
    tape->answers[tape->answer_count++] = (struct tape_answer){.connection = number,
                                                               .kind = (uint8_t)kind,
                                                               .opcode = header->opcode,
                                                               .sequence = header->sequence,
                                                               .first = TAPE_NONE,
                                                               .last = TAPE_NONE};
}

/* The one whose sequence it has, or, for what nobody has asked for, the last one. */
static struct tape_answer *answer_of(struct tape *tape, unsigned number, uint64_t sequence)
{
    struct tape_answer *last = NULL;
    for (uint32_t i = tape->answer_count; i-- > 0;) {
        struct tape_answer *at = &tape->answers[i];
        if (at->connection == number && at->sequence == sequence) {
            return at;
        }
        last = at->connection == number && last == NULL ? at : last;
    }
    return last;
}

static void frame_keep(struct tape *tape, struct tape_answer *answer,
                       const struct wire_header *header, const uint8_t *values)
{
    uint32_t number = tape->frame_count++;
    FUZZ_CHECK(number < TAPE_FRAMES && tape->byte_count + header->length <= TAPE_BYTES);
    tape->frames[number] = (struct tape_frame){.header = *header,
                                               .at = tape->byte_count,
                                               .next = TAPE_NONE,
                                               .follows = header->sequence == answer->sequence};
    memcpy(tape->bytes + tape->byte_count, values, header->length);
    tape->byte_count += header->length;
    if (answer->first == TAPE_NONE) {
        answer->first = number;
    } else {
        tape->frames[answer->last].next = number;
    }
    answer->last = number;
}

/* A prefix goes with the frame behind it. */
void tape_answered(struct tape *tape, unsigned number, enum tape_kind kind,
                   const struct wire_header *header, const uint8_t *values)
{
    bool lives = header->opcode == WIRE_PING || header->opcode == WIRE_PONG;
    if (kind == TAPE_SIDE && lives) {
        return; /* tape_conn.c says that */
    }
    if (header->opcode == WIRE_BULK) {
        tape->has_prefix = true;
        tape->prefix = *header;
        memcpy(tape->prefix_values, values, sizeof tape->prefix_values);
        return;
    }
    struct tape_answer *answer = answer_of(tape, number, header->sequence);
    if (answer == NULL) {
        return;
    }
    if (tape->has_prefix) {
        frame_keep(tape, answer, &tape->prefix, tape->prefix_values);
        tape->has_prefix = false;
    }
    frame_keep(tape, answer, header, values);
}

void tape_bulk(struct tape *tape, unsigned connection, const void *bytes, size_t size)
{
    FUZZ_CHECK(connection < TAPE_BULKS && tape->bulk_bytes[connection] + size <= TAPE_BULK_BYTES);
    memcpy(tape->bulk[connection] + tape->bulk_bytes[connection], bytes, size);
    tape->bulk_bytes[connection] += size;
}

/* ---- finding */

/* The n-th answer to an opcode, or the last one that there is. NULL: it was never called. */
const struct tape_answer *tape_find(const struct tape *tape, enum tape_kind kind, uint16_t opcode,
                                    uint32_t nth)
{
    const struct tape_answer *found = NULL;
    for (uint32_t i = 0; i < tape->answer_count; i++) {
        const struct tape_answer *at = &tape->answers[i];
        if (at->kind == kind && at->opcode == opcode) {
            found = at;
            if (nth-- == 0) {
                break;
            }
        }
    }
    return found;
}

static unsigned nth_of(const struct tape *tape, const struct tape_answer *answer)
{
    unsigned nth = 0;
    for (const struct tape_answer *at = tape->answers; at != answer; at++) {
        nth += at->kind == answer->kind && at->opcode == answer->opcode;
    }
    return nth;
}

void tape_some(const struct tape *tape, uint64_t random, struct mutation *where)
{
    const struct tape_answer *answer = NULL;
    for (unsigned tries = 0; tries < 64 && (answer == NULL || answer->first == TAPE_NONE);
         tries++) {
        answer = &tape->answers[(random + tries) % tape->answer_count];
    }
    unsigned frames = 0;
    for (uint32_t i = answer->first; i != TAPE_NONE; i = tape->frames[i].next) {
        frames++;
    }
    where->kind = answer->kind;
    where->opcode = answer->opcode;
    where->nth = (uint8_t)nth_of(tape, answer);
    where->frame = (uint8_t)(frames > 1 ? (random >> 32) % frames : 0);
}
