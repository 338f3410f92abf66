/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of strangers and administrators: tokens, files of tokens, names in certificates, limits,
 * lines of the audit log. Whatever is taken has one text, and is read again as what it was. */
#include <stdbool.h>

#include "api/limits.h"
#include "auth/audit_line.h"
#include "auth/auth.h"
#include "auth/certificate.h"
#include "client/process/token_file.h"
#include "tests/fuzz/input.h"

static void token(const char *text)
{
    char id[STORE_ID_MAX + 1];
    uint8_t hash[AUTH_HASH_BYTES];
    if (auth_token_read(text, id, hash)) {
        FUZZ_CHECK(strlen(text) == AUTH_TOKEN_BYTES - 1 && strlen(id) == 12);
        FUZZ_CHECK(strncmp(text + 7, id, 12) == 0);
    }
}

static void uri(const char *text)
{
    struct auth_uri read, again;
    char written[AUTH_URI_BYTES];
    memset(&again, 0, sizeof again);
    if (auth_uri_read(text, &read)) {
        FUZZ_CHECK(store_name_is_valid(read.name));
        auth_uri_write(&read, written);
        FUZZ_CHECK(strcmp(written, text) == 0);
    }
}

static void limit(const char *text)
{
    struct store_tenant tenant;
    char why[600] = "", written[LIMITS_TEXT_MAX], types[LIMITS_TYPES_MAX];
    store_tenant_init(&tenant, "a");
    if (store_tenant_set(&tenant, text, why, sizeof why) != GA_OK) {
        FUZZ_CHECK(why[0] != 0 && strlen(why) < sizeof why);
        return;
    }
    for (enum limit i = 0; i < LIMIT_COUNT; i++) {
        uint64_t again;
        FUZZ_CHECK(limits_value_check(i, tenant.limits.of[i], why, sizeof why) == GA_OK);
        limits_value_write(i, tenant.limits.of[i], written);
        FUZZ_CHECK(limits_value_read(i, written, &again, why, sizeof why) == GA_OK);
        FUZZ_CHECK(again == tenant.limits.of[i]);
    }
    FUZZ_CHECK(limits_types_read(tenant.gpu_types, types, why, sizeof why) == GA_OK);
    FUZZ_CHECK(strcmp(types, tenant.gpu_types) == 0);
    limits_types_allow(types, text);
}

static void host_name(const char *text)
{
    if (certificate_name_is_valid(text)) {
        FUZZ_CHECK(text[0] != 0 && strlen(text) <= 253 && strpbrk(text, " ,/\"\n\\") == NULL);
    }
}

static void line(const char *text)
{
    struct audit_line read;
    struct audit_link head;
    int64_t day;
    size_t size = strlen(text);
    if (audit_line_read(text, size, &read)) {
        FUZZ_CHECK(read.body < size && read.link.seq > 0);
        FUZZ_CHECK(!audit_line_follows(text, &read, read.link.hash));
    }
    if (audit_line_head_read(text, size, &head)) {
        char again[AUDIT_HEAD_BYTES];
        audit_line_head(&head, again);
        FUZZ_CHECK(memcmp(again, text, sizeof again) == 0);
    }
    if (audit_line_file_read(text, &day)) {
        char name[AUDIT_NAME_BYTES];
        audit_line_file(day, name);
        FUZZ_CHECK(strcmp(name, text) == 0);
    }
}

/* A field of a line may be anything; the line can be read. */
static void field(const char *text)
{
    struct audit_link start = {0}, link;
    struct auth_field fields[] = {AUTH_TEXT("a", text), AUTH_NUMBER("n", 5)};
    struct audit_line read;
    size_t size;
    char *made = audit_line_make(&start, 1000, "x", fields, 2, &link, &size);
    FUZZ_CHECK(made != NULL && size > 0 && made[size - 1] == '\n');
    for (size_t i = 0; i + 1 < size; i++) {
        FUZZ_CHECK(made[i] >= ' ' && made[i] < 0x7f);
    }
    FUZZ_CHECK(audit_line_read(made, size - 1, &read) && read.link.seq == 1);
    FUZZ_CHECK(audit_line_follows(made, &read, start.hash));
    free(made);
}

/* A file of tokens: what is found is a word of the file, and wrong lines are named. */
static void token_file(const char *text)
{
    char found[64];
    struct token_file_wrong wrong;
    size_t lines = 1;
    for (const char *at = text; *at != 0; at++) {
        lines += *at == '\n';
    }
    if (client_token_find(text, "n1.gpu.example.org", "9955", found, sizeof found, &wrong)) {
        FUZZ_CHECK(found[0] != 0 && strlen(found) < sizeof found && strstr(text, found) != NULL);
        FUZZ_CHECK(strpbrk(found, " \t\r\n") == NULL);
    }
    FUZZ_CHECK((wrong.count == 0) == (wrong.line == 0) && wrong.line <= lines);
    FUZZ_CHECK(wrong.count + wrong.line <= lines + 1 && (wrong.count == 0) == (wrong.why == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *) = {token, uri,   limit,     host_name,
                                                    line,  field, token_file};
    struct fuzz_input input = {data, size};
    unsigned kind = fuzz_u8(&input) % 7;
    char *text = calloc(1, input.left + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, input.at, input.left);
    readers[kind](text);
    free(text);
    return 0;
}
