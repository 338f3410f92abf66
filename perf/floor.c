/* SPDX-License-Identifier: Apache-2.0 */
/* The physical floor: what plain TCP sockets, or a ring in shared memory, need to move the same
 * bytes in the same pattern.
 *
 *     floor CORE SERVER_CORE [NAMESPACE ADDRESS]
 *
 * Two processes, client and server, one connection over loopback, or to that address in that
 * network namespace (/proc/PID/ns/net). Each line on stdin is one exchange, repeated:
 *
 *     UP PIECE UP_FROM UP_TO DOWN DOWN_TO COUNT block|busy|shm|copy
 *
 * The client sends UP bytes out of UP_FROM bytes of memory, round and round, in writes of 256 KiB;
 * if PIECE is not 0 it gathers pieces of so many bytes into a buffer of 64 KiB first. The server
 * receives them into a ring of UP_TO bytes and then sends DOWN bytes out of as many (64 MiB at
 * most), which the client receives into DOWN_TO bytes. block and busy are TCP, sleeping or polling;
 * shm is a ring, both ends polling. copy: the client alone copies UP bytes from memory to memory.
 * Note: only the pattern is ours; there are no frames. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf/floor_ring.h"
#include "perf/timing.h"

#define MEMORY (64u << 20)
#define CHUNK  (256u << 10)
#define BATCH  (64u << 10)

struct exchange {
    uint64_t up, piece, up_from, up_to, down, down_to, count;
    bool busy, shm, copy;
};

struct side {
    int fd;
    bool busy, shm;
    struct floor_ring *in, *out;
    uint8_t *memory; /* MEMORY bytes, all touched */
};

static void fail(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    _exit(1);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void send_all(const struct side *side, const uint8_t *from, uint64_t bytes)
{
    if (side->shm) {
        floor_ring_send(side->out, from, bytes);
        return;
    }
    while (bytes != 0) {
        ssize_t sent = send(side->fd, from, bytes, side->busy ? MSG_DONTWAIT : 0);
        if (sent > 0) {
            from += sent;
            bytes -= (uint64_t)sent;
        } else if (errno != EAGAIN && errno != EINTR) {
            fail("send");
        }
    }
}

/* Sends `bytes` out of the first `room` bytes of the memory. */
static void send_stream(const struct side *side, uint64_t bytes, uint64_t room, uint64_t piece)
{
    static uint8_t batch[BATCH];
    uint64_t at = 0, filled = 0;
    while (piece != 0 && bytes != 0) {
        if (filled + piece > BATCH) {
            send_all(side, batch, filled);
            filled = 0;
        }
        memcpy(batch + filled, side->memory + at, piece);
        filled += piece;
        bytes -= least(piece, bytes);
        at = at + 2 * piece > room ? 0 : at + piece;
    }
    send_all(side, batch, filled);
    while (bytes != 0) {
        uint64_t part = least(least(CHUNK, bytes), room - at);
        send_all(side, side->memory + at, part);
        bytes -= part;
        at = (at + part) % room;
    }
}

static void receive_stream(const struct side *side, uint64_t bytes, uint64_t room)
{
    uint64_t at = 0;
    while (bytes != 0) {
        uint64_t part = least(least(CHUNK, bytes), room - at);
        ssize_t got = side->shm
                          ? (ssize_t)floor_ring_receive(side->in, side->memory + at, part)
                          : recv(side->fd, side->memory + at, part, side->busy ? MSG_DONTWAIT : 0);
        if (got > 0) {
            bytes -= (uint64_t)got;
            at = (at + (uint64_t)got) % room;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            fail("recv");
        }
    }
}

/* Pieces fill whole batches or the rest: what travels may be a little more than UP. */
static uint64_t up_bytes(const struct exchange *exchange)
{
    uint64_t piece = exchange->piece;
    return piece != 0 ? (exchange->up + piece - 1) / piece * piece : exchange->up;
}

static uint8_t *memory_make(void)
{
    uint8_t *memory =
        mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fail("mmap");
    }
    memset(memory, 7, MEMORY);
    return memory;
}

_Noreturn static void serve(struct side side, int control, int core)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    timing_pin(core);
    side.memory = memory_make();
    struct exchange exchange;
    while (read(control, &exchange, sizeof exchange) == sizeof exchange) {
        side.busy = exchange.busy;
        side.shm = exchange.shm;
        for (uint64_t i = 0; i < exchange.count; i++) {
            receive_stream(&side, up_bytes(&exchange), exchange.up_to);
            send_stream(&side, exchange.down, least(exchange.down, MEMORY), 0);
        }
    }
    _exit(0);
}

