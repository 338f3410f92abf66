/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/log.h"
#include "server/control/application.h"
#include "server/control/control.h"
#include "server/tenants/refusal.h"

#define AUDIT_TURN_MS 1000
/* With less room than that on its disk, the log counts as one that cannot be written. */
#define AUDIT_ROOM_BYTES UINT64_C(65536)

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Logs when it begins to fail, and when it works again. `why` NULL: it works. */
static void audit_tell(struct control *control, const char *why)
{
    char *is = control->audit_wrong;
    if (why != NULL && is[0] == 0) {
        ga_error("%s%s", why,
                 control->conf->server.audit_full ? "; nobody new is let in (audit_full = deny)"
                                                  : "; lines are lost (audit_full = drop)");
    } else if (why == NULL && is[0] != 0) {
        ga_info("the audit log is written again");
    }
    snprintf(is, sizeof control->audit_wrong, "%s", why != NULL ? why : "");
}

/* Reports at once that lines were not written; that it works again, when audit_turn has seen
 * that. */
static void audit_look(struct control *control)
{
    if (!auth_audit_works(control->audit)) {
        audit_tell(control, auth_audit_why(control->audit));
    }
}

/* A disk without room is found before a line is lost there. */
static void audit_turn(uv_timer_t *timer)
{
    struct control *control = timer->data;
    const char *folder = control->conf->server.audit_log;
    char why[sizeof control->audit_wrong];
    bool works = auth_audit_tick(control->audit, wall_ms());
    enum ga_disk_state disk = ga_disk_look(folder, AUDIT_ROOM_BYTES, NULL);
    snprintf(why, sizeof why, "the audit log %.300s: its disk is %s", folder,
             disk == GA_DISK_FULL ? "full: make room there" : "read-only: mount it for writing");
    audit_tell(control, !works                  ? auth_audit_why(control->audit)
                        : disk != GA_DISK_TAKES ? why
                                                : NULL);
}

const char *audit_wrong(const struct control *control)
{
    return control->audit_wrong[0] != 0 ? control->audit_wrong : NULL;
}

static void audit_line(struct control *control, const char *event, const struct auth_field *fields,
                       size_t count, bool durable)
{
    enum ga_status status =
        auth_audit_write(control->audit, wall_ms(), event, fields, count, durable);
    (void)status; /* audit_look tells */
    audit_look(control);
}

enum ga_status audit_start(struct control *control)
{
    const char *folder = control->conf->server.audit_log;
    char why[700];
    if (folder[0] == 0) {
        return GA_OK;
    }
    enum ga_status status = auth_audit_open(folder, wall_ms(), &control->audit, why, sizeof why);
    if (status != GA_OK) {
        ga_error("[server] audit_log: %s", why);
        return status;
    }
    control->audit_timer.data = control;
    (void)uv_timer_init(&control->loop, &control->audit_timer);
    uv_unref((uv_handle_t *)&control->audit_timer);
    (void)uv_timer_start(&control->audit_timer, audit_turn, AUDIT_TURN_MS, AUDIT_TURN_MS);
    audit_line(control, "server.start",
               (struct auth_field[]){AUTH_TEXT("node", control->conf->server.node),
                                     AUTH_TEXT("version", GPUAAS_VERSION)},
               2, true);
    return GA_OK;
}

void audit_end(struct control *control)
{
    if (control->audit == NULL) {
        return;
    }
    audit_line(control, "server.end",
               (struct auth_field[]){AUTH_TEXT("node", control->conf->server.node)}, 1, true);
    uv_close((uv_handle_t *)&control->audit_timer, NULL);
    auth_audit_close(control->audit);
    control->audit = NULL;
}

void audit_granted(struct control *control, const char *address, const struct auth_grant *grant)
{
    static const char *const ways[] = {
        [AUTH_BY_TOKEN] = "token",
        [AUTH_BY_CERTIFICATE] = "certificate",
        [AUTH_BY_UID] = "uid",
        [AUTH_BY_GID] = "gid",
    };
    if (control->audit == NULL) {
        return;
    }
    bool local = grant->by == AUTH_BY_UID || grant->by == AUTH_BY_GID;
    struct auth_field fields[] = {
        AUTH_TEXT("address", address),
        AUTH_TEXT("by", ways[grant->by]),
        local ? AUTH_NUMBER("number", (int64_t)grant->number)
              : AUTH_TEXT("credential", grant->credential),
        AUTH_TEXT("tenant", grant->tenant.name),
        AUTH_TEXT(grant->admin ? "admin" : "user", grant->user),
    };
    audit_line(control, "auth.ok", fields, sizeof fields / sizeof *fields, false);
}

void audit_refused(struct control *control, const char *address, const struct auth_refusal *refusal)
{
    if (control->audit == NULL || refusal->reason == AUTH_PENALTY) {
        return; /* what is not looked at says nothing new */
    }
    struct auth_field fields[] = {
        AUTH_TEXT("address", address),
        AUTH_TEXT("reason", auth_reason_name(refusal->reason)),
        AUTH_TEXT("detail", refusal->detail),
    };
    enum ga_status status =
        auth_audit_write_failure(control->audit, AUTH_AUDIT_STRANGERS, wall_ms(), "auth.fail",
                                 fields, sizeof fields / sizeof *fields);
    (void)status; /* audit_look tells */
    audit_look(control);
}

