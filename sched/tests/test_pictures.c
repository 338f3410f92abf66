/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of docs/scheduling.md: the same three applications under each policy. With
 * GPUAAS_PICTURES in the environment it prints them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/tests/toy_gpu.h"

#define COLUMN_NS (5 * TOY_MS)
#define COLUMNS   80u
#define PICTURE   (3 * (COLUMNS + 8) + 1)

/* Time is in columns of 5 ms; a letter is an engine: k(ernel), i(n: H2D), o(ut: D2H); a dot: it
 * waits. */
static const struct toy_op ops_a[] = {{0, SCHED_COMPUTE, 60 * TOY_MS}};
static const struct toy_op ops_b[] = {{10 * TOY_MS, SCHED_H2D, 5 * TOY_MS},
                                      {0, SCHED_COMPUTE, 10 * TOY_MS},
                                      {0, SCHED_D2H, 5 * TOY_MS}};
static const struct toy_op ops_c[] = {
    {0, SCHED_H2D, 10 * TOY_MS}, {0, SCHED_COMPUTE, 10 * TOY_MS}, {0, SCHED_D2H, 10 * TOY_MS}};

static void paint(const struct toy_gpu *toy, char *picture)
{
    const char letters[] = "kio";
    char rows[3][COLUMNS];
    memset(rows, ' ', sizeof(rows));
    for (uint32_t i = 0; i < toy->span_count; i++) {
        const struct toy_span *span = &toy->spans[i];
        for (uint64_t at = span->from; at < span->to && at / COLUMN_NS < COLUMNS; at += COLUMN_NS) {
            rows[span->app][at / COLUMN_NS] = letters[span->engine];
        }
    }
    /* Between two operations an application waits, but for the pause before the copy of B. */
    for (uint32_t app = 0; app < 3; app++) {
        for (uint32_t at = 0; at < COLUMNS; at++) {
            if (rows[app][at] == ' ') {
                rows[app][at] = '.';
            }
        }
        for (uint32_t at = 0; app == 1 && at < COLUMNS; at++) {
            if (rows[1][at] == '.' && (at == 0 || rows[1][at - 1] == 'o')) {
                memset(&rows[1][at], ' ', at + 1 < COLUMNS ? 2 : 1);
                at++;
            }
        }
    }
    char *out = picture;
    for (uint32_t app = 0; app < 3; app++) {
        out += sprintf(out, "    %c  %.*s\n", 'A' + app, (int)COLUMNS, rows[app]);
    }
}

static void draw(const char *policy, char *picture)
{
    static struct toy_gpu toy;
    struct sched_settings settings = sched_settings_default();
    settings.epoch_ns = 120 * TOY_MS;
    settings.quantum_ns = 100 * TOY_MS;
    settings.group_slice_ns = 60 * TOY_MS;
    struct toy_app apps[] = {
        {.request = {.tenant = 1, .weight = 1, .demand_ppm = 1000000, .bandwidth = 80},
         .ops = ops_a,
         .op_count = 1},
        {.request = {.tenant = 2,
                     .weight = 1,
                     .priority = 1,
                     .demand_ppm = 300000,
                     .bandwidth = 10,
                     .goal_ns = 5 * TOY_MS},
         .ops = ops_b,
         .op_count = 3},
        {.request = {.tenant = 3, .weight = 2, .demand_ppm = 700000, .bandwidth = 50},
         .ops = ops_c,
         .op_count = 3}};
    toy_begin(&toy, policy, &settings, apps, 3);
    toy_run(&toy, COLUMNS * COLUMN_NS);
    paint(&toy, picture);
    toy_end(&toy);
}

static char *page_read(void)
{
    FILE *file = fopen(GPUAAS_SOURCE "/docs/scheduling.md", "r");
    cr_assert_not_null(file);
    char *page = calloc(1, 1u << 18);
    cr_assert_not_null(page);
    cr_assert_gt(fread(page, 1, (1u << 18) - 1, file), 0);
    fclose(file);
    return page;
}

Test(pictures, page)
{
    char picture[PICTURE];
    const struct sched_policy *policy = NULL;
    char *page = getenv("GPUAAS_PICTURES") == NULL ? page_read() : NULL;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        const char *name = sched_policy_name(policy);
        char heading[64];
        draw(name, picture);
        if (page == NULL) {
            printf("%s\n%s\n", name, picture);
            continue;
        }
        snprintf(heading, sizeof(heading), "\n### `%s`", name);
        cr_assert_not_null(strstr(page, heading), "docs/scheduling.md has no section %s", name);
        cr_assert(strcmp(name, "auto") == 0 || /* it is one of the others */
                      strstr(strstr(page, heading), picture) != NULL,
                  "docs/scheduling.md has not this picture of %s:\n%s", name, picture);
    }
    free(page);
}
