/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of software GPUs: reading and writing their values, and the models. */
#include "api/soft_device.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"

#define SOFT_KEY(name_, type_, member_, standard_, least_, most_, allowed_, help_)                 \
    {.name = name_,                                                                                \
     .type = SOFT_TYPE_##type_,                                                                    \
     .offset = offsetof(struct soft_device, member_),                                              \
     .standard = standard_,                                                                        \
     .least = least_,                                                                              \
     .most = most_,                                                                                \
     .allowed = allowed_},

const struct soft_key soft_keys[] = {
#include "api/soft_keys.def"
};
const size_t soft_key_count = sizeof soft_keys / sizeof soft_keys[0];
_Static_assert(sizeof soft_keys / sizeof soft_keys[0] <= 64, "a bit for each");

#define SOFT_MEMORY_MAX (UINT64_C(4) << 30) /* the default, unless given or a model's */

#define SOFT_CAPABILITY_MIN 75

struct model {
    const char *key;
    unsigned capability; /* compute capability of the real GPU; 0: none */
    struct soft_device device;
};

#define SOFT_MODEL(key_, name_, capability_, memory_, sms_, clock_, cores_, f64_, mbs_, bus_, l2_, \
                   engines_, overlap_, pcie_, latency_)                                            \
    {.key = key_,                                                                                  \
     .capability = capability_,                                                                    \
     .device = {.name = name_,                                                                     \
                .memory = UINT64_C(memory_) << 30,                                                 \
                .sms = sms_,                                                                       \
                .capability =                                                                      \
                    capability_ > SOFT_CAPABILITY_MIN ? capability_ : SOFT_CAPABILITY_MIN,         \
                .vmm = true,                                                                       \
                .clock_mhz = clock_,                                                               \
                .cores = cores_,                                                                   \
                .f64_ratio = f64_,                                                                 \
                .memory_mbs = mbs_,                                                                \
                .bus_bits = bus_,                                                                  \
                .l2_bytes = UINT64_C(l2_) << 10,                                                   \
                .copy_engines = engines_,                                                          \
                .concurrent_kernels = true,                                                        \
                .execute = true,                                                                   \
                .h2d_mbs = pcie_,                                                                  \
                .d2h_mbs = pcie_,                                                                  \
                .h2d_latency_ns = latency_,                                                        \
                .d2h_latency_ns = latency_,                                                        \
                .overlap_contexts = overlap_,                                                      \
                .switch_ns = 25000,                                                                \
                .context_slice_ns = capability_ >= 60 ? 1024000 : 0,                               \
                .context_ns = 150000000}},

static const struct model models[] = {
#include "api/soft_models.def"
};
#define MODELS (sizeof models / sizeof models[0])

static const struct {
    const char *text;
    uint32_t number;
} capabilities[] = {{"7.5", 75}, {"8.0", 80},   {"8.6", 86},  {"8.9", 89},
                    {"9.0", 90}, {"10.0", 100}, {"12.0", 120}};

size_t soft_key_find(const char *name)
{
    size_t i = 0;
    while (i < soft_key_count && strcmp(soft_keys[i].name, name) != 0) {
        i++;
    }
    return i;
}

static bool number_read(const struct soft_key *key, const char *text, uint64_t *number)
{
    const char *end = "";
    bool read = key->type == SOFT_TYPE_BYTES  ? ga_bytes_read(text, number)
                : key->type == SOFT_TYPE_TIME ? ga_time_read(text, number)
                                              : ga_digits_read(text, &end, number);
    return read && *end == 0 && *number >= key->least && *number <= key->most;
}

static bool model_read(const char *text, uint32_t *model)
{
    for (uint32_t i = 0; i < MODELS; i++) {
        if (strcmp(text, models[i].key) == 0) {
            *model = i;
            return true;
        }
    }
    return false;
}

static bool capability_read(const char *text, uint32_t *capability)
{
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        if (strcmp(text, capabilities[i].text) == 0) {
            *capability = capabilities[i].number;
            return true;
        }
    }
    return false;
}

static bool soft_flag_read(const char *text, bool *flag)
{
    bool yes = strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "no") != 0) {
        return false;
    }
    *flag = yes;
    return true;
}

