/* SPDX-License-Identifier: Apache-2.0 */
/* Which token of GPUAAS_TOKEN_FILE a server is shown. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "client/process/token_file.h"

static char token[32];
static struct token_file_wrong wrong;

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
    cr_expect_eq(wrong.line, 0);
    cr_expect_str_eq(found("gpu1 first\n", "gpu3", "9955"), "", "it is nobody else's");
    cr_expect_str_eq(found("gpu1 first\n", "gpu11", "9955"), "");
    cr_expect_str_eq(found("gpu1 first\n", "gpu", "9955"), "");
}

Test(token_file, wrong_lines_are_skipped_and_named)
{
    cr_expect_str_eq(found("a b c\nsecret\n", "gpu1", "9955"), "secret");
    cr_expect_eq(wrong.line, 1);
    cr_expect_str_eq(
        found("good\ngpu1 0123456789012345678901234567890123456789\nx y z\n", "gpu1", "9955"),
        "good");
    cr_expect_eq(wrong.line, 2);
    cr_expect_eq(wrong.count, 2);
}

Test(token_file, a_line_can_name_a_pool)
{
    static const char text[] = "gpu1,gpu2:9960,tls://gpu3 first\n"
                               "tls://[2001:db8::7]:1,rdma://gpu4:2,tcp://GPU5 second\n"
                               "shm:here,shm: third\n";
    cr_expect_str_eq(found(text, "gpu1", "9955"), "first");
    cr_expect_str_eq(found(text, "gpu2", "9960"), "first");
    cr_expect_str_eq(found(text, "gpu2", "9955"), "");
    cr_expect_str_eq(found(text, "gpu3", "1"), "first");
    cr_expect_str_eq(found(text, "2001:db8::7", "1"), "second");
    cr_expect_str_eq(found(text, "2001:db8::7", "2"), "");
    cr_expect_str_eq(found(text, "gpu4", "2"), "second");
    cr_expect_str_eq(found(text, "gpu5", "9955"), "second");
    cr_expect_str_eq(found(text, "here", ""), "third");
    cr_expect_str_eq(found(text, "9955", ""), "third");
    cr_expect_str_eq(found(text, "gpu6", "9955"), "");
    cr_expect_eq(wrong.line, 0);
}

Test(token_file, a_line_can_name_a_domain)
{
    static const char text[] = "*.example.org second\n*.GPU.example.org first\n"
                               "*.gpu.example.org:9960,other port\n"
                               "n1.gpu.example.org own\nall\n";
    cr_expect_str_eq(found(text, "n1.gpu.example.org", "9955"), "own");
    cr_expect_str_eq(found(text, "n1.gpu.example.org", "9960"), "own");
    cr_expect_str_eq(found(text, "N2.gpu.Example.org", "9955"), "first");
    cr_expect_str_eq(found(text, "n2.gpu.example.org", "9960"), "port");
    cr_expect_str_eq(found(text, "a.b.gpu.example.org", "9955"), "first");
    cr_expect_str_eq(found(text, "gpu.example.org", "9955"), "second");
    cr_expect_str_eq(found(text, "n3.example.org", "9960"), "second");
    cr_expect_str_eq(found(text, "example.org", "9955"), "all");
    cr_expect_str_eq(found(text, "badexample.org", "9955"), "all");
    cr_expect_str_eq(found(text, ".example.org", "9955"), "all");
    cr_expect_str_eq(found(text, "n3.example.org.evil", "9955"), "all");
    cr_expect_eq(wrong.line, 0);
}

Test(token_file, of_equal_lines_the_first_decides)
{
    static const char text[] = "gpu1,*.lab first\ngpu1 second\n*.lab third\nfourth\nfifth\n";
    cr_expect_str_eq(found(text, "gpu1", "9955"), "first");
    cr_expect_str_eq(found(text, "n.lab", "9955"), "first");
    cr_expect_str_eq(found(text, "n", "9955"), "fourth");
}

/* The line is left out as a whole: half a line would send tokens where nobody wants them. */
static void expect_wrong(const char *line, const char *why)
{
    char text[256];
    snprintf(text, sizeof text, "# mine\n%s\n", line);
    cr_expect_str_eq(found(text, "gpu1", "9955"), "", "%s", line);
    cr_expect_eq(wrong.count, 1, "%s", line);
    cr_expect_eq(wrong.line, 2, "%s", line);
    cr_expect(wrong.why != NULL && strstr(wrong.why, why) != NULL, "%s: %s", line, wrong.why);
}

Test(token_file, wrong_lines_say_what_is_wrong)
{
    expect_wrong("gpu1, gpu2 secret", "more than two words");
    expect_wrong("gpu1,gpu2", "no token");
    expect_wrong("gpu1:9955", "no token");
    expect_wrong("tls://gpu1", "no token");
    expect_wrong("*.gpu.example.org", "no token");
    expect_wrong("gpu1 01234567890123456789012345678901", "too long");
    expect_wrong("gpu1,,gpu2 secret", "a server is missing");
    expect_wrong("gpu1, secret", "a server is missing");
    expect_wrong(",gpu1 secret", "a server is missing");
    expect_wrong("gpu1,tls:// secret", "a server is missing");
    expect_wrong("gpu1,:9955 secret", "a server is missing");
    expect_wrong("gpu1,[]:9955 secret", "a server is missing");
    expect_wrong("gpu1,gpu2:0 secret", "a port is");
    expect_wrong("gpu1,gpu2:65536 secret", "a port is");
    expect_wrong("gpu1,gpu2:4294977251 secret", "a port is");
    expect_wrong("gpu1,gpu2: secret", "a port is");
    expect_wrong("gpu1,gpu2:http secret", "a port is");
    expect_wrong("gpu1,[::1 secret", "a ] is missing");
    expect_wrong("gpu1,[ secret", "a ] is missing");
    expect_wrong("gpu1,* secret", "a * stands only");
    expect_wrong("gpu1,*. secret", "a * stands only");
    expect_wrong("gpu1,gpu* secret", "a * stands only");
    expect_wrong("gpu1,*.*.org secret", "a * stands only");
    expect_wrong("gpu1,*.0.0.1 secret", "a * stands only");
    expect_wrong("gpu1,http://gpu2 secret", "a port is");
    expect_wrong("gpu1,gpu2/x secret", "HOST:PORT");
}
