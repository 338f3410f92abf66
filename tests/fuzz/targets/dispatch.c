/* SPDX-License-Identifier: Apache-2.0 */
/* A client's data connection: any calls in any order, against a software GPU. After the end of
 * its contexts nothing is left. */
#include "api/signatures.h"
#include "base/log.h"
#include "tests/fuzz/calls.h"
#include "tests/fuzz/conn.h"
#include "tests/fuzz/backend.h"

#define DEVICE_BYTES_MAX (UINT64_C(5) << 20)

static uint8_t *stream;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ga_log_set_level(GA_LOG_ERROR);
    stream = aligned_alloc(16, CALLS_STREAM_MAX);
    FUZZ_CHECK(stream != NULL);
    fuzz_backend_init();
    return 0;
}

/* One byte for the pieces in which bytes arrive, one for the device, one for the call that another
 * build of the client means otherwise (0: none), then calls (see calls.c). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    uint64_t seed = fuzz_u8(&input);
    struct handshake_data_hello hello = {
        .magic = WIRE_MAGIC,
        .major = WIRE_MAJOR,
        .device = fuzz_u8(&input) % 4u,
        .window = {.base = CALLS_WINDOW, .bytes = CALLS_WINDOW_BYTES},
    };
    uint8_t lacking = fuzz_u8(&input);
    struct api_signature other = api_signatures[lacking % api_signature_count];
    if (lacking != 0) {
        other.hash++;
        hello.signatures = &other;
        hello.signature_count = 1;
    }
    size_t bytes = calls_write(&input, stream, CALLS_STREAM_MAX);
    struct transport_conn conn = fuzz_conn_open(stream, bytes, seed);
    /* Some inputs run into a limit where others run into the driver's. */
    fuzz_backend_run(&conn, &hello, seed % 8 == 7 ? DEVICE_BYTES_MAX : UINT64_MAX);
    fuzz_conn_close();
    return 0;
}
