/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of naming an image: SHA-256 as both ends compute it, and its floor, one reading of the
 * same bytes, on one core.
 *
 *     digest CORE
 *
 * Each line on stdin is "digest BYTES COUNT" or "read BYTES COUNT"; the answer is the time that it
 * took COUNT times. */
#include <string.h>

#include "perf/timing.h"
#include "transport/transport.h"

#define LARGEST ((size_t)1 << 30)

static uint8_t *room;

static void digest(size_t bytes)
{
    uint8_t name[TRANSPORT_DIGEST_BYTES];
    struct transport_digest *made = transport_digest_begin();
    transport_digest_add(made, room, bytes);
    if (!transport_digest_end(made, name)) {
        fprintf(stderr, "digest: OpenSSL fails\n");
        exit(1);
    }
}

/* Four sums at once: the memory limits it, not the additions. */
static uint64_t read_all(size_t bytes)
{
    uint64_t sums[4] = {0}, words[4];
    for (size_t at = 0; at + sizeof words <= bytes; at += sizeof words) {
        memcpy(words, room + at, sizeof words);
        for (int i = 0; i < 4; i++) {
            sums[i] += words[i];
        }
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

int main(int argc, char **argv)
{
    char line[100], what[16];
    unsigned long long bytes, count;
    uint64_t sum = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: digest CORE, commands on stdin (see digest.c)\n");
        return 2;
    }
    timing_pin(atoi(argv[1]));
    room = malloc(LARGEST);
    if (room == NULL) {
        fprintf(stderr, "digest: no memory\n");
        return 1;
    }
    memset(room, 1, LARGEST);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%15s %llu %llu", what, &bytes, &count) != 3 || bytes > LARGEST) {
            fprintf(stderr, "digest: not a command: %s", line);
            return 2;
        }
        uint64_t start = ga_clock_ns();
        for (unsigned long long i = 0; i < count; i++) {
            if (strcmp(what, "digest") == 0) {
                digest(bytes);
            } else {
                sum += read_all(bytes);
            }
        }
        printf("{\"sum\": %llu, ", (unsigned long long)sum); /* or it would not be computed */
        timing_print(NULL, count, ga_clock_ns() - start);
        printf("}\n");
        fflush(stdout);
    }
    free(room);
    return 0;
}
