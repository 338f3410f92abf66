/* SPDX-License-Identifier: Apache-2.0 */
/* Device resources: described, split, and turned into descriptors. */
#include "front/green/partition.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_table.h"
#include "front/front.h"

#if CUDA_VERSION >= 12040

#define RESOURCES_MAX 65536u
#define SECRET_MAGIC  0x67702d72u
#define CLUSTER_SMS   16u /* multiprocessors of the largest cluster */

enum kind { KIND_WHOLE = 1, KIND_GROUP, KIND_REST };

/* The private part of a CUdevResource. */
struct secret {
    uint32_t magic, device, split, kind;
    struct front_partition part;
};

struct resources {
    struct resources *next;
    uint64_t handle;
    CUdevice device;
    struct front_partition part;
};

_Static_assert(sizeof(struct secret) <= sizeof(((CUdevResource *)0)->_internal_padding), "it fits");

/* The granularity of splits of a device. */
struct grain {
    unsigned least, multiple;
};

static unsigned partition_attribute(CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    (void)front_host.device_attribute(device, which, &value);
    return value > 0 ? (unsigned)value : 0;
}

/* Multiprocessors of a pair, on a device with `total`. */
static unsigned pair_sms(unsigned total, unsigned pair)
{
    return total >= 2 * pair + 2 ? 2 : total - 2 * pair;
}

static unsigned sms_total(CUdevice device)
{
    unsigned total = partition_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return total < 2 * FRONT_PAIRS_MAX ? total : 2 * FRONT_PAIRS_MAX;
}

static unsigned pairs_total(unsigned total)
{
    return (total + 1) / 2;
}

unsigned front_partition_sms(CUdevice device, const struct front_partition *part)
{
    unsigned total = sms_total(device), sms = 0;
    for (unsigned i = 0; i < pairs_total(total); i++) {
        sms += front_partition_has(part, i) ? pair_sms(total, i) : 0;
    }
    return sms;
}

