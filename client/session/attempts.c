/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/attempts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "client/conn/greeting.h"
#include "client/process/environment.h"
#include "client/session/servers.h"
#include "client/session/silent_servers.h"
#include "client/session/ticket.h"
#include "front/front.h"

#define CONNECT_NS     (2 * GA_NS_PER_S)    /* until the other machine takes the connection */
#define SILENT_NS      (200 * GA_NS_PER_MS) /* for a server that nobody need wait for */
#define CONTROL_BUFFER (2 * WIRE_HANDSHAKE_MAX)

void client_attempt_fail(struct attempt *attempt, const char *why)
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

static void attempt_begin(struct attempt *attempt)
{
    struct transport_address address;
    if (transport_address_parse(attempt->text, WIRE_DEFAULT_PORT, &address, attempt->why,
                                sizeof attempt->why) != GA_OK) {
        client_attempt_fail(attempt, NULL);
        return;
    }
    bool tls = transport_address_is(&address, "tls");
    if (client_environment_transport() == CLIENT_TRANSPORT_TLS && !tls) {
        client_attempt_fail(attempt, "GPUAAS_TRANSPORT=tls, and there is no tls:// in front of it");
        return;
    }
    attempt->server = calloc(1, sizeof *attempt->server);
    if (attempt->server == NULL ||
        frame_reader_init(&attempt->server->reader, CONTROL_BUFFER) != GA_OK) {
        client_attempt_fail(attempt, "no memory");
        return;
    }
    attempt->server->control.fd = -1;
    attempt->server->tls = tls;
    attempt->server->observed = attempt->observes;
    address.secret = client_environment_secret();
    snprintf(attempt->server->address, sizeof attempt->server->address, "%s", attempt->text);
    if (address.ops->connect_begin(&address, &attempt->server->control, attempt->why,
                                   sizeof attempt->why) != GA_OK) {
        client_attempt_fail(attempt, NULL);
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

static void attempt_say_hello(struct attempt *attempt, uint64_t deadline_ns)
{
    struct client_server *server = attempt->server;
    enum ga_status status =
        server->control.ops->connect_end(&server->control, attempt->why, sizeof attempt->why);
    if (status == GA_AGAIN) {
        return;
    }
    struct client_frame frame;
    if (status != GA_OK || client_frame_begin(&frame) != GA_OK) {
        client_attempt_fail(attempt, status != GA_OK ? NULL : "no memory");
        return;
    }
    (void)GA_FAILPOINT("client: connected");
    struct handshake_hello hello = {.magic = WIRE_MAGIC,
                                    .major = WIRE_MAJOR,
                                    .minor = WIRE_MINOR,
                                    .pid = (uint32_t)getpid(),
                                    .build = GPUAAS_VERSION,
                                    .program = program_invocation_short_name,
                                    .token = token_for(attempt),
                                    .takes = attempt->observes ? HANDSHAKE_HELLO_OBSERVER : 0};
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
        client_attempt_fail(attempt, NULL);
        return;
    }
    (void)GA_FAILPOINT("client: hello sent");
    attempt->state = ASKED;
}

static void attempt_refused(struct attempt *attempt, struct ga_reader *values)
{
    struct handshake_refused refused;
    char why[sizeof attempt->why] = "it refused, and did not say why";
    if (handshake_refused_read(values, &refused) == GA_OK) {
        attempt->result = front_result_of(refused.result);
        snprintf(why, sizeof why, "%s", refused.reason);
    }
    client_attempt_fail(attempt, why);
}

static void attempt_welcome(struct attempt *attempt, struct ga_reader *values)
{
    attempt->welcome.devices = calloc(HANDSHAKE_DEVICES_MAX, sizeof(struct handshake_device));
    if (attempt->welcome.devices == NULL ||
        handshake_welcome_read(values, &attempt->welcome) != GA_OK) {
        client_attempt_fail(attempt, CLIENT_GREETING_FOREIGN);
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
        client_attempt_fail(attempt, why);
        return;
    }
    (void)GA_FAILPOINT("client: welcome read");
    attempt->state = ANSWERED;
}

static void attempt_read(struct attempt *attempt)
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
        client_attempt_fail(attempt, client_greeting_cause(&server->control, status));
        return;
    }
    struct ga_reader values = ga_reader_of(at, header.length);
    if (header.opcode == WIRE_WELCOME) {
        attempt_welcome(attempt, &values);
    } else if (header.opcode == WIRE_REFUSED) {
        attempt_refused(attempt, &values);
    } else {
        client_attempt_fail(attempt, CLIENT_GREETING_FOREIGN);
    }
}

