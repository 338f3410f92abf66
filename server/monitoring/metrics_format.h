/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' text format 0.0.4, for the files that write metrics. */
#ifndef SERVER_MONITORING_METRICS_FORMAT_H
#define SERVER_MONITORING_METRICS_FORMAT_H

#include <stdint.h>
#include <stdio.h>

struct monitoring;
struct device;
struct status_application;

/* Begins a family; all its lines come next. */
void metrics_family(FILE *out, const char *name, const char *type, const char *help);
/* The value of a label: names may come from a configuration, or from a user. */
void metrics_label(FILE *out, const char *text);
/* ",gpu=..." */
void metrics_gpu_label(FILE *out, const struct device *device);
/* Begins a line about a GPU; its other labels and "}" come next. */
void metrics_gpu_line(FILE *out, const char *name, const struct monitoring *monitoring,
                      const struct device *device);
/* Ends a line whose value is a time. */
void metrics_seconds(FILE *out, uint64_t ns);

/* Adds the memory of an application on each GPU (CONF_GPUS_MAX). */
void metrics_gpu_bytes_add(uint64_t *bytes, const struct status_application *application);

/* The families about tenants, and what GPUs have done for them. */
void metrics_tenants_write(struct monitoring *monitoring, FILE *out);

#endif