/* A socket belongs to the namespace in which it was made. NULL: this one. */
static int socket_in(const char *namespace)
{
    if (namespace == NULL) {
        return socket(AF_INET, SOCK_STREAM, 0);
    }
    int home = open("/proc/self/ns/net", O_RDONLY), there = open(namespace, O_RDONLY);
    if (home < 0 || there < 0 || setns(there, CLONE_NEWNET) != 0) {
        fail(namespace);
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (setns(home, CLONE_NEWNET) != 0) {
        fail("the namespace at home");
    }
    close(home);
    close(there);
    return fd;
}

static void connection_make(int ends[2], const char *namespace, const char *host)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int listener = socket_in(namespace), one = 1;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
        bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        connect(ends[0], (struct sockaddr *)&address, size) != 0 ||
        (ends[1] = accept(listener, NULL, NULL)) < 0) {
        fail("a connection");
    }
    for (int i = 0; i < 2; i++) {
        (void)setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    close(listener);
}

/* From one end of the memory to where the other bytes are. */
static void copy(const struct exchange *exchange)
{
    static uint8_t *from, *to;
    if (from == NULL) {
        from = memory_make();
        to = memory_make();
    }
    memcpy(to, from, exchange->up);
}

static void measure(const struct side *side, const struct exchange *exchange)
{
    static uint64_t each_ns[TIMING_MAX];
    if (exchange->copy) {
        copy(exchange); /* the first time it touches the memory */
    }
    uint64_t start = ga_clock_ns(), before = start;
    for (uint64_t i = 0; i < exchange->count; i++) {
        if (exchange->copy) {
            copy(exchange);
        } else {
            send_stream(side, exchange->up, exchange->up_from, exchange->piece);
            receive_stream(side, exchange->down, exchange->down_to);
        }
        uint64_t now = ga_clock_ns();
        each_ns[i] = now - before;
        before = now;
    }
    printf("{");
    timing_print(each_ns, exchange->count, before - start);
    printf("}\n");
}

static bool room_valid(uint64_t room)
{
    return room != 0 && room <= MEMORY;
}

static bool exchange_read(const char *line, struct exchange *exchange)
{
    unsigned long long n[7];
    char wait[8];
    if (sscanf(line, "%llu %llu %llu %llu %llu %llu %llu %7s", &n[0], &n[1], &n[2], &n[3], &n[4],
               &n[5], &n[6], wait) != 8) {
        return false;
    }
    *exchange = (struct exchange){.up = n[0],
                                  .piece = n[1],
                                  .up_from = n[2],
                                  .up_to = n[3],
                                  .down = n[4],
                                  .down_to = n[5],
                                  .count = n[6],
                                  .busy = strcmp(wait, "busy") == 0,
                                  .shm = strcmp(wait, "shm") == 0,
                                  .copy = strcmp(wait, "copy") == 0};
    return exchange->piece <= BATCH && exchange->piece <= exchange->up_from &&
           exchange->count <= TIMING_MAX && (!exchange->copy || room_valid(exchange->up)) &&
           room_valid(exchange->up_from) && room_valid(exchange->up_to) &&
           room_valid(exchange->down_to);
}

int main(int argc, char **argv)
{
    int ends[2], control[2];
    char line[256];
    if (argc != 3 && argc != 5) {
        fprintf(stderr, "usage: floor CORE SERVER_CORE [NAMESPACE ADDRESS], commands on stdin (see "
                        "floor.c)\n");
        return 2;
    }
    connection_make(ends, argc == 5 ? argv[3] : NULL, argc == 5 ? argv[4] : "127.0.0.1");
    struct floor_ring *rings =
        mmap(NULL, 2 * sizeof *rings, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (rings == MAP_FAILED) {
        fail("mmap");
    }
    if (pipe(control) != 0) {
        fail("pipe");
    }
    if (fork() == 0) {
        close(ends[0]);
        close(control[1]);
        serve((struct side){.fd = ends[1], .in = &rings[0], .out = &rings[1]}, control[0],
              atoi(argv[2]));
    }
    close(ends[1]);
    close(control[0]);
    timing_pin(atoi(argv[1]));
    struct side side = {.fd = ends[0], .in = &rings[1], .out = &rings[0], .memory = memory_make()};
    while (fgets(line, sizeof line, stdin) != NULL) {
        struct exchange exchange;
        if (!exchange_read(line, &exchange)) {
            fprintf(stderr, "floor: not an exchange: %s", line);
            return 2;
        }
        if (!exchange.copy && write(control[1], &exchange, sizeof exchange) != sizeof exchange) {
            fail("the server half");
        }
        side.busy = exchange.busy;
        side.shm = exchange.shm;
        measure(&side, &exchange);
        fflush(stdout);
    }
    return 0;
}