static bool is_waiting(const struct attempt *attempt)
{
    return attempt->state == CONNECTING || attempt->state == ASKED;
}

/* Collects the descriptors that the attempts wait for; false: some need not wait. */
static bool attempts_watch(struct attempt *attempts, int count, struct pollfd *at, nfds_t *used)
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

/* ---- how long */

static bool any_has(const struct attempt *attempts, int count, enum attempt_state state)
{
    bool any = false;
    for (int i = 0; i < count; i++) {
        any |= attempts[i].state == state;
    }
    return any;
}

/* How long this one may take, from the beginning of all. A server that is busy has at least taken
 * the connection. A server that was silent a moment ago is not waited for as long again, unless the
 * program would be without any server before it has waited once. */
static uint64_t patience_ns(const struct attempt *attempt, bool answered)
{
    if (attempt->silent_here || (attempt->silent && answered)) {
        return SILENT_NS;
    }
    uint64_t whole_ns = client_environment_connect_s() * GA_NS_PER_S;
    bool taken = attempt->state == ASKED || transport_is_taken(&attempt->server->control);
    return taken || whole_ns < CONNECT_NS ? whole_ns : CONNECT_NS;
}

/* Gives up those whose time is over; the time until it is over for the next one, 0: nobody waits.
 */
static uint64_t attempts_give_up(struct attempt *attempts, int count, uint64_t begin_ns)
{
    bool answered = any_has(attempts, count, ANSWERED);
    uint64_t now_ns = ga_clock_ns(), next_ns = 0;
    for (int i = 0; i < count; i++) {
        struct attempt *attempt = &attempts[i];
        if (!is_waiting(attempt)) {
            continue;
        }
        uint64_t due_ns = begin_ns + patience_ns(attempt, answered);
        if (due_ns > now_ns) {
            next_ns = next_ns == 0 || due_ns - now_ns < next_ns ? due_ns - now_ns : next_ns;
            continue;
        }
        char why[sizeof attempt->why];
        snprintf(why, sizeof why, "no answer within %.3g s%s; %s",
                 (double)(due_ns - begin_ns) / (double)GA_NS_PER_S,
                 due_ns - begin_ns == SILENT_NS ? ", nor in time before" : "",
                 transport_is_taken(&attempt->server->control)
                     ? "it takes connections, but is it gpuaasd? (GPUAAS_CONNECT_TIMEOUT)"
                     : "is it up, does a firewall let this port through?");
        client_attempt_fail(attempt, why);
        if (due_ns - begin_ns != SILENT_NS) { /* a short wait proves nothing new */
            client_silent_servers_add(attempt->text);
        }
    }
    return next_ns;
}

static void silence_look(struct attempt *attempt)
{
    attempt->silent_here = client_silent_servers_here(attempt->text);
    attempt->silent = attempt->silent_here || client_silent_servers_anywhere(attempt->text);
}

/* Forgets the silent servers that have answered. */
static void silence_forget(const struct attempt *attempts, int count)
{
    for (int i = 0; i < count; i++) {
        if (attempts[i].silent && attempts[i].state == ANSWERED) {
            client_silent_servers_forget(attempts[i].text);
        }
    }
}

void client_attempts_ask(struct attempt *attempts, int count)
{
    uint64_t begin_ns = ga_clock_ns(), left_ns;
    uint64_t last_ns = begin_ns + client_environment_connect_s() * GA_NS_PER_S;
    for (int i = 0; i < count; i++) {
        silence_look(&attempts[i]);
        attempt_begin(&attempts[i]);
    }
    while ((left_ns = attempts_give_up(attempts, count, begin_ns)) != 0) {
        struct pollfd at[SERVERS_MAX * TRANSPORT_POLL_MAX];
        nfds_t used = 0;
        if (attempts_watch(attempts, count, at, &used)) {
            (void)poll(at, used, (int)(left_ns / GA_NS_PER_MS) + 1);
        }
        for (int i = 0; i < count; i++) { /* a server that is not ready says so */
            if (attempts[i].state == CONNECTING) {
                attempt_say_hello(&attempts[i], last_ns);
            } else if (attempts[i].state == ASKED) {
                attempt_read(&attempts[i]);
            }
        }
    }
    silence_forget(attempts, count);
}
