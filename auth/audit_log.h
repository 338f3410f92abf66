/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log that is open for writing, for the files that write it. */
#ifndef AUTH_AUDIT_LOG_H
#define AUTH_AUDIT_LOG_H

#include <limits.h>
#include <sys/types.h>

#include "auth/audit.h"
#include "auth/audit_line.h"

struct audit_storm {
    int64_t bucket, bucket_second;
    uint64_t left_out;
    int64_t reported_ms; /* when left_out was last asked after */
};

/* Lines that are being written to the disk: those that were not there when that began. */
struct auth_audit_sync {
    int before, file, folder; /* -1: it is there */
    struct audit_link last;
    bool resumes; /* `audit.resumed` is among the lines */
    int error;
    const char *what; /* has failed */
};

struct auth_audit {
    char folder[PATH_MAX - 64];
    int file, head; /* `file` -1: none is open */
    int before;     /* the file of the day before, which is not on the disk; -1: it is */
    int64_t day;    /* of `file` */
    off_t size;     /* of the whole lines in `file` */
    struct audit_link last, synced;
    bool made;    /* a file, whose name is not on the disk */
    bool failed;  /* until it is written again, and that is on the disk */
    bool resumes; /* it is written again */
    bool syncing; /* `sync` is under way */
    struct auth_audit_sync sync;
    uint64_t lost, lost_ever; /* lines: since it has failed, and since it was opened */
    uint64_t told;            /* of `lost`, in `audit.resumed` */
    struct audit_storm storms[AUTH_AUDIT_STORMS];
    char why[700];
};

/* Sets why; returns the status of this errno. */
enum ga_status audit_failed(struct auth_audit *audit, const char *what, int error);
GA_CHECKED enum ga_status audit_head_write(struct auth_audit *audit, const struct audit_link *link);
/* Lines reach the disk here and now. */
GA_CHECKED enum ga_status audit_sync(struct auth_audit *audit);

#endif
