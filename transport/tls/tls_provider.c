/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL's own algorithms, without those that a client of TLS 1.3 never asks for: OpenSSL makes
 * all of a kind ready when one of them is first wanted, some 130 ciphers for three. That is half of
 * what it does in the start of a program.
 *
 * Note: only an OpenSSL that is linked into us shows its list; with that of the machine nothing is
 * left out. */
#include <openssl/core_dispatch.h>
#include <openssl/provider.h>
#include <string.h>
#include <strings.h>

#include "transport/tls/tls.h"

#define OPERATIONS_MAX 16u
#define CIPHERS_MAX    8u
#define DECODERS_MAX   128u /* OpenSSL 3.0 has 92 */

extern OSSL_provider_init_fn ossl_default_provider_init __attribute__((weak));

static OSSL_FUNC_provider_query_operation_fn *query_all;
static OSSL_DISPATCH operations[OPERATIONS_MAX + 1];
static OSSL_ALGORITHM ciphers[CIPHERS_MAX + 1], decoders[DECODERS_MAX + 1];

/* Those of the three suites, and of the generator of random numbers. */
static const char *const needed_ciphers[] = {"AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305",
                                             "AES-256-CTR", "AES-256-ECB", NULL};
/* No certificate of TLS 1.3 has such a key. */
static const char *const other_keys[] = {"DH", "DHX", "DSA", "SM2", NULL};

static bool is_among(const OSSL_ALGORITHM *algorithm, const char *const *names)
{
    size_t length = strcspn(algorithm->algorithm_names, ":");
    bool found = false;
    for (unsigned i = 0; !found && names[i] != NULL; i++) {
        found = strlen(names[i]) == length &&
                strncasecmp(names[i], algorithm->algorithm_names, length) == 0;
    }
    return found;
}

/* Copies those that are among the names, or are not. False: too many. */
static bool algorithms_pick(const OSSL_ALGORITHM *all, const char *const *names, bool among,
                            OSSL_ALGORITHM *out, size_t most)
{
    size_t count = 0;
    for (; all->algorithm_names != NULL; all++) {
        if (is_among(all, names) != among) {
            continue;
        }
        if (count == most) {
            return false;
        }
        out[count++] = *all;
    }
    out[count] = (OSSL_ALGORITHM){0};
    return true;
}

static const OSSL_ALGORITHM *query_needed(void *provider, int operation, int *no_cache)
{
    const OSSL_ALGORITHM *picked = operation == OSSL_OP_CIPHER    ? ciphers
                                   : operation == OSSL_OP_DECODER ? decoders
                                                                  : NULL;
    if (picked != NULL && picked->algorithm_names != NULL) {
        *no_cache = 0;
        return picked;
    }
    return query_all(provider, operation, no_cache);
}

static void lists_make(void *provider)
{
    int no_cache;
    const OSSL_ALGORITHM *all = query_all(provider, OSSL_OP_CIPHER, &no_cache);
    if (all == NULL || !algorithms_pick(all, needed_ciphers, true, ciphers, CIPHERS_MAX)) {
        ciphers[0] = (OSSL_ALGORITHM){0};
    }
    all = query_all(provider, OSSL_OP_DECODER, &no_cache);
    if (all == NULL || !algorithms_pick(all, other_keys, false, decoders, DECODERS_MAX)) {
        decoders[0] = (OSSL_ALGORITHM){0};
    }
}

/* The default provider, which says less of itself. */
static int provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *core,
                         const OSSL_DISPATCH **out, void **provider)
{
    const OSSL_DISPATCH *own;
    unsigned count = 0;
    if (ossl_default_provider_init(handle, core, &own, provider) != 1) {
        return 0;
    }
    for (; own->function_id != 0 && count < OPERATIONS_MAX; own++, count++) {
        operations[count] = *own;
        if (own->function_id == OSSL_FUNC_PROVIDER_QUERY_OPERATION) {
            query_all = OSSL_FUNC_provider_query_operation(own);
            operations[count].function = (void (*)(void))query_needed;
        }
    }
    if (own->function_id != 0 || query_all == NULL) {
        return 0;
    }
    lists_make(*provider);
    *out = operations;
    return 1;
}

void tls_provider_start(void)
{
    if (ossl_default_provider_init != NULL &&
        OSSL_PROVIDER_add_builtin(NULL, "gpuaas", provider_init) == 1) {
        (void)OSSL_PROVIDER_load(NULL, "gpuaas"); /* else OpenSSL takes its own */
    }
}
