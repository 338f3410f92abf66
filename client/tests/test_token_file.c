/* SPDX-License-Identifier: Apache-2.0 */
/* Which token of GPUAAS_TOKEN_FILE a server is shown. */
#include <criterion/criterion.h>
#include <string.h>

#include "client/process/token_file.h"

static char token[32];
static unsigned wrong;

/* The token for a server; "": there is none. */
static const char *found(const char *text, const char *host, const char *port)
{
    memset(token, 'x', sizeof token);
    return client_token_find(text, host, port, token, sizeof token, &wrong) ? token : "";
}

Test(token_file, one_line_is_for_every_server)
{
    cr_expect_str_eq(found("secret\n", "gpu1", "9955"), "secret");
    cr_expect_str_eq(found("secret", "gpu1", "9955"), "secret");
    cr_expect_str_eq(found("\n# mine\n  secret \r\n", "gpu1", "9955"), "secret");
    cr_expect_str_eq(found("", "gpu1", "9955"), "");
    cr_expect_str_eq(found("# secret\n\n", "gpu1", "9955"), "");
}

Test(token_file, the_line_that_says_most_decides)
{
    static const char text[] = "common\ngpu1 first\ngpu1:9960 second\n[2001:db8::7]:1 third\n"
                               "2001:db8::8 fourth\nGPU2\tfifth\n";
    cr_expect_str_eq(found(text, "gpu1", "9955"), "first");
    cr_expect_str_eq(found(text, "gpu1", "9960"), "second");
    cr_expect_str_eq(found(text, "2001:db8::7", "1"), "third");
    cr_expect_str_eq(found(text, "2001:db8::7", "2"), "common");
    cr_expect_str_eq(found(text, "2001:db8::8", "5"), "fourth");
    cr_expect_str_eq(found(text, "gpu2", "9955"), "fifth", "names of hosts have no case");
    cr_expect_str_eq(found(text, "gpu3", "9955"), "common");
    cr_expect_eq(wrong, 0);
    cr_expect_str_eq(found("gpu1 first\n", "gpu3", "9955"), "", "it is nobody else's");
    cr_expect_str_eq(found("gpu1 first\n", "gpu11", "9955"), "");
    cr_expect_str_eq(found("gpu1 first\n", "gpu", "9955"), "");
}

Test(token_file, wrong_lines_are_skipped_and_named)
{
    cr_expect_str_eq(found("a b c\nsecret\n", "gpu1", "9955"), "secret");
    cr_expect_eq(wrong, 1);
    cr_expect_str_eq(
        found("good\ngpu1 0123456789012345678901234567890123456789\nx y z\n", "gpu1", "9955"),
        "good");
    cr_expect_eq(wrong, 2);
}
