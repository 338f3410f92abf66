/* SPDX-License-Identifier: Apache-2.0 */
/* A long link: two network namespaces, and between them a wire on which everything that is sent
 * arrives a given time later.
 *
 *     link DELAY_US BYTES_PER_SECOND
 *
 * The near end is the network namespace in which it is started, which should be a fresh one: there
 * it makes the device "near" with the address 10.78.0.2. The far end is a namespace of its own, in
 * which the process stays (/proc/PID/ns/net): there are "far" with 10.78.0.1, and a loopback
 * device. It says "ready"; from then on each line on stdin is another delay, each way, and another
 * rate (0: unlimited), which is answered with "ready". Its end is the end of both devices.
 *
 * Packets of 1500 bytes, as on a real wire, so that congestion windows grow as they do there; but
 * the two kernels leave the cutting to the wire (TUN_F_TSO4), which passes 64 KiB on in one piece:
 * else copying packets would be what is measured. Nothing is lost as long as the queue has room:
 * when it has none nothing is taken off the devices. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#define NEAR_ADDRESS UINT32_C(0x0a4e0002)
#define FAR_ADDRESS  UINT32_C(0x0a4e0001)
#define NETMASK      UINT32_C(0xffffff00)
#define PACKET_MAX   (65536u + 64)
#define QUEUE_BYTES  (UINT64_C(256) << 20) /* 100 ms of 2.5 GB/s */
#define TX_PACKETS   1000                  /* that wait for us in the kernel */
#define BURST        64                    /* packets taken before others have their turn */

struct packet {
    uint64_t due_ns;
    uint32_t bytes, room; /* `room`: up to the next packet in the queue */
};

/* One direction: a ring of bytes, in which no packet goes round the end. */
struct queue {
    uint8_t *ring;
    uint64_t head, tail; /* ever put and taken */
    uint64_t free_ns;    /* when the link has sent the last packet, if its rate is limited */
};

static struct queue queues[2]; /* [i]: read from fds[i] */
static int fds[2];
static uint64_t delay_ns, bytes_per_second;

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- devices */

static void set_address(int sock, struct ifreq *request, unsigned long what, uint32_t address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    memcpy(&request->ifr_addr, &in, sizeof in);
    if (ioctl(sock, what, request) != 0) {
        fail("address of a device");
    }
}

static void device_up(int sock, struct ifreq *request)
{
    request->ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(sock, SIOCSIFFLAGS, request) != 0) {
        fail("starting a device");
    }
}

/* In the namespace where we are. */
static int device_open(const char *name, uint32_t address)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(request.ifr_name, name, strlen(name) + 1);
    if (fd < 0 || sock < 0 || ioctl(fd, TUNSETIFF, &request) != 0 ||
        ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) {
        fail("/dev/net/tun");
    }
    set_address(sock, &request, SIOCSIFADDR, address);
    set_address(sock, &request, SIOCSIFNETMASK, NETMASK);
    request.ifr_qlen = TX_PACKETS;
    if (ioctl(sock, SIOCSIFTXQLEN, &request) != 0) {
        fail("queue of a device");
    }
    device_up(sock, &request);
    close(sock);
    return fd;
}

static void loopback_up(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sock < 0) {
        fail("socket");
    }
    device_up(sock, &request);
    close(sock);
}

/* ---- packets */

static bool queue_full(const struct queue *queue)
{
    return QUEUE_BYTES - (queue->head - queue->tail) < 2 * (PACKET_MAX + sizeof(struct packet));
}

/* The place of the next packet; the ring starts again at its end. */
static uint8_t *queue_place(struct queue *queue)
{
    uint64_t at = queue->head % QUEUE_BYTES;
    if (QUEUE_BYTES - at < sizeof(struct packet) + PACKET_MAX) {
        struct packet filler = {.room = (uint32_t)(QUEUE_BYTES - at)};
        memcpy(queue->ring + at, &filler, sizeof filler);
        queue->head += filler.room;
        at = 0;
    }
    return queue->ring + at;
}

