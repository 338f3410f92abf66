/* SPDX-License-Identifier: Apache-2.0 */
/* Six checks of every struct on the wire. The message buffer has exactly the message's size, so
 * the sanitizer sees a read beyond it. */
#include "api/tests/codec_checks.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* The message of `from`, malloc'ed to the byte; `bound` is checked on the way. */
static uint8_t *message_of(const struct codec_case *c, const void *from, size_t *size)
{
    size_t bound = c->bound(from);
    uint8_t *room = malloc(bound + 16);
    struct ga_writer w = ga_writer_of(room, bound);
    c->write(&w, from);
    cr_assert(!w.failed, "%s: the bound %zu is too small", c->name, bound);
    uint8_t *exact = malloc(w.at != 0 ? w.at : 1);
    memcpy(exact, room, w.at);
    *size = w.at;
    free(room);
    return exact;
}

static void round_trip(const struct codec_case *c, const void *from)
{
    size_t size;
    uint8_t *message = message_of(c, from, &size);
    void *to = malloc(c->size);
    struct ga_reader r = ga_reader_of(message, size);
    c->read(&r, to);
    cr_assert(ga_reader_done(&r), "%s: not read to the end", c->name);
    cr_assert(c->same(from, to), "%s: what arrives differs", c->name);
    free(to);
    free(message);
}

Test(codec, zeros_and_patterns_round_trip)
{
    cr_assert_gt(codec_case_count, 50);
    for (size_t i = 0; i < codec_case_count; i++) {
        const struct codec_case *c = &codec_cases[i];
        void *from = calloc(1, c->size);
        c->zero(from);
        round_trip(c, from);
        for (uint64_t seed = 0; seed < 5; seed++) {
            memset(from, 0, c->size);
            c->fill(from, seed);
            round_trip(c, from);
        }
        free(from);
    }
}

Test(codec, every_truncation_fails_and_stays_failed)
{
    for (size_t i = 0; i < codec_case_count; i++) {
        const struct codec_case *c = &codec_cases[i];
        void *from = calloc(1, c->size);
        void *to = malloc(c->size);
        c->fill(from, 3);
        size_t size;
        uint8_t *message = message_of(c, from, &size);
        for (size_t cut = 0; cut < size; cut++) {
            uint8_t *shorter = malloc(cut != 0 ? cut : 1);
            memcpy(shorter, message, cut);
            struct ga_reader r = ga_reader_of(shorter, cut);
            c->read(&r, to);
            cr_assert(r.failed, "%s: %zu of %zu bytes were enough", c->name, cut, size);
            cr_assert_eq(ga_read_u64(&r), 0);
            cr_assert(!ga_reader_done(&r), "%s: the failure was forgotten", c->name);
            free(shorter);
        }
        free(message);
        free(to);
        free(from);
    }
}

Test(codec, left_over_bytes_are_refused)
{
    for (size_t i = 0; i < codec_case_count; i++) {
        const struct codec_case *c = &codec_cases[i];
        void *from = calloc(1, c->size);
        void *to = malloc(c->size);
        c->fill(from, 4);
        size_t size;
        uint8_t *message = message_of(c, from, &size);
        size_t padded = (size + 15) & ~(size_t)15;
        message = realloc(message, padded + 16);
        memset(message + size, 0, padded + 16 - size);
        struct ga_reader r = ga_reader_of(message, padded);
        c->read(&r, to);
        cr_assert(ga_reader_done(&r), "%s: padding must be allowed", c->name);
        r = ga_reader_of(message, padded + 16);
        c->read(&r, to);
        cr_assert(!ga_reader_done(&r), "%s: 16 bytes too many were accepted", c->name);
        free(message);
        free(to);
        free(from);
    }
}

Test(codec, a_count_beyond_the_message_is_refused)
{
    size_t lies = 0;
    for (size_t i = 0; i < codec_case_count; i++) {
        const struct codec_case *c = &codec_cases[i];
        void *from = calloc(1, c->size);
        void *to = malloc(c->size);
        c->fill(from, 5);
        for (size_t k = 0; c->lies[k] != NULL; k++, lies++) {
            size_t bound = c->bound(from);
            uint8_t *message = malloc(bound);
            struct ga_writer w = ga_writer_of(message, bound);
            c->lies[k](&w, from);
            cr_assert(!w.failed);
            struct ga_reader r = ga_reader_of(message, w.at);
            c->read(&r, to);
            cr_assert(r.failed, "%s: a lie about a length was believed", c->name);
            free(message);
        }
        free(to);
        free(from);
    }
    cr_assert_gt(lies, 5);
}
