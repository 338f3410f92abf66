/* SPDX-License-Identifier: Apache-2.0 */
/* Broken connections on purpose.
 *
 * Note: after silence the descriptor keeps its number but leads to nobody, so poll(2) sees the same
 * as with a peer that has vanished. The true connection stays open elsewhere; closing it would tell
 * the peer. */
#include "transport/fault/fault.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/fault/fault_options.h"
#include "transport/fault/fault_passthrough.h"

#define PIECES_MAX   64
#define FIRST_BYTES  32 /* a header and the beginning of DATA_HELLO up to its kind */
#define CORRUPT_BITS 0x55

enum fault_kind { KIND_UNKNOWN, KIND_CONTROL, KIND_DATA, KIND_SIDE, KIND_BULK };

struct fault_conn {
    struct transport_conn inner; /* same descriptor; must be first: fault_passthrough.h */
    struct faults faults;
    uint64_t moved[2], calls[2]; /* each direction has one thread */
    bool ended[2];
    atomic_bool lost, silent;
    atomic_int kind;
    uint8_t first[FIRST_BYTES];
    size_t first_bytes;
    int hidden, nobody; /* once silent: the true connection, and the end that nobody reads */
};

/* ---- life */

enum ga_status transport_fault_wrap(struct transport_address *address, const char *options,
                                    char *why, size_t why_size)
{
    struct faults faults;
    if (strlen(options) >= sizeof address->options || !faults_parse(options, &faults)) {
        snprintf(why, why_size,
                 "\"%s\": these are no options of a fault (see transport/fault/fault.h)", options);
        return GA_INVALID;
    }
    address->inner = address->ops;
    address->ops = &transport_fault;
    strcpy(address->options, options);
    return GA_OK;
}

static enum ga_status conn_wrap(struct transport_conn *conn, const struct faults *faults)
{
    struct fault_conn *state = calloc(1, sizeof *state);
    if (state == NULL) {
        conn->ops->close(conn);
        return GA_NO_MEMORY;
    }
    state->inner = *conn;
    state->faults = *faults;
    state->hidden = -1;
    *conn = (struct transport_conn){.ops = &transport_fault, .fd = conn->fd, .state = state};
    return GA_OK;
}

/* The wrapped listener has a state of its own. */
struct fault_listener {
    struct faults faults;
    void *inner_state;
};

/* The transport of each listening descriptor: an address is queried by the descriptor alone. */
#define LISTENERS_MAX 64
static struct {
    int fd; /* 0: none */
    const struct transport_ops *ops;
} listeners[LISTENERS_MAX];

/* `ops` NULL: it does not listen any more. */
static void listener_note(int fd, const struct transport_ops *ops)
{
    for (size_t i = 0; i < LISTENERS_MAX; i++) {
        if (listeners[i].fd == (ops != NULL ? 0 : fd)) {
            listeners[i].fd = ops != NULL ? fd : 0;
            listeners[i].ops = ops;
            return;
        }
    }
    abort(); /* tests have few listeners */
}

static struct transport_listener inner_of(const struct transport_listener *listener)
{
    const struct fault_listener *state = listener->state;
    return (struct transport_listener){
        .ops = listener->inner, .fd = listener->fd, .state = state->inner_state};
}

static enum ga_status fault_listen(const struct transport_address *address,
                                   struct transport_listener *out, char *why, size_t why_size)
{
    struct fault_listener *state = malloc(sizeof *state);
    struct transport_listener listener;
    if (state == NULL || !faults_parse(address->options, &state->faults)) {
        free(state);
        snprintf(why, why_size, "no memory");
        return GA_NO_MEMORY;
    }
    enum ga_status status = address->inner->listen(address, &listener, why, why_size);
    if (status != GA_OK) {
        free(state);
        return status;
    }
    state->inner_state = listener.state;
    listener_note(listener.fd, address->inner);
    *out = (struct transport_listener){
        .ops = &transport_fault, .fd = listener.fd, .inner = address->inner, .state = state};
    return GA_OK;
}

static enum ga_status fault_accept(struct transport_listener *listener, struct transport_conn *out)
{
    struct transport_listener inner = inner_of(listener);
    struct transport_conn conn;
    GA_TRY(inner.ops->accept(&inner, &conn));
    const struct fault_listener *state = listener->state;
    GA_TRY(conn_wrap(&conn, &state->faults));
    *out = conn;
    return GA_OK;
}

