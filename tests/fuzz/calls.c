/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar: a frame is its opcode (u16) and tokens. The low half of a token's first byte says
 * what it is, the high half is a small number n:
 *
 *   0 u32 n         4 u32 that follows   8 event n      12 size: 2 MiB * n
 *   1 u64 n         5 u64 that follows   9 context n    13 string n of the table
 *   2 float n       6 u64: u16 follows  10 module n     14 bulk: image n, or the u64 before's bytes
 *   3 address       7 stream n          11 function n   15 the end of the frame, in session n
 *
 * An address is the window's base + 2 MiB * n + 256 * the byte that follows. Event 15, stream 15,
 * ... are handles that nobody has made. */
#include "tests/fuzz/calls.h"

#include "api/calls.h"
#include "api/handshake.h"
#include "api/wire.h"
#include "base/handle.h"

#define MANY_BLOCKS 64u   /* of a launch, at most: what runs long finds nothing new */
#define VALUES_MAX  4096u /* of one frame */
#define SAMPLED     12u   /* numbers of TOKEN_FLOAT from here on are handles */

enum token {
    TOKEN_U32,
    TOKEN_U64,
    TOKEN_FLOAT,
    TOKEN_ADDRESS,
    TOKEN_RAW32,
    TOKEN_RAW64,
    TOKEN_RAW16,
    TOKEN_STREAM,
    TOKEN_EVENT,
    TOKEN_CONTEXT,
    TOKEN_MODULE,
    TOKEN_FUNCTION,
    TOKEN_SIZE,
    TOKEN_STRING,
    TOKEN_BULK,
    TOKEN_END,
};

static const char *const strings[] = {"fill", "wild", "trap", "value", "nothing", "", "share"};

#define HEADER ".version 7.0\n.target sm_75\n.address_size 64\n"

static const char *const images[] = {
    HEADER ".visible .global .align 4 .u32 value = 7;\n"
           ".visible .entry fill(.param .u64 p, .param .u32 n)\n{\n"
           "    .reg .b32 %r<3>;\n    .reg .b64 %d<4>;\n    .reg .pred %q;\n"
           "    ld.param.u64 %d1, [p];\n    ld.param.u32 %r1, [n];\n    mov.u32 %r2, %tid.x;\n"
           "    setp.ge.u32 %q, %r2, %r1;\n    @%q bra DONE;\n"
           "    mul.wide.u32 %d2, %r2, 4;\n    add.s64 %d3, %d1, %d2;\n"
           "    st.global.u32 [%d3], %r1;\nDONE:\n    ret;\n}\n"
           ".visible .entry share(.param .u32 n)\n{\n"
           "    .reg .b32 %r<3>;\n    .shared .align 4 .b8 room[256];\n"
           "    ld.param.u32 %r1, [n];\n    st.shared.u32 [room], %r1;\n    bar.sync 0;\n"
           "    ld.shared.u32 %r2, [room];\n    ret;\n}\n",
    HEADER ".visible .entry wild()\n{\n    .reg .b64 %d<2>;\n    mov.u64 %d1, 64;\n"
           "    st.global.u64 [%d1], %d1;\n    ret;\n}\n"
           ".visible .entry trap()\n{\n    trap;\n}\n",
    HEADER ".visible .entry fill(\n",
    "no image",
};
#define IMAGES (sizeof images / sizeof *images)

static uint64_t handle_of(enum ga_handle_type type, unsigned n)
{
    return n == 15 ? UINT64_MAX / 3 : n == 0 ? 0 : ga_handle_make(type, 1, n);
}

/* A number that is an op of this build; others mean one by their remainder, or the wire's own. */
static uint16_t opcode_of(uint16_t number)
{
    if (number < WIRE_API_FIRST || api_call_find(number) != NULL) {
        return number;
    }
    return api_calls[number % api_call_count].op;
}

struct frame {
    struct ga_writer values;
    uint64_t last; /* the last u64 */
    const char *bulk;
    size_t bulk_bytes;
};

static void write_u64(struct frame *frame, uint64_t value)
{
    frame->last = value;
    ga_write_u64(&frame->values, value);
}

static void write_bulk(struct frame *frame, unsigned n)
{
    if (n < IMAGES) {
        frame->bulk = images[n];
        frame->bulk_bytes = strlen(images[n]) + 1;
    } else {
        frame->bulk = NULL;
        frame->bulk_bytes = frame->last <= WIRE_CHUNK ? (size_t)frame->last : 0;
    }
}

