/* SPDX-License-Identifier: Apache-2.0 */
/* Every generated decoder, of requests and of replies: an accepted message can be encoded, and
 * is then decoded equally. The list is generated, so a new call is covered without a change. */
#include "api/call_info.h"
#include "api/print.h"
#include "api/tests/codec_checks.h"
#include "api/wire.h"
#include "tests/fuzz/input.h"

#define RESULTS 0x8000u /* in an input's first number; else it is the op's arguments */

static const struct codec_case *by_number[65536]; /* op, with RESULTS */
static _Alignas(16) uint8_t again[2][4 * WIRE_VALUES_MAX];
static _Alignas(16) uint8_t values[2][65536]; /* the structs */

static uint16_t number_of(const struct codec_case *codec)
{
    const char *side = strrchr(codec->name, '_');
    size_t length = (size_t)(side - codec->name);
    for (size_t i = 0; i < api_call_count; i++) {
        if (strlen(api_calls[i].name) == length &&
            memcmp(api_calls[i].name, codec->name, length) == 0) {
            return (uint16_t)(api_calls[i].op | (strcmp(side, "_results") == 0 ? RESULTS : 0));
        }
    }
    FUZZ_CHECK(!"a codec without a call");
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    for (size_t i = 0; i < codec_case_count; i++) {
        by_number[number_of(&codec_cases[i])] = &codec_cases[i];
        FUZZ_CHECK(codec_cases[i].size <= sizeof values[0]);
    }
    return 0;
}

/* Now and then a good message of some call is where libFuzzer starts from. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    if (seed % 16 != 0 || most < 256) {
        return LLVMFuzzerMutate(data, size, most);
    }
    const struct codec_case *codec = &codec_cases[seed / 16 % codec_case_count];
    struct ga_writer writer = ga_writer_of(again[0], sizeof again[0]);
    codec->fill(values[0], seed);
    codec->write(&writer, values[0]);
    uint16_t number = number_of(codec);
    size_t bytes = writer.at < most - 2 ? writer.at : most - 2;
    memcpy(data, &number, 2);
    memcpy(data + 2, again[0], bytes);
    return bytes + 2;
}

static void read_and_write(const struct codec_case *codec, const uint8_t *message, size_t size)
{
    struct ga_reader reader = ga_reader_of(message, size);
    codec->read(&reader, values[0]);
    if (!ga_reader_done(&reader)) {
        return;
    }
    size_t bound = codec->bound(values[0]);
    FUZZ_CHECK(bound <= sizeof again[0]);
    struct ga_writer writer = ga_writer_of(again[0], bound);
    codec->write(&writer, values[0]);
    FUZZ_CHECK(!writer.failed);
    reader = ga_reader_of(again[0], writer.at);
    codec->read(&reader, values[1]);
    FUZZ_CHECK(ga_reader_done(&reader));
    struct ga_writer last = ga_writer_of(again[1], sizeof again[1]);
    codec->write(&last, values[1]);
    FUZZ_CHECK(last.at == writer.at && memcmp(again[0], again[1], last.at) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    uint16_t number = fuzz_u16(&input);
    size_t bytes;
    uint8_t *message = fuzz_rest(&input, &bytes);
    if (by_number[number] != NULL && bytes <= WIRE_VALUES_MAX) {
        read_and_write(by_number[number], message, bytes);
    }
    if ((number & RESULTS) == 0) {
        char text[300];
        struct ga_reader reader = ga_reader_of(message, bytes);
        (void)api_call_print(text, sizeof text, number, &reader);
    }
    free(message);
    return 0;
}
