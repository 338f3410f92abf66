/* SPDX-License-Identifier: Apache-2.0 */
/* A server that lies: the client's connection gets arbitrary answers to calls of every sort, in any
 * order. The program's memory outside the calls' own buffers stays as it is, and each call ends. */
#include "api/wire.h"
#include "base/log.h"
#include "client/conn/conn_internal.h"
#include "client/process/trace.h"
#include "tests/fuzz/conn.h"

#define CALLS_MAX    32u
#define BUFFER_BYTES 4096u
#define GUARD_BYTES  64u
#define GUARD        0xa5

/* A function of the program; here without what runs it (client/stream/host_function.c). */
struct client_host_call {
    unsigned told; /* how often its turn has come, or been lost */
};

/* A call of the program: where its bytes go. */
struct call {
    struct pending_reply *record; /* NULL: nobody waits */
    uint8_t *buffer;              /* NULL: no copy to the host; else with guards around it */
    uint64_t bytes, width, pitch;
    _Atomic uint64_t watched;
    struct client_host_call *host;
};

static struct call calls[CALLS_MAX];
static unsigned call_count;

static void host_due(struct client_host_call *call, int status, uint32_t ticket)
{
    (void)status;
    (void)ticket;
    call->told++;
}

static void host_lost(struct client_host_call *call, int status)
{
    FUZZ_CHECK(status != 0);
    call->told++;
}

/* The mode of a program that is not traced (client/process/trace.c). */
enum client_trace client_trace_mode;

void client_trace_wait(uint64_t waited_ns)
{
    (void)waited_ns;
}

static void note_error(uint64_t context, int result, uint16_t opcode)
{
    (void)context;
    (void)opcode;
    FUZZ_CHECK(result != 0);
}

static void note_trim(struct client_conn *conn)
{
    (void)conn;
}

static void note_rest(const struct client_conn *conn, uint64_t now_ns)
{
    (void)conn;
    (void)now_ns;
}

static void note_armed(void)
{
}

static const struct client_conn_hooks hooks = {.failed = note_error,
                                               .host_due = host_due,
                                               .host_lost = host_lost,
                                               .trim = note_trim,
                                               .rest = note_rest,
                                               .armed = note_armed};

static void want_copy(struct call *call, struct reply_action *want, uint8_t shape)
{
    static const uint16_t widths[] = {1, 16, 100, 333};
    call->buffer = malloc(BUFFER_BYTES + 2 * GUARD_BYTES);
    FUZZ_CHECK(call->buffer != NULL);
    memset(call->buffer, GUARD, BUFFER_BYTES + 2 * GUARD_BYTES);
    call->bytes = shape % 2 != 0 ? BUFFER_BYTES : 1u + shape;
    call->width = call->pitch = call->bytes;
    if (shape % 3 == 0) {
        call->width = widths[shape / 3 % 4];
        call->pitch = call->width + shape % 7;
        call->bytes = call->width * (1 + (BUFFER_BYTES - call->width) / call->pitch);
    }
    want->to = call->buffer + GUARD_BYTES;
    want->bytes = call->bytes;
    want->width = call->width;
    want->pitch = call->pitch;
}

/* kind: bit 0 waited for, bit 1 a copy to the host, bit 2 a query, bit 4 a function of the program,
 * which nobody waits for. */
static void call_make(struct client_conn *conn, uint8_t kind, uint8_t shape)
{
    struct call *call = &calls[call_count];
    *call = (struct call){0};
    struct reply_action want = {.context = 1 + shape % 3};
    if ((kind & 16) != 0) {
        static struct client_host_call host_calls[CALLS_MAX];
        kind = (uint8_t)(kind & ~1u);
        host_calls[call_count] = (struct client_host_call){0};
        want.host = &host_calls[call_count];
    } else if ((kind & 2) != 0) {
        want_copy(call, &want, shape);
    } else if ((kind & 4) != 0) {
        want.watched = &call->watched;
        want.watch_value = 1;
    }
    if (client_conn_lock(conn, 256) == 0) {
        client_conn_context(conn, 1, want.context);
        memset(client_conn_at(conn) + sizeof(struct wire_header), 0, 16);
        uint64_t sequence = client_conn_frame(conn, 600, 1, 16, 0, true);
        struct pending_reply *record = client_conn_expect(conn, sequence, kind & 1, &want);
        FUZZ_CHECK(record != NULL);
        call->host = want.host;
        call->record = (kind & 1) != 0 ? record : NULL;
        client_conn_unlock(conn, false);
    }
    call_count++;
}

