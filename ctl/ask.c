/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and replies over the admin socket (docs/admin-protocol.md). One connection serves all
 * requests of a command. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/ctl.h"

#define AGAIN_MS   20
#define ROOM_BYTES 65536u /* of the buffer at first */

static struct {
    int fd; /* 0: not connected */
    uint64_t deadline_ns;
    json_int_t last_id;
    char *buffer;
    size_t used, size;
} link_to;

/* ---- connecting */

static enum admin_code ask_path_of(const struct ctl_line *line, const char **path, char *why,
                                   size_t why_size)
{
    const char *url = line->options[OPTION_SERVER];
    *path = ADMIN_SOCKET;
    if (url == NULL) {
        return ADMIN_OK;
    }
    if (strncmp(url, "tls:", 4) == 0) {
        snprintf(why, why_size,
                 "--server %s: administration over the network is not in this version; run "
                 "gpuaasctl on the node, for example by ssh",
                 url);
        return ADMIN_USAGE;
    }
    if (strncmp(url, "unix:/", 6) != 0) {
        snprintf(why, why_size, "--server %s: it is unix: and an absolute path, as in unix:%s", url,
                 ADMIN_SOCKET);
        return ADMIN_USAGE;
    }
    *path = url + 5;
    if (strlen(*path) > ADMIN_SOCKET_MAX) {
        snprintf(why, why_size, "--server %s: a path of a socket has at most %u characters", url,
                 ADMIN_SOCKET_MAX);
        return ADMIN_USAGE;
    }
    return ADMIN_OK;
}

bool ctl_socket_is_there(const struct ctl_line *line)
{
    const char *path;
    char why[300];
    return ask_path_of(line, &path, why, sizeof why) != ADMIN_OK || access(path, F_OK) == 0;
}

static enum admin_code not_connected(const char *path, int error, char *why, size_t why_size)
{
    switch (error) {
    case ENOENT:
        snprintf(why, why_size,
                 "there is no %s: is gpuaasd started, and does its configuration have this "
                 "admin_socket?",
                 path);
        return ADMIN_UNREACHABLE;
    case ECONNREFUSED:
        snprintf(why, why_size, "nobody listens at %s: is gpuaasd started?", path);
        return ADMIN_UNREACHABLE;
    case EAGAIN:
        snprintf(why, why_size, "%s: too many others wait there, or gpuaasd stands still", path);
        return ADMIN_UNREACHABLE;
    case EACCES:
    case EPERM:
        snprintf(why, why_size,
                 "you may not use %s: root, the user of gpuaasd and the members of its admin_group "
                 "may",
                 path);
        return ADMIN_DENIED;
    default:
        snprintf(why, why_size, "%s: %s", path, strerror(error));
        return ADMIN_UNREACHABLE;
    }
}

static enum admin_code ask_connect(const struct ctl_line *line, char *why, size_t why_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path;
    enum admin_code code = ask_path_of(line, &path, why, why_size);
    if (code != ADMIN_OK || link_to.fd != 0) {
        return code;
    }
    memcpy(address.sun_path, path, strnlen(path, sizeof address.sun_path - 1));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int failed = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof address);
    while (failed != 0 && fd >= 0 && errno == EAGAIN && ga_clock_ns() < link_to.deadline_ns) {
        (void)poll(NULL, 0, AGAIN_MS); /* as many as may wait there do so */
        failed = connect(fd, (struct sockaddr *)&address, sizeof address);
    }
    if (failed != 0) {
        code = not_connected(path, errno, why, why_size);
        if (fd >= 0) {
            close(fd);
        }
        return code;
    }
    link_to.fd = fd;
    return ADMIN_OK;
}

static void ask_disconnect(void)
{
    if (link_to.fd != 0) {
        close(link_to.fd);
        link_to.fd = 0;
        link_to.used = 0;
    }
}

/* ---- bytes */

static enum admin_code ask_wait(short events, char *why, size_t why_size)
{
    struct pollfd at = {.fd = link_to.fd, .events = events};
    uint64_t now = ga_clock_ns();
    int left_ms =
        now >= link_to.deadline_ns ? 0 : (int)((link_to.deadline_ns - now) / GA_NS_PER_MS) + 1;
    int got = poll(&at, 1, left_ms);
    if (got == 0) {
        snprintf(why, why_size, "gpuaasd has not answered in time; --timeout SECONDS waits longer");
        return ADMIN_TIMEOUT;
    }
    return ADMIN_OK;
}

static enum admin_code ask_lost(char *why, size_t why_size)
{
    snprintf(why, why_size, "gpuaasd has closed the connection: has it ended? Its log says why");
    return ADMIN_UNREACHABLE;
}

static enum admin_code ask_send(const char *text, size_t size, char *why, size_t why_size)
{
    while (size != 0) {
        ssize_t sent = send(link_to.fd, text, size, MSG_NOSIGNAL);
        if (sent > 0) {
            text += sent;
            size -= (size_t)sent;
        } else if (sent < 0 && errno == EAGAIN) {
            enum admin_code code = ask_wait(POLLOUT, why, why_size);
            if (code != ADMIN_OK) {
                return code;
            }
        } else if (sent < 0 && errno != EINTR) {
            return ADMIN_OK; /* perhaps a reply says why */
        }
    }
    return ADMIN_OK;
}

static bool ask_room_make(void)
{
    if (link_to.used < link_to.size) {
        return true;
    }
    size_t size = link_to.size == 0 ? ROOM_BYTES : 2 * link_to.size;
    char *buffer = size <= 2 * (size_t)ADMIN_REPLY_MAX ? realloc(link_to.buffer, size) : NULL;
    if (buffer != NULL) {
        link_to.buffer = buffer;
        link_to.size = size;
    }
    return buffer != NULL;
}

