/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, and the names in certificates. */
#include "auth/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#define TOKEN_START        "gpuaas_"
#define TOKEN_SECRET_BYTES 32u
#define TOKEN_SECRET_CHARS 43u
#define TOKEN_URI_TENANT   "gpuaas://tenant/"
#define TOKEN_URI_ADMIN    "gpuaas://admin/"

_Static_assert(sizeof TOKEN_START + TOKEN_ID_CHARS + 1 + TOKEN_SECRET_CHARS <= AUTH_TOKEN_BYTES,
               "it fits");
_Static_assert(sizeof TOKEN_URI_TENANT + STORE_NAME_MAX + 1 + STORE_ID_MAX <= AUTH_URI_BYTES,
               "it fits");

static const char id_digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char secret_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void auth_wipe(void *secret, size_t size)
{
    explicit_bzero(secret, size);
}

bool token_hash(const void *bytes, size_t size, uint8_t hash[AUTH_HASH_BYTES])
{
    return EVP_Digest(bytes, size, hash, NULL, EVP_sha256(), NULL) == 1;
}

bool token_id_make(char id[STORE_ID_MAX + 1])
{
    unsigned made = 0;
    while (made < TOKEN_ID_CHARS) {
        uint8_t bytes[16];
        if (RAND_bytes(bytes, (int)sizeof bytes) != 1) {
            return false;
        }
        for (unsigned i = 0; i < sizeof bytes && made < TOKEN_ID_CHARS; i++) {
            if (bytes[i] < 252) { /* a multiple of 36: all letters are equally likely */
                id[made++] = id_digits[bytes[i] % 36];
            }
        }
    }
    id[made] = 0;
    return true;
}

static void secret_write(const uint8_t secret[TOKEN_SECRET_BYTES], char *text)
{
    uint32_t bits = 0;
    unsigned held = 0;
    for (unsigned i = 0; i < TOKEN_SECRET_BYTES; i++) {
        bits = bits << 8 | secret[i];
        held += 8;
        while (held >= 6) {
            held -= 6;
            *text++ = secret_digits[bits >> held & 63];
        }
    }
    *text++ = secret_digits[bits << (6 - held) & 63];
    *text = 0;
}

/* All bits where `c` is between the two, otherwise none. */
static uint32_t in_range(uint32_t c, uint32_t from, uint32_t to)
{
    return (((c - from) | (to - c)) >> 31) - 1;
}

/* The inverse of secret_digits, 64 for other characters. It looks at no table, and takes the same
 * time for all: how long a secret takes says nothing about it. */
static uint32_t secret_digit(char digit)
{
    uint32_t c = (unsigned char)digit;
    uint32_t upper = in_range(c, 'A', 'Z'), lower = in_range(c, 'a', 'z');
    uint32_t number = in_range(c, '0', '9'), dash = in_range(c, '-', '-');
    uint32_t line = in_range(c, '_', '_');
    return (upper & (c - 'A')) | (lower & (c - 'a' + 26)) | (number & (c - '0' + 52)) |
           (dash & 62) | (line & 63) | (~(upper | lower | number | dash | line) & 64);
}

/* False: it is not the text of 32 bytes, or not the one that secret_write writes. */
static bool secret_read(const char *text, uint8_t secret[TOKEN_SECRET_BYTES])
{
    uint32_t bits = 0;
    unsigned held = 0, made = 0;
    for (unsigned i = 0; i < TOKEN_SECRET_CHARS; i++) {
        uint32_t digit = secret_digit(text[i]);
        if (digit > 63) {
            return false;
        }
        bits = bits << 6 | digit;
        held += 6;
        if (held >= 8) {
            held -= 8;
            secret[made++] = (uint8_t)(bits >> held);
        }
    }
    return text[TOKEN_SECRET_CHARS] == 0 && (bits & ((1u << held) - 1)) == 0;
}

bool auth_token_read(const char *text, char id[STORE_ID_MAX + 1], uint8_t hash[AUTH_HASH_BYTES])
{
    size_t start = strlen(TOKEN_START);
    if (strncmp(text, TOKEN_START, start) != 0 ||
        strspn(text + start, id_digits) != TOKEN_ID_CHARS || text[start + TOKEN_ID_CHARS] != '_') {
        return false;
    }
    uint8_t secret[TOKEN_SECRET_BYTES];
    bool fine = secret_read(text + start + TOKEN_ID_CHARS + 1, secret) &&
                token_hash(secret, sizeof secret, hash);
    auth_wipe(secret, sizeof secret);
    if (fine) {
        memcpy(id, text + start, TOKEN_ID_CHARS);
        id[TOKEN_ID_CHARS] = 0;
    }
    return fine;
}

