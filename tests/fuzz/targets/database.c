/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged databases and audit logs: bytes of a sound one are changed, and it is cut. Nothing ends
 * the process; a database that can be opened can be used, or says that it is damaged; and a log
 * that is not what it was has findings. */
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <unistd.h>

#include "auth/auth.h"
#include "tests/fuzz/input.h"

#define NOW INT64_C(1764089049)

static char folder[] = "/tmp/gpuaas_fuzz.XXXXXX";
static uint8_t *database, *log_bytes;
static size_t database_size, log_size;

static const char *in(const char *name)
{
    static char paths[8][96];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int forget(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void folder_remove(void)
{
    nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
    free(database);
    free(log_bytes);
}

static uint8_t *file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    FUZZ_CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    FUZZ_CHECK(bytes != NULL && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static void file_write(const char *path, const uint8_t *bytes, size_t size)
{
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FUZZ_CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    close(file);
}

static void database_make(void)
{
    struct store *store;
    struct store_tenant tenant;
    struct store_user user = {.tenant = "lab", .name = "ana"};
    struct store_credential token = {
        .id = "t1", .tenant = "lab", .user = "ana", .created = NOW, .expires = NOW + 9};
    struct store_usage row = {
        .tenant = "lab", .node = "n", .session = "s", .gpu = "g", .last = NOW};
    char why[600];
    FUZZ_CHECK(store_open(in("db"), &store, why, sizeof why) == GA_OK);
    store_tenant_init(&tenant, "lab");
    tenant.limits.of[LIMIT_GPUS] = 3;
    limits_clear(&user.limits);
    FUZZ_CHECK(store_tenant_put(store, &tenant, STORE_NEW) == GA_OK);
    FUZZ_CHECK(store_user_put(store, &user, STORE_NEW) == GA_OK);
    FUZZ_CHECK(store_credential_put(store, &token) == GA_OK);
    FUZZ_CHECK(store_usage_write(store, &row, 1) == GA_OK);
    FUZZ_CHECK(store_backup(store, in("copy")) == GA_OK);
    store_close(store);
    database = file_read(in("copy"), &database_size);
}

static void log_make(void)
{
    struct auth_audit *audit;
    char why[600];
    FUZZ_CHECK(auth_audit_open(in("log"), NOW * 1000, &audit, why, sizeof why) == GA_OK);
    for (int i = 0; i < 12; i++) {
        struct auth_field field = AUTH_NUMBER("i", i);
        FUZZ_CHECK(auth_audit_write(audit, NOW * 1000, "x", &field, 1, false) == GA_OK);
    }
    auth_audit_close(audit);
    log_bytes = file_read(in("log/audit-2025-11-25.log"), &log_size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    FUZZ_CHECK(mkdtemp(folder) != NULL);
    atexit(folder_remove);
    database_make();
    log_make();
    return 0;
}

/* A copy with some bytes changed and perhaps cut, or with some more at its end; to be freed. */
static uint8_t *damage(struct fuzz_input *input, const uint8_t *bytes, size_t *size)
{
    size_t whole = *size;
    uint8_t *copy = malloc(whole + 256);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, bytes, whole);
    unsigned patches = fuzz_u8(input) % 9, end = fuzz_u8(input);
    for (unsigned i = 0; i < patches; i++) {
        size_t at = fuzz_u32(input) % whole, length = 1 + fuzz_u8(input) % 16;
        for (size_t k = 0; k < length && at + k < whole; k++) {
            copy[at + k] = fuzz_u8(input);
        }
    }
    if (end % 4 == 1) {
        *size = fuzz_u32(input) % whole;
    } else if (end % 4 == 2) {
        size_t more = input->left < 256 ? input->left : 256;
        memcpy(copy + whole, input->at, more);
        *size = whole + more;
    }
    return copy;
}

static void see_tenant(void *user, const struct store_tenant *tenant)
{
    (void)user;
    FUZZ_CHECK(memchr(tenant->name, 0, sizeof tenant->name) != NULL);
}

static void see_credential(void *user, const struct store_credential *credential)
{
    (void)user;
    FUZZ_CHECK(memchr(credential->id, 0, sizeof credential->id) != NULL);
}

static void see_user(void *user, const struct store_user *found)
{
    (void)user;
    FUZZ_CHECK(memchr(found->name, 0, sizeof found->name) != NULL);
}

static void see_sum(void *user, const struct store_usage_sum *sum)
{
    (void)user;
    FUZZ_CHECK(memchr(sum->tenant, 0, sizeof sum->tenant) != NULL);
}

static void see_text(void *user, const char *text)
{
    (void)user;
    FUZZ_CHECK(text[0] != 0);
}

static void told(const struct store *store, enum ga_status status)
{
    FUZZ_CHECK(status == GA_OK || store_why(store)[0] != 0);
}

static void use(struct store *store)
{
    struct store_tenant tenant;
    struct store_usage_query query = {.by = STORE_BY_TENANT | STORE_BY_DAY};
    struct store_usage row = {
        .tenant = "lab", .node = "n", .session = "s2", .gpu = "g", .last = NOW};
    uint64_t epoch;
    told(store, store_tenant_each(store, see_tenant, NULL));
    told(store, store_credential_each(store, NULL, see_credential, NULL));
    told(store, store_user_each(store, NULL, see_user, NULL));
    told(store, store_usage_each(store, &query, see_sum, NULL));
    store_tenant_init(&tenant, "new");
    told(store, store_tenant_put(store, &tenant, STORE_ANY_GENERATION));
    told(store, store_usage_write(store, &row, 1));
    told(store, store_epoch_next(store, "n", &epoch));
    told(store, store_tenant_remove(store, "lab", STORE_ANY_GENERATION));
}

static void database_try(struct fuzz_input *input)
{
    struct store *store;
    size_t size = database_size;
    unsigned findings = 0;
    char why[600] = "";
    uint8_t *bytes = damage(input, database, &size);
    file_write(in("try"), bytes, size);
    free(bytes);
    enum ga_status status = store_check_file(in("try"), see_text, NULL, &findings, why, sizeof why);
    FUZZ_CHECK(status == GA_OK || why[0] != 0);
    if (store_open(in("try"), &store, why, sizeof why) == GA_OK) {
        use(store);
        store_close(store);
    } else {
        FUZZ_CHECK(why[0] != 0);
    }
    unlink(in("try-wal"));
    unlink(in("try-shm"));
    unlink(in("try-journal"));
}

static void see_finding(void *user, const char *file, uint64_t line, const char *text)
{
    (void)user;
    (void)line;
    FUZZ_CHECK(file[0] != 0 && text[0] != 0);
}

static void log_try(struct fuzz_input *input)
{
    struct auth_audit_summary summary;
    struct auth_audit *audit;
    size_t size = log_size;
    char why[600] = "";
    uint8_t *bytes = damage(input, log_bytes, &size);
    static uint8_t head[256];
    size_t head_size;
    uint8_t *kept = file_read(in("log/head"), &head_size);
    FUZZ_CHECK(head_size <= sizeof head);
    memcpy(head, kept, head_size);
    free(kept);
    file_write(in("log/audit-2025-11-25.log"), bytes, size);
    FUZZ_CHECK(auth_audit_verify(in("log"), see_finding, NULL, &summary, why, sizeof why) == GA_OK);
    bool same = size >= log_size && memcmp(bytes, log_bytes, log_size) == 0 &&
                memchr(bytes + log_size, '\n', size - log_size) == NULL;
    FUZZ_CHECK((summary.findings == 0) == same);
    /* The file is opened whatever it contains, and a second look finds the same. */
    FUZZ_CHECK(auth_audit_open(in("log"), NOW * 1000, &audit, why, sizeof why) == GA_OK);
    auth_audit_close(audit);
    FUZZ_CHECK(auth_audit_verify(in("log"), see_finding, NULL, &summary, why, sizeof why) == GA_OK);
    FUZZ_CHECK((summary.findings == 0) == same);
    file_write(in("log/head"), head, head_size);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    if (fuzz_u8(&input) % 2 == 0) {
        database_try(&input);
    } else {
        log_try(&input);
    }
    return 0;
}
