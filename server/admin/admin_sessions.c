/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs about sessions: for an admin a session is one application with all that it has on this
 * node.
 *
 * A list comes in pages, in the order of the ids: each page has the smallest ids behind the last
 * one of the page before. Sessions that come and go meanwhile neither shift nor repeat the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "server/admin/admin_verb.h"
#include "server/applications/application.h"
#include "server/applications/terminate.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/monitoring/status.h"

#define ID_BYTES      16u
#define ID_CHARACTERS (2 * ID_BYTES)
#define ID_BEGIN_MIN  4u /* characters that tell a session apart for people */

static void id_write(const uint8_t *id, char text[ID_CHARACTERS + 1])
{
    for (unsigned i = 0; i < ID_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    }
}

static void objects_set(json_t *session, const uint64_t figures[FIGURE_COUNT])
{
    static const struct {
        const char *name;
        enum figure figure;
    } kinds[] = {{"contexts", FIGURE_CONTEXTS},    {"streams", FIGURE_STREAMS},
                 {"events", FIGURE_EVENTS},        {"modules", FIGURE_MODULES},
                 {"functions", FIGURE_FUNCTIONS},  {"arrays", FIGURE_ARRAYS},
                 {"mipmaps", FIGURE_MIPMAPS},      {"textures", FIGURE_TEXTURES},
                 {"graphs", FIGURE_GRAPHS},        {"physical_allocations", FIGURE_PHYSICALS},
                 {"green_contexts", FIGURE_GREENS}};
    json_t *objects = json_object();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        admin_set_number(objects, kinds[i].name, figures[kinds[i].figure]);
    }
    admin_set(session, "objects", objects);
}

static json_t *session_of(const struct status_application *application)
{
    const uint64_t *figures = application->figures;
    json_t *session = json_object(), *gpus = json_array();
    char id[ID_CHARACTERS + 1];
    id_write(application->id, id);
    for (unsigned i = 0; i < CONF_GPUS_MAX; i++) {
        if ((application->gpus[i / 64] >> (i % 64) & 1) != 0) {
            (void)json_array_append_new(gpus, json_integer(i));
        }
    }
    admin_set_text(session, "id", id);
    admin_set_text(session, "tenant", application->tenant);
    admin_set_text(session, "user", application->user);
    admin_set_text(session, "program", application->label);
    admin_set_text(session, "address", application->address);
    admin_set_text(session, "transport", application->way);
    admin_set_text(session, "state",
                   application->ending           ? "ending"
                   : application->processes != 0 ? "active"
                                                 : "idle");
    admin_set(session, "gpus", gpus);
    admin_set(session, "use", json_array());
    admin_set_text(session, "turn", NULL);
    admin_set_number(session, "age_ms", application->age_ns / GA_NS_PER_MS);
    admin_set_number(session, "wall_time_ms", application->wall_ns / GA_NS_PER_MS);
    admin_set_number(session, "connections", application->connections);
    admin_set_number(session, "backend_processes", application->processes);
    admin_set_number(session, "gpu_mem_bytes", figures[FIGURE_DEVICE_BYTES]);
    admin_set_number(session, "host_mem_bytes", figures[FIGURE_HOST_BYTES]);
    admin_set_number(session, "shared_bytes", figures[FIGURE_SHARED_BYTES]);
#define WAY_IN(way)  +figures[FIGURE_##way##_IN]
#define WAY_OUT(way) +figures[FIGURE_##way##_OUT]
    admin_set_number(session, "in_bytes", FIGURES_WAYS(WAY_IN));
    admin_set_number(session, "out_bytes", FIGURES_WAYS(WAY_OUT));
#undef WAY_IN
#undef WAY_OUT
    return session;
}

/* Appends what it has used of a GPU. */
static void session_use_add(json_t *session, const struct status_gpu *gpu)
{
    json_t *use = admin_monitor(gpu);
    const char *turn = json_string_value(json_object_get(use, "turn"));
    const char *before = json_string_value(json_object_get(session, "turn"));
    if (turn != NULL && (before == NULL || strcmp(turn, "holds") == 0)) { /* of one of its GPUs */
        admin_set_text(session, "turn", turn);
    }
    (void)json_array_append_new(json_object_get(session, "use"), use);
}

/* ---- a page of the list */

struct page {
    char after[ID_CHARACTERS + 1];                 /* "": from the beginning */
    char ids[ADMIN_PAGE_ITEMS][ID_CHARACTERS + 1]; /* the smallest behind it, in order */
    unsigned count;
    bool more;
    json_t *items[ADMIN_PAGE_ITEMS];
};

/* Keeps the smallest ids in order: a place is made by moving the larger ones. */
static void page_offer(void *user, const struct status_application *application)
{
    struct page *page = user;
    char id[ID_CHARACTERS + 1];
    unsigned at = page->count;
    id_write(application->id, id);
    if (!application->session || strcmp(id, page->after) <= 0) {
        return;
    }
    while (at > 0 && strcmp(page->ids[at - 1], id) > 0) {
        at--;
    }
    page->more = page->more || page->count == ADMIN_PAGE_ITEMS;
    if (at == ADMIN_PAGE_ITEMS) {
        return;
    }
    unsigned moved = page->count - at - (page->count == ADMIN_PAGE_ITEMS);
    memmove(page->ids[at + 1], page->ids[at], moved * sizeof *page->ids);
    memcpy(page->ids[at], id, sizeof id);
    page->count += page->count < ADMIN_PAGE_ITEMS;
}

