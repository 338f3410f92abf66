/* SPDX-License-Identifier: Apache-2.0 */
/* A tape, for who keeps and plays it. */
#ifndef TESTS_FUZZ_TAPE_STORE_H
#define TESTS_FUZZ_TAPE_STORE_H

#include "api/wire.h"
#include "tests/fuzz/tape.h"

#define TAPE_ANSWERS    8192u
#define TAPE_FRAMES     32768u
#define TAPE_BYTES      (64u << 20)
#define TAPE_BULKS      4u
#define TAPE_BULK_BYTES (16u << 20)
#define TAPE_NONE       UINT32_MAX

enum tape_kind { TAPE_CONTROL, TAPE_DATA, TAPE_SIDE, TAPE_BULK, TAPE_UNKNOWN };

struct tape_frame {
    struct wire_header header;
    uint64_t at;   /* of its values, in `bytes` */
    uint32_t next; /* of the same answer */
    bool follows;  /* it has the sequence of what it answers */
};

/* All that has come for one frame of the client. */
struct tape_answer {
    uint32_t connection;
    uint8_t kind;
    uint16_t opcode;
    uint64_t sequence;
    uint32_t first, last; /* frames */
};

struct tape {
    uint32_t answer_count, frame_count;
    uint64_t byte_count;
    bool has_prefix;
    struct wire_header prefix;
    uint8_t prefix_values[16];
    struct tape_answer answers[TAPE_ANSWERS];
    struct tape_frame frames[TAPE_FRAMES];
    uint64_t bulk_bytes[TAPE_BULKS];
    uint8_t bytes[TAPE_BYTES];
    uint8_t bulk[TAPE_BULKS][TAPE_BULK_BYTES];
};

/* `number`: of the connection */
void tape_asked(struct tape *tape, unsigned number, enum tape_kind kind,
                const struct wire_header *header);
void tape_answered(struct tape *tape, unsigned number, enum tape_kind kind,
                   const struct wire_header *header, const uint8_t *values);
void tape_bulk(struct tape *tape, unsigned connection, const void *bytes, size_t size);
const struct tape_answer *tape_find(const struct tape *tape, enum tape_kind kind, uint16_t opcode,
                                    uint32_t nth);

#endif
