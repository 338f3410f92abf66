/* SPDX-License-Identifier: Apache-2.0 */
/* Which characters of others' texts reach a terminal. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void expect_clean(const char *text, const char *due)
{
    char clean[64];
    snprintf(clean, sizeof clean, "%s", text);
    ga_text_clean(clean);
    cr_expect_str_eq(clean, due, "%s: %s", text, clean);
    cr_expect_eq(ga_text_is_clean(text), strcmp(text, due) == 0, "%s", text);
    cr_expect(ga_text_is_clean(clean), "%s", text);
}

Test(text, what_people_write_stays)
{
    expect_clean("", "");
    expect_clean("a ~", "a ~");
    expect_clean("\xc2\xa0\xc3\xa4 \xd7\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80",
                 "\xc2\xa0\xc3\xa4 \xd7\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80");
}

Test(text, controls_are_replaced)
{
    expect_clean("a\tb\n\x1b[2J\x7f", "a?b??[2J?");
    expect_clean("a\xc2\x80\xc2\x9b"
                 "2J\xc2\x9f",
                 "a??2J?");
}

/* The one that is replaced, or the one after it. */
static void expect_range(uint32_t first, uint32_t last)
{
    cr_expect(ga_text_is_safe(first - 1), "%x", first - 1);
    cr_expect(ga_text_is_safe(last + 1), "%x", last + 1);
    for (uint32_t at = first; at <= last; at++) {
        cr_expect_not(ga_text_is_safe(at), "%x", at);
    }
}

Test(text, what_ends_or_turns_a_line_is_replaced)
{
    expect_range(0x7f, 0x9f);
    expect_range(0xad, 0xad);
    expect_range(0x61c, 0x61c);
    expect_range(0x200b, 0x200f);
    expect_range(0x2028, 0x202e);
    expect_range(0x2060, 0x206f);
    expect_clean("\xe2\x80\xae"
                 "evil\xe2\x80\xac \xe2\x81\xa6x\xe2\x81\xa9 \xd8\x9c",
                 "?evil? ?x? ?");
    expect_clean("a\xe2\x80\xa8"
                 "b\xe2\x80\xa9"
                 "c\xef\xbb\xbf\xf3\xa0\x81\x81",
                 "a?b?c??");
}

Test(text, each_byte_that_is_no_utf8_is_replaced)
{
    expect_clean("\xff\xc3(\xed\xa0\x80\xe2\x82", "?"
                                                  "?(?????");
    expect_clean("\x9b\xc0\x80\xf4\x90\x80\x80", "???????");
    expect_clean("\xf0\x80\x80\x80\xe0\x80\x80", "???????");
    expect_clean("\xf0\x9f\x98", "???");
}
