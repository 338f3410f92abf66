/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/audit.h"

#include <inttypes.h>
#include <stdio.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/list.h"
#include "base/log.h"
#include "server/tenants/refusal.h"

#define AUDIT_TURN_MS 1000
/* With less room than that on its disk, the log counts as one that cannot be written. */
#define AUDIT_ROOM_BYTES UINT64_C(65536)

/* When a line is written. */
static int64_t wall_ms(const struct audit *audit)
{
    return (int64_t)(timers_wall_ns(audit->timers) / GA_NS_PER_MS);
}

/* Logs when it begins to fail, and when it works again. `why` NULL: it works. */
static void audit_tell(struct audit *audit, const char *why)
{
    char *is = audit->wrong;
    if (why != NULL && is[0] == 0) {
        ga_error("%s%s", why,
                 audit->conf->server.audit_full ? "; nobody new is let in (audit_full = deny)"
                                                : "; lines are lost (audit_full = drop)");
    } else if (why == NULL && is[0] != 0) {
        ga_info("the audit log is written again");
    }
    snprintf(is, sizeof audit->wrong, "%s", why != NULL ? why : "");
}

/* Reports at once that lines were not written; that it works again, when audit_turn has seen
 * that. */
static void audit_look(struct audit *audit)
{
    if (!auth_audit_works(audit->log)) {
        audit_tell(audit, auth_audit_why(audit->log));
    }
}

/* A disk without room is found before a line is lost there. */
static void audit_told(void *user)
{
    struct audit *audit = user;
    const char *folder = audit->conf->server.audit_log;
    char why[sizeof audit->wrong];
    bool works = auth_audit_works(audit->log);
    enum ga_disk_state disk = ga_disk_look(folder, AUDIT_ROOM_BYTES, NULL);
    snprintf(why, sizeof why, "the audit log %.300s: its disk is %s", folder,
             disk == GA_DISK_FULL ? "full: make room there" : "read-only: mount it for writing");
    audit_tell(audit, !works ? auth_audit_why(audit->log) : disk != GA_DISK_TAKES ? why : NULL);
}

/* Lines that have to be flushed are told when they have been. */
static void audit_turn(struct server_timer *timer)
{
    struct audit *audit = ga_container(timer, struct audit, timer);
    auth_audit_turn(audit->log, wall_ms(audit));
    flush_ask(audit->flush, NULL);
    if (!audit->flush->working) {
        audit_told(audit);
    }
}

const char *audit_wrong(const struct audit *audit)
{
    return audit->wrong[0] != 0 ? audit->wrong : NULL;
}

static void audit_line(struct audit *audit, const char *event, const struct auth_field *fields,
                       size_t count, bool durable)
{
    enum ga_status status =
        auth_audit_write(audit->log, wall_ms(audit), event, fields, count, durable);
    (void)status; /* audit_look tells */
    audit_look(audit);
}

enum ga_status audit_start(struct audit *audit)
{
    const char *folder = audit->conf->server.audit_log;
    char why[700];
    if (folder[0] == 0) {
        return GA_OK;
    }
    enum ga_status status = auth_audit_open(folder, wall_ms(audit), &audit->log, why, sizeof why);
    if (status != GA_OK) {
        ga_error("[server] audit_log: %s", why);
        return status;
    }
    flush_audit(audit->flush, audit->log, folder, audit_told, audit);
    timers_start(audit->timers, &audit->timer, audit_turn, AUDIT_TURN_MS, AUDIT_TURN_MS);
    audit_line(audit, "server.start",
               (struct auth_field[]){AUTH_TEXT("node", audit->conf->server.node),
                                     AUTH_TEXT("version", GPUAAS_VERSION)},
               2, true);
    return GA_OK;
}

void audit_end(struct audit *audit)
{
    if (audit->log == NULL) {
        return;
    }
    flush_end(audit->flush);
    flush_audit(audit->flush, NULL, "", NULL, NULL);
    audit_line(audit, "server.end",
               (struct auth_field[]){AUTH_TEXT("node", audit->conf->server.node)}, 1, true);
    timers_stop(audit->timers, &audit->timer);
    auth_audit_close(audit->log);
    audit->log = NULL;
}