/* When a packet that is here now comes out at the other end. */
static uint64_t queue_due_ns(struct queue *queue, size_t bytes)
{
    uint64_t now = ga_clock_ns();
    if (bytes_per_second == 0) {
        return now + delay_ns;
    }
    queue->free_ns = queue->free_ns > now ? queue->free_ns : now;
    queue->free_ns += bytes * UINT64_C(1000000000) / bytes_per_second;
    return queue->free_ns + delay_ns;
}

static void take(int fd, struct queue *queue)
{
    if (queue->head == queue->tail) {
        queue->head = queue->tail = 0; /* memory that has been touched is faster */
    }
    for (int i = 0; i < BURST && !queue_full(queue); i++) {
        uint8_t *place = queue_place(queue);
        ssize_t got = read(fd, place + sizeof(struct packet), PACKET_MAX);
        if (got <= 0) {
            return;
        }
        struct packet packet = {.due_ns = queue_due_ns(queue, (size_t)got), .bytes = (uint32_t)got};
        packet.room = (uint32_t)((sizeof packet + packet.bytes + 63) & ~UINT64_C(63));
        memcpy(place, &packet, sizeof packet);
        queue->head += packet.room;
    }
}

/* Sends the packets that are due. Returns when the next one is, or UINT64_MAX. */
static uint64_t give(int fd, struct queue *queue)
{
    while (queue->tail != queue->head) {
        const uint8_t *place = queue->ring + queue->tail % QUEUE_BYTES;
        struct packet packet;
        memcpy(&packet, place, sizeof packet);
        if (packet.bytes != 0) {
            if (packet.due_ns > ga_clock_ns()) {
                return packet.due_ns;
            }
            (void)!write(fd, place + sizeof packet, packet.bytes); /* refused: lost, as on a wire */
        }
        queue->tail += packet.room;
    }
    return UINT64_MAX;
}

static void say_ready(void)
{
    puts("ready");
    fflush(stdout);
}

static void set_wire(const char *delay_us, const char *rate)
{
    delay_ns = strtoull(delay_us, NULL, 10) * 1000;
    bytes_per_second = strtoull(rate, NULL, 10);
}

static bool read_wire(void)
{
    char line[64];
    if (fgets(line, sizeof line, stdin) == NULL) {
        return false;
    }
    const char *rate = strchr(line, ' ');
    set_wire(line, rate != NULL ? rate : "0");
    say_ready();
    return true;
}

static void forward(void)
{
    for (;;) {
        uint64_t first = give(fds[1], &queues[0]), second = give(fds[0], &queues[1]);
        uint64_t next = first < second ? first : second, now = ga_clock_ns();
        uint64_t left = next > now ? next - now : 0;
        struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000),
                                   .tv_nsec = (long)(left % 1000000000)};
        struct pollfd waits[3] = {{.fd = queue_full(&queues[0]) ? -1 : fds[0], .events = POLLIN},
                                  {.fd = queue_full(&queues[1]) ? -1 : fds[1], .events = POLLIN},
                                  {.fd = STDIN_FILENO, .events = POLLIN}};
        if (ppoll(waits, 3, next == UINT64_MAX ? NULL : &timeout, NULL) < 0 && errno != EINTR) {
            fail("poll");
        }
        if (waits[2].revents != 0 && !read_wire()) {
            return;
        }
        for (int i = 0; i < 2; i++) {
            if (waits[i].revents != 0) {
                take(fds[i], &queues[i]);
            }
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr,
                "usage: link DELAY_US BYTES_PER_SECOND, in a network namespace of its own\n");
        return 2;
    }
    set_wire(argv[1], argv[2]);
    loopback_up();
    fds[0] = device_open("near", NEAR_ADDRESS);
    if (unshare(CLONE_NEWNET) != 0) {
        fail("a network namespace");
    }
    loopback_up();
    fds[1] = device_open("far", FAR_ADDRESS);
    for (int i = 0; i < 2; i++) {
        queues[i].ring = mmap(NULL, QUEUE_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (queues[i].ring == MAP_FAILED) {
            fail("memory");
        }
        (void)madvise(queues[i].ring, QUEUE_BYTES, MADV_HUGEPAGE); /* fewer first touches */
    }
    setvbuf(stdin, NULL, _IONBF, 0); /* poll must see packets that have arrived */
    say_ready();
    forward();
    return 0;
}
