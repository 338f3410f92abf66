/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that SOFTGPU_DEVICES describes: "name=A,memory=1GiB,sms=4;name=B,model=h200". A
 * key that is left out has the model's value; an unknown key is an error that names the allowed
 * ones. */
#ifndef SOFTGPU_PROCESS_CONFIG_H
#define SOFTGPU_PROCESS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/soft_device.h"
#include "base/status.h"

#define SG_DEVICES_MAX 1024

struct sg_config {
    struct soft_device devices[SG_DEVICES_MAX];
    unsigned count;
};

/* `text` NULL or empty: one default device. GA_INVALID: `why` says what is wrong and what is
 * allowed. */
GA_CHECKED enum ga_status sg_config_read(const char *text, struct sg_config *config, char *why,
                                         size_t why_bytes);

#endif
