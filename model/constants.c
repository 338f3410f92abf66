/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of the model's constants: FNV-1a of 64 bits over a text of their values. */
#include "model/constants.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "api/soft_device.h"

static void digest_add(uint64_t *hash, const char *name, double value)
{
    char text[128];
    snprintf(text, sizeof text, "%s=%.17g\n", name, value);
    for (const char *at = text; *at != 0; at++) {
        *hash = (*hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
}

/* Everything of a device that has an effect on how long its work takes. */
static void digest_add_device(uint64_t *hash, const char *key)
{
    struct soft_device device = {.memory = 1, .sms = 1}; /* the generic model's are the machine's */
    size_t model = soft_key_find("model");
    if (!soft_key_read(&soft_keys[model], key, &device)) {
        return;
    }
    uint64_t given = device.model == 0 ? UINT64_C(1) << soft_key_find("memory") |
                                             UINT64_C(1) << soft_key_find("sms")
                                       : 0;
    soft_device_complete(&device, given);
    digest_add(hash, key, device.sms);
    digest_add(hash, "clock_mhz", device.clock_mhz);
    digest_add(hash, "cores", device.cores);
    digest_add(hash, "f64_ratio", device.f64_ratio);
    digest_add(hash, "memory_mbs", device.memory_mbs);
    digest_add(hash, "copy_engines", device.copy_engines);
    digest_add(hash, "concurrent_kernels", device.concurrent_kernels);
    digest_add(hash, "h2d_mbs", device.h2d_mbs);
    digest_add(hash, "d2h_mbs", device.d2h_mbs);
    digest_add(hash, "h2d_latency_ns", (double)device.h2d_latency_ns);
    digest_add(hash, "d2h_latency_ns", (double)device.d2h_latency_ns);
    digest_add(hash, "overlap_contexts", device.overlap_contexts);
    digest_add(hash, "switch_ns", (double)device.switch_ns);
    digest_add(hash, "context_ns", (double)device.context_ns);
    digest_add(hash, "context_slice_ns", (double)device.context_slice_ns);
}

void model_constants_digest(char digest[MODEL_DIGEST_BYTES])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
#define MODEL_INTEGER(name, value, source) digest_add(&hash, #name, value);
#define MODEL_REAL(name, value, source)    digest_add(&hash, #name, value);
#include "model/constants.def"
#define SOFT_MODEL(key, ...) digest_add_device(&hash, key);
#include "api/soft_models.def"
    snprintf(digest, MODEL_DIGEST_BYTES, "%016" PRIx64, hash);
}
