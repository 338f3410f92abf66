/* SPDX-License-Identifier: Apache-2.0 */
/* The authority: its files, and what it signs. */
#include "auth/ca.h"

#include <errno.h>
#include <limits.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/certificate.h"
#include "auth/private_write.h"
#include "auth/token.h"
#include "base/private_file.h"

#define CA_KEY    "ca.key"
#define CA_BUNDLE "ca.pem"

#define CA_EARLIER_MAX 16 /* certificates that a bundle keeps */

struct ca {
    EVP_PKEY *key;
    X509 *certificate;
    X509 *earlier[CA_EARLIER_MAX]; /* of the bundle, newest first */
    int earlier_count;
};

static void ca_fini(struct ca *ca)
{
    EVP_PKEY_free(ca->key);
    X509_free(ca->certificate);
    for (int i = 0; i < ca->earlier_count; i++) {
        X509_free(ca->earlier[i]);
    }
}

static enum ga_status ca_no_memory(char *why, size_t why_size)
{
    ERR_clear_error();
    snprintf(why, why_size, "there is no memory, or OpenSSL fails");
    return GA_NO_MEMORY;
}

static bool path_of(const char *folder, const char *file, char path[PATH_MAX], char *why,
                    size_t why_size)
{
    if (snprintf(path, PATH_MAX, "%s/%s", folder, file) < PATH_MAX - 8) {
        return true;
    }
    snprintf(why, why_size, "the path of the authority is too long");
    return false;
}

static enum ga_status open_failed(const char *folder, const char *path, int error, char *why,
                                  size_t why_size)
{
    if (error == ENOENT || error == ENOTDIR) {
        snprintf(why, why_size, "there is no authority in %s; `gpuaasctl ca init` makes one",
                 folder);
        return GA_NOT_FOUND;
    }
    snprintf(why, why_size, "%s cannot be read: %s", path, strerror(error));
    return GA_DENIED;
}

/* No passphrase is asked for on the terminal. */
static int no_passphrase(char *to, int size, int for_writing, void *user)
{
    (void)to;
    (void)size;
    (void)for_writing;
    (void)user;
    return -1;
}

static enum ga_status key_load(const char *folder, struct ca *ca, char *why, size_t why_size)
{
    char path[PATH_MAX];
    struct stat status;
    if (!path_of(folder, CA_KEY, path, why, why_size)) {
        return GA_INVALID;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return open_failed(folder, path, errno, why, why_size);
    }
    if (fstat(fileno(file), &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        fclose(file);
        if (ga_file_lacks(path, GA_FILE_OF_KEY)) {
            snprintf(why, why_size, "%s holds no private key (PEM): is it the right folder?", path);
        } else {
            snprintf(why, why_size, "%s: others than its owner may read the key: chmod 600 %s",
                     path, path);
        }
        return GA_DENIED;
    }
    ca->key = PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);
    ca->certificate = PEM_read_X509(file, NULL, no_passphrase, NULL);
    fclose(file);
    if (ca->key == NULL || ca->certificate == NULL ||
        X509_check_private_key(ca->certificate, ca->key) != 1) {
        ERR_clear_error();
        snprintf(why, why_size,
                 "%s is damaged: it has no key with its certificate. Put a copy back, or make a "
                 "new authority in another folder: gpuaasctl ca init",
                 path);
        return GA_INVALID;
    }
    return GA_OK;
}

/* The certificates of the bundle besides the one in use. */
static enum ga_status bundle_load(const char *folder, struct ca *ca, char *why, size_t why_size)
{
    char path[PATH_MAX];
    if (!path_of(folder, CA_BUNDLE, path, why, why_size)) {
        return GA_INVALID;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return open_failed(folder, path, errno, why, why_size);
    }
    X509 *read;
    while (ca->earlier_count < CA_EARLIER_MAX &&
           (read = PEM_read_X509(file, NULL, no_passphrase, NULL)) != NULL) {
        if (X509_cmp(read, ca->certificate) == 0) {
            X509_free(read);
        } else {
            ca->earlier[ca->earlier_count++] = read;
        }
    }
    ERR_clear_error(); /* the end of the file is one */
    fclose(file);
    return GA_OK;
}

