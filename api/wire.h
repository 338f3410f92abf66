/* SPDX-License-Identifier: Apache-2.0 */
/* The wire: the frames between a client, gpuaasd and its backend processes.
 *
 * A connection carries frames in order. A frame is a 16-byte header, values, and for some opcodes
 * bulk bytes which start 16-aligned behind the values. Everything is little endian; no native
 * struct with pointers ever travels. The length counts everything behind the header and is a
 * multiple of 16; an exact number of bytes is sent among the values.
 *
 * One data connection per (application, backend process) keeps the order of the application's
 * calls across its threads and its devices on that node. The side connection of the same pair
 * carries pings and the ends of host functions, and never bulk. If one connection cannot fill the
 * wire, large copies also use bulk connections, which carry bytes without frames; frames of the
 * data connection say where the bytes belong (WIRE_BULK). */
#ifndef API_WIRE_H
#define API_WIRE_H

#include <stdint.h>

#define WIRE_MAGIC         0x41555047u /* "GPUA" */
#define WIRE_MAJOR         1           /* must be equal at both ends */
#define WIRE_MINOR         1           /* within a major, either end may be newer */
#define WIRE_DEFAULT_PORT  "9955"
#define WIRE_HANDSHAKE_MAX (1u << 20) /* longer control frames are refused unread */
#define WIRE_HELLO_MAX     4096u      /* likewise the first one of a client, who is nobody yet */
#define WIRE_CHUNK         262144u    /* bulk bytes per copy frame, at most */
#define WIRE_BULKS_MAX     16         /* bulk connections of one data connection, at most */
#define WIRE_NOTICE_MAX    255u       /* bytes of the text of a notice */
#define WIRE_VALUES_MAX    65536u     /* values of one call without bulk, at most */

struct wire_header {
    uint32_t length;   /* bytes behind this header, multiple of 16 */
    uint16_t opcode;   /* enum wire_opcode, or enum api_op from API_OP_FIRST on */
    uint16_t session;  /* the application's virtual device on this connection; 0: the connection */
    uint64_t sequence; /* of the call; replies carry their call's. Calls count from 1, without gaps:
                     one out of turn ends the connection. WIRE_CONTEXT: the next call's, or 0 */
};

_Static_assert(sizeof(struct wire_header) == 16, "the header is 16 bytes on every machine");

static inline uint32_t wire_padded(uint64_t bytes)
{
    return (uint32_t)((bytes + 15) & ~UINT64_C(15));
}

/* Opcodes below 64 are the wire's own; a number is never used again for something else. */
enum wire_opcode {
    /* Control connection (api/handshake.h has the values) */
    WIRE_HELLO = 1,   /* client -> gpuaasd */
    WIRE_WELCOME = 2, /* gpuaasd -> client: pool, devices and their facts */
    WIRE_REFUSED = 3, /* either greeting refused: why, and the CUresult to give */
    WIRE_OPEN = 4,    /* client -> gpuaasd: one device, please */
    WIRE_TICKET = 5,  /* gpuaasd -> client: where the backend process is, and the right to it */
    WIRE_ADMIN = 6, /* administrator -> gpuaasd, in the place of HELLO, with its values; the answer
                       is an empty one, and then both speak docs/admin-protocol.md */
    /* Data and side connection */
    WIRE_DATA_HELLO = 8,    /* client -> backend process: ticket, window proposal */
    WIRE_DATA_WELCOME = 9,  /* backend process -> client: session number, window answer */
    WIRE_WINDOW = 10,       /* client -> backend process: next window proposal */
    WIRE_SESSION_OPEN = 11, /* client -> backend process: a further device, with its ticket */
    WIRE_PING = 12,         /* side connection, both ways; no values */
    WIRE_PONG = 13,
    /* Calls, client -> backend process; api_op numbers start at 64 */
    WIRE_CONTEXT = 16, /* u64 context handle: the calls that follow run in it. No reply */
    /* Answers, backend process -> client */
    WIRE_REPLY = 20,  /* i32 CUresult, u32 0, then the results of the call when it succeeded */
    WIRE_DATA = 21,   /* u64 offset, u64 bytes, then bulk: the next piece of a copy to the host */
    WIRE_DONE = 22,   /* i32 CUresult, u32 0: what a query watches has finished; or u32 id: a
                        host function's turn has come */
    WIRE_ERROR = 23,  /* i32 CUresult, u32 opcode, u64 context handle: a call that nobody waits for
                        failed; it ran in that context (0: in none, or an older server says it) */
    WIRE_FAULT = 24,  /* i32 CUresult, string: the process is condemned (an execution fault) */
    WIRE_OUTPUT = 25, /* u32 enum wire_output, u32 bytes, then they: what kernels have printed. Only
               to who takes it (HANDSHAKE_TAKES_OUTPUT), before the answer it belongs to */
    /* Both ways, between who has agreed on it (ga_bulk_use, HANDSHAKE_TAKES_COMPRESSED) */
    WIRE_BULK = 26, /* u32 connection, u32 compressed: of the next frame, which has bulk. connection
                       n from 1 on: the bytes come over the n-th bulk connection, exactly as many as
                       the values say, and the frame ends with its values; 0: they are in the frame.
                       compressed: so many bytes, by LZ4, fewer than the plain ones, come there
                       instead; 0: they come plain. One, the other, or both */
    /* Side connection, client -> backend process */
    WIRE_HOST_DONE = 30, /* u32 id; sequence of the ga_host_function call: it has returned */
    /* Side connection, backend process -> client, only to who takes it (HANDSHAKE_TAKES_TRIM) */
    WIRE_TRIM = 31, /* no values: others lack memory, what you keep of it is wanted; the answer is
                       ga_memory_trimmed */
    /* Side connection, backend process -> client; who does not know it skips it. Or data
       connection, only to who takes it there (HANDSHAKE_TAKES_NOTICES): before the answer that it
       belongs to */
    WIRE_NOTICE = 32, /* u32 enum wire_notice, string (WIRE_NOTICE_MAX): what the server's operator
                         has to say to the program's user */
};

/* The meaning of a notice for the program: none; or that the connection is at its end. */
enum wire_notice { WIRE_NOTICE_NOTE = 0, WIRE_NOTICE_END = 1 };

enum wire_output { WIRE_OUTPUT_STDOUT = 1, WIRE_OUTPUT_STDERR = 2 };

#define WIRE_API_FIRST 64 /* the smallest opcode of a call of api/cuda/ */

#endif
