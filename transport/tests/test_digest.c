/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256: the examples of FIPS 180-4 and NIST's test vectors, whole and in pieces. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "transport/transport.h"

/* As hexadecimal digits, of bytes that come in pieces of this size; 0: at once. */
static const char *digest_of(const void *bytes, size_t size, size_t piece)
{
    static char text[2 * TRANSPORT_DIGEST_BYTES + 1];
    uint8_t made[TRANSPORT_DIGEST_BYTES];
    struct transport_digest *digest = transport_digest_begin();
    cr_assert_not_null(digest);
    for (size_t at = 0, now; at < size; at += now) {
        now = piece != 0 && piece < size - at ? piece : size - at;
        transport_digest_add(digest, (const char *)bytes + at, now);
    }
    cr_assert(transport_digest_end(digest, made));
    for (unsigned i = 0; i < sizeof made; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", made[i]);
    }
    return text;
}

Test(digest, is_sha_256)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    cr_expect_str_eq(digest_of("", 0, 0),
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    cr_expect_str_eq(digest_of("abc", 3, 0),
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    cr_expect_str_eq(digest_of(two_blocks, strlen(two_blocks), 0),
                     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

Test(digest, does_not_depend_on_the_pieces)
{
    static const size_t pieces[] = {0, 1, 63, 64, 65, 4096};
    static char million[1000000];
    memset(million, 'a', sizeof million);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        cr_expect_str_eq(digest_of(million, sizeof million, pieces[i]),
                         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}

Test(digest, may_be_missing)
{
    uint8_t made[TRANSPORT_DIGEST_BYTES];
    transport_digest_add(NULL, "abc", 3);
    cr_expect_not(transport_digest_end(NULL, made));
    cr_expect_not(transport_digest_end(transport_digest_begin(), NULL), "it is only freed");
}
