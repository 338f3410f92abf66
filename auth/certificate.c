/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/certificate.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <openssl/ec.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#define CERTIFICATE_SERIAL_BYTES 16

static bool is_address(const char *name)
{
    uint8_t bytes[16];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

bool certificate_name_is_valid(const char *name)
{
    size_t length = strlen(name), label = 0;
    if (is_address(name)) {
        return true;
    }
    bool many = strncmp(name, "*.", 2) == 0;
    const char *at = many ? name + 2 : name;
    if (many && strchr(at, '.') == NULL) {
        return false; /* nobody accepts it: it would be a whole top-level domain */
    }
    for (; *at != 0; at++) {
        bool inside = isalnum((unsigned char)*at) || (*at == '-' && label > 0);
        if (!inside && (*at != '.' || label == 0 || at[-1] == '-')) {
            return false;
        }
        label = *at == '.' ? 0 : label + 1;
        if (label > 63) {
            return false;
        }
    }
    return length > 0 && length <= 253 && label > 0 && at[-1] != '-';
}

/* Adds one to `names`. */
static bool name_add(GENERAL_NAMES *names, int type, const char *text)
{
    GENERAL_NAME *name = GENERAL_NAME_new();
    if (name == NULL) {
        return false;
    }
    void *value;
    if (type == GEN_IPADD) {
        value = a2i_IPADDRESS(text);
    } else {
        value = ASN1_IA5STRING_new();
        if (value != NULL && ASN1_STRING_set(value, text, -1) != 1) {
            ASN1_IA5STRING_free(value);
            value = NULL;
        }
    }
    if (value != NULL) {
        GENERAL_NAME_set0_value(name, type, value);
        if (sk_GENERAL_NAME_push(names, name) > 0) {
            return true;
        }
    }
    GENERAL_NAME_free(name);
    return false;
}

static bool certificate_names_add(X509 *made, const struct certificate_subject *subject)
{
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    bool fine = names != NULL;
    if (fine && subject->uri != NULL) {
        fine = name_add(names, GEN_URI, subject->uri);
    }
    for (size_t i = 0; i < subject->name_count && fine; i++) {
        fine =
            name_add(names, is_address(subject->names[i]) ? GEN_IPADD : GEN_DNS, subject->names[i]);
    }
    if (fine && sk_GENERAL_NAME_num(names) > 0) {
        fine = X509_add1_ext_i2d(made, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
    }
    GENERAL_NAMES_free(names);
    return fine;
}

/* One extension from its text, which is ours. */
static bool extension_add(X509 *made, X509 *signer, int kind, const char *text)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, signer, made, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, text);
    bool fine = extension != NULL && X509_add_ext(made, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return fine;
}

static bool extensions_add(X509 *made, X509 *signer, const struct certificate_subject *subject)
{
    const char *use = subject->server ? "serverAuth" : "clientAuth";
    return extension_add(made, signer, NID_basic_constraints,
                         subject->authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
           extension_add(made, signer, NID_key_usage,
                         subject->authority ? "critical,keyCertSign,cRLSign"
                                            : "critical,digitalSignature") &&
           extension_add(made, signer, NID_subject_key_identifier, "hash") &&
           extension_add(made, signer, NID_authority_key_identifier, "keyid:always") &&
           (subject->authority || extension_add(made, signer, NID_ext_key_usage, use)) &&
           certificate_names_add(made, subject);
}

/* Random, positive, without a first byte of 0. */
static bool serial_set(X509 *made)
{
    uint8_t bytes[CERTIFICATE_SERIAL_BYTES];
    if (RAND_bytes(bytes, (int)sizeof bytes) != 1) {
        return false;
    }
    bytes[0] = (uint8_t)((bytes[0] & 0x7f) | 0x40);
    BIGNUM *number = BN_bin2bn(bytes, (int)sizeof bytes, NULL);
    bool fine = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(made)) != NULL;
    BN_free(number);
    return fine;
}

static bool subject_set(X509 *made, const char *name)
{
    X509_NAME *subject = X509_get_subject_name(made);
    char common[65]; /* as long as X.520 allows it to be */
    size_t length = strnlen(name, sizeof common - 1);
    while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80) {
        length--; /* a character is whole or not there */
    }
    memcpy(common, name, length);
    common[length] = 0;
    return X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                      (const unsigned char *)common, -1, -1, 0) == 1;
}

X509 *certificate_make(const struct certificate_subject *subject, EVP_PKEY *key, X509 *signer,
                       EVP_PKEY *signer_key)
{
    X509 *made = X509_new();
    time_t begins = (time_t)subject->begins, ends = (time_t)subject->ends;
    bool fine = made != NULL && X509_set_version(made, X509_VERSION_3) == 1 && serial_set(made) &&
                X509_time_adj_ex(X509_getm_notBefore(made), 0, 0, &begins) != NULL &&
                X509_time_adj_ex(X509_getm_notAfter(made), 0, 0, &ends) != NULL &&
                X509_set_pubkey(made, key) == 1 && subject_set(made, subject->name);
    X509 *by = signer != NULL ? signer : made;
    fine = fine && X509_set_issuer_name(made, X509_get_subject_name(by)) == 1 &&
           extensions_add(made, by, subject) && X509_sign(made, signer_key, EVP_sha256()) > 0;
    if (!fine) {
        X509_free(made);
        return NULL;
    }
    return made;
}

bool certificate_hash(const X509 *certificate, uint8_t hash[STORE_HASH_BYTES])
{
    unsigned length;
    return X509_digest(certificate, EVP_sha256(), hash, &length) == 1;
}

static int64_t seconds_of(const ASN1_TIME *time)
{
    struct tm parts;
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

int64_t certificate_begins(const X509 *certificate)
{
    return seconds_of(X509_get0_notBefore(certificate));
}

int64_t certificate_ends(const X509 *certificate)
{
    return seconds_of(X509_get0_notAfter(certificate));
}
