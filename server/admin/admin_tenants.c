/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that show tenants. */
#include "server/admin/admin_tenants.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "server/admin/admin_list.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/monitoring/status.h"
#include "server/tenants/tenant.h"

static void limits_write(struct admin_writer *out, const struct limits *limits)
{
    admin_writer_begin(out, "limits");
    for (unsigned i = 0; i < LIMIT_COUNT; i++) {
        admin_writer_number(out, limits_table[i].json, limits->of[i]);
    }
    admin_writer_end(out);
}

/* Without the end of the object. */
static void tenant_write(struct admin_writer *out, const struct store_tenant *tenant)
{
    admin_writer_begin(out, NULL);
    admin_writer_text(out, "name", tenant->name);
    admin_writer_text(out, "description", tenant->description);
    admin_writer_number(out, "generation", tenant->generation);
    admin_writer_text(out, "state", tenant->suspended ? "suspended" : "active");
    admin_writer_text(out, "reason", tenant->reason);
    limits_write(out, &tenant->limits);
    admin_writer_words(out, "gpu_types", tenant->gpu_types);
    admin_writer_text(out, "isolation", limits_isolation_name(tenant->isolation));
    admin_writer_text(out, "on_exhausted", limits_exhausted_name(tenant->exhausted));
    admin_writer_time(out, "created", tenant->created);
    admin_writer_time(out, "changed", tenant->changed);
}

/* Behind tenant_write. */
static void use_write(struct admin_writer *out, const struct admin_tenant_use *use)
{
    admin_writer_begin(out, "used");
    admin_writer_number(out, "sessions", use->sessions);
    admin_writer_number(out, "gpu_mem_bytes", use->gpu_mem_bytes);
    admin_writer_number(out, "gpu_time_day_ms", use->gpu_time_day_ms);
    admin_writer_number(out, "gpu_time_month_ms", use->gpu_time_month_ms);
    admin_writer_end(out);
    admin_writer_number(out, "credentials", use->credentials);
}

/* Ends the object; NULL: no memory. */
static json_t *tenant_read(struct admin_writer *out)
{
    admin_writer_end(out);
    json_t *record = out->failed ? NULL : json_loadb(out->bytes, out->used, 0, NULL);
    free(out->bytes);
    return record;
}

json_t *admin_tenant_record(const struct store_tenant *tenant)
{
    struct admin_writer out = {.bytes = NULL};
    tenant_write(&out, tenant);
    return tenant_read(&out);
}

/* ---- what it uses */

struct sums {
    uint64_t tenant_number;
    struct admin_tenant_use *use;
};

static void sums_add(void *user, const struct status_application *application)
{
    struct sums *sums = user;
    if (application->tenant_number == sums->tenant_number) {
        sums->use->sessions += application->session;
        sums->use->gpu_mem_bytes += application->figures[FIGURE_DEVICE_BYTES];
    }
}

enum admin_code admin_tenant_use_of(struct admin_call *call, struct store *store,
                                    const struct store_tenant *tenant, struct admin_tenant_use *use)
{
    int64_t now = time(NULL);
    struct store_figures day, month;
    struct sums sums = {.tenant_number = tenant->number, .use = use};
    const struct status_sink sink = {.user = &sums, .application = sums_add};
    *use = (struct admin_tenant_use){0};
    if (tenant_known(&call->gpuaasd->applications.tenants, tenant->number, tenant->name) !=
        NULL) { /* most of them are not */
        status_collect(&call->gpuaasd->monitoring, &sink);
    }
    enum ga_status status = store_usage_period(store, tenant->number, NULL, STORE_DAY, now, &day);
    if (status == GA_OK) {
        status = store_usage_period(store, tenant->number, NULL, STORE_MONTH, now, &month);
    }
    if (status == GA_OK) {
        status = store_credential_valid(store, tenant->number, now, &use->credentials);
    }
    if (status == GA_OK) {
        use->gpu_time_day_ms = day.gpu_ns / GA_NS_PER_MS;
        use->gpu_time_month_ms = month.gpu_ns / GA_NS_PER_MS;
    }
    return admin_store_code(call, store, status);
}

/* ---- the list */

