/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers there are, and the devices that they give: asked all at once, at cuInit, within two
 * seconds. A server that does not answer is reported and skipped. */
#include "client/session/servers.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "client/conn/greeting.h"
#include "client/process/environment.h"
#include "client/process/process.h"
#include "client/process/trace.h"
#include "client/session/server_answers.h"
#include "client/session/server_devices.h"
#include "client/session/ticket.h"
#include "front/front.h"

#define SERVERS_MAX    256
#define ANSWER_NS      (2 * GA_NS_PER_S)
#define CONTROL_BUFFER (2 * WIRE_HANDSHAKE_MAX)

uint8_t client_application[16];

enum attempt_state { CONNECTING, ASKED, ANSWERED, FAILED };

struct attempt {
    enum attempt_state state;
    bool guess; /* that the program will use the first device: see ticket.c */
    char text[300];
    char why[300];
    CUresult result; /* what a refusal said */
    struct client_server *server;
    struct handshake_welcome welcome; /* lent from the reader's buffer */
};

static void fail(struct attempt *attempt, const char *why)
{
    attempt->state = FAILED;
    if (why != NULL) {
        snprintf(attempt->why, sizeof attempt->why, "%s", why);
    }
    if (attempt->server != NULL) {
        struct transport_conn *transport = &attempt->server->control;
        if (transport->ops != NULL && transport->fd >= 0) {
            transport->ops->close(transport);
        }
        frame_reader_fini(&attempt->server->reader);
        free(attempt->server);
        attempt->server = NULL;
    }
}

static void servers_begin(struct attempt *attempt)
{
    struct transport_address address;
    if (transport_address_parse(attempt->text, WIRE_DEFAULT_PORT, &address, attempt->why,
                                sizeof attempt->why) != GA_OK) {
        fail(attempt, NULL);
        return;
    }
    bool tls = transport_address_is(&address, "tls");
    if (client_environment_transport() == CLIENT_TRANSPORT_TLS && !tls) {
        fail(attempt, "GPUAAS_TRANSPORT=tls, and there is no tls:// in front of it");
        return;
    }
    attempt->server = calloc(1, sizeof *attempt->server);
    if (attempt->server == NULL ||
        frame_reader_init(&attempt->server->reader, CONTROL_BUFFER) != GA_OK) {
        fail(attempt, "no memory");
        return;
    }
    attempt->server->control.fd = -1;
    attempt->server->tls = tls;
    address.secret = client_environment_secret();
    snprintf(attempt->server->address, sizeof attempt->server->address, "%s", attempt->text);
    if (address.ops->connect_begin(&address, &attempt->server->control, attempt->why,
                                   sizeof attempt->why) != GA_OK) {
        fail(attempt, NULL);
    }
}

/* The token for a server; NULL where the network could overhear it, because nothing is encrypted.
 */
static const char *token_for(const struct attempt *attempt)
{
    const struct client_server *server = attempt->server;
    struct transport_address address;
    char why[300];
    if (transport_address_parse(attempt->text, WIRE_DEFAULT_PORT, &address, why, sizeof why) !=
        GA_OK) {
        return NULL;
    }
    const char *token = client_environment_token(address.host, address.port);
    if (token == NULL || server->tls || transport_is_here(&server->control)) {
        return token;
    }
    if (client_environment_token_in_clear()) {
        ga_warn("%s is told the token, and the connection is not encrypted: who reads the network "
                "can use it (GPUAAS_TOKEN_IN_CLEAR)",
                server->address);
        return token;
    }
    ga_warn("%s is not told the token: the connection is not encrypted. Where the server listens "
            "with TLS, put tls:// in front of it",
            server->address);
    return NULL;
}

