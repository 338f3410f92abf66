/* SPDX-License-Identifier: Apache-2.0 */
/* See mutation.h. */
#include "tests/fuzz/mutation.h"

#include <sys/mman.h>

#include "api/wire.h"
#include "tests/fuzz/input.h"

#define CANARY_AT    UINT64_C(0x1d0000000000)
#define READONLY_AT  UINT64_C(0x1e0000000000)
#define CANARY_BYTES (UINT64_C(4) << 20)
#define CANARY       0x5c
#define FIRST_WINDOW UINT64_C(0x200000000000)
#define CHANGE_MAX   (1u << 20) /* bytes that a frame gets more, at most */

static const uint64_t specials[] = {
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    63,
    64,
    255,
    256,
    4095,
    4096,
    65535,
    65536,
    WIRE_CHUNK,
    WIRE_CHUNK + 1,
    0x1fffff,
    0x200000,
    0x7fffffff,
    0x80000000,
    0xfffffff0,
    0xffffffff,
    0x100000000,
    0x10000000000,
    CANARY_AT,
    CANARY_AT + 4096,
    CANARY_AT + CANARY_BYTES - 8,
    CANARY_AT + 0x200000,
    READONLY_AT,
    FIRST_WINDOW,
    FIRST_WINDOW + 0x200000,
    FIRST_WINDOW - 4096,
    0x7fffffffffffffff,
    0x8000000000000000,
    0xfffffffffffff000,
    0xfffffffffffffff0,
    0xffffffffffffffff,
};

static uint64_t special(uint64_t value)
{
    return specials[value % (sizeof specials / sizeof *specials)];
}

void mutation_append(struct mutation_bytes *to, const void *bytes, size_t size)
{
    if (to->size + size > to->room) {
        to->room = 2 * (to->size + size) + 4096;
        to->at = realloc(to->at, to->room);
        FUZZ_CHECK(to->at != NULL);
    }
    if (size != 0 && bytes != NULL) {
        memcpy(to->at + to->size, bytes, size);
    } else if (size != 0) {
        memset(to->at + to->size, 0, size);
    }
    to->size += size;
}

static void put(struct mutation_bytes *frame, size_t at, const void *bytes, size_t size)
{
    if (frame->size >= size) {
        at = at % (frame->size - size + 1);
        memcpy(frame->at + at, bytes, size);
    }
}

static uint64_t get(const struct mutation_bytes *frame, size_t at, size_t size)
{
    uint64_t value = 0;
    if (frame->size >= size) {
        memcpy(&value, frame->at + at % (frame->size - size + 1), size);
    }
    return value;
}

static void length_set(struct mutation_bytes *frame)
{
    uint32_t length = (uint32_t)(frame->size - sizeof(struct wire_header));
    memcpy(frame->at, &length, sizeof length);
}

static void resize(const struct mutation *m, struct mutation_bytes *frame)
{
    size_t values = frame->size - sizeof(struct wire_header), change = 16 * (m->at % 4096u);
    if (m->action == MUTATION_SHORTEN) {
        frame->size -= change < values ? change : values;
    } else {
        mutation_append(frame, NULL, change < CHANGE_MAX ? change : CHANGE_MAX);
        memcpy(frame->at + frame->size - (change != 0 ? 8 : 0), &m->value, change != 0 ? 8 : 0);
    }
    length_set(frame);
}

/* A frame that stands before this one, with its session and sequence. */
static void insert(const struct mutation *m, struct mutation_bytes *frame)
{
    struct wire_header header;
    struct mutation_bytes before = {0};
    uint64_t words[2] = {m->value >> 8, special(m->value >> 16)};
    memcpy(&header, frame->at, sizeof header);
    header.opcode = (uint16_t)(m->value & 63);
    header.length = 16 * (m->at % 5u);
    mutation_append(&before, &header, sizeof header);
    for (unsigned i = 0; i < m->at % 5u; i++) {
        mutation_append(&before, words, sizeof words);
    }
    mutation_append(&before, frame->at, frame->size);
    free(frame->at);
    *frame = before;
}

