/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed bytes of a peer: the result has the announced length or there is none, and nothing
 * is written beyond it. Compressing and decompressing gives the same bytes. */
#include <stdlib.h>

#include "tests/fuzz/input.h"
#include "transport/compress.h"

#define GUARD 0x5a

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    size_t bytes = fuzz_u16(&input), left = input.left;
    uint8_t *to = malloc(bytes + 1), *compressed = malloc(left + 1), *back = malloc(left + 1);
    FUZZ_CHECK(to != NULL && compressed != NULL && back != NULL);
    to[bytes] = GUARD;
    if (decompress(input.at, left, to, bytes) == GA_OK) {
        FUZZ_CHECK(left < bytes);
    }
    FUZZ_CHECK(to[bytes] == GUARD);
    size_t closed = left != 0 ? compress(input.at, left, compressed) : 0;
    if (closed != 0) {
        FUZZ_CHECK(closed <= compression_room(left));
        FUZZ_CHECK(decompress(compressed, closed, back, left) == GA_OK);
        FUZZ_CHECK(memcmp(back, input.at, left) == 0);
    }
    free(to);
    free(compressed);
    free(back);
    return 0;
}