/* Receives a line; its newline is at *end. */
static enum admin_code line_receive(char **end, char *why, size_t why_size)
{
    size_t looked = 0; /* there is no newline so far */
    for (;;) {
        size_t fresh = link_to.used - looked;
        *end = fresh != 0 ? memchr(link_to.buffer + looked, '\n', fresh) : NULL;
        looked = link_to.used;
        if (*end != NULL) {
            return ADMIN_OK;
        }
        if (!ask_room_make()) {
            snprintf(why, why_size, "the answer of gpuaasd is too long, or there is no memory");
            return ADMIN_ERROR;
        }
        ssize_t got =
            recv(link_to.fd, link_to.buffer + link_to.used, link_to.size - link_to.used, 0);
        if (got > 0) {
            link_to.used += (size_t)got;
        } else if (got < 0 && errno == EAGAIN) {
            enum admin_code code = ask_wait(POLLIN, why, why_size);
            if (code != ADMIN_OK) {
                return code;
            }
        } else if (got == 0 || errno != EINTR) {
            return ask_lost(why, why_size);
        }
    }
}

/* ---- requests */

static enum admin_code ask_code_of(const char *word)
{
    static const struct {
        const char *word;
        enum admin_code code;
    } codes[] = {
#define ADMIN_CODE(name_, value_, word_) {word_, ADMIN_##name_},
        ADMIN_CODES(ADMIN_CODE)
#undef ADMIN_CODE
    };
    for (size_t i = 1; word != NULL && i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].word[0] != 0 && strcmp(codes[i].word, word) == 0) {
            return codes[i].code;
        }
    }
    return ADMIN_ERROR;
}

/* Takes the reply. */
static enum admin_code reply_read(json_t *reply, json_t **result, char *why, size_t why_size)
{
    json_t *error = json_object_get(reply, "error");
    json_t *found = json_object_get(reply, "result");
    enum admin_code code = ADMIN_ERROR;
    if (json_is_true(json_object_get(reply, "ok")) && json_is_object(found)) {
        *result = json_incref(found);
        code = ADMIN_OK;
    } else {
        const char *message = json_string_value(json_object_get(error, "message"));
        snprintf(why, why_size, "%s",
                 message != NULL ? message
                                 : "the answer of gpuaasd makes no sense: is it another "
                                   "program?");
        code = ask_code_of(json_string_value(json_object_get(error, "code")));
    }
    json_decref(reply);
    return code;
}

static char *request_text(const struct ctl_line *line, const char *verb, json_t *arguments)
{
    json_t *request =
        json_pack("{s:i, s:I, s:s, s:o}", "apiVersion", ADMIN_VERSION, "id", ++link_to.last_id,
                  "verb", verb, "arguments", arguments != NULL ? arguments : json_object());
    if (ctl_has(line, OPTION_DRY_RUN)) {
        (void)json_object_set_new(request, "dryRun", json_true());
    }
    char *text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    return text;
}

enum admin_code ctl_ask_quietly(const struct ctl_line *line, const char *verb, json_t *arguments,
                                json_t **result, char *why, size_t why_size)
{
    char *end, *text = request_text(line, verb, arguments);
    json_t *reply = NULL;
    json_error_t error;
    if (text == NULL || strlen(text) >= ADMIN_REQUEST_MAX) {
        snprintf(why, why_size,
                 text == NULL ? "no memory, or an argument is no UTF-8"
                              : "the arguments are too long for one request");
        free(text);
        return text == NULL ? ADMIN_ERROR : ADMIN_USAGE;
    }
    size_t size = strlen(text);
    link_to.deadline_ns = ga_clock_ns() + line->timeout_s * GA_NS_PER_S;
    enum admin_code code = ask_connect(line, why, why_size);
    if (code == ADMIN_OK) {
        text[size] = '\n'; /* in the place of its end */
        code = ask_send(text, size + 1, why, why_size);
    }
    free(text);
    if (code == ADMIN_OK) {
        code = line_receive(&end, why, why_size);
    }
    if (code != ADMIN_OK) {
        ask_disconnect();
        return code;
    }
    size = (size_t)(end - link_to.buffer);
    reply = json_loadb(link_to.buffer, size, 0, &error);
    link_to.used -= size + 1;
    memmove(link_to.buffer, end + 1, link_to.used);
    return reply_read(reply, result, why, why_size);
}

enum admin_code ctl_ask(const struct ctl_line *line, const char *verb, json_t *arguments,
                        json_t **result)
{
    char why[1000];
    enum admin_code code = ctl_ask_quietly(line, verb, arguments, result, why, sizeof why);
    return code == ADMIN_OK ? ADMIN_OK : ctl_wrong(code, "%s", why);
}

enum admin_code ctl_ask_list(const struct ctl_line *line, const char *verb, json_t *arguments,
                             json_t **items)
{
    json_t *all = json_array(), *next = NULL;
    enum admin_code code;
    do {
        json_t *page = NULL, *these = json_deep_copy(arguments);
        if (next != NULL) {
            these = these != NULL ? these : json_object();
            (void)json_object_set_new(these, "after", next);
        }
        next = NULL;
        code = ctl_ask(line, verb, these, &page);
        if (code == ADMIN_OK) {
            (void)json_array_extend(all, json_object_get(page, "items"));
            next = json_object_get(page, "next");
            next = json_is_string(next) ? json_incref(next) : NULL;
        }
        json_decref(page);
    } while (code == ADMIN_OK && next != NULL);
    json_decref(arguments);
    if (code != ADMIN_OK) {
        json_decref(all);
        return code;
    }
    *items = all;
    return ADMIN_OK;
}
