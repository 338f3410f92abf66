/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted client. */
#include "server/tests/script.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/handle.h"

#define LIMIT_MS 20000

/* ---- one connection */

static void conn_sleep(struct script_conn *conn, short wanted)
{
    struct pollfd fds[TRANSPORT_POLL_MAX];
    unsigned count = conn->conn.ops->poll_prepare(&conn->conn, wanted, fds);
    cr_assert(count == 0 || poll(fds, count, LIMIT_MS) > 0, "nothing happens in time");
}

static void connect_by(struct script_conn *conn, const char *url,
                       const struct transport_secret *secret)
{
    struct transport_address address;
    char why[300] = "";
    memset(conn, 0, sizeof *conn);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK, "%s", why);
    address.secret = secret;
    cr_assert_eq(transport_connect(&address, LIMIT_MS, &conn->conn, why, sizeof why), GA_OK, "%s",
                 why);
    cr_assert_eq(frame_reader_init(&conn->reader, 1u << 20), GA_OK);
}

void script_connect(struct script_conn *conn, const char *url)
{
    const struct transport_secret secret = {.ca = script_ca};
    connect_by(conn, url, &secret);
}

void script_close(struct script_conn *conn)
{
    if (conn->conn.ops != NULL) {
        conn->conn.ops->close(&conn->conn);
        frame_reader_fini(&conn->reader);
        conn->conn.ops = NULL;
    }
}

void script_send_raw(struct script_conn *conn, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size != 0) {
        struct iovec piece = {(void *)(uintptr_t)at, size};
        size_t sent = 0;
        enum ga_status status = conn->conn.ops->send(&conn->conn, &piece, 1, &sent);
        if (status == GA_LOST) {
            return; /* the test sees the end when it receives */
        }
        if (status == GA_AGAIN) {
            conn_sleep(conn, POLLOUT);
        }
        at += sent;
        size -= sent;
    }
}

struct ga_writer *script_begin(struct script_conn *conn)
{
    conn->writer = ga_writer_of(conn->frame + sizeof(struct wire_header),
                                sizeof conn->frame - sizeof(struct wire_header));
    return &conn->writer;
}

void script_send_bulk(struct script_conn *conn, uint16_t opcode, uint16_t session,
                      uint64_t sequence, const void *bulk, size_t bytes)
{
    static const uint8_t zeros[16];
    ga_writer_finish(&conn->writer);
    cr_assert(!conn->writer.failed);
    const struct wire_header header = {.length = (uint32_t)conn->writer.at + wire_padded(bytes),
                                       .opcode = opcode,
                                       .session = session,
                                       .sequence = sequence};
    memcpy(conn->frame, &header, sizeof header);
    script_send_raw(conn, conn->frame, sizeof header + conn->writer.at);
    script_send_raw(conn, bulk, bytes);
    script_send_raw(conn, zeros, wire_padded(bytes) - bytes);
    conn->writer.at = 0;
}

void script_send(struct script_conn *conn, uint16_t opcode, uint16_t session, uint64_t sequence)
{
    script_send_bulk(conn, opcode, session, sequence, "", 0);
}

uint16_t script_receive(struct script_conn *conn)
{
    if (conn->values.data != NULL) {
        frame_drop(&conn->reader);
        conn->values.data = NULL;
    }
    for (;;) {
        const uint8_t *values;
        enum ga_status status = frame_next(&conn->reader, &conn->header, &values);
        if (status == GA_OK) {
            conn->values = ga_reader_of(values, conn->header.length);
            return conn->header.opcode;
        }
        cr_assert_eq(status, GA_AGAIN);
        status = frame_fill(&conn->reader, &conn->conn);
        if (status == GA_LOST) {
            return 0;
        }
        if (status == GA_AGAIN) {
            conn_sleep(conn, POLLIN);
        }
    }
}

