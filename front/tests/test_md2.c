/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 1319, appendix A.5. The HMAC values were computed by Python's hmac over another MD2. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "front/tables/integrity.h"
#include "front/tables/md2.h"

static const char *hex(const uint8_t digest[FRONT_MD2_BYTES])
{
    static char text[2 * FRONT_MD2_BYTES + 1];
    for (size_t i = 0; i < FRONT_MD2_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    }
    return text;
}

static const char *md2_of(const char *message)
{
    struct front_md2 md2;
    uint8_t digest[FRONT_MD2_BYTES];
    front_md2_begin(&md2);
    front_md2_add(&md2, message, strlen(message));
    front_md2_end(&md2, digest);
    return hex(digest);
}

Test(md2, vectors_of_rfc_1319)
{
    cr_assert_str_eq(md2_of(""), "8350e5a3e24c153df2275c9f80692773");
    cr_assert_str_eq(md2_of("a"), "32ec01ec4a6dac72c0ab96fb34c0b5d1");
    cr_assert_str_eq(md2_of("abc"), "da853b0d3f88d99b30283a69e6ded6bb");
    cr_assert_str_eq(md2_of("message digest"), "ab4f496bfb2a530b219ff33031fe06b0");
    cr_assert_str_eq(md2_of("abcdefghijklmnopqrstuvwxyz"), "4e8ddff3650292ab5a4108c3aa47940b");
    cr_assert_str_eq(md2_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
                     "da33def2a42df13975352846c30338cd");
    cr_assert_str_eq(md2_of("1234567890123456789012345678901234567890"
                            "1234567890123456789012345678901234567890"),
                     "d5976f79d83d3a0dc9806c3c66f3efd8");
}

static const char *hmac_of(const char *key, const char *message)
{
    struct front_hmac hmac;
    uint8_t digest[FRONT_MD2_BYTES];
    front_hmac_begin(&hmac, key, strlen(key));
    front_md2_add(&hmac.md2, message, strlen(message));
    front_hmac_end(&hmac, digest);
    return hex(digest);
}

Test(md2, hmac)
{
    char long_key[81] = {0};
    memset(long_key, 0xaa, 80);
    cr_assert_str_eq(
        hmac_of("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b", "Hi There"),
        "b524be0196e491ed44823746cd8923af");
    cr_assert_str_eq(hmac_of("Jefe", "what do ya want for nothing?"),
                     "292f9d34f9e311846de86c495d7adfa2");
    cr_assert_str_eq(hmac_of(long_key, "Test Using Larger Than Block-Size Key - Hash Key First"),
                     "615b1c392f5aaeeeab7e82572e6395d5");
}

Test(integrity, answers)
{
    struct front_device devices[2];
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < 16; i++) {
            devices[d].uuid[i] = (uint8_t)(16 * d + i);
        }
        devices[d].pci_domain = d;
        devices[d].pci_bus = 65 + d;
        devices[d].pci_device = 3;
    }
    struct front_integrity facts = {13000,  13002,  4711,       0xdeadbeef, 0x1111,
                                    0x2222, 0x3333, 1700000000, devices,    2};
    uint64_t answer[2];
    front_integrity_hash(&facts, answer);
    cr_assert_eq(answer[0], 0x179eb21655bdf88cu);
    cr_assert_eq(answer[1], 0x3c0ccc13829f22bbu);
    facts.version = 13000;
    front_integrity_hash(&facts, answer);
    cr_assert_eq(answer[0], 0x3341181c03cb675cu);
    facts.version = 13001;
    front_integrity_hash(&facts, answer);
    cr_assert_eq(answer[0], 0x1841181c03cb675cu);
    cr_assert_eq(answer[1], 0x8ed383aa1f4cd1e8u);
}