CUresult front_partition_whole(CUdevice device, struct front_partition *all)
{
    unsigned pairs = pairs_total(sms_total(device));
    memset(all, 0, sizeof *all);
    for (unsigned i = 0; i < pairs; i++) {
        front_partition_add(all, i);
    }
    return pairs != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* The guideline of cuda.h. A device smaller than the least part is one part. */
static struct grain grain_of(CUdevice device)
{
    unsigned major = partition_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    struct grain grain = {major >= 9 ? 8 : major == 8 ? 4 : 2, major >= 9 ? 8 : 2};
    unsigned total = sms_total(device);
    if (total < grain.least) {
        grain.least = total > 1 ? total & ~1u : 1;
        grain.multiple = grain.multiple < grain.least ? grain.multiple : grain.least;
    }
    return grain;
}

static void tell(CUdevResource *resource, const struct secret *secret, struct grain grain)
{
    unsigned sms = front_partition_sms((CUdevice)secret->device, &secret->part);
    memset(resource, 0, sizeof *resource);
    if (sms == 0) {
        return; /* CU_DEV_RESOURCE_TYPE_INVALID */
    }
    resource->type = CU_DEV_RESOURCE_TYPE_SM;
    resource->sm.smCount = sms;
#if CUDA_VERSION >= 13000
    resource->sm.minSmPartitionSize = grain.least;
    resource->sm.smCoscheduledAlignment = grain.multiple;
#else
    (void)grain;
#endif
    memcpy(resource->_internal_padding, secret, sizeof *secret);
}

CUresult front_partition_tell(CUdevice device, const struct front_partition *part,
                              CUdevResourceType type, CUdevResource *resource)
{
    if (type != CU_DEV_RESOURCE_TYPE_SM) {
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    }
    const struct secret secret = {
        .magic = SECRET_MAGIC, .device = (uint32_t)device, .kind = KIND_WHOLE, .part = *part};
    tell(resource, &secret, grain_of(device));
    return CUDA_SUCCESS;
}

/* Reads the private part of the program's resource. */
static CUresult read(const CUdevResource *resource, struct secret *secret)
{
    struct front_device facts;
    if (resource->type != CU_DEV_RESOURCE_TYPE_SM) {
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    }
    memcpy(secret, resource->_internal_padding, sizeof *secret);
    bool ours =
        secret->magic == SECRET_MAGIC &&
        front_host.device((CUdevice)secret->device, &facts) == CUDA_SUCCESS &&
        front_partition_sms((CUdevice)secret->device, &secret->part) == resource->sm.smCount;
    return ours ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult partition_usable(void)
{
    CUresult rc = front_ready();
    return rc == CUDA_SUCCESS ? front_host.process_state() : rc;
}

CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                        CUdevResourceType type)
{
    struct front_device facts;
    struct front_partition all;
    CUresult rc = partition_usable();
    if (rc == CUDA_SUCCESS && resource == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.device(device, &facts);
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_partition_whole(device, &all);
    }
    return rc == CUDA_SUCCESS ? front_partition_tell(device, &all, type, resource) : rc;
}

/* ---- splitting ---- */

/* The flags choose the granularity. */
static CUresult split_grain(const struct secret *input, unsigned flags, struct grain *grain)
{
    const unsigned fine = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    const unsigned clusters = CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    CUdevice device = (CUdevice)input->device;
    *grain = grain_of(device);
    if (flags == fine) {
        grain->least = grain->least < 2 ? grain->least : 2;
        grain->multiple = grain->least;
    } else if (flags == clusters) {
        if (partition_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) < 9) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        grain->least = grain->multiple = CLUSTER_SMS;
    } else if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* Moves pairs with `sms` multiprocessors from `*from`, lowest first. False: there are too few,
 * and nothing is moved. */
static bool partition_take(struct front_partition *from, unsigned total, unsigned sms,
                           struct front_partition *group)
{
    struct front_partition left = *from;
    unsigned taken = 0;
    memset(group, 0, sizeof *group);
    for (unsigned i = 0; i < pairs_total(total) && taken < sms; i++) {
        if (front_partition_has(&left, i)) {
            front_partition_add(group, i);
            left.pairs[i / 64] &= ~(UINT64_C(1) << i % 64);
            taken += pair_sms(total, i);
        }
    }
    if (taken < sms) {
        return false;
    }
    *from = left;
    return true;
}

static CUresult partition_split(const struct secret *input, unsigned sms, CUdevResource *result,
                                unsigned *groups, CUdevResource *remaining, struct grain grain)
{
    static _Atomic uint32_t splits;
    struct secret part = *input;
    struct front_partition rest = input->part;
    unsigned total = sms_total((CUdevice)input->device), made = 0;
    part.split = atomic_fetch_add(&splits, 1) + 1;
    part.kind = KIND_GROUP;
    while ((result == NULL || made < *groups) && partition_take(&rest, total, sms, &part.part)) {
        if (result != NULL) {
            tell(&result[made], &part, grain);
        }
        made++;
    }
    if (made == 0) {
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    }
    *groups = made;
    if (remaining != NULL) {
        unsigned left = front_partition_sms((CUdevice)input->device, &rest);
        unsigned even = left % 2 == 0 ? 2 : 1;
        part.part = rest;
        part.kind = KIND_REST;
        tell(remaining, &part, left % grain.multiple == 0 ? grain : (struct grain){even, even});
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                             const CUdevResource *input, CUdevResource *remaining,
                                             unsigned int useFlags, unsigned int minCount)
{
    struct secret secret;
    struct grain grain;
    CUresult rc = partition_usable();
    if (rc == CUDA_SUCCESS && (nbGroups == NULL || input == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = read(input, &secret);
    }
    if (rc == CUDA_SUCCESS &&
        (minCount > input->sm.smCount || (result != NULL && *nbGroups == 0))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = split_grain(&secret, useFlags, &grain);
    }
    if (rc == CUDA_SUCCESS && secret.kind != KIND_WHOLE) {
        rc = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION; /* only in a green context of it */
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    unsigned sms = minCount > grain.least ? minCount : grain.least;
    sms = (sms + grain.multiple - 1) / grain.multiple * grain.multiple;
    return partition_split(&secret, sms, result, nbGroups, remaining, grain);
}

/* ---- descriptors. They are never freed: equal parts share one. ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_handle_table table;
static struct resources *all;

static CUresult partition_desc_keep(CUdevice device, const struct front_partition *part,
                                    uint64_t *handle)
{
    CUresult rc = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    if (table.limit == 0) {
        ga_handle_table_init(&table, GA_HANDLE_RESOURCES, RESOURCES_MAX);
    }
    struct resources *found = all;
    while (found != NULL &&
           (found->device != device || memcmp(&found->part, part, sizeof *part) != 0)) {
        found = found->next;
    }
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL || ga_handle_table_make(&table, found, &found->handle) != GA_OK) {
            free(found);
            found = NULL;
            rc = CUDA_ERROR_OUT_OF_MEMORY;
        } else {
            found->device = device;
            found->part = *part;
            found->next = all;
            all = found;
        }
    }
    if (found != NULL) {
        *handle = found->handle;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Adds a resource to the descriptor. */
static CUresult partition_join(struct secret *whole, const struct secret *more)
{
    if (more->device != whole->device || more->split != whole->split || more->kind == KIND_WHOLE ||
        whole->kind == KIND_WHOLE) {
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    }
    for (unsigned i = 0; i < API_GREEN_WORDS; i++) {
        if ((whole->part.pairs[i] & more->part.pairs[i]) != 0) {
            return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        }
        whole->part.pairs[i] |= more->part.pairs[i];
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                           unsigned int nbResources)
{
    struct secret whole, more;
    uint64_t handle = 0;
    CUresult rc = partition_usable();
    if (rc == CUDA_SUCCESS && (phDesc == NULL || resources == NULL || nbResources == 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = read(&resources[0], &whole);
    }
    for (unsigned i = 1; rc == CUDA_SUCCESS && i < nbResources; i++) {
        rc = read(&resources[i], &more);
        rc = rc == CUDA_SUCCESS ? partition_join(&whole, &more) : rc;
    }
    if (rc == CUDA_SUCCESS) {
        rc = partition_desc_keep((CUdevice)whole.device, &whole.part, &handle);
    }
    if (rc == CUDA_SUCCESS) {
        *phDesc = (CUdevResourceDesc)(uintptr_t)handle;
    }
    return rc;
}

CUresult front_partition_of(CUdevResourceDesc desc, CUdevice *device, struct front_partition *part)
{
    pthread_mutex_lock(&lock);
    const struct resources *found = ga_handle_table_find(&table, (uint64_t)(uintptr_t)desc);
    if (found != NULL) {
        *device = found->device;
        *part = found->part;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#endif