void script_expect(struct script_conn *conn, uint16_t opcode)
{
    uint16_t got = script_receive(conn);
    if (got == WIRE_REFUSED && opcode != WIRE_REFUSED) {
        struct handshake_refused refused;
        cr_assert_eq(handshake_refused_read(&conn->values, &refused), GA_OK);
        cr_assert(false, "refused: %d %s", refused.result, refused.reason);
    }
    cr_assert_eq(got, opcode, "opcode %u instead of %u", got, opcode);
}

void script_expect_end(struct script_conn *conn)
{
    uint16_t got = script_receive(conn);
    cr_assert_eq(got, 0, "opcode %u instead of the end", got);
}

/* ---- an application */

uint32_t script_takes;
bool script_shm, script_tls;
const char *script_rdma;

const char *script_token;

void script_hello(struct script_app *app, const char *url)
{
    static uint32_t next_id;
    memset(app, 0, sizeof *app);
    next_id++;
    memcpy(app->application, &next_id, sizeof next_id);
    script_connect(&app->control, url);
    struct handshake_hello hello = {.magic = WIRE_MAGIC,
                                    .major = WIRE_MAJOR,
                                    .minor = WIRE_MINOR,
                                    .pid = (uint32_t)getpid(),
                                    .build = "test",
                                    .program = "script",
                                    .token = script_token};
    memcpy(hello.application, app->application, sizeof hello.application);
    handshake_hello_write(script_begin(&app->control), &hello);
    script_send(&app->control, WIRE_HELLO, 0, 0);
}

void script_open(struct script_app *app, uint32_t device)
{
    const struct handshake_open open = {.device = device};
    handshake_open_write(script_begin(&app->control), &open);
    script_send(&app->control, WIRE_OPEN, 0, 77);
    script_expect(&app->control, WIRE_TICKET);
    cr_assert_eq(app->control.header.sequence, 77);
    cr_assert_eq(handshake_ticket_read(&app->control.values, &app->ticket), GA_OK);
    snprintf(app->address, sizeof app->address, "%s",
             script_shm ? app->ticket.local : app->ticket.address);
}

void script_connect_backend(struct script_app *app, struct script_conn *conn, bool data)
{
    const struct transport_secret secret = {.ticket_id = app->ticket.id,
                                            .ticket_key = app->ticket.key};
    char why[256] = "", rdma[140];
    snprintf(rdma, sizeof rdma, "rdma%s", app->address + strlen("tcp"));
    connect_by(conn, data && script_rdma != NULL ? rdma : app->address, &secret);
    if (data && (script_shm || script_rdma != NULL)) {
        cr_assert_eq(conn->conn.ops->upgrade(&conn->conn, why, sizeof why), GA_OK, "%s", why);
    }
}

void script_data_hello_fill(const struct script_app *app, struct handshake_data_hello *hello,
                            uint32_t kind, uint32_t device, uint64_t window)
{
    *hello = (struct handshake_data_hello){.magic = WIRE_MAGIC,
                                           .major = WIRE_MAJOR,
                                           .minor = WIRE_MINOR,
                                           .kind = kind,
                                           .device = device};
    memcpy(hello->application, app->application, sizeof hello->application);
    memcpy(hello->id, app->ticket.id, sizeof hello->id);
    memcpy(hello->key, app->ticket.key, sizeof hello->key);
    if (kind == HANDSHAKE_DATA) {
        hello->takes = script_takes;
        hello->window = (struct handshake_window){.base = window,
                                                  .bytes = window != 0 ? SCRIPT_WINDOW_BYTES : 0};
    }
}

void script_app_start(struct script_app *app, const char *url, uint32_t device)
{
    cr_assert_eq(script_app_start_as(app, url, device, NULL, 0), 0);
}

