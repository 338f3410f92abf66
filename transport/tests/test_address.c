/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as users write them. */
#include <criterion/criterion.h>

#include "transport/transport.h"

static void expect(const char *text, const char *host, const char *port)
{
    struct transport_address address;
    char why[256] = "";
    cr_assert_eq(transport_address_parse(text, "9955", &address, why, sizeof why), GA_OK, "%s: %s",
                 text, why);
    cr_assert_str_eq(address.host, host);
    cr_assert_str_eq(address.port, port);
}

static void expect_refused(const char *text, const char *part_of_why)
{
    struct transport_address address;
    char why[256] = "";
    cr_assert_eq(transport_address_parse(text, "9955", &address, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, text));
    cr_assert_not_null(strstr(why, part_of_why), "%s", why);
}

Test(address, forms)
{
    expect("node1", "node1", "9955");
    expect("node1:1234", "node1", "1234");
    expect("tcp://127.0.0.1:0", "127.0.0.1", "0");
    expect("[::1]:80", "::1", "80");
    expect("tcp://[::1]", "::1", "9955");
}

Test(address, wrong_ones_say_what_is_allowed)
{
    expect_refused("", "host");
    expect_refused("ftp://a", "transport");
    expect_refused("a:99999", "port");
    expect_refused("a:", "port");
    expect_refused("a:12x", "port");
    expect_refused("[::1", "]");
    expect_refused("[::1]x", "]");
}
