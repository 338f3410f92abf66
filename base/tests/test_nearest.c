/* SPDX-License-Identifier: Apache-2.0 */
/* A misspelt word is near to the word that was meant, and to no other. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/nearest.h"

static const char *nearest(const char *text, const char *const *words)
{
    struct ga_nearest found = ga_nearest_to(text, strlen(text));
    for (; *words != NULL; words++) {
        ga_nearest_offer(&found, *words);
    }
    return found.word != NULL ? found.word : "";
}

Test(nearest, one_edit_of_each_kind)
{
    static const char *const words[] = {"run", "devices", "status", NULL};
    cr_assert_str_eq(nearest("device", words), "devices");
    cr_assert_str_eq(nearest("devicess", words), "devices");
    cr_assert_str_eq(nearest("devixes", words), "devices");
    cr_assert_str_eq(nearest("deivces", words), "devices");
    cr_assert_str_eq(nearest("rn", words), "run");
    cr_assert_str_eq(nearest("statsu", words), "status");
}

Test(nearest, beginnings)
{
    static const char *const words[] = {"--config-manual", "--config", "--check-config", NULL};
    cr_assert_str_eq(nearest("--check", words), "--check-config");
    cr_assert_str_eq(nearest("--confg", words), "--config");
}

Test(nearest, nothing_is_near)
{
    static const char *const words[] = {"run", "devices", "status", NULL};
    static const char *const none[] = {NULL};
    char longest[200];
    memset(longest, 'r', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    cr_assert_str_eq(nearest("walk", words), "");
    cr_assert_str_eq(nearest("", words), "");
    cr_assert_str_eq(nearest("x", words), "");
    cr_assert_str_eq(nearest("ls", words), "");
    cr_assert_str_eq(nearest(longest, words), "");
    cr_assert_str_eq(nearest("run", none), "");
}

Test(nearest, the_first_of_equals)
{
    static const char *const words[] = {"cat", "car", NULL};
    cr_assert_str_eq(nearest("cab", words), "cat");
}