static void use_add(void *user, const struct status_application *application)
{
    struct admin_list *list = user;
    if ((list->use_count & (list->use_count - 1)) == 0) { /* a power of two: it is full */
        size_t room = list->use_count != 0 ? 2 * list->use_count : 1;
        struct admin_list_use *uses = realloc(list->uses, room * sizeof *uses);
        if (uses == NULL) {
            return;
        }
        list->uses = uses;
    }
    list->uses[list->use_count++] =
        (struct admin_list_use){application->tenant_number, application->session,
                                application->figures[FIGURE_DEVICE_BYTES]};
}

static int use_compare(const void *one, const void *other)
{
    uint64_t first = ((const struct admin_list_use *)one)->tenant;
    uint64_t second = ((const struct admin_list_use *)other)->tenant;
    return (first > second) - (first < second);
}

/* One for each tenant that has applications here. */
void admin_tenants_look(struct gpuaasd *gpuaasd, struct admin_list *list)
{
    const struct status_sink sink = {.user = list, .application = use_add};
    size_t count = 0;
    status_collect(&gpuaasd->monitoring, &sink);
    if (list->use_count != 0) {
        qsort(list->uses, list->use_count, sizeof *list->uses, use_compare);
    }
    for (size_t i = 0; i < list->use_count; i++) {
        struct admin_list_use *last = count != 0 ? &list->uses[count - 1] : NULL;
        if (last != NULL && last->tenant == list->uses[i].tenant) {
            last->sessions += list->uses[i].sessions;
            last->gpu_mem_bytes += list->uses[i].gpu_mem_bytes;
        } else {
            list->uses[count++] = list->uses[i];
        }
    }
    list->use_count = count;
}

static enum ga_status list_tenant(struct admin_list *list, struct admin_writer *out, bool *has)
{
    struct store_tenant_use found;
    GA_TRY(store_tenant_next(list->rows, &found, has));
    if (!*has) {
        return GA_OK;
    }
    const struct admin_list_use key = {.tenant = found.tenant.number};
    const struct admin_list_use *here =
        list->use_count != 0 ? bsearch(&key, list->uses, list->use_count, sizeof key, use_compare)
                             : NULL;
    const struct admin_tenant_use use = {.sessions = here != NULL ? here->sessions : 0,
                                         .gpu_mem_bytes = here != NULL ? here->gpu_mem_bytes : 0,
                                         .gpu_time_day_ms = found.gpu_ns_day / GA_NS_PER_MS,
                                         .gpu_time_month_ms = found.gpu_ns_month / GA_NS_PER_MS,
                                         .credentials = found.credentials};
    tenant_write(out, &found.tenant);
    use_write(out, &use);
    admin_writer_end(out);
    memcpy(list->next, found.tenant.name, sizeof list->next);
    return GA_OK;
}

/* `after`: the name of the last one. */
static enum admin_code tenants_begin(struct admin_call *call, const char *after)
{
    struct admin_list *list = call->list;
    return admin_status_code(call, store_tenant_list(list->store, after, time(NULL), &list->rows),
                             store_why(list->store));
}

enum admin_code admin_verb_tenants(struct admin_call *call)
{
    return admin_list_page(call, tenants_begin, list_tenant);
}

/* ---- one */

static void tenant_user_add(void *user, const struct store_user *found)
{
    json_t *item = json_object();
    admin_set_text(item, "name", found->name);
    admin_set_text(item, "state", found->suspended ? "suspended" : "active");
    (void)json_array_append_new(user, item);
}

static enum admin_code tenant_users(struct admin_call *call, struct store *store,
                                    const char *tenant, json_t *item)
{
    json_t *users = json_array();
    admin_set(item, "users", users);
    return admin_store_code(call, store, store_user_each(store, tenant, tenant_user_add, users));
}

enum admin_code admin_verb_tenant_show(struct admin_call *call)
{
    struct store *store;
    struct store_tenant tenant;
    struct admin_tenant_use use;
    enum admin_code code = admin_store_get(call, &store);
    if (code == ADMIN_OK) {
        code = admin_store_code(call, store,
                                store_tenant_get(store, admin_text(call, "name"), &tenant));
    }
    if (code == ADMIN_OK) {
        code = admin_tenant_use_of(call, store, &tenant, &use);
    }
    if (code == ADMIN_OK) {
        struct admin_writer out = {.bytes = NULL};
        tenant_write(&out, &tenant);
        use_write(&out, &use);
        json_t *item = tenant_read(&out);
        admin_set(call->result, "item", item);
        code = tenant_users(call, store, tenant.name, item);
    }
    return code;
}