static void numbers(const struct mutation *m, struct mutation_bytes *frame)
{
    bool wide = m->action == MUTATION_SET64 || m->action == MUTATION_SPECIAL64 ||
                m->action == MUTATION_ADD64;
    size_t size = wide ? 8 : 4, at = m->at * size;
    uint64_t value = m->value;
    if (m->action == MUTATION_SPECIAL32 || m->action == MUTATION_SPECIAL64) {
        value = special(value);
    } else if (m->action == MUTATION_ADD32 || m->action == MUTATION_ADD64) {
        value += get(frame, at, size);
    }
    put(frame, at, &value, size);
}

static void header_change(const struct mutation *m, struct mutation_bytes *frame)
{
    struct wire_header header;
    memcpy(&header, frame->at, sizeof header);
    if (m->action == MUTATION_LENGTH) {
        header.length = (m->at & 1) != 0 ? (uint32_t)special(m->value) : (uint32_t)m->value;
    } else if (m->action == MUTATION_OPCODE) {
        header.opcode = (uint16_t)(m->value & 63);
    } else {
        header.sequence += (uint64_t)(int64_t)(int8_t)m->value;
    }
    memcpy(frame->at, &header, sizeof header);
}

static void fill(const struct mutation *m, struct mutation_bytes *frame)
{
    size_t at = sizeof(struct wire_header) + m->at;
    if (at < frame->size) {
        size_t bytes = m->value >> 8 & 0xfff, most = frame->size - at;
        memset(frame->at + at, (int)(m->value & 0xff), bytes < most ? bytes : most);
    }
}

bool mutation_apply(const struct mutation *m, struct mutation_bytes *frame)
{
    uint8_t byte;
    uint32_t result;
    if (frame->size < sizeof(struct wire_header)) {
        return true; /* it was left out */
    }
    switch ((enum mutation_action)m->action) {
    case MUTATION_XOR8:
        byte = (uint8_t)(get(frame, m->at, 1) ^ (m->value & 0xff));
        put(frame, m->at, &byte, 1);
        break;
    case MUTATION_FILL:
        fill(m, frame);
        break;
    case MUTATION_RESULT:
        result = (uint32_t)(m->value % 1000);
        if (frame->size >= 20) {
            memcpy(frame->at + sizeof(struct wire_header), &result, sizeof result);
        }
        break;
    case MUTATION_DROP:
        frame->size = 0;
        break;
    case MUTATION_TWICE:
        mutation_append(frame, NULL, frame->size);
        memcpy(frame->at + frame->size / 2, frame->at, frame->size / 2);
        break;
    case MUTATION_SHORTEN:
    case MUTATION_LENGTHEN:
        resize(m, frame);
        break;
    case MUTATION_LENGTH:
    case MUTATION_OPCODE:
    case MUTATION_SEQUENCE:
        header_change(m, frame);
        break;
    case MUTATION_INSERT:
        insert(m, frame);
        break;
    case MUTATION_END:
        return false;
    default:
        numbers(m, frame);
    }
    return true;
}

/* ---- memory of the program */

static void *place(uint64_t at, int protection)
{
    void *got = mmap((void *)(uintptr_t)at, CANARY_BYTES, protection,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    FUZZ_CHECK(got == (void *)(uintptr_t)at);
    return got;
}

void mutation_canary_make(void)
{
    memset(place(CANARY_AT, PROT_READ | PROT_WRITE), CANARY, CANARY_BYTES);
    (void)place(READONLY_AT, PROT_READ);
}

void mutation_canary_check(void)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)CANARY_AT;
    FUZZ_CHECK(at[0] == CANARY && memcmp(at, at + 1, CANARY_BYTES - 1) == 0);
}
