/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitoring/metrics_format.h"

#include <inttypes.h>

#include "base/clock.h"
#include "server/monitoring/monitoring.h"
#include "server/monitoring/status.h"

void metrics_family(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_label(FILE *out, const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '\n' || *text == '"' || *text == '\\') {
            (void)putc_unlocked('\\', out);
        }
        (void)putc_unlocked(*text == '\n' ? 'n' : *text, out);
    }
}

void metrics_gpu_label(FILE *out, const struct device *device)
{
    char uuid[DEVICES_UUID_BYTES];
    devices_uuid_write(device->facts.uuid, uuid);
    fprintf(out, ",gpu=\"%s\"", uuid);
}

void metrics_gpu_line(FILE *out, const char *name, const struct monitoring *monitoring,
                      const struct device *device)
{
    fprintf(out, "%s{node=\"", name);
    metrics_label(out, monitoring->conf->server.node);
    fputc('"', out);
    metrics_gpu_label(out, device);
}

void metrics_seconds(FILE *out, uint64_t ns)
{
    fprintf(out, "} %" PRIu64 ".%09" PRIu64 "\n", ns / GA_NS_PER_S, ns % GA_NS_PER_S);
}

void metrics_gpu_bytes_add(uint64_t *bytes, const struct status_application *application)
{
    for (unsigned i = 0; i < CONF_GPUS_MAX; i++) {
        bytes[i] += application->gpu_bytes[i];
    }
}
