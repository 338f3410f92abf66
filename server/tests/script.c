/* The scripted client. */
#include "server/tests/script.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/handle.h"

#define LIMIT_MS 20000

/* ---- gpuaasd */

static void server_read(struct script_server *server, int timeout_ms)
{
    struct pollfd fd = {.fd = server->log, .events = POLLIN};
    size_t used = strlen(server->text);
    if (poll(&fd, 1, timeout_ms) == 1 && used + 1 < sizeof server->text) {
        ssize_t got = read(server->log, server->text + used, sizeof server->text - used - 1);
        if (got > 0) {
            server->text[used + (size_t)got] = 0;
        } else {
            usleep(1000); /* its end */
        }
    }
}

void script_server_says(struct script_server *server, const char *part)
{
    uint64_t until = ga_clock_ns() + LIMIT_MS * GA_NS_PER_MS;
    while (strstr(server->text, part) == NULL) {
        cr_assert(ga_clock_ns() < until, "gpuaasd never said \"%s\":\n%s", part, server->text);
        server_read(server, 100);
    }
}

void script_server_drain(struct script_server *server)
{
    struct pollfd fd = {.fd = server->log, .events = POLLIN};
    while (poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN) != 0) {
        server_read(server, 0);
    }
}

void script_server_start(struct script_server *server, const char *more)
{
    script_server_start_with(server, more, "256MiB");
}

void script_server_start_with(struct script_server *server, const char *more, const char *memory)
{
    int ends[2];
    *server = (struct script_server){.config = "/tmp/gpuaas-server-test-XXXXXX"};
    int file = mkstemp(server->config);
    cr_assert(file >= 0);
    dprintf(file,
            "[server]\nlisten = tcp://%s:0\ndata_ports = 0\n%s%s"
            "[gpu.0]\ndriver = soft\nname = one\nmemory = %s\n"
            "[gpu.1]\ndriver = soft\nname = two\nmemory = 64MiB\n",
            script_rdma != NULL ? script_rdma : "127.0.0.1",
            strstr(more, "spare_backends") == NULL ? "spare_backends = 0\n" : "", more, memory);
    close(file);
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    server->pid = fork();
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails stops nothing */
        dup2(ends[1], STDERR_FILENO);
        execl(GPUAASD_PATH, "gpuaasd", "--config", server->config, NULL);
        _exit(127);
    }
    close(ends[1]);
    server->log = ends[0];
    script_server_says(server, "ready tcp://");
    const char *url = strstr(server->text, "ready ") + strlen("ready ");
    script_server_says(server, "\n");
    memcpy(server->url, url, strcspn(url, "\n"));
}

void script_server_stop(struct script_server *server)
{
    int status = 0;
    kill(server->pid, SIGTERM);
    uint64_t until = ga_clock_ns() + LIMIT_MS * GA_NS_PER_MS;
    while (waitpid(server->pid, &status, WNOHANG) == 0) {
        cr_assert(ga_clock_ns() < until, "gpuaasd does not end:\n%s", server->text);
        server_read(server, 10);
    }
    script_server_drain(server);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x:\n%s", (unsigned)status,
              server->text);
    cr_expect_null(strstr(server->text, "Sanitizer"), "%s", server->text);
    cr_expect_null(strstr(server->text, "runtime error"), "%s", server->text);
    close(server->log);
    unlink(server->config);
}

unsigned script_server_backends(const struct script_server *server, pid_t *pids, unsigned most)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", server->pid, server->pid);
    FILE *file = fopen(path, "re");
    int pid;
    while (file != NULL && fscanf(file, "%d", &pid) == 1) {
        if (count < most) {
            pids[count] = pid;
        }
        count++;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

void script_server_wait_backends(const struct script_server *server, unsigned count)
{
    uint64_t until = ga_clock_ns() + LIMIT_MS * GA_NS_PER_MS;
    unsigned now;
    while ((now = script_server_backends(server, NULL, 0)) != count) {
        cr_assert(ga_clock_ns() < until, "%u backend processes, not %u", now, count);
        usleep(5000);
    }
}

unsigned script_server_descriptors(const struct script_server *server)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", server->pid);
    DIR *folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

/* ---- one connection */

static void conn_sleep(struct script_conn *conn, short wanted)
{
    struct pollfd fds[TRANSPORT_AWAIT_MOST];
    unsigned count = conn->conn.ops->await(&conn->conn, wanted, fds);
    cr_assert(count == 0 || poll(fds, count, LIMIT_MS) > 0, "nothing happens in time");
}

void script_connect(struct script_conn *conn, const char *url)
{
    struct transport_address address;
    char why[300] = "";
    memset(conn, 0, sizeof *conn);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(transport_connect(&address, LIMIT_MS, &conn->conn, why, sizeof why), GA_OK, "%s",
                 why);
    cr_assert_eq(frame_reader_init(&conn->reader, 1u << 20), GA_OK);
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
bool script_shm;
const char *script_rdma;

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
                                    .token = NULL};
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
    char why[256] = "", rdma[140];
    bool wide = script_shm || script_rdma != NULL;
    snprintf(rdma, sizeof rdma, "rdma%s", app->address + strlen("tcp"));
    script_connect(&app->data, script_rdma != NULL ? rdma : app->address);
    cr_assert(!wide || app->data.conn.ops->widen(&app->data.conn, why, sizeof why) == GA_OK);
    script_data_hello_fill(app, &hello, HANDSHAKE_DATA, device, SCRIPT_WINDOW);
    hello.signatures = signatures;
    hello.signature_count = count;
    handshake_data_hello_write(script_begin(&app->data), &hello);
    script_send(&app->data, WIRE_DATA_HELLO, 0, 1);
    script_connect(&app->side, app->address);
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
        script_send(&app->data, WIRE_WINDOW, 1, 3);
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