static void audit_id(const struct control_application *application, char id[33])
{
    for (int i = 0; i < 16; i++) {
        snprintf(id + (size_t)2 * (unsigned)i, 3, "%02x", application->id[i]);
    }
}

bool audit_opens(const struct control_application *application, struct refusal *refusal)
{
    struct control *control = application->control;
    char id[33];
    if (control->audit == NULL) {
        return true;
    }
    audit_id(application, id);
    struct auth_field fields[] = {
        AUTH_TEXT("session", id),
        AUTH_TEXT("tenant", application->tenant->terms.name),
        AUTH_TEXT("user", application->user),
        AUTH_TEXT("program", application->label),
        AUTH_TEXT("address", application->address),
        AUTH_TEXT("transport", application->way),
    };
    audit_line(control, "session.open", fields, sizeof fields / sizeof *fields, false);
    return audit_lets_in(control, refusal);
}

bool audit_lets_in(const struct control *control, struct refusal *refusal)
{
    if (control->audit == NULL || !control->conf->server.audit_full ||
        control->audit_wrong[0] == 0) {
        return true;
    }
    return refusal_set(refusal, REFUSAL_AUDIT, CUDA_ERROR_NOT_PERMITTED,
                       "the server lets nobody new in at the moment, because it cannot write its "
                       "audit log; its log says why");
}

void audit_turned_away(const struct control_application *application, const struct refusal *refusal)
{
    struct control *control = application->control;
    if (control->audit == NULL) {
        return;
    }
    struct auth_field fields[8] = {
        AUTH_TEXT("tenant", control_application_tenant(application)),
        AUTH_TEXT("reason", refusal_word(refusal->reason)),
        AUTH_TEXT("detail", refusal->why),
        AUTH_TEXT("user", application->user),
        AUTH_TEXT("program", application->label),
        AUTH_TEXT("address", application->address),
        AUTH_TEXT("transport", application->way),
    };
    size_t count = 7;
    if (refusal->reason == REFUSAL_LIMIT) {
        fields[count++] = AUTH_TEXT("limit", limits_table[refusal->limit].key);
    }
    enum ga_status status = auth_audit_write_failure(control->audit, AUTH_AUDIT_PROGRAMS, wall_ms(),
                                                     "session.refused", fields, count);
    (void)status; /* audit_look tells */
    audit_look(control);
}

void audit_closes(const struct control_application *application)
{
    struct control *control = application->control;
    char id[33];
    if (control->audit == NULL) {
        return;
    }
    audit_id(application, id);
    uint64_t lived_ns = ga_clock_ns() - application->began_ns;
    struct auth_field fields[] = {
        AUTH_TEXT("session", id),
        AUTH_TEXT("tenant", application->tenant->terms.name),
        AUTH_TEXT("user", application->user),
        AUTH_NUMBER("wall_ms", (int64_t)(lived_ns / GA_NS_PER_MS)),
        AUTH_TEXT("reason", application->dismissed_ns != 0 ? application->dismissed_why : "ended"),
    };
    audit_line(control, "session.close", fields, sizeof fields / sizeof *fields, false);
}

/* Those that are there; how many. */
static size_t change_fields(const struct audit_change *change, struct auth_field fields[9])
{
    size_t count = 0;
    const struct auth_field texts[] = {
        AUTH_TEXT("who", change->who),
        AUTH_TEXT("credential", change->credential),
        AUTH_TEXT("address", change->address),
        AUTH_TEXT("verb", change->verb),
        AUTH_TEXT("arguments", change->arguments),
        AUTH_TEXT("before", change->before),
        AUTH_TEXT("after", change->after),
        AUTH_TEXT("error", change->error),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].text != NULL) {
            fields[count++] = texts[i];
        }
    }
    if (change->address == NULL) { /* of this machine */
        fields[count++] = AUTH_NUMBER("pid", change->pid);
    }
    return count;
}

void audit_changed(struct control *control, const struct audit_change *change)
{
    struct auth_field fields[9];
    if (control->audit != NULL) {
        audit_line(control, change->error == NULL ? "admin.change" : "admin.refused", fields,
                   change_fields(change, fields), true);
    }
}

void audit_admin_refused(struct control *control, const char *address,
                         const struct auth_refusal *refusal)
{
    char error[sizeof refusal->detail + 40];
    snprintf(error, sizeof error, "%s: %s", auth_reason_name(refusal->reason), refusal->detail);
    audit_no_admin(control, &(struct audit_change){
                                .who = "unknown",
                                .credential = refusal->credential[0] ? refusal->credential : NULL,
                                .address = address,
                                .error = error});
}

void audit_no_admin(struct control *control, const struct audit_change *change)
{
    struct auth_field fields[9];
    control->admins_refused++;
    if (control->audit != NULL) {
        enum ga_status status =
            auth_audit_write_failure(control->audit, AUTH_AUDIT_STRANGERS, wall_ms(),
                                     "admin.refused", fields, change_fields(change, fields));
        (void)status; /* audit_look tells */
        audit_look(control);
    }
}
