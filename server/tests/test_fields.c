/* SPDX-License-Identifier: Apache-2.0 */
/* A wrong value in each field of each call, from a client that checks nothing: rubbish, stale and
 * mistaken handles, addresses where no memory is; and frames of the wrong length. The backend
 * process answers with an error or ends the connection; it never dies, and nobody else notices.
 * Note: the calls travel by themselves, so that a call which is right by itself may still fail (an
 * event that was never recorded); asserted is what must fail. */
#include "server/tests/fields_app.h"

/* ---- fields */

static void try_handle(const struct field_call *call, unsigned at)
{
    enum ga_handle_type type = call->fields[at].type;
    enum ga_handle_type another = type == GA_HANDLE_EVENT ? GA_HANDLE_STREAM : GA_HANDLE_EVENT;
    const uint64_t wrong[] = {
        type == GA_HANDLE_STREAM ? 3 : 0, /* 0 is the legacy stream */
        ~UINT64_C(0),
        0x1230,
        live(another),
        ga_handle_make(type, 2, 1),
        ga_handle_make(type, 1, 0xffffff),
        ga_handle_make(type, 1, 0),
        ga_handle_make(type, 0, 1),
        stale(type),
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_error(call, at, wrong[i]);
    }
}

static void try_address(const struct field_call *call, unsigned at)
{
    const uint64_t wrong[] = {
        0,
        0x1000,
        ~UINT64_C(0),
        app.window - 1,
        app.window + 4 * MIB, /* unmapped */
        app.window + SCRIPT_WINDOW_BYTES,
        (uint64_t)(uintptr_t)&server,
        other.window + MIB / 2 + SCRIPT_WINDOW_BYTES,
        not_given,
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_error(call, at, wrong[i]);
    }
}

/* A name that is none, or one that is taken. */
static void try_new(const struct field_call *call, unsigned at)
{
    enum ga_handle_type type = call->fields[at].type;
    enum ga_handle_type another = type == GA_HANDLE_EVENT ? GA_HANDLE_STREAM : GA_HANDLE_EVENT;
    const uint64_t wrong[] = {
        0, ~UINT64_C(0), ga_handle_make(another, 1, 7), ga_handle_make(type, 1, 0), live(type),
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_error(call, at, wrong[i]);
    }
}

/* Any answer will do: what it means is up to the call. */
static void try_number(const struct field_call *call, unsigned at)
{
    static const uint64_t odd[] = {0, ~UINT64_C(0), UINT64_C(1) << 31, UINT64_C(1) << 63};
    uint64_t values[FIELDS_MAX];
    for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
        right_values(call, values);
        values[at] = odd[i];
        if (send_call(call, values) <= 0) {
            restart();
        }
    }
}

static void try_call(const struct field_call *call, unsigned *accepted)
{
    uint64_t values[FIELDS_MAX];
    for (unsigned i = 0; i < call->count; i++) {
        switch (call->fields[i].kind) {
        case FIELD_HANDLE:
            try_handle(call, i);
            break;
        case FIELD_ADDRESS:
            try_address(call, i);
            break;
        case FIELD_NEW:
            try_new(call, i);
            break;
        case FIELD_NUMBER:
            try_number(call, i);
            break;
        default:
            break;
        }
    }
    right_values(call, values);
    int32_t result = send_call(call, values);
    *accepted += result == NO_ANSWER || result == 0;
    cr_expect_neq(result, ENDED, "%s with right values ends the connection", call->name);
    restart();
}

Test(fields, are_all_checked, .timeout = 280)
{
    unsigned accepted = 0;
    uint32_t pattern = 0x600df00d, found = 0;

    /* `other` says nothing meanwhile; and there is memory for many that are still ending */
    script_server_start_with(&server, "dead_after_s = 3600\n", "16GiB");
    script_app_start(&other, server.url, 1);
    cr_assert_eq(script_map(&other, other.window, 2 * MIB), 0);
    script_copy_in(&other, other.window, &pattern, sizeof pattern, 0);
    start();
    for (unsigned i = 0; i < field_call_count; i++) {
        try_call(&field_calls[i], &accepted);
        script_server_drain(&server);
    }
    cr_expect_gt(accepted, field_call_count / 2, "only %u of %u calls are right by themselves",
                 accepted, field_call_count);
    cr_expect_eq(script_copy_out(&other, other.window, &found, sizeof found, 0), 0);
    cr_expect_eq(found, pattern, "another application's memory");
    script_app_close(&app);
    script_app_close(&other);
    stop(0);
}

/* No object is needed: whether a frame ends where its call's values end is looked at first. */
static void expect_end(const struct field_call *call, int longer)
{
    uint64_t values[FIELDS_MAX];
    script_app_start(&app, server.url, 0);
    right_values(call, values);
    int32_t result = send_resized(call, values, longer);
    cr_expect_eq(result, ENDED, "%s with values of %+d bytes gives %d", call->name, longer, result);
    script_app_close(&app);
}

Test(fields, frames_end_where_their_values_end, .timeout = 280)
{
    script_server_start_with(&server, "dead_after_s = 3600\n", "16GiB");
    for (unsigned i = 0; i < field_call_count; i++) {
        expect_end(&field_calls[i], 16);
        if (field_calls[i].write != NULL) {
            expect_end(&field_calls[i], -16);
        }
        script_server_drain(&server);
    }
    stop(0);
}