static void servers_say_hello(struct attempt *attempt, uint64_t deadline_ns)
{
    struct client_server *server = attempt->server;
    enum ga_status status =
        server->control.ops->connect_end(&server->control, attempt->why, sizeof attempt->why);
    if (status == GA_AGAIN) {
        return;
    }
    struct client_frame frame;
    if (status != GA_OK || client_frame_begin(&frame) != GA_OK) {
        fail(attempt, status != GA_OK ? NULL : "no memory");
        return;
    }
    (void)GA_FAILPOINT("client: connected");
    struct handshake_hello hello = {.magic = WIRE_MAGIC,
                                    .major = WIRE_MAJOR,
                                    .minor = WIRE_MINOR,
                                    .pid = (uint32_t)getpid(),
                                    .build = GPUAAS_VERSION,
                                    .program = program_invocation_short_name,
                                    .token = token_for(attempt)};
    memcpy(hello.application, client_application, sizeof hello.application);
    handshake_hello_write(&frame.writer, &hello);
    status = client_frame_send(&frame, WIRE_HELLO, 0, 0, &server->control, deadline_ns,
                               attempt->why, sizeof attempt->why);
    client_frame_end(&frame);
    if (status == GA_OK && attempt->guess) {
        /* It may have refused and closed already: what it has said is read all the same. */
        bool asked = client_ticket_ask(server, 0, deadline_ns, NULL, 0) == GA_OK;
        server->guessed_ns = asked ? ga_clock_ns() : 0;
    }
    if (status != GA_OK) {
        fail(attempt, NULL);
        return;
    }
    (void)GA_FAILPOINT("client: hello sent");
    attempt->state = ASKED;
}

static void read_refused(struct attempt *attempt, struct ga_reader *values)
{
    struct handshake_refused refused;
    char why[sizeof attempt->why] = "it refused, and did not say why";
    if (handshake_refused_read(values, &refused) == GA_OK) {
        attempt->result = front_result_of(refused.result);
        snprintf(why, sizeof why, "%s", refused.reason);
    }
    fail(attempt, why);
}

static void read_welcome(struct attempt *attempt, struct ga_reader *values)
{
    attempt->welcome.devices = calloc(HANDSHAKE_DEVICES_MAX, sizeof(struct handshake_device));
    if (attempt->welcome.devices == NULL ||
        handshake_welcome_read(values, &attempt->welcome) != GA_OK) {
        fail(attempt, CLIENT_GREETING_FOREIGN);
        return;
    }
    if (attempt->welcome.major != WIRE_MAJOR) {
        char why[200];
        snprintf(why, sizeof why,
                 "it speaks protocol %u (gpuaas %.64s), this library protocol %u (gpuaas %s): "
                 "upgrade %s",
                 attempt->welcome.major, attempt->welcome.build, WIRE_MAJOR, GPUAAS_VERSION,
                 attempt->welcome.major < WIRE_MAJOR ? "gpuaasd there" : "this library");
        attempt->result = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
        fail(attempt, why);
        return;
    }
    (void)GA_FAILPOINT("client: welcome read");
    attempt->state = ANSWERED;
}

static void read_answer(struct attempt *attempt)
{
    struct client_server *server = attempt->server;
    struct wire_header header;
    const uint8_t *at;
    enum ga_status status = frame_next(&server->reader, &header, &at);
    while (status == GA_AGAIN) {
        status = frame_fill(&server->reader, &server->control);
        if (status == GA_AGAIN) {
            return;
        }
        if (status == GA_OK) {
            status = frame_next(&server->reader, &header, &at);
        }
    }
    if (status != GA_OK) {
        fail(attempt, client_greeting_cause(&server->control, status));
        return;
    }
    struct ga_reader values = ga_reader_of(at, header.length);
    if (header.opcode == WIRE_WELCOME) {
        read_welcome(attempt, &values);
    } else if (header.opcode == WIRE_REFUSED) {
        read_refused(attempt, &values);
    } else {
        fail(attempt, CLIENT_GREETING_FOREIGN);
    }
}

static bool is_waiting(const struct attempt *attempt)
{
    return attempt->state == CONNECTING || attempt->state == ASKED;
}

