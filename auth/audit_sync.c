/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the audit log reach the disk, then the head says so. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "auth/audit_log.h"

enum ga_status audit_head_write(struct auth_audit *audit, const struct audit_link *link)
{
    char text[AUDIT_HEAD_BYTES];
    audit_line_head(link, text);
    if (pwrite(audit->head, text, sizeof text, 0) != (ssize_t)sizeof text) {
        return audit_failed(audit, "its head cannot be written", errno);
    }
    return GA_OK;
}

struct auth_audit_sync *auth_audit_sync_begin(struct auth_audit *audit, bool anyway)
{
    struct auth_audit_sync *sync = &audit->sync;
    if (audit->syncing || audit->file < 0 || (audit->synced.seq == audit->last.seq && !anyway)) {
        return NULL;
    }
    *sync = (struct auth_audit_sync){.before = audit->before,
                                     .file = audit->file,
                                     .folder = -1,
                                     .last = audit->last,
                                     .resumes = audit->resumes};
    if (audit->made) {
        sync->folder = open(audit->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        sync->error = sync->folder < 0 ? errno : 0;
        sync->what = "its folder cannot be written";
    }
    audit->syncing = true;
    return sync;
}

void auth_audit_sync_run(struct auth_audit_sync *sync)
{
    if (sync->error == 0 && sync->folder >= 0 && fsync(sync->folder) != 0) {
        sync->error = errno;
    } else if (sync->error == 0 && ((sync->before >= 0 && fdatasync(sync->before) != 0) ||
                                    fdatasync(sync->file) != 0)) {
        sync->error = errno;
        sync->what = "lines do not reach the disk";
    }
}

enum ga_status auth_audit_sync_end(struct auth_audit *audit)
{
    const struct auth_audit_sync *sync = &audit->sync;
    enum ga_status status = GA_OK;
    audit->syncing = false;
    if (sync->folder >= 0) {
        close(sync->folder);
    }
    if (sync->error != 0) {
        status = audit_failed(audit, sync->what, sync->error);
    } else {
        audit->made = audit->made && sync->folder < 0;
        if (sync->before >= 0) {
            close(sync->before);
            audit->before = -1;
        }
        status = audit_head_write(audit, &sync->last);
    }
    if (status != GA_OK) {
        audit->failed = true;
        audit->resumes = false;
        return status;
    }
    audit->synced = sync->last;
    if (sync->resumes && audit->resumes) {
        audit->failed = false;
        audit->resumes = false;
        audit->lost -= audit->told;
    }
    return GA_OK;
}

enum ga_status audit_sync(struct auth_audit *audit)
{
    struct auth_audit_sync *sync = auth_audit_sync_begin(audit, false);
    if (sync == NULL) {
        return GA_OK;
    }
    auth_audit_sync_run(sync);
    return auth_audit_sync_end(audit);
}
