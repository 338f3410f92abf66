/* SPDX-License-Identifier: Apache-2.0 */
#include "server/gpuaasd/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/clients/client_limits.h"
#include "server/gpuaasd/check.h"
#include "server/gpuaasd/gpuaasd.h"
#include "server/gpuaasd/listener.h"
#include "server/gpuaasd/notify.h"
#include "server/turns/scheduling.h"

struct complaints {
    char *first; /* the caller's; "": none yet */
    size_t size;
};

static void reload_complain(void *user, const char *line)
{
    const struct complaints *complaints = user;
    ga_log_write(NULL, GA_LOG_ERROR, NULL, "%s", line);
    if (complaints->first[0] == 0) {
        snprintf(complaints->first, complaints->size, "%s", line);
    }
}

static void reload_warn(void *user, const char *line)
{
    (void)user;
    ga_log_write(NULL, GA_LOG_WARN, NULL, "%s", line);
}

static void reload_ignored(void *user, const char *key)
{
    const struct complaints *complaints = user;
    size_t used = strlen(complaints->first);
    snprintf(complaints->first + used, complaints->size - used, "%s%s", used != 0 ? ", " : "", key);
}

static void reload_told(const char *note)
{
    ga_info("the configuration has been read anew%s%s", note[0] != 0 ? "; a restart needs: " : "",
            note);
}

/* Names in `note` what a restart is needed for. `server` takes the rest. */
static void reload_compare(const struct gpuaasd *gpuaasd, struct conf_server *server,
                           const struct conf *fresh, char *note, size_t size)
{
    struct complaints ignored = {.first = note, .size = size};
    note[0] = 0;
    conf_server_reload(server, gpuaasd->read, &fresh->server, reload_ignored, &ignored);
    if (!conf_gpus_same(gpuaasd->conf, fresh)) {
        reload_ignored(&ignored, "[gpu.N]");
    }
}

static void reload_try(const struct gpuaasd *gpuaasd, const struct conf *fresh, char *note,
                       size_t size)
{
    struct conf_server server = gpuaasd->conf->server;
    reload_compare(gpuaasd, &server, fresh, note, size);
}

static void reload_take(struct gpuaasd *gpuaasd, const struct conf *fresh, char *note, size_t size)
{
    struct conf_server *server = &gpuaasd->conf->server;
    reload_compare(gpuaasd, server, fresh, note, size);
    scheduling_reload(&gpuaasd->processes, gpuaasd->conf, fresh);
    bool told = ga_log_enabled(GA_LOG_INFO); /* at the old level, or else at the new one */
    if (told) {
        reload_told(note);
    }
    ga_log_set_level(server->log_level);
    ga_log_set_format(server->log_format);
    if (!told) {
        reload_told(note);
    }
    client_limits_renew(&gpuaasd->clients);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        warm_pool_renew(&gpuaasd->processes.warm_pools[i]);
    }
}

/* Takes what was read. */
static enum ga_status reload_end(struct gpuaasd *gpuaasd, const struct conf *fresh, char *note,
                                 size_t note_size)
{
    enum ga_status status = listeners_renew(gpuaasd, &fresh->server, note, note_size);
    if (status != GA_OK) {
        ga_error("%s", note);
    } else {
        reload_take(gpuaasd, fresh, note, note_size);
    }
    return status;
}

enum ga_status reload(struct gpuaasd *gpuaasd, bool trial, char *note, size_t note_size)
{
    struct complaints complaints = {.first = note, .size = note_size};
    struct conf *fresh = calloc(1, sizeof *fresh);
    note[0] = 0;
    if (fresh == NULL) {
        snprintf(note, note_size, "no memory");
        return GA_NO_MEMORY;
    }
    if (!trial) {
        notify_reloading(&gpuaasd->notify);
    }
    enum ga_status status = conf_read_file(gpuaasd->file, fresh, reload_complain, &complaints);
    if (status == GA_OK) {
        status = check_configuration(gpuaasd->file, fresh, reload_complain, &complaints);
    }
    if (status == GA_OK && trial) {
        reload_try(gpuaasd, fresh, note, note_size);
    } else if (status == GA_OK) {
        conf_scheduling_idle(gpuaasd->file, fresh, reload_warn, NULL);
        status = reload_end(gpuaasd, fresh, note, note_size);
    }
    if (status != GA_OK) {
        ga_error("the configuration has not been read anew, nothing has changed");
    }
    if (!trial) {
        notify_ready(&gpuaasd->notify);
    }
    free(fresh);
    return status;
}
