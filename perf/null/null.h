/* SPDX-License-Identifier: Apache-2.0 */
/* The shared header of the null device's files. */
#ifndef PERF_NULL_NULL_H
#define PERF_NULL_NULL_H

#include "api/cuda_names.h"

#include "perf/null/report.h"

/* Written without a lock: one thread at a time makes the calls that count, as a server's do. */
extern struct null_report null_counts;

#endif
