/* SPDX-License-Identifier: Apache-2.0 */
/* The dialogue of gpuaasd with its clients, with administrators over the network, and with fake
 * backend processes, whose messages come from the input as well. */
#include <sys/socket.h>
#include <unistd.h>

#include "api/wire.h"
#include "base/log.h"
#include "server/admin/admin.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/usage/gpu_times.h"
#include "tests/fuzz/fake_spawn.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/remote_admin.h"
#include "transport/frame.h"
#include "transport/tcp.h"

#define CLIENTS     3u
#define ADMINS_FROM 28u /* of the numbers from 0 to 31 that a step has */

/* A client's end of a control connection. */
struct client {
    bool open;
    bool admin;         /* an administrator, who has been let in: lines go to and fro */
    bool begins_a_line; /* the next byte from there */
    struct transport_conn conn;
    struct frame_reader reader;
};

static struct conf conf;
static struct gpuaasd gpuaasd;
static struct client clients[CLIENTS];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char text[] = "[server]\nlisten = tcp://127.0.0.1:0\nclients = 2\n"
                               "pending_connections = 16\n"
                               "[gpu.0]\ndriver = soft\n[gpu.1]\ndriver = nvidia\n";
    (void)argc;
    (void)argv;
    ga_log_set_level(GA_LOG_ERROR);
    FUZZ_CHECK(conf_read_text("text", text, &conf, NULL, NULL) == GA_OK);
    gpuaasd.conf = &conf;
    gpuaasd.processes.seats = 1;
    FUZZ_CHECK(uv_loop_init(&gpuaasd.loop) == 0);
    loop_timers_init(&gpuaasd.timers, &gpuaasd.loop);
    processes_init(&gpuaasd.processes, &gpuaasd.loop, &gpuaasd.timers.timers, gpuaasd.conf);
    gpuaasd.storage.conf = &conf;
    access_init(&gpuaasd.access, &gpuaasd.loop, &gpuaasd.timers.timers, &conf, &gpuaasd.storage);
    usage_init(&gpuaasd.usage, &gpuaasd.processes, &gpuaasd.storage);
    applications_init(&gpuaasd.applications, &gpuaasd.processes, &gpuaasd.usage, &gpuaasd.access,
                      NULL);
    FUZZ_CHECK(clients_init(&gpuaasd.clients, &gpuaasd.applications,
                            conf.server.backend.pending_connections, admin_room.network) == GA_OK);
    monitoring_init(&gpuaasd.monitoring, &gpuaasd.clients);
    remote_admin_init(&gpuaasd);
    FUZZ_CHECK(devices_init(&gpuaasd.processes.devices, &conf) == GA_OK);
    for (uint32_t i = 0; i < 2; i++) {
        struct channel_facts facts = {.kind = CHANNEL_FACTS, .device = i, .attribute_count = 3};
        snprintf(facts.name, sizeof facts.name, "GPU %u", i);
        facts.uuid[0] = (uint8_t)i;
        FUZZ_CHECK(devices_learn(&gpuaasd.processes.devices, &facts));
    }
    devices_publish(&gpuaasd.processes.devices);
    FUZZ_CHECK(gpuaasd.processes.devices.visible_count == 2);
    return 0;
}

/* ---- clients */

static void client_close(struct client *client)
{
    if (client->open) {
        client->conn.ops->close(&client->conn);
        frame_reader_fini(&client->reader);
        client->open = false;
    }
}

/* `n`: of whom; the last ones are administrators, by a connection that is encrypted. */
static void client_connect(struct client *client, unsigned n)
{
    int ends[2];
    client_close(client);
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    const struct transport_conn theirs =
        n >= ADMINS_FROM ? remote_admin_conn(ends[1], (enum remote_admin_who)(n - ADMINS_FROM))
                         : (struct transport_conn){.ops = &transport_tcp, .fd = ends[1]};
    client->conn = (struct transport_conn){.ops = &transport_tcp, .fd = ends[0]};
    FUZZ_CHECK(frame_reader_init(&client->reader, 2 * WIRE_HANDSHAKE_MAX) == GA_OK);
    client->open = true;
    client->admin = false;
    client->begins_a_line = true;
    control_client_accept(&gpuaasd.clients, &theirs, n >= ADMINS_FROM);
}

static void client_send(struct client *client, const void *bytes, size_t size)
{
    struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    size_t sent;
    if (client->open && size != 0) {
        (void)!client->conn.ops->send(&client->conn, &piece, 1, &sent);
    }
}

static void client_say(struct client *client, uint16_t opcode, const struct ga_writer *values)
{
    _Alignas(16) uint8_t frame[1024];
    const struct wire_header header = {
        .length = (uint32_t)values->at, .opcode = opcode, .sequence = 1};
    memcpy(frame, &header, sizeof header);
    memcpy(frame + sizeof header, values->data, values->at);
    client_send(client, frame, sizeof header + values->at);
}

/* An answer of gpuaasd is a message that a client understands. */
static void answer_check(const struct wire_header *header, const uint8_t *values)
{
    static struct handshake_device devices[HANDSHAKE_DEVICES_MAX];
    struct ga_reader reader = ga_reader_of(values, header->length);
    struct handshake_welcome welcome = {.devices = devices};
    struct handshake_refused refused;
    struct handshake_ticket ticket;
    switch (header->opcode) {
    case WIRE_WELCOME:
        FUZZ_CHECK(handshake_welcome_read(&reader, &welcome) == GA_OK);
        FUZZ_CHECK(welcome.device_count == 2);
        break;
    case WIRE_REFUSED:
        FUZZ_CHECK(handshake_refused_read(&reader, &refused) == GA_OK && refused.reason[0] != 0);
        break;
    default:
        FUZZ_CHECK(header->opcode == WIRE_TICKET);
        FUZZ_CHECK(handshake_ticket_read(&reader, &ticket) == GA_OK);
    }
}

