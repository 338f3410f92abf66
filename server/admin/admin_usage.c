/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `usage`: sums of what sessions have used. */
#include <string.h>

#include "base/digits.h"
#include "server/admin/admin_list.h"

static const struct {
    const char *word;
    unsigned by;
} words[] = {{"tenant", STORE_BY_TENANT},
             {"user", STORE_BY_USER},
             {"node", STORE_BY_NODE},
             {"gpu", STORE_BY_GPU},
             {"day", STORE_BY_DAY}};

static enum ga_status usage_row(struct admin_list *list, struct admin_writer *out, bool *has)
{
    struct store_usage_sum sum;
    GA_TRY(store_usage_next(list->rows, &sum, has));
    if (!*has) {
        return GA_OK;
    }
    const struct store_figures *figures = &sum.figures;
    const char *const texts[] = {sum.tenant, sum.user, sum.node, sum.gpu};
    admin_writer_begin(out, NULL);
    for (unsigned i = 0; i < 4; i++) {
        if ((list->by & words[i].by) != 0) {
            admin_writer_text(out, words[i].word, texts[i]);
        }
    }
    if ((list->by & STORE_BY_DAY) != 0) {
        admin_writer_time(out, "day", sum.day);
    }
    admin_writer_number(out, "sessions", sum.sessions);
#define FIGURE(column, how, json, unit, ...)                                                       \
    admin_writer_number(out, json, figures->column / (unit));
    STORE_FIGURES(FIGURE)
#undef FIGURE
    admin_writer_end(out);
    list->next[ga_digits_write(++list->told, list->next)] = 0;
    return GA_OK;
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

/* `after`: so many rows have been told. */
static enum admin_code usage_begin(struct admin_call *call, const char *after)
{
    struct admin_list *list = call->list;
    struct store_usage_sum sum;
    const char *end;
    uint64_t told = 0;
    bool has = true;
    if (*after != 0 && (!ga_digits_read(after, &end, &told) || *end != 0)) {
        return admin_fail(call, ADMIN_USAGE, "after: it is the text `next` of the page before");
    }
    enum admin_code code = by_read(call, &list->by);
    if (code != ADMIN_OK) {
        return code;
    }
    const struct store_usage_query query = {.tenant = admin_text(call, "tenant"),
                                            .user = admin_text(call, "user"),
                                            .node = admin_text(call, "node"),
                                            .gpu = admin_text(call, "gpu"),
                                            .from = (int64_t)admin_number(call, "from_s", 0),
                                            .to = (int64_t)admin_number(call, "to_s", 0),
                                            .by = list->by,
                                            .top = admin_number(call, "top", 0)};
    enum ga_status status = store_usage_list(list->store, &query, &list->rows);
    while (status == GA_OK && has && list->told < told) {
        status = store_usage_next(list->rows, &sum, &has);
        list->told++;
    }
    return admin_status_code(call, status, store_why(list->store));
}

enum admin_code admin_verb_usage(struct admin_call *call)
{
    return admin_list_page(call, usage_begin, usage_row);
}