void audit_granted(struct audit *audit, const char *address, const struct auth_grant *grant)
{
    static const char *const ways[] = {
        [AUTH_BY_TOKEN] = "token",
        [AUTH_BY_CERTIFICATE] = "certificate",
        [AUTH_BY_UID] = "uid",
        [AUTH_BY_GID] = "gid",
    };
    if (audit->log == NULL) {
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
    audit_line(audit, "auth.ok", fields, sizeof fields / sizeof *fields, false);
}

void audit_refused(struct audit *audit, const char *address, const struct auth_refusal *refusal)
{
    if (audit->log == NULL || refusal->reason == AUTH_PENALTY) {
        return; /* what is not looked at says nothing new */
    }
    struct auth_field fields[] = {
        AUTH_TEXT("address", address),
        AUTH_TEXT("reason", auth_reason_name(refusal->reason)),
        AUTH_TEXT("detail", refusal->detail),
    };
    enum ga_status status =
        auth_audit_write_failure(audit->log, AUTH_AUDIT_STRANGERS, wall_ms(audit), "auth.fail",
                                 fields, sizeof fields / sizeof *fields);
    (void)status; /* audit_look tells */
    audit_look(audit);
}

static void audit_id(const struct audit_program *program, char id[33])
{
    for (int i = 0; i < 16; i++) {
        snprintf(id + (size_t)2 * (unsigned)i, 3, "%02x", program->id[i]);
    }
}

bool audit_opens(struct audit *audit, const struct audit_program *program, struct refusal *refusal)
{
    char id[33];
    if (audit->log == NULL) {
        return true;
    }
    audit_id(program, id);
    struct auth_field fields[] = {
        AUTH_TEXT("session", id),
        AUTH_TEXT("tenant", program->tenant),
        AUTH_TEXT("user", program->user),
        AUTH_TEXT("program", program->label),
        AUTH_TEXT("address", program->address),
        AUTH_TEXT("transport", program->transport),
    };
    audit_line(audit, "session.open", fields, sizeof fields / sizeof *fields, false);
    return audit_lets_in(audit, refusal);
}

bool audit_lets_in(const struct audit *audit, struct refusal *refusal)
{
    if (audit->log == NULL || !audit->conf->server.audit_full || audit->wrong[0] == 0) {
        return true;
    }
    return refusal_set(refusal, REFUSAL_AUDIT, CUDA_ERROR_NOT_PERMITTED,
                       "the server lets nobody new in at the moment, because it cannot write its "
                       "audit log; its log says why");
}

void audit_turned_away(struct audit *audit, const struct audit_program *program,
                       const struct refusal *refusal)
{
    if (audit->log == NULL) {
        return;
    }
    struct auth_field fields[8] = {
        AUTH_TEXT("tenant", program->tenant),
        AUTH_TEXT("reason", refusal_word(refusal->reason)),
        AUTH_TEXT("detail", refusal->why),
        AUTH_TEXT("user", program->user),
        AUTH_TEXT("program", program->label),
        AUTH_TEXT("address", program->address),
        AUTH_TEXT("transport", program->transport),
    };
    size_t count = 7;
    if (refusal->reason == REFUSAL_LIMIT) {
        fields[count++] = AUTH_TEXT("limit", limits_table[refusal->limit].key);
    }
    enum ga_status status = auth_audit_write_failure(
        audit->log, AUTH_AUDIT_PROGRAMS, wall_ms(audit), "session.refused", fields, count);
    (void)status; /* audit_look tells */
    audit_look(audit);
}

void audit_closes(struct audit *audit, const struct audit_program *program, uint64_t lived_ns,
                  const char *reason)
{
    char id[33];
    if (audit->log == NULL) {
        return;
    }
    audit_id(program, id);
    struct auth_field fields[] = {
        AUTH_TEXT("session", id),
        AUTH_TEXT("tenant", program->tenant),
        AUTH_TEXT("user", program->user),
        AUTH_NUMBER("wall_ms", (int64_t)(lived_ns / GA_NS_PER_MS)),
        AUTH_TEXT("reason", reason),
    };
    audit_line(audit, "session.close", fields, sizeof fields / sizeof *fields, false);
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

void audit_changed(struct audit *audit, const struct audit_change *change)
{
    struct auth_field fields[9];
    if (audit->log != NULL) {
        audit_line(audit, change->error == NULL ? "admin.change" : "admin.refused", fields,
                   change_fields(change, fields), false);
    }
}

void audit_admin_refused(struct audit *audit, const char *address,
                         const struct auth_refusal *refusal)
{
    char error[sizeof refusal->detail + 40];
    snprintf(error, sizeof error, "%s: %s", auth_reason_name(refusal->reason), refusal->detail);
    audit_no_admin(audit, &(struct audit_change){
                              .who = "unknown",
                              .credential = refusal->credential[0] ? refusal->credential : NULL,
                              .address = address,
                              .error = error});
}

void audit_no_admin(struct audit *audit, const struct audit_change *change)
{
    struct auth_field fields[9];
    audit->admins_refused++;
    if (audit->log != NULL) {
        enum ga_status status =
            auth_audit_write_failure(audit->log, AUTH_AUDIT_STRANGERS, wall_ms(audit),
                                     "admin.refused", fields, change_fields(change, fields));
        (void)status; /* audit_look tells */
        audit_look(audit);
    }
}