static void page_fill(void *user, const struct status_application *application)
{
    struct page *page = user;
    char id[ID_CHARACTERS + 1];
    id_write(application->id, id);
    for (unsigned i = 0; i < page->count; i++) {
        if (strcmp(page->ids[i], id) == 0) {
            page->items[i] = session_of(application);
        }
    }
}

static void page_fill_use(void *user, const struct status_application *application,
                          const struct status_gpu *gpu)
{
    struct page *page = user;
    char id[ID_CHARACTERS + 1];
    id_write(application->id, id);
    for (unsigned i = 0; i < page->count; i++) {
        if (strcmp(page->ids[i], id) == 0) {
            session_use_add(page->items[i], gpu);
        }
    }
}

enum admin_code admin_verb_sessions(struct admin_call *call)
{
    struct page *page = calloc(1, sizeof *page);
    const char *after = admin_text(call, "after");
    json_t *items = json_array();
    if (page == NULL) {
        json_decref(items);
        return admin_fail(call, ADMIN_ERROR, "gpuaasd has no memory");
    }
    snprintf(page->after, sizeof page->after, "%s", after != NULL ? after : "");
    const struct status_sink offer = {.user = page, .application = page_offer};
    const struct status_sink fill = {.user = page, .application = page_fill, .gpu = page_fill_use};
    status_collect(&call->gpuaasd->monitoring, &offer);
    status_collect(&call->gpuaasd->monitoring, &fill);
    for (unsigned i = 0; i < page->count; i++) {
        (void)json_array_append_new(items, page->items[i]);
    }
    admin_set(call->result, "items", items);
    admin_set_text(call->result, "next", page->more ? page->ids[page->count - 1] : NULL);
    free(page);
    return ADMIN_OK;
}

/* ---- one session */

struct search {
    const char *wanted; /* the beginning of an id */
    uint8_t id[ID_BYTES];
    unsigned found;
    json_t *session; /* the last one that was found, with its objects */
};

static void search_look(void *user, const struct status_application *application)
{
    struct search *search = user;
    char id[ID_CHARACTERS + 1];
    id_write(application->id, id);
    if (strncmp(id, search->wanted, strlen(search->wanted)) == 0) {
        search->found++;
        memcpy(search->id, application->id, sizeof search->id);
        json_decref(search->session);
        search->session = session_of(application);
        objects_set(search->session, application->figures);
    }
}

static void search_look_use(void *user, const struct status_application *application,
                            const struct status_gpu *gpu)
{
    struct search *search = user;
    if (search->found != 0 && memcmp(search->id, application->id, sizeof search->id) == 0) {
        session_use_add(search->session, gpu);
    }
}

/* The session that the argument means; `*session` is its description, owned by the caller. */
static enum admin_code session_find(struct admin_call *call, struct control_application **found,
                                    json_t **session)
{
    struct search search = {.wanted = admin_text(call, "id")};
    const struct status_sink sink = {
        .user = &search, .application = search_look, .gpu = search_look_use};
    size_t length = strlen(search.wanted);
    if (length < ID_BEGIN_MIN || length > ID_CHARACTERS ||
        strspn(search.wanted, "0123456789abcdef") != length) {
        return admin_fail(call, ADMIN_USAGE,
                          "%.40s is no id of a session: give %u or more of its 32 hexadecimal "
                          "digits, as `gpuaasctl sessions` shows them",
                          search.wanted, ID_BEGIN_MIN);
    }
    status_collect(&call->gpuaasd->monitoring, &sink);
    if (search.found == 1) {
        *found = control_application_find(&call->gpuaasd->applications, search.id);
        *session = search.session;
        return ADMIN_OK;
    }
    json_decref(search.session);
    return search.found == 0
               ? admin_fail(call, ADMIN_NOT_FOUND, "there is no session %s", search.wanted)
               : admin_fail(call, ADMIN_USAGE, "%u sessions begin with %s: give more digits",
                            search.found, search.wanted);
}

enum admin_code admin_verb_session_show(struct admin_call *call)
{
    struct control_application *application;
    json_t *session = NULL;
    enum admin_code code = session_find(call, &application, &session);
    if (code == ADMIN_OK) {
        admin_set(call->result, "item", session);
    }
    return code;
}

enum admin_code admin_verb_session_kill(struct admin_call *call)
{
    struct control_application *application = NULL;
    const char *reason = admin_text(call, "reason");
    json_t *session = NULL;
    enum admin_code code = session_find(call, &application, &session);
    if (code != ADMIN_OK) {
        return code;
    }
    admin_set(call->result, "before", session);
    admin_set(call->result, "after", json_null());
    if (!call->dry_run) {
        char why[ADMIN_WHY_MAX];
        snprintf(why, sizeof why, "an administrator (%s) has ended it%s%s", call->peer->name,
                 reason != NULL ? ": " : "", reason != NULL ? reason : "");
        terminate_application(application, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED, why);
    }
    return ADMIN_OK;
}