/* An administrator gets lines of JSON. */
static void admin_listen(struct client *client)
{
    char bytes[4096];
    size_t got;
    while (client->conn.ops->receive(&client->conn, bytes, sizeof bytes, &got) == GA_OK) {
        for (size_t i = 0; i < got; i++) {
            FUZZ_CHECK(!client->begins_a_line || bytes[i] == '{');
            client->begins_a_line = bytes[i] == '\n';
        }
    }
}

static void client_listen(struct client *client)
{
    struct wire_header header;
    const uint8_t *values;
    enum ga_status status = GA_OK;
    while (client->open && !client->admin && status == GA_OK) {
        while ((status = frame_next(&client->reader, &header, &values)) == GA_OK) {
            client->admin = header.opcode == WIRE_ADMIN;
            if (!client->admin) {
                answer_check(&header, values);
            }
            frame_drop(&client->reader);
        }
        FUZZ_CHECK(status == GA_AGAIN);
        status = frame_fill(&client->reader, &client->conn);
    }
    if (client->open && client->admin) {
        admin_listen(client);
    }
}

/* ---- the script */

static void hello(struct client *client, uint16_t opcode, struct fuzz_input *input)
{
    static const char *const programs[] = {"", "a", "a program with a longer name", "%s%n"};
    _Alignas(16) uint8_t room[512];
    struct ga_writer writer = ga_writer_of(room, sizeof room);
    uint8_t kind = fuzz_u8(input);
    struct handshake_hello message = {.magic = WIRE_MAGIC,
                                      .major = kind >= 0xf0 ? kind : WIRE_MAJOR,
                                      .pid = kind,
                                      .build = "0",
                                      .program = programs[kind % 4]};
    message.application[0] = kind / 4 % 4;
    handshake_hello_write(&writer, &message);
    client_say(client, opcode, &writer);
}

static void open_device(struct client *client, struct fuzz_input *input)
{
    _Alignas(16) uint8_t room[64];
    struct ga_writer writer = ga_writer_of(room, sizeof room);
    const struct handshake_open message = {.device = fuzz_u8(input) % 3u};
    handshake_open_write(&writer, &message);
    client_say(client, WIRE_OPEN, &writer);
}

/* A packet of a backend process. `n`: which process, and what kind of packet. */
static void packet(unsigned n, struct fuzz_input *input)
{
    union channel_packet packet = {0};
    size_t size = sizeof packet;
    uint8_t number = fuzz_u8(input);
    switch (n / 8) {
    case 0:
        packet.ready.kind = CHANNEL_READY;
        size = sizeof packet.ready;
        snprintf(packet.ready.url, sizeof packet.ready.url, "tcp://127.0.0.1:%u", number);
        break;
    case 1:
        packet.failed.kind = CHANNEL_FAILED;
        size = sizeof packet.failed;
        packet.failed.result = number + 1;
        snprintf(packet.failed.reason, sizeof packet.failed.reason, "no");
        break;
    case 2:
        packet.idle.kind = CHANNEL_IDLE;
        size = sizeof packet.idle;
        packet.idle.tickets = number % 4;
        break;
    default: /* also what no backend process says */
        packet.kind = number < 16 ? CHANNEL_WARM : number;
        size = sizeof packet.bare;
    }
    fake_spawn_says(n % 8, &packet, size);
}

/* One byte says what happens, and to whom: n. */
static void step(struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input);
    unsigned n = what >> 3;
    struct client *client = &clients[n % CLIENTS];
    switch (what & 7) {
    case 0:
        client_connect(client, n);
        break;
    case 1:
        hello(client, n >= ADMINS_FROM ? WIRE_ADMIN : WIRE_HELLO, input);
        break;
    case 2:
        open_device(client, input);
        break;
    case 3:
        packet(n, input);
        break;
    case 4:
        fake_spawn_exits(n % 8, (int)(n / 8));
        break;
    case 5:
        client_close(client);
        break;
    case 6: {
        size_t size = fuzz_u8(input);
        size = size < input->left ? size : input->left;
        client_send(client, fuzz_take(input, size), size);
        break;
    }
    default:
        fake_spawn_fail_next();
    }
    for (int turn = 0; turn < 3; turn++) {
        (void)uv_run(&gpuaasd.loop, UV_RUN_NOWAIT);
    }
    client_listen(client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    conf.server.spare_backends = fuzz_u8(&input) % 3;
    remote_admin_begin(&gpuaasd);
    processes_begin(&gpuaasd.processes);
    while (input.left != 0) {
        step(&input);
    }
    clients_close(&gpuaasd.clients);
    processes_end(&gpuaasd.processes, false);
    fake_spawn_end();
    remote_admin_end(&gpuaasd);
    timers_run(&gpuaasd.timers.timers);                     /* seats go */
    FUZZ_CHECK(uv_run(&gpuaasd.loop, UV_RUN_DEFAULT) == 0); /* all handles are closed */
    FUZZ_CHECK(gpuaasd.processes.count == 0 && gpuaasd.clients.count == 0 &&
               ga_list_empty(&gpuaasd.clients.all) && ga_list_empty(&gpuaasd.applications.all));
    for (unsigned i = 0; i < CLIENTS; i++) {
        client_close(&clients[i]);
    }
    return 0;
}
