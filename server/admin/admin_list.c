/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admin/admin_list.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a page. Short ones are read by the admin while the next one is made; a query that must
 * be done again for each page has few. A row is shorter than what is left up to ADMIN_REPLY_MAX. */
#define LIST_SHORT (256u << 10)
#define LIST_LONG  (ADMIN_REPLY_MAX - (1u << 20))

static json_t *list_arguments(const json_t *arguments)
{
    json_t *own = json_copy((json_t *)(uintptr_t)arguments); /* it does not change them */
    (void)json_object_del(own, "after");
    return own;
}

struct admin_list *admin_list_make(struct gpuaasd *gpuaasd, const struct admin_verb *verb,
                                   const json_t *arguments)
{
    struct admin_list *list = calloc(1, sizeof *list);
    if (list != NULL) {
        list->verb = verb;
        list->arguments = list_arguments(arguments);
        if (verb->run == admin_verb_tenants) {
            admin_tenants_look(gpuaasd, list);
        }
    }
    return list;
}

void admin_list_free(struct admin_list *list)
{
    if (list != NULL) {
        store_list_end(list->rows);
        store_close(list->store);
        json_decref(list->arguments);
        free(list->uses);
        free(list);
    }
}

bool admin_list_goes_on(const struct admin_list *list, const struct admin_verb *verb,
                        const json_t *arguments)
{
    const char *after = json_string_value(json_object_get(arguments, "after"));
    if (list->verb != verb || list->rows == NULL || after == NULL ||
        strcmp(after, list->next) != 0) {
        return false;
    }
    json_t *own = list_arguments(arguments);
    bool same = json_equal(own, list->arguments) != 0;
    json_decref(own);
    return same;
}

static enum admin_code list_begin(struct admin_call *call,
                                  enum admin_code (*begin)(struct admin_call *call,
                                                           const char *after))
{
    const char *after = admin_text(call, "after");
    enum admin_code code = admin_store_open(call, &call->list->store);
    return code == ADMIN_OK ? begin(call, after != NULL ? after : "") : code;
}

/* Takes the text. */
static enum admin_code list_set(struct admin_call *call, struct admin_writer *out, bool more)
{
    admin_writer_bytes(out, "]", 2); /* with its end */
    if (out->failed) {
        free(out->bytes);
        return admin_fail(call, ADMIN_ERROR, "there is no memory for the list");
    }
    call->items = out->bytes;
    admin_set_text(call->result, "next", more ? call->list->next : NULL);
    return ADMIN_OK;
}

enum admin_code
admin_list_page(struct admin_call *call,
                enum admin_code (*begin)(struct admin_call *call, const char *after),
                enum ga_status (*row)(struct admin_list *list, struct admin_writer *out, bool *has))
{
    struct admin_list *list = call->list;
    struct admin_writer out = {.bytes = NULL};
    bool has = true;
    enum admin_code code = list->rows == NULL ? list_begin(call, begin) : ADMIN_OK;
    if (code != ADMIN_OK) {
        return code;
    }
    enum ga_status status = GA_OK;
    admin_writer_bytes(&out, "[", 1);
    while (status == GA_OK && has && !out.failed &&
           out.used < (list->kept ? LIST_SHORT : LIST_LONG)) {
        status = row(list, &out, &has);
    }
    if (status != GA_OK) {
        free(out.bytes);
        return admin_status_code(call, status, store_why(list->store));
    }
    if (!has) { /* nothing is left to go on with */
        store_list_end(list->rows);
        list->rows = NULL;
    }
    return list_set(call, &out, has);
}