static enum ga_status ca_load(const char *folder, struct ca *ca, char *why, size_t why_size)
{
    memset(ca, 0, sizeof *ca);
    enum ga_status status = key_load(folder, ca, why, why_size);
    if (status == GA_OK) {
        status = bundle_load(folder, ca, why, why_size);
    }
    if (status != GA_OK) {
        ca_fini(ca);
    }
    return status;
}

/* Writes what is in `bio` to a file. */
static enum ga_status bio_write(BIO *bio, const char *path, mode_t mode, bool replace, char *why,
                                size_t why_size)
{
    char *bytes;
    long size = BIO_get_mem_data(bio, &bytes);
    return private_write(path, bytes, (size_t)size, mode, replace, why, why_size);
}

static enum ga_status bundle_write(const char *folder, const struct ca *ca, int64_t now, char *why,
                                   size_t why_size)
{
    char path[PATH_MAX];
    if (!path_of(folder, CA_BUNDLE, path, why, why_size)) {
        return GA_INVALID;
    }
    BIO *bio = BIO_new(BIO_s_mem());
    bool fine = bio != NULL && PEM_write_bio_X509(bio, ca->certificate) == 1;
    for (int i = 0; i < ca->earlier_count && fine; i++) {
        if (certificate_ends(ca->earlier[i]) > now) {
            fine = PEM_write_bio_X509(bio, ca->earlier[i]) == 1;
        }
    }
    enum ga_status status =
        fine ? bio_write(bio, path, 0644, true, why, why_size) : ca_no_memory(why, why_size);
    BIO_free(bio);
    return status;
}

/* A memory BIO whose buffer is wiped when it is freed. */
static BIO *secret_bio(void)
{
    return BIO_new(BIO_s_secmem());
}

static enum ga_status key_write(const char *folder, const struct ca *ca, char *why, size_t why_size)
{
    char path[PATH_MAX];
    if (!path_of(folder, CA_KEY, path, why, why_size)) {
        return GA_INVALID;
    }
    BIO *bio = secret_bio();
    bool fine = bio != NULL &&
                PEM_write_bio_PrivateKey(bio, ca->key, NULL, NULL, 0, NULL, NULL) == 1 &&
                PEM_write_bio_X509(bio, ca->certificate) == 1;
    enum ga_status status =
        fine ? bio_write(bio, path, 0600, true, why, why_size) : ca_no_memory(why, why_size);
    BIO_free(bio);
    return status;
}

/* A new key, with a certificate that it has signed itself. */
static enum ga_status ca_make(struct ca *ca, const char *name, int64_t now, char *why,
                              size_t why_size)
{
    struct certificate_subject subject = {.name = name,
                                          .authority = true,
                                          .begins = now - CERTIFICATE_SKEW_S,
                                          .ends = now + AUTH_CA_YEARS * INT64_C(365) * 86400};
    ca->key = EVP_EC_gen("P-256");
    ca->certificate = ca->key != NULL ? certificate_make(&subject, ca->key, NULL, ca->key) : NULL;
    return ca->certificate != NULL ? GA_OK : ca_no_memory(why, why_size);
}

/* The bundle goes first: what signs must be trusted before it signs. */
static enum ga_status ca_write(const char *folder, const struct ca *ca, int64_t now, char *why,
                               size_t why_size)
{
    GA_TRY(bundle_write(folder, ca, now, why, why_size));
    return key_write(folder, ca, why, why_size);
}

enum ga_status auth_ca_init(const char *folder, const char *name, int64_t now, char *why,
                            size_t why_size)
{
    char path[PATH_MAX];
    struct ca ca = {0};
    if (!path_of(folder, CA_KEY, path, why, why_size)) {
        return GA_INVALID;
    }
    if (*name == 0) {
        snprintf(why, why_size, "an authority has a name");
        return GA_INVALID;
    }
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        snprintf(why, why_size, "%s cannot be made: %s", folder, strerror(errno));
        return errno == ENOSPC ? GA_NO_MEMORY : GA_DENIED;
    }
    if (access(path, F_OK) == 0) {
        snprintf(why, why_size,
                 "there is an authority in %s already; `gpuaasctl ca rotate` gives it a new key",
                 folder);
        return GA_CONFLICT;
    }
    enum ga_status status = ca_make(&ca, name, now, why, why_size);
    if (status == GA_OK) {
        status = ca_write(folder, &ca, now, why, why_size);
    }
    ca_fini(&ca);
    return status;
}

