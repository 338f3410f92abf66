/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `usage`: sums of what sessions have used. */
#include <string.h>

#include "server/admin/admin_store.h"

static const struct {
    const char *word;
    unsigned by;
} words[] = {{"tenant", STORE_BY_TENANT},
             {"user", STORE_BY_USER},
             {"node", STORE_BY_NODE},
             {"gpu", STORE_BY_GPU},
             {"day", STORE_BY_DAY}};

struct usage_rows {
    struct admin_rows rows;
    unsigned by;
};

static void usage_row(void *user, const struct store_usage_sum *sum)
{
    struct usage_rows *list = user;
    if (!admin_rows_take(&list->rows)) {
        return;
    }
    json_t *item = json_object();
    const struct store_figures *figures = &sum->figures;
    const char *const texts[] = {sum->tenant, sum->user, sum->node, sum->gpu};
    for (unsigned i = 0; i < 4; i++) {
        if ((list->by & words[i].by) != 0) {
            admin_set_text(item, words[i].word, texts[i]);
        }
    }
    if ((list->by & STORE_BY_DAY) != 0) {
        admin_set_time(item, "day", sum->day);
    }
    admin_set_number(item, "sessions", sum->sessions);
#define FIGURE(column, how, json, unit, ...) admin_set_number(item, json, figures->column / (unit));
    STORE_FIGURES(FIGURE)
#undef FIGURE
    admin_rows_add(&list->rows, item);
}

/* "tenant,day" */
static enum admin_code by_read(struct admin_call *call, unsigned *by)
{
    const char *text = admin_text(call, "by");
    *by = text == NULL ? STORE_BY_TENANT : 0;
    while (text != NULL && *text != 0) {
        size_t length = strcspn(text, ","), i = 0;
        while (i < sizeof words / sizeof *words &&
               (strlen(words[i].word) != length || strncmp(words[i].word, text, length) != 0)) {
            i++;
        }
        if (i == sizeof words / sizeof *words) {
            return admin_fail(call, ADMIN_USAGE,
                              "by %.*s: usage is summed by tenant, user, node, gpu and day",
                              (int)(length < 40 ? length : 40), text);
        }
        *by |= words[i].by;
        text += length + (text[length] == ',');
    }
    return ADMIN_OK;
}

enum admin_code admin_verb_usage(struct admin_call *call)
{
    struct store *store;
    struct usage_rows list;
    enum admin_code code = admin_store_read(call, &store);
    if (code == ADMIN_OK) {
        code = by_read(call, &list.by);
    }
    if (code == ADMIN_OK) {
        code = admin_rows_begin(call, &list.rows);
    }
    if (code != ADMIN_OK) {
        return code;
    }
    const struct store_usage_query query = {.tenant = admin_text(call, "tenant"),
                                            .user = admin_text(call, "user"),
                                            .node = admin_text(call, "node"),
                                            .gpu = admin_text(call, "gpu"),
                                            .from = (int64_t)admin_number(call, "from_s", 0),
                                            .to = (int64_t)admin_number(call, "to_s", 0),
                                            .by = list.by,
                                            .top = admin_number(call, "top", 0)};
    code = admin_store_code(call, store, store_usage_each(store, &query, usage_row, &list));
    return admin_rows_end(call, &list.rows, code);
}
