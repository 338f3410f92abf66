/* SPDX-License-Identifier: Apache-2.0 */
/* The floor of encryption: records of 16 KiB with AES-128-GCM by OpenSSL, on one core.
 *
 *     aes CORE
 *
 * Each line on stdin is a number of records; the answer is the time that they took. `openssl
 * speed -evp aes-128-gcm` measures the same, with a key, a number and a tag for each record. */
#include <openssl/evp.h>
#include <string.h>

#include "perf/timing.h"

#define RECORD 16384

static void fail(void)
{
    fprintf(stderr, "aes: OpenSSL fails\n");
    exit(1);
}

static void records(EVP_CIPHER_CTX *context, uint64_t count)
{
    static uint8_t from[RECORD], to[RECORD + 16];
    uint8_t number[12] = {0}, tag[16];
    int size;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(number, &i, sizeof i);
        if (EVP_EncryptInit_ex(context, NULL, NULL, NULL, number) != 1 ||
            EVP_EncryptUpdate(context, to, &size, from, RECORD) != 1 ||
            EVP_EncryptFinal_ex(context, to + size, &size) != 1 ||
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, sizeof tag, tag) != 1) {
            fail();
        }
    }
}

int main(int argc, char **argv)
{
    static const uint8_t key[16] = {1}, number[12];
    char line[100];
    if (argc != 2) {
        fprintf(stderr, "usage: aes CORE, numbers of records on stdin\n");
        return 2;
    }
    timing_pin(atoi(argv[1]));
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context == NULL || EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), NULL, key, number) != 1) {
        fail();
    }
    records(context, 1000);
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint64_t count = strtoull(line, NULL, 10), start = ga_clock_ns();
        records(context, count);
        printf("{");
        timing_print(NULL, count, ga_clock_ns() - start);
        printf("}\n");
        fflush(stdout);
    }
    EVP_CIPHER_CTX_free(context);
    return 0;
}
