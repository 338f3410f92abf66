/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers there are, and the devices that they give. A server that does not answer is
 * reported and skipped. */
#include "client/session/servers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/process/environment.h"
#include "client/process/process.h"
#include "client/process/trace.h"
#include "client/session/attempts.h"
#include "client/session/server_answers.h"
#include "client/session/server_devices.h"

#define END_SEEN_MS 2000 /* a server that is alive takes a round trip */

uint8_t client_application[16];
bool client_servers_observe;

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
    attempts[0].guess = !client_servers_choose_device() && !client_servers_observe;
    for (int i = 0; i < count; i++) {
        attempts[i].observes = client_servers_observe;
    }
    client_attempts_ask(attempts, count);
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

/* Until the server has closed it, too: it knows of the end then. */
static void control_end_seen(const struct client_server *server)
{
    struct pollfd at = {.fd = server->control.fd, .events = POLLRDHUP};
    (void)shutdown(server->control.fd, SHUT_WR);
    (void)poll(&at, 1, END_SEEN_MS);
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
    server->observed = false;
    free(made);
    control_begin(server);
}

enum ga_status client_servers_connect_again(struct client_server *server, char *why,
                                            size_t why_size)
{
    enum ga_status status = GA_OK;
    if (server->observed) { /* an older server has it as a program: that is to end first */
        control_end_seen(server);
    }
    if (server->observed || control_has_ended(server)) {
        struct attempt *attempt = calloc(1, sizeof *attempt);
        if (attempt == NULL) {
            snprintf(why, why_size, "no memory");
            return GA_NO_MEMORY;
        }
        snprintf(attempt->text, sizeof attempt->text, "%s", server->address);
        client_attempts_ask(attempt, 1);
        if (attempt->state == ANSWERED && !client_servers_same(server, &attempt->welcome)) {
            client_attempt_fail(attempt,
                                "it has other devices than before: start the program anew");
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