/* Collects the descriptors that the attempts wait for; false: some need not wait. */
static bool servers_watch_all(struct attempt *attempts, int count, struct pollfd *at, nfds_t *used)
{
    bool sleep = true;
    *used = 0;
    for (int i = 0; i < count; i++) {
        if (is_waiting(&attempts[i])) {
            struct transport_conn *transport = &attempts[i].server->control;
            unsigned more = /* NOLINTNEXTLINE: it has a server in these states */
                transport->ops->poll_prepare(
                    transport, attempts[i].state == CONNECTING ? POLLOUT : POLLIN, at + *used);
            sleep &= more != 0;
            *used += more;
        }
    }
    return sleep;
}

static void ask_all(struct attempt *attempts, int count)
{
    uint64_t deadline_ns = ga_clock_ns() + ANSWER_NS;
    for (int i = 0; i < count; i++) {
        servers_begin(&attempts[i]);
    }
    for (;;) {
        struct pollfd at[SERVERS_MAX * TRANSPORT_POLL_MAX];
        nfds_t used = 0;
        bool waiting = false;
        for (int i = 0; i < count; i++) {
            waiting |= is_waiting(&attempts[i]);
        }
        uint64_t now = ga_clock_ns();
        if (!waiting || now >= deadline_ns) {
            break;
        }
        if (servers_watch_all(attempts, count, at, &used)) {
            (void)poll(at, used, (int)((deadline_ns - now) / GA_NS_PER_MS) + 1);
        }
        for (int i = 0; i < count; i++) { /* who is not ready says so */
            if (attempts[i].state == CONNECTING) {
                servers_say_hello(&attempts[i], deadline_ns);
            } else if (attempts[i].state == ASKED) {
                read_answer(&attempts[i]);
            }
        }
    }
    for (int i = 0; i < count; i++) {
        if (is_waiting(&attempts[i])) {
            fail(&attempts[i],
                 attempts[i].state == CONNECTING
                     ? "no answer within 2 s; is it up, does a firewall let this port through?"
                     : "no answer within 2 s; it takes connections, but is it gpuaasd?");
        }
    }
}

static int servers_split(const char *text, struct attempt *attempts)
{
    int count = 0;
    while (*text != 0 && count < SERVERS_MAX) {
        text += strspn(text, ", \t");
        size_t whole = strcspn(text, ","), length = whole;
        while (length != 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
            length--;
        }
        if (length != 0) { /* what does not fit is longer than any address may be, and is refused */
            snprintf(attempts[count].text, sizeof attempts[count].text, "%.*s", (int)length, text);
            count++;
        }
        text += whole;
    }
    if (text[strspn(text, ", \t")] != 0) {
        ga_warn(ENVIRONMENT_SERVERS " names more than %d servers: the rest is left out",
                SERVERS_MAX);
    }
    return count;
}

/* ---- all of them */

/* It stays open from here on. */
static void control_begin(struct client_server *server)
{
    frame_drop(&server->reader); /* the welcome */
    client_process_own(server->control.fd);
    if (server->control.ops->set_dead_after(&server->control,
                                            client_environment_dead_after_s() * 1000) != GA_OK) {
        ga_debug("the connection to %s cannot tell by itself that it is gone", server->address);
    }
    atomic_fetch_add(&server->connected, 1);
    atomic_store(&server->watched_fd, server->control.fd);
}

static void accept_server(struct attempt *attempt)
{
    struct client_server *server = attempt->server;
    client_server_answers_add(attempt->text, server, "");
    pthread_mutex_init(&server->control_lock, NULL);
    control_begin(server);
    client_servers_add(server, &attempt->welcome);
}

/* One line when nobody answered, one per silent server when others did. */
static CUresult report(const struct attempt *attempts, int count)
{
    static atomic_bool told;
    char line[2048];
    size_t used = 0;
    int answered = 0;
    CUresult refusal = CUDA_ERROR_NO_DEVICE;
    for (int i = 0; i < count; i++) {
        answered += attempts[i].state == ANSWERED;
        refusal = attempts[i].result != CUDA_SUCCESS ? attempts[i].result : refusal;
    }
    for (int i = 0; i < count; i++) {
        if (attempts[i].state != FAILED || attempts[i].why[0] == 0) {
            continue;
        }
        if (answered != 0) {
            ga_log_write(NULL, client_server_answers_level(GA_LOG_WARN), NULL,
                         "server %s is left out: %s", attempts[i].text, attempts[i].why);
        } else if (used < sizeof line - 1) {
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s (%s)",
                                     used != 0 ? ", " : "", attempts[i].text, attempts[i].why);
        }
    }
    if (answered != 0) {
        return CUDA_SUCCESS;
    }
    if (!atomic_exchange(&told, true)) {
        ga_log(client_server_answers_level(GA_LOG_ERROR),
               "no server of " ENVIRONMENT_SERVERS " can be used: %s", line);
    }
    return refusal;
}

