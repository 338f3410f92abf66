/* SPDX-License-Identifier: Apache-2.0 */
/* A log that others could change is not written: it would prove nothing. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"

#define NOW    INT64_C(1764089049123) /* 2025-11-25 16:44:09.123 */
#define DAY_MS INT64_C(86400000)
#define TODAY  "log/audit-2025-11-25.log"
#define LATER  "log/audit-2025-11-26.log"
#define NOBODY 65534

static char folder[] = "/tmp/gpuaas_place.XXXXXX";
static char why[600];

static int forget(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static const char *in(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static enum ga_status try_open(void)
{
    struct auth_audit *audit = NULL;
    why[0] = 0;
    enum ga_status status = auth_audit_open(in("log"), NOW, &audit, why, sizeof why);
    auth_audit_close(audit);
    return status;
}

/* A log of a day. */
static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(auth_audit_check(in("log"), why, sizeof why), GA_OK, "it is made: %s", why);
    cr_assert_eq(try_open(), GA_OK, "%s", why);
}

static void tear_down(void)
{
    nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(audit_place, .init = set_up, .fini = tear_down);

/* Both ways say the same: `word` and the cure. */
static void expect_refused(const char *word, const char *cure)
{
    cr_expect_eq(auth_audit_check(in("log"), why, sizeof why), GA_DENIED, "%s", cure);
    cr_expect(strstr(why, word) != NULL && strstr(why, cure) != NULL, "%s", why);
    cr_expect_eq(try_open(), GA_DENIED, "%s", cure);
    cr_expect(strstr(why, word) != NULL && strstr(why, cure) != NULL, "%s", why);
}

static void expect_accepted(void)
{
    cr_expect_eq(auth_audit_check(in("log"), why, sizeof why), GA_OK, "%s", why);
    cr_expect_eq(try_open(), GA_OK, "%s", why);
}

Test(audit_place, a_mode_with_which_others_write_it_is_refused)
{
    static const struct {
        const char *name;
        mode_t right[2], wrong[3];
        const char *cure;
    } places[] = {
        {"log", {0700, 0755}, {0777, 01777, 0770}, "chmod 0700 "},
        {TODAY, {0600, 0644}, {0666, 0620, 0602}, "chmod 0600 "},
        {"log/head", {0600, 0644}, {0666, 0620, 0602}, "chmod 0600 "},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char cure[200];
        snprintf(cure, sizeof cure, "%s%s", places[i].cure, in(places[i].name));
        for (size_t k = 0; k < 3; k++) {
            cr_assert_eq(chmod(in(places[i].name), places[i].wrong[k]), 0);
            expect_refused("others could change the log", cure);
        }
        for (size_t k = 2; k > 0; k--) {
            cr_assert_eq(chmod(in(places[i].name), places[i].right[k - 1]), 0);
            expect_accepted();
        }
    }
}

Test(audit_place, what_belongs_to_somebody_else_is_refused)
{
    static const char *const names[] = {"log", TODAY, "log/head"};
    if (geteuid() != 0) {
        cr_skip_test("only root gives files to others");
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char cure[200];
        snprintf(cure, sizeof cure, "chown 0 %s", in(names[i]));
        cr_assert_eq(lchown(in(names[i]), NOBODY, (gid_t)-1), 0);
        expect_refused("belongs to user 65534", cure);
        cr_assert_eq(lchown(in(names[i]), 0, (gid_t)-1), 0);
        expect_accepted();
    }
}

Test(audit_place, what_is_no_file_is_refused)
{
    cr_assert_eq(symlink("/dev/null", in(LATER)), 0);
    expect_refused("is no file of its own", LATER + 4);
}

/* Somebody who could write the folder for a while has made the file of tomorrow. */
Test(audit_place, the_file_of_the_next_day_is_looked_at_too)
{
    struct auth_audit *audit = NULL;
    cr_assert_eq(auth_audit_open(in("log"), NOW, &audit, why, sizeof why), GA_OK, "%s", why);
    int made = open(in(LATER), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    cr_assert(made >= 0 && fchmod(made, 0666) == 0 && close(made) == 0);
    cr_expect_eq(auth_audit_write(audit, NOW + DAY_MS, "auth.ok", NULL, 0, true), GA_DENIED);
    cr_expect_not_null(strstr(auth_audit_why(audit), "chmod 0600"), "%s", auth_audit_why(audit));
    cr_expect_not(auth_audit_works(audit));
    cr_assert_eq(chmod(in(LATER), 0600), 0);
    cr_expect(auth_audit_tick(audit, NOW + DAY_MS));
    auth_audit_close(audit);
}