static enum ga_status fault_renew(struct transport_listener *listener,
                                  const struct transport_secret *secret, char *why, size_t why_size)
{
    struct transport_listener inner = inner_of(listener);
    return inner.ops->renew != NULL ? inner.ops->renew(&inner, secret, why, why_size) : GA_OK;
}

static enum ga_status fault_connect_begin(const struct transport_address *address,
                                          struct transport_conn *out, char *why, size_t why_size)
{
    struct faults faults;
    struct transport_conn conn;
    if (!faults_parse(address->options, &faults)) {
        snprintf(why, why_size, "no such fault");
        return GA_INVALID;
    }
    GA_TRY(address->inner->connect_begin(address, &conn, why, why_size));
    GA_TRY(conn_wrap(&conn, &faults));
    *out = conn;
    return GA_OK;
}

static enum ga_status fault_connect_end(struct transport_conn *conn, char *why, size_t why_size)
{
    struct fault_conn *state = conn->state;
    return state->inner.ops->connect_end(&state->inner, why, why_size);
}

/* ---- faults */

/* Resets the peer's end; our descriptor stays open. */
static void conn_reset(struct fault_conn *state)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    if (connect(state->inner.fd, &nobody, sizeof nobody) != 0) {
        (void)shutdown(state->inner.fd, SHUT_RDWR);
    }
    atomic_store(&state->lost, true);
}

static void conn_silence(struct fault_conn *state)
{
    int ends[2];
    if (atomic_exchange(&state->silent, true)) {
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        abort(); /* a test without its fault would prove nothing */
    }
    state->hidden = dup(state->inner.fd);
    state->nobody = ends[1];
    (void)dup3(ends[0], state->inner.fd, O_CLOEXEC);
    close(ends[0]);
}

/* Whether this connection shall have faults. */
static bool is_chosen(const struct fault_conn *state)
{
    return state->faults.on == 0 ||
           state->faults.on == (uint64_t)atomic_load_explicit(&state->kind, memory_order_relaxed);
}

static void direction_end(struct fault_conn *state, enum direction way)
{
    (void)shutdown(state->inner.fd, way == OUT ? SHUT_WR : SHUT_RD);
    state->ended[way] = true;
}

/* The number of bytes that may move now. GA_AGAIN, GA_LOST: none. */
static enum ga_status fault_begin(struct fault_conn *state, enum direction way, size_t *most)
{
    const struct faults *faults = &state->faults;
    *most = SIZE_MAX;
    if (atomic_load(&state->lost) || state->ended[way]) {
        return GA_LOST;
    }
    if (!is_chosen(state)) {
        return GA_OK;
    }
    if (faults->delay_us != 0) {
        (void)usleep((useconds_t)faults->delay_us);
    }
    if (faults->again > 1 && ++state->calls[way] % faults->again != 0) {
        return GA_AGAIN;
    }
    uint64_t at = state->moved[way];
    if (at >= faults->silent[way]) {
        conn_silence(state);
        return GA_OK;
    }
    if (at >= faults->reset[way]) {
        conn_reset(state);
        return GA_LOST;
    }
    if (at >= faults->half[way]) {
        direction_end(state, way);
        return GA_LOST;
    }
    const uint64_t limits[] = {faults->silent[way], faults->reset[way], faults->half[way],
                               faults->corrupt[way] == at ? at + 1 : faults->corrupt[way]};
    uint64_t room = faults->most;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        room = limits[i] > at && limits[i] - at < room ? limits[i] - at : room;
    }
    *most = room;
    return GA_OK;
}

/* Reads the purpose of the connection from its first frame. */
static void fault_learn(struct fault_conn *state, const uint8_t *bytes, size_t size)
{
    struct wire_header header;
    uint32_t words[4];
    if (state->faults.on == 0 || state->first_bytes == FIRST_BYTES) {
        return;
    }
    size_t part = FIRST_BYTES - state->first_bytes;
    part = part < size ? part : size;
    memcpy(state->first + state->first_bytes, bytes, part);
    state->first_bytes += part;
    if (state->first_bytes == FIRST_BYTES) {
        memcpy(&header, state->first, sizeof header);
        memcpy(words, state->first + sizeof header, sizeof words);
        int kind = header.opcode == WIRE_HELLO        ? KIND_CONTROL
                   : header.opcode != WIRE_DATA_HELLO ? KIND_UNKNOWN
                   : words[3] == 0                    ? KIND_DATA
                   : words[3] == 1                    ? KIND_SIDE
                                                      : KIND_BULK;
        atomic_store(&state->kind, kind);
    }
}

