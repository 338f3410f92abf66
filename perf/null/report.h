/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of the null device. A program reads them by launching the kernel `null_report` with
 * one parameter, the address of device memory for the report. On a device that executes kernels
 * this kernel writes nothing, so zeroed memory has no magic number afterwards. */
#ifndef PERF_NULL_REPORT_H
#define PERF_NULL_REPORT_H

#include <stdint.h>
#include <string.h>

#define NULL_REPORT_MAGIC       UINT64_C(0x6e756c6c) /* "null" */
#define NULL_REPORT_NOT_COUNTED UINT64_MAX

struct null_report {
    uint64_t magic;
    uint64_t launches;   /* null_report itself is not counted */
    uint64_t launch_sum; /* of every launch, in order: see null_sum_add */
    uint64_t copies_in, bytes_in, copies_out, bytes_out;
    uint64_t fills, records;
    uint64_t mallocs; /* of the process that has the device; NULL_REPORT_NOT_COUNTED */
};

/* An order-sensitive checksum; cheap enough to be computed for each launch on both ends. */
static inline uint64_t null_sum_add(uint64_t sum, uint64_t value)
{
    return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* As null_sum_add, over `bytes` bytes, in words of 8; the last one is filled up with zeros. */
static inline uint64_t null_sum_bytes(uint64_t sum, const void *from, uint64_t bytes)
{
    const uint8_t *at = from;
    while (bytes != 0) {
        uint64_t word = 0, part = bytes < sizeof word ? bytes : sizeof word;
        memcpy(&word, at, part);
        sum = null_sum_add(sum, word);
        at += part;
        bytes -= part;
    }
    return sum;
}

#endif
