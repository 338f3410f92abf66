/* SPDX-License-Identifier: Apache-2.0 */
/* JSON is valid, whatever the texts contain. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/gpuaas/json.h"

static void expect_text(const char *text, const char *due)
{
    char *written = NULL;
    size_t size = 0;
    struct cmd_json json = {.out = open_memstream(&written, &size)};
    cmd_json_text(&json, NULL, text);
    fclose(json.out);
    cr_assert_str_eq(written, due, "%s is written, not %s", written, due);
    free(written);
}

Test(json, texts)
{
    expect_text("plain", "\"plain\"");
    expect_text("", "\"\"");
    expect_text(NULL, "null");
    expect_text("a\"b\\c", "\"a\\\"b\\\\c\"");
    expect_text("\x1b[2J\n\x7f", "\"\\u001b[2J\\u000a\\u007f\"");
    expect_text("\xc2\x9b" /* NOLINT: that it misleads is the point */
                "2J\xe2\x80\xae\xf3\xa0\x81\x81",
                "\"\\u009b2J\\u202e\\udb40\\udc41\"");
    expect_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

Test(json, bytes_that_are_no_characters)
{
    expect_text("a\xff"
                "b",
                "\"a\\ufffdb\"");
    expect_text("\xc3", "\"\\ufffd\"");                       /* ends too early */
    expect_text("\xc0\xaf", "\"\\ufffd\\ufffd\"");            /* too long for a slash */
    expect_text("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""); /* half of a pair of UTF-16 */
    expect_text("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* beyond the last one */
    expect_text("\xe2\x82", "\"\\ufffd\\ufffd\"");
}

Test(json, objects_and_arrays)
{
    char *written = NULL;
    size_t size = 0;
    struct cmd_json json = {.out = open_memstream(&written, &size)};
    cmd_json_open(&json, NULL, '{');
    cmd_json_open(&json, "empty", '[');
    cmd_json_close(&json, ']');
    cmd_json_open(&json, "some", '[');
    cmd_json_number(&json, NULL, UINT64_MAX);
    cmd_json_flag(&json, NULL, true);
    cmd_json_close(&json, ']');
    cmd_json_flag(&json, "no", false);
    cmd_json_close(&json, '}');
    fclose(json.out);
    cr_assert_str_eq(written, "{\n  \"empty\": [],\n  \"some\": [\n    18446744073709551615,\n"
                              "    true\n  ],\n  \"no\": false\n}\n");
    free(written);
}