static bool corrupt_next(const struct fault_conn *state, enum direction way)
{
    return is_chosen(state) && state->moved[way] == state->faults.corrupt[way];
}

/* Silence of a connection whose bytes do not pass through the descriptor */
static bool is_mute(const struct fault_conn *state)
{
    int fds[TRANSPORT_FDS_MAX];
    return atomic_load(&state->silent) && state->inner.ops->descriptors(&state->inner, fds) > 1;
}

/* ---- whole frames */

/* The bytes of a connection with faults of frames go through memory, even after it is known that
 * it shall have none. */
static enum ga_status frames_put(struct fault_conn *state, enum direction way, const void *bytes,
                                 size_t size)
{
    struct fault_frames *frames = &state->faults.frames[way];
    fault_learn(state, bytes, size);
    if (!is_chosen(state) && state->first_bytes == FIRST_BYTES) {
        frames->cut = frames->twice = frames->swap = frames->lengthen = 0;
    }
    return fault_frames_put(frames, bytes, size);
}

static enum ga_status fault_send_frames(struct fault_conn *state, const struct iovec *pieces,
                                        int count, size_t *sent)
{
    *sent = 0;
    for (int i = 0; i < count; i++) {
        GA_TRY(frames_put(state, OUT, pieces[i].iov_base, pieces[i].iov_len));
        *sent += pieces[i].iov_len;
    }
    GA_TRY(fault_frames_send(&state->faults.frames[OUT], &state->inner));
    if (state->faults.frames[OUT].ended) {
        direction_end(state, OUT);
    }
    return GA_OK;
}

static enum ga_status frames_receive(struct fault_conn *state, void *to, size_t size, size_t *got)
{
    struct fault_frames *frames = &state->faults.frames[IN];
    if (!fault_frames_any(frames) && !frames->ended) {
        uint8_t bytes[4096];
        size_t came;
        GA_TRY(state->inner.ops->receive(&state->inner, bytes, sizeof bytes, &came));
        GA_TRY(frames_put(state, IN, bytes, came));
    }
    if (frames->ended && !fault_frames_any(frames)) {
        direction_end(state, IN);
        return GA_LOST;
    }
    return fault_frames_take(frames, to, size, got);
}

static enum ga_status fault_send(struct transport_conn *conn, const struct iovec *pieces, int count,
                                 size_t *sent)
{
    struct fault_conn *state = conn->state;
    struct iovec less[PIECES_MAX];
    size_t most;
    int used = 0;
    uint8_t wrong;
    GA_TRY(fault_begin(state, OUT, &most));
    if (is_mute(state)) {
        *sent = 0;
        for (int i = 0; i < count; i++) {
            *sent += pieces[i].iov_len;
        }
        return GA_OK;
    }
    if (fault_frames_armed(&state->faults.frames[OUT])) {
        return fault_send_frames(state, pieces, count, sent);
    }
    for (int i = 0; i < count && used < PIECES_MAX && most != 0; i++) {
        less[used] = pieces[i];
        less[used].iov_len = pieces[i].iov_len < most ? pieces[i].iov_len : most;
        most -= less[used].iov_len;
        used += less[used].iov_len != 0;
    }
    if (used != 0 && corrupt_next(state, OUT)) {
        wrong = *(const uint8_t *)less[0].iov_base ^ CORRUPT_BITS;
        less[0] = (struct iovec){&wrong, 1};
        used = 1;
    }
    GA_TRY(state->inner.ops->send(&state->inner, less, used, sent));
    fault_learn(state, less[0].iov_base, *sent < less[0].iov_len ? *sent : less[0].iov_len);
    state->moved[OUT] += *sent;
    return GA_OK;
}

static enum ga_status fault_receive(struct transport_conn *conn, void *to, size_t size, size_t *got)
{
    struct fault_conn *state = conn->state;
    size_t most;
    GA_TRY(fault_begin(state, IN, &most));
    if (is_mute(state)) {
        return GA_AGAIN;
    }
    if (fault_frames_armed(&state->faults.frames[IN]) ||
        fault_frames_any(&state->faults.frames[IN])) {
        return frames_receive(state, to, size, got);
    }
    bool wrong = corrupt_next(state, IN);
    GA_TRY(state->inner.ops->receive(&state->inner, to, size < most ? size : most, got));
    if (wrong) {
        *(uint8_t *)to ^= CORRUPT_BITS;
    }
    fault_learn(state, to, *got);
    state->moved[IN] += *got;
    return GA_OK;
}

