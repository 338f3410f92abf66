/* SPDX-License-Identifier: Apache-2.0 */
/* The messages before the first call: a decoded message can be encoded, and is then decoded
 * equally. */
#include <stdbool.h>

#include "api/handshake.h"
#include "api/wire.h"
#include "tests/fuzz/input.h"

static struct handshake_device devices[2][HANDSHAKE_DEVICES_MAX];

static _Alignas(16) uint8_t again[2][2 * WIRE_HANDSHAKE_MAX];

#define CASE(number, name)                                                                         \
    case number: {                                                                                 \
        struct handshake_##name first, second;                                                     \
        prepare(number, &first, &second);                                                          \
        struct ga_reader reader = ga_reader_of(message, size);                                     \
        if (handshake_##name##_read(&reader, &first) != GA_OK) {                                   \
            return false;                                                                          \
        }                                                                                          \
        struct ga_writer writer = ga_writer_of(again[0], sizeof again[0]);                         \
        handshake_##name##_write(&writer, &first);                                                 \
        FUZZ_CHECK(!writer.failed);                                                                \
        reader = ga_reader_of(again[0], writer.at);                                                \
        FUZZ_CHECK(handshake_##name##_read(&reader, &second) == GA_OK);                            \
        struct ga_writer last = ga_writer_of(again[1], sizeof again[1]);                           \
        handshake_##name##_write(&last, &second);                                                  \
        FUZZ_CHECK(last.at == writer.at && memcmp(again[0], again[1], last.at) == 0);              \
        return true;                                                                               \
    }

enum { WELCOME = 1 };

/* WELCOME alone needs room of its caller. */
static void prepare(int number, void *first, void *second)
{
    if (number == WELCOME) {
        ((struct handshake_welcome *)first)->devices = devices[0];
        ((struct handshake_welcome *)second)->devices = devices[1];
    }
}

/* False: it is no such message. */
static bool read_and_write(unsigned kind, const uint8_t *message, size_t size)
{
    switch (kind) {
        CASE(0, hello)
        CASE(WELCOME, welcome)
        CASE(2, refused)
        CASE(3, open)
        CASE(4, ticket)
        CASE(5, data_hello)
        CASE(6, data_welcome)
        CASE(7, window)
    default:
        return false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned kind = fuzz_u8(&input);
    size_t bytes;
    uint8_t *message = fuzz_rest(&input, &bytes);
    if (bytes <= WIRE_HANDSHAKE_MAX) {
        (void)read_and_write(kind, message, bytes);
    }
    free(message);
    return 0;
}
