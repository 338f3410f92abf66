/* SPDX-License-Identifier: Apache-2.0 */
/* The request monitor's facts about sessions, and the verb about facts that were learnt of programs
 * (usage/feedback.h). */
#include <string.h>

#include "base/clock.h"
#include "server/admin/admin_store.h"
#include "server/admin/admin_verb.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/monitoring/status.h"
#include "server/turns/scheduler.h"
#include "server/usage/seat_use.h"

static void sizes_set(json_t *object, const char *name, const uint32_t sizes[3])
{
    json_t *array = json_array();
    for (unsigned i = 0; i < 3; i++) {
        (void)json_array_append_new(array, json_integer(sizes[i]));
    }
    admin_set(object, name, array);
}

static json_t *shapes_of(const struct seat_use *use)
{
    json_t *shapes = json_array();
    for (uint32_t i = 0; i < use->shape_count; i++) {
        json_t *shape = json_object();
        admin_set_number(shape, "launches_estimate", use->shapes[i].launches);
        sizes_set(shape, "grid", use->shapes[i].grid);
        sizes_set(shape, "block", use->shapes[i].block);
        admin_set_number(shape, "shared_bytes", use->shapes[i].shared_bytes);
        admin_set_number(shape, "gpu_share_percent", use->shapes[i].share / (FIGURES_WHOLE / 100));
        (void)json_array_append_new(shapes, shape);
    }
    return shapes;
}

static void engines_set(json_t *object, const uint64_t busy_ns[GPU_ENGINES], uint64_t works,
                        const uint64_t copies[2], const uint64_t copied_bytes[2])
{
    static const char *const engines[GPU_ENGINES] = {"compute_ms", "copy_in_ms", "copy_out_ms"};
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        admin_set_number(object, engines[i], busy_ns[i] / GA_NS_PER_MS);
    }
    admin_set_number(object, "launches", works);
    admin_set_number(object, "copies_in", copies[0]);
    admin_set_number(object, "copies_out", copies[1]);
    admin_set_number(object, "copied_in_bytes", copied_bytes[0]);
    admin_set_number(object, "copied_out_bytes", copied_bytes[1]);
}

static void turns_set(json_t *object, const struct scheduler_session *turns)
{
    admin_set_text(object, "turn",
                   turns == NULL  ? NULL
                   : turns->lost  ? "lost"
                   : turns->holds ? "holds"
                   : turns->waits ? "waits"
                                  : "idle");
    admin_set_number(object, "turns", turns != NULL ? turns->account.turns : 0);
    admin_set_number(object, "waited_ms",
                     turns != NULL ? turns->account.waited_ns / GA_NS_PER_MS : 0);
}

json_t *admin_monitor(const struct status_gpu *gpu)
{
    const struct seat_use *use = gpu->use;
    static const char *const phases[] = {[GPU_PHASE_DFL] = "DFL",
                                         [GPU_PHASE_KL] = "KL",
                                         [GPU_PHASE_H2D] = "H2D",
                                         [GPU_PHASE_D2H] = "D2H"};
    json_t *object = json_object();
    char uuid[DEVICES_UUID_BYTES];
    devices_uuid_write(use->device->facts.uuid, uuid);
    admin_set_text(object, "uuid", uuid);
    admin_set_text(object, "phase", phases[use->phase]);
    engines_set(object, use->busy_ns, use->works, use->copies, use->copied_bytes);
    admin_set_number(object, "gpu_ms", use->busy_any_ns / GA_NS_PER_MS);
    admin_set_number(object, "demand_estimate_ms", use->demand_ns / GA_NS_PER_MS);
    admin_set_number(object, "bandwidth_estimate_bytes_per_s",
                     seat_use_bandwidth(use->copied_bytes, use->busy_any_ns));
    turns_set(object, gpu->turns);
    admin_set(object, "shapes", shapes_of(use));
    return object;
}

/* Parts of a time; 0 of no time. */
static uint64_t percent(uint64_t part, uint64_t whole)
{
    double value = whole != 0 ? 100.0 * (double)part / (double)whole : 0;
    return (uint64_t)(value + 0.5);
}

static json_t *feedback_of(const struct feedback_row *row, const char *tenant)
{
    const struct feedback_figures *sum = &row->sum;
    json_t *object = json_object();
    admin_set_text(object, "tenant", tenant);
    admin_set_text(object, "program", row->key.program);
    admin_set_text(object, "model", row->key.model);
    admin_set_number(object, "sessions", row->sessions);
    admin_set_number(object, "wall_ms", sum->wall_ns / GA_NS_PER_MS);
    admin_set_number(object, "mean_wall_ms", sum->wall_ns / GA_NS_PER_MS / row->sessions);
    admin_set_number(object, "gpu_ms", sum->busy_any_ns / GA_NS_PER_MS);
    engines_set(object, sum->busy_ns, sum->works, sum->copies, sum->copied_bytes);
    admin_set_number(object, "gpu_percent", percent(sum->busy_any_ns, sum->wall_ns));
    admin_set_number(object, "transfer_percent",
                     percent(sum->busy_ns[GPU_H2D] + sum->busy_ns[GPU_D2H], sum->busy_any_ns));
    admin_set_number(object, "demand_estimate_percent", percent(sum->demand_ns, sum->wall_ns));
    admin_set_number(object, "bandwidth_estimate_bytes_per_s",
                     seat_use_bandwidth(sum->copied_bytes, sum->busy_any_ns));
    return object;
}

/* How a tenant is called now. `named` is the last one that was looked for. */
static enum admin_code feedback_name(struct admin_call *call, struct store *store,
                                     const struct feedback_key *key, struct store_tenant *named,
                                     bool *removed)
{
    enum ga_status status = GA_OK;
    if (key->number != named->number) {
        status = store_tenant_get_number(store, key->number, named);
    }
    *removed = status == GA_NOT_FOUND;
    return *removed ? ADMIN_OK : admin_store_code(call, store, status);
}

enum admin_code admin_verb_feedback(struct admin_call *call)
{
    const char *wanted = admin_text(call, "tenant");
    struct store *store;
    struct store_tenant named = {.number = 0};
    json_t *items = json_array();
    enum admin_code code = admin_store_get(call, &store);
    ga_list_each (at, next, &call->gpuaasd->usage.feedback.rows) {
        const struct feedback_row *row = ga_container(at, struct feedback_row, link);
        bool removed = false;
        if (code == ADMIN_OK && row->key.number != 0) {
            code = feedback_name(call, store, &row->key, &named, &removed);
        }
        const char *name = row->key.number != 0 ? named.name : row->key.tenant;
        if (code == ADMIN_OK && !removed && (wanted == NULL || strcmp(wanted, name) == 0)) {
            (void)json_array_append_new(items, feedback_of(row, name));
        }
    }
    admin_set(call->result, "items", items);
    return code;
}