/* The fields of a token that are known before it is made. */
static enum ga_status token_describe(const char *tenant, const char *user, const char *name,
                                     int64_t ttl_s, int64_t now, struct store_credential *out,
                                     char *why, size_t why_size)
{
    *out = (struct store_credential){.kind = STORE_TOKEN, .scope = STORE_OF_TENANT, .created = now};
    if (ttl_s < AUTH_TTL_MIN_S || ttl_s > AUTH_TTL_MAX_S) {
        snprintf(why, why_size, "the life of a token is between a minute and ten years");
        return GA_INVALID;
    }
    if (strlen(tenant) > STORE_NAME_MAX || strlen(user) > STORE_NAME_MAX) {
        snprintf(why, why_size, "there is no tenant or user with a name of more than %u characters",
                 STORE_NAME_MAX);
        return GA_NOT_FOUND;
    }
    if (strlen(name) > STORE_TEXT_MAX) {
        snprintf(why, why_size, "the name of a token has at most %u bytes", STORE_TEXT_MAX);
        return GA_INVALID;
    }
    out->expires = now + ttl_s;
    snprintf(out->tenant, sizeof out->tenant, "%s", tenant);
    snprintf(out->user, sizeof out->user, "%s", user);
    snprintf(out->name, sizeof out->name, "%s", name);
    return GA_OK;
}

enum ga_status auth_token_may_issue(struct store *store, const char *tenant, const char *user,
                                    const char *name, int64_t ttl_s, int64_t now, char *why,
                                    size_t why_size)
{
    struct store_credential wanted;
    GA_TRY(token_describe(tenant, user, name, ttl_s, now, &wanted, why, why_size));
    enum ga_status status = store_credential_may_put(store, &wanted);
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store_why(store));
    }
    return status;
}

enum ga_status auth_token_issue(struct store *store, const char *tenant, const char *user,
                                const char *name, int64_t ttl_s, int64_t now,
                                char text[AUTH_TOKEN_BYTES], struct store_credential *credential,
                                char *why, size_t why_size)
{
    struct store_credential made;
    uint8_t secret[TOKEN_SECRET_BYTES];
    GA_TRY(token_describe(tenant, user, name, ttl_s, now, &made, why, why_size));
    if (!token_id_make(made.id) || RAND_bytes(secret, (int)sizeof secret) != 1 ||
        !token_hash(secret, sizeof secret, made.hash)) {
        snprintf(why, why_size, "there are no random numbers, or no memory");
        return GA_NO_MEMORY;
    }
    enum ga_status status = store_credential_put(store, &made);
    if (status == GA_OK) {
        status = store_credential_get(store, made.id, credential);
    }
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store_why(store));
    } else {
        int length = snprintf(text, AUTH_TOKEN_BYTES, "%s%s_", TOKEN_START, made.id);
        secret_write(secret, text + length);
    }
    auth_wipe(secret, sizeof secret);
    return status;
}

/* A part of a URI up to `end`, which is found behind it. NULL: it is too long. */
static const char *part_read(const char *at, char end, char *to, size_t size)
{
    size_t length = 0;
    while (at[length] != end && at[length] != 0) {
        length++;
    }
    if (at[length] != end || length == 0 || length >= size) {
        return NULL;
    }
    memcpy(to, at, length);
    to[length] = 0;
    return at + length + 1;
}

bool auth_uri_read(const char *text, struct auth_uri *uri)
{
    struct auth_uri read = {.admin = strncmp(text, TOKEN_URI_ADMIN, strlen(TOKEN_URI_ADMIN)) == 0};
    if (!read.admin && strncmp(text, TOKEN_URI_TENANT, strlen(TOKEN_URI_TENANT)) != 0) {
        return false;
    }
    text += read.admin ? strlen(TOKEN_URI_ADMIN) : strlen(TOKEN_URI_TENANT);
    text = part_read(text, '/', read.name, sizeof read.name);
    if (text == NULL || !store_name_is_valid(read.name) ||
        part_read(text, 0, read.credential, sizeof read.credential) == NULL ||
        read.credential[strspn(read.credential, id_digits)] != 0) {
        return false;
    }
    *uri = read;
    return true;
}

void auth_uri_write(const struct auth_uri *uri, char text[AUTH_URI_BYTES])
{
    snprintf(text, AUTH_URI_BYTES, "%s%s/%s", uri->admin ? TOKEN_URI_ADMIN : TOKEN_URI_TENANT,
             uri->name, uri->credential);
}
