/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: what was done to it is found and named, what a crash has done to it is told apart
 * from that, and a disk without room stops it but ruins nothing. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"

#define NOW    INT64_C(1764089049123) /* 2025-11-25 16:44:09.123 */
#define DAY_MS INT64_C(86400000)

static char folder[] = "/tmp/gpuaas_audit.XXXXXX";
static char why[600], findings[2000];
static struct auth_audit_summary summary;

static int forget(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
}

static void tear_down(void)
{
    nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(audit, .init = set_up, .fini = tear_down);

static const char *in(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static struct auth_audit *log_open(int64_t now)
{
    struct auth_audit *audit = NULL;
    cr_assert_eq(auth_audit_open(in("log"), now, &audit, why, sizeof why), GA_OK, "%s", why);
    return audit;
}

static void write_some(struct auth_audit *audit, int64_t now, int count)
{
    for (int i = 0; i < count; i++) {
        struct auth_field fields[] = {AUTH_TEXT("tenant", "lab"), AUTH_NUMBER("i", i)};
        cr_assert_eq(auth_audit_write(audit, now, "session.open", fields, 2, false), GA_OK, "%s",
                     auth_audit_why(audit));
    }
}

static void collect(void *user, const char *file, uint64_t line, const char *text)
{
    (void)user;
    snprintf(findings + strlen(findings), sizeof findings - strlen(findings), "%s:%llu: %s\n", file,
             (unsigned long long)line, text);
}

static uint64_t verify(void)
{
    findings[0] = 0;
    cr_assert_eq(auth_audit_verify(in("log"), collect, NULL, &summary, why, sizeof why), GA_OK,
                 "%s", why);
    return summary.findings;
}

static char *contents(const char *path, size_t *size)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    *size = fread(bytes, 1, sizeof bytes - 1, file);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

static void replace(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* The beginning of line `number` (from 1). */
static char *line_at(char *bytes, int number)
{
    while (--number > 0) {
        bytes = strchr(bytes, '\n') + 1;
    }
    return bytes;
}

#define FIRST  "log/audit-2025-11-25.log"
#define SECOND "log/audit-2025-11-26.log"
#define THIRD  "log/audit-2025-11-27.log"

/* Three days of lines: 1 to 6, 7 to 12, 13 to 18. */
static void three_days(void)
{
    struct auth_audit *audit = log_open(NOW);
    for (int day = 0; day < 3; day++) {
        write_some(audit, NOW + day * DAY_MS, 5);
    }
    auth_audit_close(audit);
    cr_assert_eq(verify(), 0, "%s", findings);
    cr_assert_eq(summary.files, 3);
    cr_assert_eq(summary.lines, 18);
    cr_assert_eq(summary.first, 1);
    cr_assert_eq(summary.last, 18);
}

Test(audit, lines_are_json_and_private)
{
    struct auth_audit *audit = log_open(NOW);
    struct stat file;
    size_t size;
    struct auth_field fields[] = {AUTH_TEXT("who", "a\nb\x1b[31m\x7f\"\\\xc3\xa4"),
                                  AUTH_TEXT("wrong", "\xff\xfe!"), AUTH_NUMBER("n", -5)};
    umask(0);
    cr_assert_eq(auth_audit_write(audit, NOW, "auth.fail", fields, 3, true), GA_OK);
    auth_audit_close(audit);
    cr_assert_eq(stat(in("log"), &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0700);
    cr_assert_eq(stat(in(FIRST), &file), 0);
    cr_assert_eq(file.st_mode & 0777, 0600);
    char *line = line_at(contents(in(FIRST), &size), 2);
    static const char expected[] =
        "{\"seq\":2,\"time\":\"2025-11-25T16:44:09.123Z\",\"event\":\"auth.fail\","
        "\"who\":\"a\\nb\\u001B[31m?\\\"\\\\\\u00E4\",\"wrong\":\"?"
        "?!\",\"n\":-5,\"hash\":\"";
    cr_assert_eq(strncmp(line, expected, sizeof expected - 1), 0, "%s", line);
}

Test(audit, goes_on_where_it_was)
{
    struct auth_audit *audit = log_open(NOW);
    struct auth_audit *other;
    char last[AUTH_AUDIT_HEX];
    write_some(audit, NOW, 3);
    cr_assert_eq(auth_audit_open(in("log"), NOW, &other, why, sizeof why), GA_CONFLICT);
    cr_assert_not_null(strstr(why, "another process"), "%s", why);
    auth_audit_close(audit);
    cr_assert_eq(verify(), 0, "%s", findings);
    cr_assert_eq(summary.last, 4);
    strcpy(last, summary.hash);
    audit = log_open(NOW + DAY_MS);
    write_some(audit, NOW + DAY_MS, 1);
    write_some(audit, NOW - 5 * DAY_MS, 1); /* a clock that goes back opens no old file */
    cr_assert_eq(verify(), 0, "while it is written: %s", findings);
    auth_audit_close(audit);
    cr_assert_eq(verify(), 0, "%s", findings);
    cr_assert_eq(summary.files, 2);
    cr_assert_eq(summary.last, 7);
    size_t size;
    cr_assert_not_null(strstr(contents(in(SECOND), &size), last), "the chain goes on");
    cr_assert_eq(auth_audit_verify(in("nowhere"), collect, NULL, &summary, why, sizeof why),
                 GA_NOT_FOUND);
}

Test(audit, a_changed_line_is_named)
{
    three_days();
    size_t size;
    char *bytes = contents(in(SECOND), &size);
    for (int number = 2; number <= 6; number++) {
        char *at = strstr(line_at(bytes, number), "\"lab\"");
        at[1] = 'X';
        replace(in(SECOND), bytes, size);
        char expected[64];
        snprintf(expected, sizeof expected, "audit-2025-11-26.log:%d: line %d was changed", number,
                 number + 6);
        cr_assert_eq(verify(), 1, "%s", findings);
        cr_assert_not_null(strstr(findings, expected), "%s", findings);
        at[1] = 'l';
    }
    replace(in(SECOND), bytes, size);
    cr_assert_eq(verify(), 0, "%s", findings);
}

/* Every byte of a day's file, changed in two ways, is found. */
Test(audit, every_byte_counts)
{
    three_days();
    size_t size;
    char *bytes = contents(in(SECOND), &size);
    for (size_t i = 0; i < size; i++) {
        char was = bytes[i];
        for (int turn = 0; turn < 2; turn++) {
            bytes[i] = (char)(turn == 0 ? was ^ 1 : was ^ 0x20);
            replace(in(SECOND), bytes, size);
            cr_assert_geq(verify(), 1, "byte %zu, '%c' instead of '%c'", i, bytes[i], was);
        }
        bytes[i] = was;
    }
}

Test(audit, missing_and_reordered_lines_are_named)
{
    three_days();
    static char moved[1 << 20];
    size_t size;
    char *bytes = contents(in(SECOND), &size), *third = line_at(bytes, 3),
         *fourth = line_at(bytes, 4), *fifth = line_at(bytes, 5);
    size_t before = (size_t)(third - bytes), one = (size_t)(fourth - third),
           next = (size_t)(fifth - fourth);
    memcpy(moved, bytes, before); /* without the third */
    memcpy(moved + before, fourth, size - before - one);
    replace(in(SECOND), moved, size - one);
    cr_assert_eq(verify(), 1, "%s", findings);
    cr_assert_not_null(strstr(findings, "audit-2025-11-26.log:3: lines 9 to 9 are missing"), "%s",
                       findings);
    memcpy(moved + before, fourth, next); /* third and fourth change places */
    memcpy(moved + before + next, third, one);
    memcpy(moved + before + next + one, fifth, (size_t)(bytes + size - fifth));
    replace(in(SECOND), moved, size);
    cr_assert_geq(verify(), 2);
    cr_assert_not_null(strstr(findings, "log:3: lines 9 to 9 are missing"), "%s", findings);
    cr_assert_not_null(strstr(findings, "log:4: line 9 is at the place of line 11"), "%s",
                       findings);
    memcpy(moved, bytes, size); /* the third twice */
    memcpy(moved + before + one, third, (size_t)(bytes + size - third));
    replace(in(SECOND), moved, size + one);
    cr_assert_geq(verify(), 1);
    cr_assert_not_null(strstr(findings, "log:4: line 9 is at the place of line 10"), "%s",
                       findings);
}

Test(audit, missing_files_are_named)
{
    three_days();
    cr_assert_eq(rename(in(SECOND), in("kept")), 0);
    cr_assert_eq(verify(), 1, "%s", findings);
    cr_assert_not_null(strstr(findings, "audit-2025-11-27.log:1: lines 7 to 12 are missing"), "%s",
                       findings);
    cr_assert_eq(rename(in("kept"), in(SECOND)), 0);
    cr_assert_eq(unlink(in(FIRST)), 0); /* old files may be moved away */
    cr_assert_eq(verify(), 0, "%s", findings);
    cr_assert_eq(summary.first, 7);
    cr_assert_eq(unlink(in(THIRD)), 0);
    cr_assert_eq(verify(), 1, "%s", findings);
    cr_assert_not_null(strstr(findings, "ends with line 12, but line 18 was acknowledged"), "%s",
                       findings);
}

Test(audit, a_truncated_log_is_found_wherever_it_is_cut)
{
    three_days();
    static char kept[1 << 20];
    size_t size;
    memcpy(kept, contents(in(THIRD), &size), 1 << 19);
    for (size_t cut = 0; cut < size; cut += cut + 1 == size ? 1 : 7) {
        replace(in(THIRD), kept, cut);
        cr_assert_geq(verify(), 1, "cut at %zu", cut);
    }
    replace(in(THIRD), kept, size);
    cr_assert_eq(unlink(in("log/head")), 0);
    cr_assert_eq(verify(), 1);
    cr_assert_not_null(strstr(findings, "head of the log is missing"), "%s", findings);
}

Test(audit, a_line_that_a_crash_has_cut_is_no_finding)
{
    three_days();
    static char kept[1 << 20];
    size_t size;
    memcpy(kept, contents(in(THIRD), &size), 1 << 19);
    static const char *const tails[] = {"{\"seq\":19,\"ti", "\0\0\0\0", "{"};
    static const size_t lengths[] = {13, 4, 1};
    for (int i = 0; i < 3; i++) {
        memcpy(kept + size, tails[i], lengths[i]);
        replace(in(THIRD), kept, size + lengths[i]);
        cr_assert_eq(verify(), 0, "%s", findings);
        cr_assert_eq(summary.torn, (uint64_t)i + 1);
        struct auth_audit *audit = log_open(NOW + 2 * DAY_MS);
        auth_audit_close(audit);
        cr_assert_eq(verify(), 0, "%s", findings);
        cr_assert_eq(summary.last, 19 + (uint64_t)i);
        cr_assert_eq(summary.torn, (uint64_t)i + 1);
        memcpy(kept, contents(in(THIRD), &size), 1 << 19);
    }
    cr_assert_not_null(
        strstr(kept, "\"event\":\"audit.torn\",\"bytes\":13,\"text\":\"{\\\"seq\\\":19"), "%s",
        kept);
    cr_assert_not_null(strstr(kept, "\"text\":\"?"
                                    "?"
                                    "?"
                                    "?\""));
}

Test(audit, lines_that_somebody_has_taken_stay_missing)
{
    three_days();
    size_t size;
    char *bytes = contents(in(THIRD), &size);
    replace(in(THIRD), bytes, (size_t)(line_at(bytes, 4) + 20 - bytes));
    struct auth_audit *audit = log_open(NOW + 2 * DAY_MS);
    write_some(audit, NOW + 2 * DAY_MS, 1);
    auth_audit_close(audit);
    cr_assert_eq(verify(), 2, "%s", findings);
    cr_assert_not_null(strstr(findings, "lines 16 to 18 are missing"), "%s", findings);
    bytes = contents(in(THIRD), &size);
    cr_assert_not_null(strstr(bytes, "\"event\":\"audit.gap\",\"last\":15,\"acknowledged\":18"));
}

Test(audit, a_head_that_somebody_has_taken_is_missed_for_ever)
{
    three_days();
    cr_assert_eq(unlink(in("log/head")), 0);
    auth_audit_close(log_open(NOW + 2 * DAY_MS));
    cr_assert_eq(verify(), 1, "%s", findings);
    cr_assert_not_null(strstr(findings, "audit-2025-11-27.log:7: when the log was opened here"),
                       "%s", findings);
}

/* A file may not grow beyond `bytes`: as on a full disk, a line may be written in part. */
static void room(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(audit, without_room_it_stops_and_goes_on_by_itself)
{
    struct auth_audit *audit = log_open(NOW);
    struct stat file;
    write_some(audit, NOW, 3);
    cr_assert_eq(stat(in(FIRST), &file), 0);
    for (int more = 0; more < 250; more += 10) {
        room((rlim_t)(file.st_size + more));
        enum ga_status status = auth_audit_write(audit, NOW, "session.open", NULL, 0, false);
        if (status != GA_OK) {
            cr_assert_not(auth_audit_works(audit));
            cr_assert_not_null(strstr(auth_audit_why(audit), "cannot be written"), "%s",
                               auth_audit_why(audit));
            cr_assert_not(auth_audit_tick(audit, NOW));
            cr_assert_neq(auth_audit_write(audit, NOW, "session.open", NULL, 0, false), GA_OK);
        }
        room(RLIM_INFINITY);
        cr_assert(auth_audit_tick(audit, NOW));
        cr_assert(auth_audit_works(audit));
        cr_assert_eq(verify(), 0, "%d bytes of room: %s", more, findings);
        cr_assert_eq(summary.torn, 0);
        cr_assert_eq(stat(in(FIRST), &file), 0);
    }
    auth_audit_close(audit);
    size_t size;
    cr_assert_not_null(
        strstr(contents(in(FIRST), &size), "\"event\":\"audit.resumed\",\"lost\":2"));
    room(10);
    cr_assert_neq(auth_audit_open(in("log"), NOW + DAY_MS, &audit, why, sizeof why), GA_OK);
    room(RLIM_INFINITY);
    auth_audit_close(log_open(NOW + DAY_MS));
    cr_assert_eq(verify(), 0, "%s", findings);
}

static uint64_t head_number(void)
{
    size_t size;
    return strtoull(contents(in("log/head"), &size), NULL, 10);
}

/* The head counts those that had been written when the others began to reach the disk. */
Test(audit, lines_are_added_while_others_reach_the_disk)
{
    struct auth_audit *audit = log_open(NOW);
    uint64_t before = head_number();
    write_some(audit, NOW, 3);
    cr_assert_eq(head_number(), before);
    struct auth_audit_sync *sync = auth_audit_sync_begin(audit, false);
    cr_assert_not_null(sync);
    write_some(audit, NOW, 2);
    write_some(audit, NOW + DAY_MS, 1); /* in the file of the day before, which is under way */
    cr_assert_null(auth_audit_sync_begin(audit, true), "one at a time");
    auth_audit_sync_run(sync);
    cr_assert_eq(head_number(), before);
    cr_assert_eq(auth_audit_sync_end(audit), GA_OK, "%s", auth_audit_why(audit));
    cr_assert_eq(head_number(), before + 3);
    write_some(audit, NOW + DAY_MS, 2); /* in a new file: the one before is not on the disk */
    sync = auth_audit_sync_begin(audit, false);
    cr_assert_not_null(sync);
    auth_audit_sync_run(sync);
    cr_assert_eq(auth_audit_sync_end(audit), GA_OK, "%s", auth_audit_why(audit));
    cr_assert_eq(head_number(), before + 3 + 3 + 1 + 2, "a new file has a line of its own");
    cr_assert_null(auth_audit_sync_begin(audit, false), "all are there");
    auth_audit_close(audit);
    cr_assert_eq(verify(), 0, "%s", findings);
    cr_assert_eq(summary.files, 2);
}

/* A log that has failed works again when its lines are on the disk, and not before. */
Test(audit, it_works_again_when_that_is_on_the_disk)
{
    struct auth_audit *audit = log_open(NOW);
    struct stat file;
    cr_assert_eq(stat(in(FIRST), &file), 0);
    room((rlim_t)file.st_size);
    cr_assert_neq(auth_audit_write(audit, NOW, "session.open", NULL, 0, false), GA_OK);
    auth_audit_turn(audit, NOW);
    cr_assert_null(auth_audit_sync_begin(audit, false));
    room(RLIM_INFINITY);
    auth_audit_turn(audit, NOW);
    write_some(audit, NOW, 1);
    cr_assert_not(auth_audit_works(audit), "audit.resumed is not on the disk");
    struct auth_audit_sync *sync = auth_audit_sync_begin(audit, false);
    cr_assert_not_null(sync);
    auth_audit_sync_run(sync);
    cr_assert_not(auth_audit_works(audit));
    cr_assert_eq(auth_audit_sync_end(audit), GA_OK, "%s", auth_audit_why(audit));
    cr_assert(auth_audit_works(audit));
    auth_audit_close(audit);
    cr_assert_eq(verify(), 0, "%s", findings);
}

Test(audit, a_storm_of_failures_is_not_written_line_by_line)
{
    struct auth_audit *audit = log_open(NOW);
    struct auth_field field = AUTH_TEXT("source", "192.0.2.7");
    for (int second = 0; second < 60; second++) {
        for (int i = 0; i < 1000; i++) {
            cr_assert_eq(auth_audit_write_failure(audit, AUTH_AUDIT_STRANGERS, NOW + second * 1000,
                                                  "auth.fail", &field, 1),
                         GA_OK);
        }
    }
    cr_assert(auth_audit_tick(audit, NOW + 60000));
    auth_audit_close(audit);
    cr_assert_eq(verify(), 0, "%s", findings);
    cr_assert_eq(summary.lines, 1 + 100 + 59 + 1);
    size_t size, left_out = 0;
    char *bytes = contents(in(FIRST), &size), *at = bytes;
    while ((at = strstr(at, "\"left_out\":")) != NULL) {
        at += strlen("\"left_out\":");
        left_out += strtoull(at, NULL, 10);
    }
    cr_assert_eq(left_out, 60000 - 159, "each is counted: %zu", left_out);
    cr_assert_lt(size, 64000);
}

Test(audit, long_values_are_cut_at_a_character)
{
    struct auth_audit *audit = log_open(NOW);
    char text[3000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2) {
        memcpy(text + i, "\xc3\xa4", 2);
    }
    text[sizeof text - 2] = 0;
    struct auth_field fields[AUTH_AUDIT_FIELDS_MAX];
    static const char *const keys[AUTH_AUDIT_FIELDS_MAX] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                                            "i", "j", "k", "l", "m", "n", "o", "p"};
    for (unsigned i = 0; i < AUTH_AUDIT_FIELDS_MAX; i++) {
        fields[i] = AUTH_TEXT(keys[i], text + 1 + i % 2); /* the odd ones begin amid a character */
    }
    cr_assert_eq(auth_audit_write(audit, NOW, "x", fields, AUTH_AUDIT_FIELDS_MAX, false), GA_OK);
    memset(text, 1, sizeof text - 1);
    text[sizeof text - 1] = 0;
    cr_assert_eq(auth_audit_write(audit, NOW, "x", fields, AUTH_AUDIT_FIELDS_MAX, false), GA_OK);
    auth_audit_close(audit);
    cr_assert_eq(verify(), 0, "%s", findings);
    auth_audit_close(log_open(NOW));
    cr_assert_eq(verify(), 0, "%s", findings);
    cr_assert_eq(summary.lines, 3);
}