static CUresult ask_servers(const char *servers)
{
    struct attempt *attempts = calloc(SERVERS_MAX, sizeof *attempts);
    if (attempts == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    int count = servers_split(servers, attempts);
    client_server_answers_begin();
    attempts[0].guess = !client_servers_choose_device();
    ask_all(attempts, count);
    CUresult rc = report(attempts, count);
    for (int i = 0; i < count; i++) {
        struct handshake_device *devices = attempts[i].welcome.devices;
        if (attempts[i].server != NULL) {
            accept_server(&attempts[i]);
        } else {
            client_server_answers_add(attempts[i].text, NULL, attempts[i].why);
        }
        free(devices);
    }
    bool any_tls = false;
    for (const struct client_server *at = client_servers; at != NULL; at = at->next) {
        any_tls |= at->tls;
    }
    /* connecting, perhaps encrypting, and the greeting; of all servers at once */
    client_trace_setup(any_tls ? 3 : 2);
    free(attempts);
    return rc;
}

CUresult client_servers_connect(void)
{
    static atomic_bool told;
    const char *servers = getenv(ENVIRONMENT_SERVERS);
    if (servers == NULL || servers[strspn(servers, ", \t")] == 0) {
        if (!atomic_exchange(&told, true)) {
            ga_error(ENVIRONMENT_SERVERS " is not set: it names the servers whose GPUs to use, for "
                                         "example " ENVIRONMENT_SERVERS "=gpu1,gpu2:9955");
        }
        return CUDA_ERROR_NO_DEVICE;
    }
    if (getrandom(client_application, sizeof client_application, 0) !=
        (ssize_t)sizeof client_application) {
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    CU_TRY(ask_servers(servers));
    client_servers_choose();
    return client_device_count != 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

/* ---- again */

static bool control_has_ended(const struct client_server *server)
{
    struct pollfd at = {.fd = server->control.fd, .events = POLLRDHUP};
    return poll(&at, 1, 0) != 0;
}

/* Takes the connection of `made`, and frees the rest. */
static void control_replace(struct client_server *server, struct client_server *made)
{
    atomic_store(&server->watched_fd, -1);
    client_process_disown(server->control.fd);
    server->control.ops->close(&server->control);
    frame_reader_fini(&server->reader);
    server->control = made->control;
    server->reader = made->reader;
    server->guessed_ns = 0;
    free(made);
    control_begin(server);
}

enum ga_status client_servers_connect_again(struct client_server *server, char *why,
                                            size_t why_size)
{
    enum ga_status status = GA_OK;
    if (control_has_ended(server)) {
        struct attempt *attempt = calloc(1, sizeof *attempt);
        if (attempt == NULL) {
            snprintf(why, why_size, "no memory");
            return GA_NO_MEMORY;
        }
        snprintf(attempt->text, sizeof attempt->text, "%s", server->address);
        ask_all(attempt, 1);
        if (attempt->state == ANSWERED && !client_servers_same(server, &attempt->welcome)) {
            fail(attempt, "it has other devices than before: start the program anew");
        }
        if (attempt->state == ANSWERED) {
            control_replace(server, attempt->server);
        } else {
            snprintf(why, why_size, "%s", attempt->why);
            status = GA_LOST;
        }
        free(attempt->welcome.devices);
        free(attempt);
    }
    if (status == GA_OK) {
        atomic_store(&server->lost, false);
    }
    return status;
}