/* commonName of a certificate. */
static void ca_name_of(const X509 *certificate, char *name, size_t size)
{
    if (X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                                  (int)size) < 0) {
        name[0] = 0;
    }
}

enum ga_status auth_ca_rotate(const char *folder, int64_t now, char *why, size_t why_size)
{
    struct ca old, made = {0};
    char name[STORE_TEXT_MAX + 1];
    GA_TRY(ca_load(folder, &old, why, why_size));
    ca_name_of(old.certificate, name, sizeof name);
    enum ga_status status = ca_make(&made, name, now, why, why_size);
    if (status == GA_OK) {
        made.earlier[made.earlier_count++] = old.certificate;
        old.certificate = NULL;
        for (int i = 0; i < old.earlier_count && made.earlier_count < CA_EARLIER_MAX; i++) {
            made.earlier[made.earlier_count++] = old.earlier[i];
            old.earlier[i] = NULL;
        }
        status = ca_write(folder, &made, now, why, why_size);
    }
    ca_fini(&made);
    ca_fini(&old);
    return status;
}

enum ga_status auth_ca_show(const char *folder, struct auth_ca_facts *out, char *why,
                            size_t why_size)
{
    struct ca ca;
    struct auth_ca_facts facts = {0};
    GA_TRY(ca_load(folder, &ca, why, why_size));
    ca_name_of(ca.certificate, facts.name, sizeof facts.name);
    facts.begins = certificate_begins(ca.certificate);
    facts.ends = certificate_ends(ca.certificate);
    facts.earlier = (unsigned)ca.earlier_count;
    bool fine = certificate_hash(ca.certificate, facts.hash);
    ca_fini(&ca);
    if (!fine) {
        return ca_no_memory(why, why_size);
    }
    *out = facts;
    return GA_OK;
}

static enum ga_status request_check(const struct ca *ca, const struct auth_cert_request *request,
                                    int64_t now, char *why, size_t why_size)
{
    int64_t ends = certificate_ends(ca->certificate);
    if (request->ttl_s < AUTH_TTL_MIN_S || request->ttl_s > AUTH_TTL_MAX_S) {
        snprintf(why, why_size, "the life of a certificate is between a minute and ten years");
        return GA_INVALID;
    }
    if (now + request->ttl_s > ends) {
        snprintf(why, why_size,
                 "the authority itself ends before (in %lld days): ask for less, or give it a new "
                 "key with `gpuaasctl ca rotate`",
                 (long long)(ends - now) / 86400);
        return GA_INVALID;
    }
    bool server = request->scope == STORE_OF_SERVER;
    if (server != (request->name_count > 0) || request->name_count > AUTH_CA_NAMES_MAX) {
        snprintf(why, why_size,
                 "a server's certificate has 1 to %u names or addresses, by which clients reach "
                 "it; others have none",
                 AUTH_CA_NAMES_MAX);
        return GA_INVALID;
    }
    for (size_t i = 0; i < request->name_count; i++) {
        if (!certificate_name_is_valid(request->names[i])) {
            snprintf(why, why_size, "'%.80s' is neither a DNS name nor an address",
                     request->names[i]);
            return GA_INVALID;
        }
    }
    if (request->scope == STORE_OF_ADMIN && !store_name_is_valid(request->name)) {
        snprintf(why, why_size,
                 "'%.80s' is not a name of an administrator: 1 to %u letters, digits, '.', '_' or "
                 "'-', a letter or digit first",
                 request->name, STORE_NAME_MAX);
        return GA_INVALID;
    }
    return GA_OK;
}