uint32_t script_app_start_as(struct script_app *app, const char *url, uint32_t device,
                             const struct api_signature *signatures, uint32_t count)
{
    struct handshake_data_hello hello;
    struct handshake_data_welcome welcome;
    script_hello(app, url);
    script_expect(&app->control, WIRE_WELCOME);
    script_open(app, device);
    script_connect_backend(app, &app->data, true);
    script_data_hello_fill(app, &hello, HANDSHAKE_DATA, device, SCRIPT_WINDOW);
    hello.signatures = signatures;
    hello.signature_count = count;
    handshake_data_hello_write(script_begin(&app->data), &hello);
    script_send(&app->data, WIRE_DATA_HELLO, 0, 1);
    script_connect_backend(app, &app->side, false);
    script_data_hello_fill(app, &hello, HANDSHAKE_SIDE, device, 0);
    handshake_data_hello_write(script_begin(&app->side), &hello);
    script_send(&app->side, WIRE_DATA_HELLO, 0, 2);
    script_expect(&app->side, WIRE_DATA_WELCOME);
    script_expect(&app->data, WIRE_DATA_WELCOME);
    cr_assert_eq(handshake_data_welcome_read(&app->data.values, &welcome), GA_OK);
    cr_assert_eq(welcome.session, 1);
    uint32_t lacking = welcome.lacking_count;
    if (welcome.window.base != SCRIPT_WINDOW) { /* taken here: take what it offers */
        handshake_window_write(script_begin(&app->data), &welcome.window);
        script_send(&app->data, WIRE_WINDOW, 1, 0);
        script_expect(&app->data, WIRE_DATA_WELCOME);
    }
    app->window = welcome.window.base;
    app->sequence = 1;
    app->context = ga_handle_make(GA_HANDLE_CONTEXT, 1, 1);
    const struct ga_context_create_args create = {.context = app->context};
    ga_context_create_args_write(script_begin(&app->data), &create);
    script_send(&app->data, API_OP_ga_context_create, 1, app->sequence);
    cr_assert_eq(script_wait(app, app->sequence++), 0);
    script_context(app, app->context);
    return lacking;
}

void script_app_close(struct script_app *app)
{
    script_close(&app->data);
    script_close(&app->side);
    script_close(&app->control);
}

int32_t script_wait(struct script_app *app, uint64_t sequence)
{
    uint16_t opcode;
    do {
        opcode = script_receive(&app->data);
    } while (opcode == WIRE_ERROR || opcode == WIRE_FAULT);
    cr_assert_eq(opcode, WIRE_REPLY, "opcode %u", opcode);
    cr_assert_eq(app->data.header.sequence, sequence);
    int32_t result = ga_read_i32(&app->data.values);
    (void)ga_read_u32(&app->data.values);
    return result;
}

int32_t script_map(struct script_app *app, uint64_t address, uint64_t bytes)
{
    const struct ga_memory_map_args args = {.address = address, .bytes = bytes};
    ga_memory_map_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_memory_map, 1, app->sequence);
    return script_wait(app, app->sequence++);
}

int32_t script_unmap(struct script_app *app, uint64_t address, uint64_t bytes, bool wait)
{
    const struct ga_memory_unmap_args args = {
        .address = address, .bytes = bytes, .wait_for_work = wait};
    ga_memory_unmap_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_memory_unmap, 1, app->sequence);
    return script_wait(app, app->sequence++);
}

void script_copy_in(struct script_app *app, uint64_t dst, const void *from, size_t bytes,
                    uint64_t stream)
{
    for (size_t at = 0; at < bytes; at += WIRE_CHUNK) {
        size_t piece = bytes - at < WIRE_CHUNK ? bytes - at : WIRE_CHUNK;
        const struct ga_copy_in_args args = {.dst = dst + at, .bytes = piece, .stream = stream};
        ga_copy_in_args_write(script_begin(&app->data), &args);
        script_send_bulk(&app->data, API_OP_ga_copy_in, 1, app->sequence++,
                         (const uint8_t *)from + at, piece);
    }
}