/* False: the frame is complete. */
static bool write_token(struct frame *frame, struct fuzz_input *input, uint8_t token)
{
    static const enum ga_handle_type types[] = {
        GA_HANDLE_STREAM, GA_HANDLE_EVENT, GA_HANDLE_CONTEXT, GA_HANDLE_MODULE, GA_HANDLE_FUNCTION};
    static const enum ga_handle_type sampled[] = {GA_HANDLE_ARRAY, GA_HANDLE_MIPMAP,
                                                  GA_HANDLE_TEXTURE};
    unsigned n = token >> 4;
    switch ((enum token)(token & 15)) {
    case TOKEN_U32:
        ga_write_u32(&frame->values, n);
        break;
    case TOKEN_RAW32:
        ga_write_u32(&frame->values, fuzz_u32(input));
        break;
    case TOKEN_U64:
        write_u64(frame, n);
        break;
    case TOKEN_RAW64:
        write_u64(frame, fuzz_u64(input));
        break;
    case TOKEN_RAW16:
        write_u64(frame, fuzz_u16(input));
        break;
    case TOKEN_FLOAT: /* or, for want of a token of their own, handles of what kernels sample */
        if (n < SAMPLED || n >= SAMPLED + sizeof sampled / sizeof *sampled) {
            ga_write_f32(&frame->values, (float)n);
        } else {
            write_u64(frame, handle_of(sampled[n - SAMPLED], fuzz_u8(input) & 15));
        }
        break;
    case TOKEN_ADDRESS:
        write_u64(frame, CALLS_WINDOW + n * (UINT64_C(2) << 20) + fuzz_u8(input) * 256u);
        break;
    case TOKEN_SIZE:
        write_u64(frame, n * (UINT64_C(2) << 20));
        break;
    case TOKEN_STRING:
        ga_write_string(&frame->values, strings[n % (sizeof strings / sizeof *strings)]);
        break;
    case TOKEN_BULK:
        if (n < IMAGES) {
            write_u64(frame, strlen(images[n]) + 1);
        }
        write_bulk(frame, n);
        break;
    case TOKEN_END:
        return false;
    default:
        write_u64(frame, handle_of(types[(token & 15) - TOKEN_STREAM], n));
    }
    return true;
}

/* A launch of more than a few blocks, and what would wait for it. */
static bool runs_long(uint16_t opcode, const struct ga_writer *values)
{
    struct ga_launch_args args;
    struct ga_reader reader = ga_reader_of(values->data, values->at);
    if (opcode != API_OP_ga_launch) {
        return false;
    }
    ga_launch_args_read(&reader, &args);
    uint64_t blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (args.grid[i] > MANY_BLOCKS) {
            return true;
        }
        blocks *= args.grid[i];
    }
    return blocks > MANY_BLOCKS;
}

/* A window that takes so many addresses that the sanitizer finds none for itself. */
static bool takes_all(uint16_t opcode, const struct ga_writer *values)
{
    struct ga_reader reader = ga_reader_of(values->data, values->at);
    struct handshake_data_hello hello = {0};
    if (opcode == WIRE_SESSION_OPEN) {
        (void)!handshake_data_hello_read(&reader, &hello);
    } else if (opcode == WIRE_WINDOW) {
        (void)!handshake_window_read(&reader, &hello.window);
    }
    return hello.window.bytes > CALLS_WINDOW_BYTES;
}

/* In session n; from 8 on in n - 8, and the length says more than there is. */
static void write_frame(struct ga_writer *stream, struct frame *frame, uint16_t opcode, unsigned n,
                        uint64_t sequence)
{
    uint32_t bulk = wire_padded(frame->bulk_bytes);
    struct wire_header header = {.length = (uint32_t)frame->values.at + bulk + (n >= 8 ? 16 : 0),
                                 .opcode = opcode,
                                 .session = (uint16_t)(n % 8),
                                 .sequence = sequence};
    size_t before = stream->at;
    ga_write_array(stream, &header, 1, sizeof header, 16);
    ga_write_array(stream, frame->values.data, frame->values.at, 1, 1);
    uint8_t *at = ga_write_room(stream, bulk, 1, 16);
    if (stream->failed) {
        stream->at = before; /* no room: the frames end here */
        return;
    }
    if (frame->bulk != NULL) {
        memset(at, 0, bulk);
        memcpy(at, frame->bulk, frame->bulk_bytes);
    } else if (bulk != 0) {
        memset(at, 0x11, bulk);
    }
}

size_t calls_write(struct fuzz_input *input, uint8_t *room, size_t room_bytes)
{
    static _Alignas(16) uint8_t values[VALUES_MAX];
    struct ga_writer stream = ga_writer_of(room, room_bytes);
    uint64_t calls = 0;
    while (input->left != 0 && !stream.failed) {
        struct frame frame = {.values = ga_writer_of(values, sizeof values)};
        uint16_t opcode = opcode_of(fuzz_u16(input));
        uint8_t token = 1 << 4 | TOKEN_END;
        while (input->left != 0) {
            token = fuzz_u8(input);
            if (!write_token(&frame, input, token)) {
                break;
            }
        }
        ga_writer_finish(&frame.values);
        if (!frame.values.failed && !runs_long(opcode, &frame.values) &&
            !takes_all(opcode, &frame.values)) {
            write_frame(&stream, &frame, opcode, token >> 4, calls + 1);
            calls += opcode != WIRE_CONTEXT && opcode != WIRE_BULK;
        }
    }
    return stream.at;
}
