/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for tests. A test cannot continue if OpenSSL fails here. */
#include "transport/tests/authority.h"

#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/stat.h>

#define DAY_S 86400L

static X509 *certificate_make(EVP_PKEY *key, const char *name, long from_s, long until_s)
{
    static long serial;
    X509 *certificate = X509_new();
    cr_assert_not_null(certificate);
    cr_assert_eq(X509_set_version(certificate, 2), 1);
    cr_assert_eq(ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial), 1);
    cr_assert_not_null(X509_gmtime_adj(X509_getm_notBefore(certificate), from_s));
    cr_assert_not_null(X509_gmtime_adj(X509_getm_notAfter(certificate), until_s));
    X509_NAME *subject = X509_get_subject_name(certificate);
    cr_assert_eq(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                            (const unsigned char *)name, -1, -1, 0),
                 1);
    cr_assert_eq(X509_set_pubkey(certificate, key), 1);
    return certificate;
}

static void extension_add(X509 *certificate, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    cr_assert_not_null(extension);
    cr_assert_eq(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static void certificate_write(const char *path, X509 *certificate)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(PEM_write_X509(file, certificate), 1);
    cr_assert_eq(fclose(file), 0);
}

void authority_make(struct authority *authority, const char *folder, const char *name)
{
    authority->key = EVP_EC_gen("P-256");
    cr_assert_not_null(authority->key);
    authority->certificate = certificate_make(authority->key, name, -DAY_S, DAY_S);
    X509 *certificate = authority->certificate;
    cr_assert_eq(X509_set_issuer_name(certificate, X509_get_subject_name(certificate)), 1);
    extension_add(certificate, NID_basic_constraints, "critical,CA:TRUE");
    cr_assert(X509_sign(certificate, authority->key, EVP_sha256()) > 0);
    snprintf(authority->path, sizeof authority->path, "%s/%s.pem", folder, name);
    certificate_write(authority->path, certificate);
}

void authority_free(struct authority *authority)
{
    X509_free(authority->certificate);
    EVP_PKEY_free(authority->key);
}

void authority_sign(const struct authority *authority, const char *folder, const char *name,
                    const char *names, long from_s, long until_s)
{
    char path[160];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    cr_assert_not_null(key);
    X509 *certificate = certificate_make(key, name, from_s, until_s);
    cr_assert_eq(X509_set_issuer_name(certificate, X509_get_subject_name(authority->certificate)),
                 1);
    extension_add(certificate, NID_subject_alt_name, names);
    cr_assert(X509_sign(certificate, authority->key, EVP_sha256()) > 0);
    snprintf(path, sizeof path, "%s/%s.pem", folder, name);
    certificate_write(path, certificate);
    snprintf(path, sizeof path, "%s/%s.key", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fchmod(fileno(file), S_IRUSR | S_IWUSR), 0);
    cr_assert_eq(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    cr_assert_eq(fclose(file), 0);
    X509_free(certificate);
    EVP_PKEY_free(key);
}