int32_t script_copy_out(struct script_app *app, uint64_t src, void *to, size_t bytes,
                        uint64_t stream)
{
    const struct ga_copy_out_args args = {.src = src, .bytes = bytes, .stream = stream};
    ga_copy_out_args_write(script_begin(&app->data), &args);
    uint64_t sequence = app->sequence++, due = 0;
    script_send(&app->data, API_OP_ga_copy_out, 1, sequence);
    uint16_t opcode;
    while ((opcode = script_receive(&app->data)) != WIRE_REPLY) {
        if (opcode == WIRE_ERROR || opcode == WIRE_FAULT) {
            continue;
        }
        cr_assert_eq(opcode, WIRE_DATA, "opcode %u", opcode);
        cr_assert_eq(app->data.header.sequence, sequence);
        uint64_t offset = ga_read_u64(&app->data.values);
        uint64_t piece = ga_read_u64(&app->data.values);
        cr_assert_eq(offset, due);
        cr_assert(piece <= WIRE_CHUNK && piece <= bytes - due);
        const void *from = ga_read_array(&app->data.values, piece, 1, 16);
        cr_assert_not_null(from);
        memcpy((uint8_t *)to + offset, from, piece);
        due += piece;
    }
    int32_t result = ga_read_i32(&app->data.values);
    cr_assert(result != 0 || due == bytes);
    return result;
}

int32_t script_stream_synchronize(struct script_app *app, uint64_t stream)
{
    const struct ga_stream_synchronize_args args = {.stream = stream};
    ga_stream_synchronize_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_stream_synchronize, 1, app->sequence);
    return script_wait(app, app->sequence++);
}

uint64_t script_stream(struct script_app *app, uint32_t index)
{
    const struct cuStreamCreate_args args = {.phStream = ga_handle_make(GA_HANDLE_STREAM, 1, index),
                                             .Flags = 1};
    cuStreamCreate_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_cuStreamCreate, 1, app->sequence++);
    return args.phStream;
}

int32_t script_module(struct script_app *app, uint64_t module, const char *image)
{
    const struct ga_module_load_args args = {
        .module = module, .image_bytes = strlen(image), .error_log_bytes = 1000};
    ga_module_load_args_write(script_begin(&app->data), &args);
    script_send_bulk(&app->data, API_OP_ga_module_load, 1, app->sequence, image, strlen(image));
    return script_wait(app, app->sequence++);
}

int32_t script_function(struct script_app *app, uint64_t module, const char *name,
                        uint64_t function)
{
    const struct ga_module_function_args args = {
        .module = module, .name = name, .function = function};
    ga_module_function_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_module_function, 1, app->sequence);
    return script_wait(app, app->sequence++);
}

void script_launch(struct script_app *app, uint64_t function, uint32_t blocks, uint32_t threads,
                   uint64_t stream, const void *params, uint32_t param_bytes)
{
    const struct ga_launch_args args = {.function = function,
                                        .grid = {blocks, 1, 1},
                                        .block = {threads, 1, 1},
                                        .stream = stream,
                                        .param_bytes = param_bytes,
                                        .params = params};
    ga_launch_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_launch, 1, app->sequence++);
}

void script_context(struct script_app *app, uint64_t context)
{
    ga_write_u64(script_begin(&app->data), context);
    script_send(&app->data, WIRE_CONTEXT, 1, 0);
}

int32_t script_share(struct script_app *app, uint64_t address, uint64_t bytes,
                     struct script_shared *shared)
{
    const struct ga_ipc_share_args args = {.address = address, .bytes = bytes};
    struct ga_ipc_share_results results;
    ga_ipc_share_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_ipc_share, 1, app->sequence);
    int32_t rc = script_wait(app, app->sequence++);
    if (rc == 0) {
        ga_ipc_share_results_read(&app->data.values, &results);
        *shared = (struct script_shared){
            .bytes = bytes, .offset = results.offset, .mapping_bytes = results.mapping_bytes};
        memcpy(shared->key, results.key, sizeof shared->key);
    }
    return rc;
}

int32_t script_open_shared(struct script_app *app, const struct script_shared *shared,
                           uint64_t address)
{
    struct ga_ipc_open_args args = {.address = address,
                                    .bytes = shared->bytes,
                                    .offset = shared->offset,
                                    .mapping_bytes = shared->mapping_bytes};
    memcpy(args.key, shared->key, sizeof args.key);
    ga_ipc_open_args_write(script_begin(&app->data), &args);
    script_send(&app->data, API_OP_ga_ipc_open, 1, app->sequence);
    return script_wait(app, app->sequence++);
}
