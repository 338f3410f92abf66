/* SPDX-License-Identifier: Apache-2.0 */
/* Images from the wire, of which a server reads how much memory their variables take. */
#include "server/image/image_variables.h"
#include "server/image/ptx_variables.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct figures figures;
    static const unsigned gpus[] = {75, 86, 90, 103};
    struct ledger ledger;
    struct api_image image;
    struct image_memory memory;
    uint64_t bytes;
    bool heap;
    ledger_init(&ledger, &figures);
    if (ptx_variables((const char *)data, size, &bytes, &heap) == GA_OK) {
        FUZZ_CHECK(bytes <= UINT64_C(1) << 49);
    }
    if (size == 0 || api_image_open(data, size, &image) != GA_OK) {
        return 0;
    }
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        const struct image_reader reader = {
            .sm = gpus[i], .ptx_only = i % 2 != 0, .ledger = &ledger};
        if (image_variables(&image, &reader, &memory) == GA_OK) {
            FUZZ_CHECK(memory.variables <= UINT64_C(1) << 49);
        }
        FUZZ_CHECK(atomic_load(&figures.of[FIGURE_HOST_BYTES]) == 0);
    }
    return 0;
}
