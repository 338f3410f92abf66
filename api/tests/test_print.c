/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "api/calls.h"

static const char *printed(uint16_t op, const void *message, size_t size, size_t room)
{
    static char text[256];
    struct ga_reader reader = ga_reader_of(message, size);
    memset(text, 'x', sizeof text);
    int length = api_call_print(text, room, op, &reader);
    cr_assert_geq(length, 0);
    return text;
}

Test(print, a_call_with_its_values)
{
    _Alignas(16) uint8_t message[64];
    struct ga_writer w = ga_writer_of(message, sizeof message);
    struct cuEventCreate_args args = {.phEvent = 0x300000100000001u, .Flags = 2};
    cuEventCreate_args_write(&w, &args);
    cr_assert_str_eq(printed(API_OP_cuEventCreate, message, w.at, 256),
                     "cuEventCreate(phEvent=0x300000100000001, Flags=2)");
    cr_assert_str_eq(printed(API_OP_cuEventCreate, message, w.at, 8), "cuEvent");
    cr_assert_str_eq(printed(API_OP_cuEventCreate, message, 4, 256),
                     "cuEventCreate(phEvent=0x0, Flags=0, cut short)");
}

Test(print, strings_and_unknown_ops)
{
    _Alignas(16) uint8_t message[64];
    struct ga_writer w = ga_writer_of(message, sizeof message);
    struct ga_module_global_args args = {.module = 5, .name = "table"};
    ga_module_global_args_write(&w, &args);
    cr_assert_str_eq(printed(API_OP_ga_module_global, message, w.at, 256),
                     "ga_module_global(module=5, name=\"table\")");
    cr_assert_str_eq(printed(99, message, 0, 256), "op 99()");
    cr_assert_str_eq(api_op_name(99), "?");
}

Test(print, every_call_is_found_by_its_op)
{
    cr_assert_gt(api_call_count, 50);
    for (size_t i = 0; i < api_call_count; i++) {
        cr_assert_eq(api_call_find(api_calls[i].op), &api_calls[i]);
        cr_assert_str_eq(api_op_name(api_calls[i].op), api_calls[i].name);
        cr_assert_neq(api_calls[i].signature, 0);
    }
    cr_assert_null(api_call_find(0));
    cr_assert_null(api_call_find(UINT16_MAX));
}