/* Fills in the credential, and makes its key and certificate. */
static enum ga_status ca_leaf_make(const struct ca *ca, const struct auth_cert_request *request,
                                   int64_t now, struct store_credential *credential, EVP_PKEY **key,
                                   X509 **certificate)
{
    struct auth_uri uri = {.admin = request->scope == STORE_OF_ADMIN};
    char text[AUTH_URI_BYTES];
    bool server = request->scope == STORE_OF_SERVER;
    *credential = (struct store_credential){.kind = STORE_CERTIFICATE,
                                            .scope = request->scope,
                                            .created = now,
                                            .expires = now + request->ttl_s};
    const char *whose = request->scope == STORE_OF_TENANT ? request->tenant
                        : server                          ? request->names[0]
                                                          : request->name;
    if (request->scope == STORE_OF_TENANT) {
        snprintf(credential->tenant, sizeof credential->tenant, "%s", request->tenant);
        snprintf(credential->user, sizeof credential->user, "%s", request->user);
    }
    snprintf(credential->name, sizeof credential->name, "%s",
             server && *request->name == 0 ? request->names[0] : request->name);
    if (!token_id_make(credential->id)) {
        return GA_NO_MEMORY;
    }
    if (!server) {
        snprintf(uri.name, sizeof uri.name, "%s", whose);
        memcpy(uri.credential, credential->id, sizeof uri.credential);
        auth_uri_write(&uri, text);
    }
    struct certificate_subject subject = {.name = whose,
                                          .uri = server ? NULL : text,
                                          .names = request->names,
                                          .name_count = request->name_count,
                                          .server = server,
                                          .begins = now - CERTIFICATE_SKEW_S,
                                          .ends = credential->expires};
    *key = EVP_EC_gen("P-256");
    *certificate = *key != NULL ? certificate_make(&subject, *key, ca->certificate, ca->key) : NULL;
    return *certificate != NULL && certificate_hash(*certificate, credential->hash) ? GA_OK
                                                                                    : GA_NO_MEMORY;
}

/* The key first: a certificate without its key is of no use to anybody. */
static enum ga_status ca_leaf_write(EVP_PKEY *key, X509 *certificate, const char *cert_path,
                                    const char *key_path, char *why, size_t why_size)
{
    BIO *secret = secret_bio(), *open = BIO_new(BIO_s_mem());
    bool fine = secret != NULL && open != NULL &&
                PEM_write_bio_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL) == 1 &&
                PEM_write_bio_X509(open, certificate) == 1;
    enum ga_status status = fine ? bio_write(secret, key_path, 0600, false, why, why_size)
                                 : ca_no_memory(why, why_size);
    if (status == GA_OK) {
        status = bio_write(open, cert_path, 0644, false, why, why_size);
        if (status != GA_OK) {
            unlink(key_path);
        }
    }
    BIO_free(secret);
    BIO_free(open);
    return status;
}

enum ga_status auth_cert_issue(const char *folder, struct store *store,
                               const struct auth_cert_request *request, int64_t now,
                               const char *cert, const char *key, struct store_credential *out,
                               char *why, size_t why_size)
{
    struct ca ca;
    struct store_credential credential;
    EVP_PKEY *made_key = NULL;
    X509 *made = NULL;
    GA_TRY(ca_load(folder, &ca, why, why_size));
    enum ga_status status = request_check(&ca, request, now, why, why_size);
    if (status == GA_OK) {
        status = ca_leaf_make(&ca, request, now, &credential, &made_key, &made);
        if (status != GA_OK) {
            ca_no_memory(why, why_size);
        }
    }
    if (status == GA_OK) {
        status = store_credential_put(store, &credential);
        if (status != GA_OK) {
            snprintf(why, why_size, "%s", store_why(store));
        }
    }
    if (status == GA_OK && cert != NULL) {
        status = ca_leaf_write(made_key, made, cert, key, why, why_size);
        if (status != GA_OK && store_credential_revoke(store, credential.id, now) != GA_OK) {
            status = GA_LOST; /* nobody has its key, so it admits nobody either */
        }
    }
    if (status == GA_OK) {
        status = store_credential_get(store, credential.id, out);
    }
    EVP_PKEY_free(made_key);
    X509_free(made);
    ca_fini(&ca);
    return status;
}
