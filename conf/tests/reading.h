/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the configuration: the smallest file, files that are right, files that are wrong. */
#ifndef CONF_TESTS_READING_H
#define CONF_TESTS_READING_H

#include <criterion/criterion.h>
#include <string.h>

#include "conf/conf.h"

#define SMALLEST "[server]\nlisten = tcp://127.0.0.1:9955\n[gpu.0]\ndriver = soft\n"

struct complaints {
    unsigned count;
    char text[8192];
};

static inline void collect(void *user, const char *line)
{
    struct complaints *complaints = user;
    complaints->count++;
    strncat(complaints->text, line, sizeof complaints->text - strlen(complaints->text) - 2);
    strcat(complaints->text, "\n");
}

static inline struct conf read_good(const char *text)
{
    struct conf conf;
    struct complaints complaints = {0};
    cr_assert_eq(conf_read_text("f", text, &conf, collect, &complaints), GA_OK, "%s",
                 complaints.text);
    return conf;
}

/* Reads a wrong file and expects exactly one complaint, which has `part` in it. */
static inline void expect_one(const char *text, const char *part)
{
    struct conf conf;
    struct complaints complaints = {0};
    cr_assert_eq(conf_read_text("f", text, &conf, collect, &complaints), GA_INVALID, "%s", text);
    cr_assert_eq(complaints.count, 1, "%s", complaints.text);
    cr_assert_not_null(strstr(complaints.text, part), "%s", complaints.text);
}

#endif
