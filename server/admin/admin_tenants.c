/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that show tenants. */
#include "server/admin/admin_tenants.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/monitoring/status.h"
#include "server/tenants/tenant.h"

static json_t *types_array(const char *types)
{
    json_t *array = json_array();
    while (*types != 0) {
        size_t length = strcspn(types, ",");
        (void)json_array_append_new(array, json_stringn(types, length));
        types += length + (types[length] == ',');
    }
    return array;
}

json_t *admin_tenant_record(const struct store_tenant *tenant)
{
    json_t *record = json_object();
    admin_set_text(record, "name", tenant->name);
    admin_set_text(record, "description", tenant->description);
    admin_set_number(record, "generation", tenant->generation);
    admin_set_text(record, "state", tenant->suspended ? "suspended" : "active");
    admin_set_text(record, "reason", tenant->reason);
    admin_set_limits(record, &tenant->limits);
    admin_set(record, "gpu_types", types_array(tenant->gpu_types));
    admin_set_text(record, "isolation", limits_isolation_name(tenant->isolation));
    admin_set_text(record, "on_exhausted", limits_exhausted_name(tenant->exhausted));
    admin_set_time(record, "created", tenant->created);
    admin_set_time(record, "changed", tenant->changed);
    return record;
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

void admin_set_tenant_use(json_t *object, const struct admin_tenant_use *use)
{
    json_t *used = json_object();
    admin_set_number(used, "sessions", use->sessions);
    admin_set_number(used, "gpu_mem_bytes", use->gpu_mem_bytes);
    admin_set_number(used, "gpu_time_day_ms", use->gpu_time_day_ms);
    admin_set_number(used, "gpu_time_month_ms", use->gpu_time_month_ms);
    admin_set(object, "used", used);
    admin_set_number(object, "credentials", use->credentials);
}

/* ---- the verbs */

struct tenant_page {
    struct admin_call *call;
    struct store *store;
    json_t *items;
    unsigned count;
    enum admin_code code;
    char last[STORE_NAME_MAX + 1];
};

static void tenant_page_add(void *user, const struct store_tenant *tenant)
{
    struct tenant_page *page = user;
    struct admin_tenant_use use;
    if (page->code != ADMIN_OK) {
        return;
    }
    page->code = admin_tenant_use_of(page->call, page->store, tenant, &use);
    json_t *item = admin_tenant_record(tenant);
    admin_set_tenant_use(item, &use);
    (void)json_array_append_new(page->items, item);
    memcpy(page->last, tenant->name, sizeof page->last);
    page->count++;
}

enum admin_code admin_verb_tenants(struct admin_call *call)
{
    struct tenant_page page = {.call = call, .code = ADMIN_OK};
    const char *after = admin_text(call, "after");
    enum admin_code code = admin_store_get(call, &page.store);
    if (code != ADMIN_OK) {
        return code;
    }
    page.items = json_array();
    enum ga_status status = store_tenant_page(page.store, after != NULL ? after : "",
                                              ADMIN_PAGE_ITEMS, tenant_page_add, &page);
    admin_set(call->result, "items", page.items);
    admin_set_text(call->result, "next", page.count == ADMIN_PAGE_ITEMS ? page.last : NULL);
    return page.code != ADMIN_OK ? page.code : admin_store_code(call, page.store, status);
}

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
        json_t *item = admin_tenant_record(&tenant);
        admin_set_tenant_use(item, &use);
        admin_set(call->result, "item", item);
        code = tenant_users(call, store, tenant.name, item);
    }
    return code;
}