/* ---- functions that only pass on */

static enum ga_status fault_upgrade(struct transport_conn *conn, char *why, size_t why_size)
{
    struct fault_conn *state = conn->state;
    if (state->inner.ops->upgrade == NULL) {
        snprintf(why, why_size, "it cannot be");
        return GA_UNSUPPORTED;
    }
    return state->inner.ops->upgrade(&state->inner, why, why_size);
}

static void fault_idle(struct transport_conn *conn, uint64_t now_ns)
{
    struct fault_conn *state = conn->state;
    if (state->inner.ops->idle != NULL) {
        state->inner.ops->idle(&state->inner, now_ns);
    }
}

/* After silence no event ever comes. */
static unsigned fault_poll_prepare(struct transport_conn *conn, short wanted, struct pollfd *fds)
{
    struct fault_conn *state = conn->state;
    if (atomic_load(&state->silent)) {
        fds[0] = (struct pollfd){.fd = conn->fd, .events = wanted};
        return 1;
    }
    const struct fault_frames *frames = &state->faults.frames[IN];
    if ((wanted & POLLIN) != 0 && (fault_frames_any(frames) || frames->ended)) {
        return 0;
    }
    return state->inner.ops->poll_prepare(&state->inner, wanted, fds);
}

static unsigned fault_descriptors(const struct transport_conn *conn, int *fds)
{
    const struct fault_conn *state = conn->state;
    return state->inner.ops->descriptors(&state->inner, fds);
}

static const char *fault_error_text(const struct transport_conn *conn)
{
    const struct fault_conn *state = conn->state;
    return transport_error_text(&state->inner);
}

static enum ga_status fault_set_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    struct fault_conn *state = conn->state;
    return state->inner.ops->set_dead_after(&state->inner, timeout_ms);
}

/* The wrapped transport's address; for a connection the descriptor suffices. */
static enum ga_status fault_local_address(int fd, char *url, size_t size)
{
    enum ga_status status = GA_LOST;
    for (size_t i = 0; i < LISTENERS_MAX; i++) {
        if (listeners[i].fd == fd) {
            return listeners[i].ops->local_address(fd, url, size);
        }
    }
    for (size_t i = 0; i < transport_count && status != GA_OK; i++) {
        if (transport_all[i] != &transport_fault) {
            status = transport_all[i]->local_address(fd, url, size);
        }
    }
    return status;
}

static void fault_close_listener(struct transport_listener *listener)
{
    struct transport_listener inner = inner_of(listener);
    struct fault_listener *state = listener->state;
    inner.ops->close_listener(&inner);
    listener_note(listener->fd, NULL);
    free(state);
    *listener = (struct transport_listener){.ops = &transport_fault, .fd = -1};
}

static void fault_close(struct transport_conn *conn)
{
    struct fault_conn *state = conn->state;
    state->inner.ops->close(&state->inner);
    if (state->hidden >= 0) {
        close(state->hidden);
        close(state->nobody);
    }
    fault_frames_fini(&state->faults.frames[IN]);
    fault_frames_fini(&state->faults.frames[OUT]);
    free(state);
    *conn = (struct transport_conn){.ops = &transport_fault, .fd = -1};
}

const struct transport_ops transport_fault = {
    .scheme = "fault",
    .listen = fault_listen,
    .accept = fault_accept,
    .renew = fault_renew,
    .connect_begin = fault_connect_begin,
    .connect_end = fault_connect_end,
    .upgrade = fault_upgrade,
    .send_fd = fault_send_fd,
    .receive_fd = fault_receive_fd,
    .one_sided = &fault_one_sided,
    .idle = fault_idle,
    .send = fault_send,
    .receive = fault_receive,
    .poll_prepare = fault_poll_prepare,
    .descriptors = fault_descriptors,
    .set_dead_after = fault_set_dead_after,
    .identify = fault_identify,
    .begun = fault_begun,
    .error_text = fault_error_text,
    .local_address = fault_local_address,
    .close_listener = fault_close_listener,
    .close = fault_close,
};