bool soft_key_read(const struct soft_key *key, const char *text, struct soft_device *device)
{
    void *member = (char *)device + key->offset;
    uint64_t number;
    switch (key->type) {
    case SOFT_TYPE_NUMBER:
        if (!number_read(key, text, &number)) {
            return false;
        }
        *(uint32_t *)member = (uint32_t)number;
        return true;
    case SOFT_TYPE_BYTES:
        if (!number_read(key, text, &number)) {
            return false;
        }
        *(uint64_t *)member = number;
        return true;
    case SOFT_TYPE_TIME:
        if (strcmp(text, "none") == 0) {
            number = 0;
        } else if (!number_read(key, text, &number)) {
            return false;
        }
        *(uint64_t *)member = number;
        return true;
    case SOFT_TYPE_FLAG:
        return soft_flag_read(text, member);
    case SOFT_TYPE_CAPABILITY:
        return capability_read(text, member);
    case SOFT_TYPE_MODEL:
        return model_read(text, member);
    }
    return false;
}

static void soft_key_write(FILE *out, const struct soft_key *key, const struct soft_device *device)
{
    const void *member = (const char *)device + key->offset;
    char text[GA_AMOUNT_BYTES];
    fprintf(out, "%s=", key->name);
    switch (key->type) {
    case SOFT_TYPE_NUMBER:
        fprintf(out, "%" PRIu32, *(const uint32_t *)member);
        break;
    case SOFT_TYPE_BYTES:
        fprintf(out, "%" PRIu64, *(const uint64_t *)member);
        break;
    case SOFT_TYPE_TIME:
        ga_time_write(*(const uint64_t *)member, text);
        fputs(text, out);
        break;
    case SOFT_TYPE_FLAG:
        fputs(*(const bool *)member ? "yes" : "no", out);
        break;
    case SOFT_TYPE_CAPABILITY:
        fprintf(out, "%u.%u", device->capability / 10, device->capability % 10);
        break;
    case SOFT_TYPE_MODEL:
        fputs(models[device->model].key, out);
        break;
    }
}

static size_t type_bytes(enum soft_type type)
{
    bool wide = type == SOFT_TYPE_BYTES || type == SOFT_TYPE_TIME;
    return wide ? sizeof(uint64_t) : type == SOFT_TYPE_FLAG ? sizeof(bool) : sizeof(uint32_t);
}

/* Whether the reader of the keys assumes this value anyway. */
static bool goes_without_saying(const struct soft_key *key, const struct soft_device *device)
{
    static const struct soft_device plain;
    const struct soft_device *model =
        key->type == SOFT_TYPE_MODEL ? &plain : &models[device->model].device;
    return memcmp((const char *)device + key->offset, (const char *)model + key->offset,
                  type_bytes(key->type)) == 0;
}

void soft_device_write(FILE *out, const struct soft_device *device, uint64_t given)
{
    const char *separator = "";
    for (size_t i = 0; i < soft_key_count; i++) {
        if ((given >> i & 1) != 0 && !goes_without_saying(&soft_keys[i], device)) {
            fputs(separator, out);
            soft_key_write(out, &soft_keys[i], device);
            separator = ",";
        }
    }
}

uint64_t soft_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 32;
}

static uint32_t machine_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    return 1;
}

void soft_device_complete(struct soft_device *device, uint64_t given)
{
    const struct soft_device *model = &models[device->model].device;
    for (size_t i = 0; i < soft_key_count; i++) {
        const struct soft_key *key = &soft_keys[i];
        if (!(given >> i & 1) && key->type != SOFT_TYPE_MODEL) {
            memcpy((char *)device + key->offset, (const char *)model + key->offset,
                   type_bytes(key->type));
        }
    }
    if (device->sms == 0) {
        device->sms = machine_cores();
    }
    if (device->memory == 0) {
        uint64_t half = soft_machine_memory() / 2;
        device->memory = half < SOFT_MEMORY_MAX ? half : SOFT_MEMORY_MAX;
    }
}

const char *soft_device_wrong(const struct soft_device *device)
{
    return !device->execute && !device->timing ? "execute: no is allowed with timing = yes only"
           : device->context_bytes > device->memory
               ? "context_memory: at most the memory of the GPU is allowed"
               : NULL;
}

void soft_model_name(const struct soft_device *device, char *name, size_t size)
{
    const struct model *model = &models[device->model];
    int used = snprintf(name, size, "%s", model->device.name);
    if (model->capability != 0 && model->capability != device->capability) {
        snprintf(name + used, size - (size_t)used, " (which has compute capability %u.%u)",
                 model->capability / 10, model->capability % 10);
    }
}
