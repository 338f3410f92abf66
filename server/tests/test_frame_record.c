/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are kept come back word by word, in their order; their memory is charged as long as
 * it is there. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/app/frame_record.h"
#include "server/rebuild/saved.h"
#include "server/tests/fake_ledger.h"

static struct wire_header header_of(uint16_t opcode, uint64_t sequence)
{
    return (struct wire_header){.opcode = opcode, .session = 1, .sequence = sequence};
}

Test(frame_record, comes_back)
{
    struct frame_record record = {0};
    uint8_t values[48];
    for (uint64_t i = 1; i <= 3000; i++) {
        const struct wire_header header = header_of((uint16_t)(100 + i % 7), i);
        memset(values, (int)i, sizeof values);
        cr_assert_eq(frame_record_reserve(&record, &fake_ledger), CUDA_SUCCESS);
        frame_record_add(&record, &header, values, i % 4 * 16);
        frame_record_add(&record, &header, values, i % 4 * 16); /* the same call: once */
    }
    cr_assert(!record.failed);
    size_t at = 0;
    const uint8_t *back;
    for (uint64_t i = 1; i <= 3000; i++) {
        const struct wire_header *header = frame_record_next(&record, &at, &back);
        cr_assert_not_null(header);
        cr_assert_eq(header->sequence, i);
        cr_assert_eq(header->opcode, 100 + i % 7);
        cr_assert_eq(header->length, i % 4 * 16);
        for (size_t byte = 0; byte < header->length; byte++) {
            cr_assert_eq(back[byte], (uint8_t)i);
        }
    }
    cr_assert_null(frame_record_next(&record, &at, &back));
    frame_record_fini(&record, &fake_ledger);
}

Test(frame_record, memory_is_charged)
{
    struct frame_record record = {0};
    struct ledger *ledger = &fake_ledger;
    const struct wire_header header = header_of(100, 1);
    const _Atomic uint64_t *charged = &ledger->figures->of[FIGURE_HOST_BYTES];
    uint8_t values[32] = {1};
    uint64_t before = *charged;
    cr_assert_eq(frame_record_reserve(&record, ledger), CUDA_SUCCESS);
    cr_assert_geq(*charged - before, WIRE_VALUES_MAX);
    frame_record_add(&record, &header, values, sizeof values);
    frame_record_shrink(&record, ledger);
    cr_assert_eq(*charged - before, sizeof header + sizeof values);
    ledger->most[FIGURE_HOST_BYTES] = *charged;
    cr_assert_eq(frame_record_reserve(&record, ledger), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(*charged - before, sizeof header + sizeof values);
    const struct wire_header second = header_of(100, 2);
    frame_record_add(&record, &second, values, sizeof values);
    cr_assert(record.failed); /* there was no room */
    frame_record_fini(&record, ledger);
    cr_assert_eq(*charged, before);
}

Test(kept, comes_back_in_order)
{
    struct saved kept = {0};
    int number;
    const char *text;
    for (int i = 0; i < 1000; i++) {
        cr_assert(saved_put(&kept, &i, sizeof i));
        cr_assert(saved_put(&kept, "text", 5));
    }
    for (int i = 0; i < 1000; i++) {
        cr_assert(saved_take(&kept, &number, sizeof number));
        cr_assert_eq(number, i);
        text = saved_look(&kept, 5);
        cr_assert_str_eq(text, "text");
    }
    cr_assert(!saved_take(&kept, &number, sizeof number));
    cr_assert_null(saved_look(&kept, 1));
    saved_fini(&kept);
}
