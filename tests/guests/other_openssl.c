/* SPDX-License-Identifier: Apache-2.0 */
/* other_openssl: a program with symbols of OpenSSL's names that have nothing in common with
 * ours. The loader finds them first; a call of one ends the program. The program still uses a
 * GPU by libcuda.so.1, and forks. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER(name)                                                                                \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        printf("the library has called our " #name "\nFAILED\n");                                  \
        fflush(stdout);                                                                            \
        _exit(1);                                                                                  \
    }

OTHER(OPENSSL_init_ssl)
OTHER(OPENSSL_init_crypto)
OTHER(OPENSSL_cleanup)
OTHER(SSL_CTX_new)
OTHER(SSL_CTX_free)
OTHER(SSL_new)
OTHER(SSL_free)
OTHER(SSL_do_handshake)
OTHER(SSL_read)
OTHER(SSL_write)
OTHER(BIO_new)
OTHER(BIO_meth_new)
OTHER(ERR_clear_error)
OTHER(ERR_peek_last_error)
OTHER(EVP_CIPHER_fetch)
OTHER(EVP_EncryptUpdate)
OTHER(EVP_DigestUpdate)
OTHER(EVP_PKEY_new)
OTHER(X509_verify_cert)
OTHER(RAND_bytes)
OTHER(CRYPTO_malloc)
OTHER(CRYPTO_free)
OTHER(CRYPTO_THREAD_write_lock)
OTHER(OPENSSL_cleanse)

static void *library;

static void *symbol(const char *name)
{
    void *at = dlsym(library, name);
    if (at == NULL) {
        printf("%s: %s\nFAILED\n", name, dlerror());
        exit(1);
    }
    return at;
}

static void check(int rc, const char *what)
{
    if (rc != 0) {
        printf("%s: error %d\nFAILED\n", what, rc);
        exit(1);
    }
}

int main(void)
{
    char out[1000] = "", in[1000] = "there and back";
    unsigned long long at;
    void *context;
    int status = 0;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        printf("%s\nFAILED\n", dlerror());
        return 1;
    }
    int (*init)(unsigned) = (int (*)(unsigned))symbol("cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))symbol("cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *))symbol("cuCtxSetCurrent");
    int (*alloc)(unsigned long long *, size_t) =
        (int (*)(unsigned long long *, size_t))symbol("cuMemAlloc_v2");
    int (*to)(unsigned long long, const void *, size_t) =
        (int (*)(unsigned long long, const void *, size_t))symbol("cuMemcpyHtoD_v2");
    int (*back)(void *, unsigned long long, size_t) =
        (int (*)(void *, unsigned long long, size_t))symbol("cuMemcpyDtoH_v2");
    check(init(0), "cuInit");
    check(retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(set(context), "cuCtxSetCurrent");
    check(alloc(&at, sizeof in), "cuMemAlloc");
    check(to(at, in, sizeof in), "cuMemcpyHtoD");
    pid_t child = fork();
    if (child == 0) {
        exit(back(out, at, sizeof out) == 3 ? 0 : 1); /* CUDA_ERROR_NOT_INITIALIZED */
    }
    check(child < 0 || waitpid(child, &status, 0) != child || status != 0, "the child");
    check(back(out, at, sizeof out), "cuMemcpyDtoH");
    check(memcmp(in, out, sizeof in), "what has come back");
    printf("PASSED\n");
    return 0;
}
