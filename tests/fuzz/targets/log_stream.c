/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a backend process writes to its log, in pieces, over some time: the first byte of each
 * piece is its length, the second one the time in units of 100 ms. */
#include <string.h>

#include "base/clock.h"
#include "base/log_stream.h"
#include "tests/fuzz/input.h"

static size_t bytes, lines;

static void told(void *user, const struct ga_log_said *said)
{
    (void)user;
    FUZZ_CHECK(strchr(said->text, '\n') == NULL && strlen(said->text) < GA_LOG_STREAM_LINE);
    FUZZ_CHECK(said->client == NULL || (said->record && said->client[0] != 0));
    FUZZ_CHECK(said->level <= GA_LOG_DEBUG);
    bytes += strlen(said->text);
    lines++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ga_log_stream stream;
    uint64_t now_ns = 1, repeats = 1;
    bytes = lines = 0;
    ga_log_stream_init(&stream, 1, told, NULL, now_ns);
    for (size_t at = 0; at + 2 < size; repeats = repeats % 999 + 1) {
        size_t length = data[at] < size - at - 2 ? data[at] : size - at - 2;
        now_ns += data[at + 1] * (GA_NS_PER_S / 10);
        for (uint64_t i = 0; i < repeats; i++) {
            ga_log_stream_take(&stream, (const char *)data + at + 2, length, now_ns);
        }
        at += 2 + length;
    }
    FUZZ_CHECK(bytes <=
               GA_LOG_STREAM_BURST + now_ns / GA_NS_PER_S * GA_LOG_STREAM_RATE + 64 * lines);
    bytes = lines = 0;
    ga_log_stream_end(&stream);
    FUZZ_CHECK(bytes <= GA_LOG_STREAM_LAST + GA_LOG_STREAM_LINE + 64);
    return 0;
}
