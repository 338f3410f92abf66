/* The devices that SOFTGPU_DEVICES describes: "name=A,memory=1GiB,sms=4;name=B". A key that is left
 * out has its default; an unknown key is an error that names the allowed ones. */
#ifndef SG_CONFIG_H
#define SG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SG_DEVICES_MAX 1024
#define SG_NAME_BYTES  128

struct sg_device_config {
    char name[SG_NAME_BYTES];
    uint64_t memory; /* bytes, a multiple of 2 MiB */
    uint32_t sms;
    unsigned capability; /* compute capability: 75 for 7.5 */
    bool vmm;            /* virtual memory management: mapping memory at given addresses */
    uint8_t uuid[16];
};

struct sg_config {
    struct sg_device_config devices[SG_DEVICES_MAX];
    unsigned count;
};

/* `text` NULL or empty: one default device. GA_INVALID: `why` says what is wrong and what is
 * allowed. */
GA_CHECKED enum ga_status sg_config_read(const char *text, struct sg_config *config, char *why,
                                         size_t why_bytes);

#endif
