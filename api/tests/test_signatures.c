/* SPDX-License-Identifier: Apache-2.0 */
/* Two builds find out which calls they understand in the same way. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/call_info.h"
#include "api/signatures.h"

static struct api_signature theirs[API_OPS];
static struct api_op_set lacking, silent;

static size_t compare(size_t count)
{
    return api_signatures_compare(theirs, count, &lacking, &silent);
}

static void copy_ours(void)
{
    cr_assert_leq(api_signature_count, API_OPS);
    memcpy(theirs, api_signatures, api_signature_count * sizeof *theirs);
}

Test(signatures, the_table_goes_with_the_calls)
{
    cr_assert_eq(api_signature_count, api_call_count);
    for (size_t i = 0; i < api_call_count; i++) {
        cr_expect_eq(api_signatures[i].op, api_calls[i].op);
        cr_expect_eq(api_signatures[i].reply, api_calls[i].reply);
        cr_expect_eq(api_signatures[i].hash,
                     (uint32_t)(api_calls[i].signature >> 32 ^ api_calls[i].signature));
    }
}

Test(signatures, the_same_build_lacks_nothing)
{
    copy_ours();
    cr_expect_eq(compare(api_signature_count), 0);
    cr_expect_eq(compare(0), 0);
    for (unsigned op = 0; op < API_OPS; op++) {
        cr_expect(!api_op_set_has(&lacking, (uint16_t)op));
    }
}

Test(signatures, another_form_and_an_unknown_op_are_lacking)
{
    uint16_t list[API_OPS];
    copy_ours();
    theirs[3].hash ^= 1;
    theirs[3].reply = API_REPLY_ASYNC;
    theirs[7].hash ^= 1;
    theirs[7].reply = API_REPLY_WAIT;
    theirs[api_signature_count] = (struct api_signature){.op = API_OPS - 1};
    theirs[api_signature_count + 1] = (struct api_signature){.op = 60000};
    cr_expect_eq(compare(api_signature_count + 2), 4);
    cr_assert_eq(api_op_set_list(&lacking, list), 3); /* 60000 can be in no set, nor be called */
    cr_expect_eq(list[0], theirs[3].op);
    cr_expect_eq(list[1], theirs[7].op);
    cr_expect_eq(list[2], API_OPS - 1);
    cr_expect(api_op_set_has(&silent, theirs[3].op));
    cr_expect(!api_op_set_has(&silent, theirs[7].op));
}