static bool is_guard(const uint8_t *bytes, size_t count)
{
    while (count != 0 && bytes[count - 1] == GUARD) {
        count--;
    }
    return count == 0;
}

/* Nothing was written before, behind, or between the rows. */
static void buffer_check(const struct call *call)
{
    const uint8_t *start = call->buffer + GUARD_BYTES;
    uint64_t rows = call->bytes / call->width;
    uint64_t end = (rows - 1) * call->pitch + call->width;
    FUZZ_CHECK(is_guard(call->buffer, GUARD_BYTES));
    FUZZ_CHECK(is_guard(start + end, BUFFER_BYTES - end + GUARD_BYTES));
    for (uint64_t row = 0; row + 1 < rows; row++) {
        FUZZ_CHECK(is_guard(start + row * call->pitch + call->width, call->pitch - call->width));
    }
}

static void call_finish(struct client_conn *conn, struct call *call)
{
    if (call->record != NULL) {
        client_conn_wait(conn, call->record);
        FUZZ_CHECK(atomic_load(&call->record->done));
        client_conn_release(conn, call->record);
    }
    if (call->buffer != NULL) {
        client_conn_wait_range(conn, call->buffer, BUFFER_BYTES + 2 * GUARD_BYTES, true);
        buffer_check(call);
        free(call->buffer);
    }
}

/* Records are never given back to malloc but used again: so the connection is one, and what an
 * input has taken must be back at its end. */
static void conn_begin(struct client_conn *conn, const struct transport_conn *transport)
{
    struct pending_reply *unused = conn->unused, *spare = conn->spare;
    struct frame_reader reader;
    *conn = (struct client_conn){.unused = unused, .spare = spare};
    atomic_store(&conn->quiet, true);
    FUZZ_CHECK(frame_reader_init(&reader, 512 << 10) == GA_OK);
    FUZZ_CHECK(client_conn_init(conn, *transport, reader, &hooks) == GA_OK);
}

static void conn_end(struct client_conn *conn)
{
    static unsigned most;
    client_conn_lose(conn, "the input is over");
    unsigned unused = conn->spare != NULL;
    for (const struct pending_reply *at = conn->unused; at != NULL; at = at->next) {
        unused++;
    }
    FUZZ_CHECK(unused >= most && atomic_load(&conn->unwaited) == 0);
    most = unused;
    free(conn->out);
    free(conn->bounce);
    frame_reader_fini(&conn->reader);
    pthread_mutex_destroy(&conn->send_lock);
    pthread_mutex_destroy(&conn->read_lock);
    pthread_cond_destroy(&conn->room);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ga_log_set_level(GA_LOG_ERROR);
    return 0;
}

/* Two numbers for each call, then what the server says. Half of the calls are made when it has said
 * something already. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct client_conn conn;
    struct fuzz_input input = {data, size};
    uint64_t seed = fuzz_u8(&input);
    unsigned count = fuzz_u8(&input) % CALLS_MAX;
    struct fuzz_input kinds = {fuzz_take(&input, 2u * count), 2u * count};
    if (kinds.at == NULL) {
        return 0;
    }
    struct transport_conn transport = fuzz_conn_open(input.at, input.left, seed);
    conn_begin(&conn, &transport);
    call_count = 0;
    while (call_count < count) {
        uint8_t kind = fuzz_u8(&kinds);
        call_make(&conn, kind, fuzz_u8(&kinds));
        if (call_count == count / 2 || (kind & 8) != 0) {
            client_conn_drain(&conn);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        call_finish(&conn, &calls[i]);
    }
    conn_end(&conn);
    for (unsigned i = 0; i < count; i++) {
        FUZZ_CHECK(calls[i].host == NULL || calls[i].host->told == 1);
    }
    fuzz_conn_close();
    return 0;
}
