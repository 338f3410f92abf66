/* SPDX-License-Identifier: Apache-2.0 */
/* Launch attributes: the table of what each one does. */
#include "front/launch/launch_options.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "api/launch_attributes.h"
#include "base/log.h"

static CUresult valid(bool condition)
{
    return condition ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult launch_clusters(const CUlaunchAttributeValue *value, unsigned cluster[3])
{
    cluster[0] = value->clusterDim.x;
    cluster[1] = value->clusterDim.y;
    cluster[2] = value->clusterDim.z;
    bool right = cluster[0] != 0 && cluster[1] != 0 && cluster[2] != 0;
    return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

unsigned front_cluster_most(const struct front_cluster *facts)
{
    return !facts->possible ? 1 : facts->non_portable ? FRONT_CLUSTER_MAX : FRONT_CLUSTER_PORTABLE;
}

CUresult front_cluster_check(const struct front_cluster *facts, const unsigned grid[3],
                             const unsigned cluster[3])
{
    uint64_t blocks = 1;
    bool right = true, named = cluster[0] != 0;
    bool demanded = (facts->required[0] | facts->required[1] | facts->required[2]) != 0;
    if (!named && !demanded && !facts->must_be_set) {
        return CUDA_SUCCESS; /* most launches */
    }
    for (int i = 0; i < 3; i++) {
        unsigned required = facts->required[i];
        unsigned size = named ? cluster[i] : required != 0 ? required : 1;
        right = right && grid[i] % size == 0 && (required == 0 || size == required);
        blocks *= size <= FRONT_CLUSTER_MAX ? size : FRONT_CLUSTER_MAX + 1;
    }
    bool missing = facts->must_be_set && !named && facts->required[0] == 0;
    return right && blocks <= front_cluster_most(facts) && !missing
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

/* Names each unknown number once (of two that differ by 64, the first). */
static CUresult unknown(unsigned id)
{
    static _Atomic uint64_t told;
    uint64_t bit = UINT64_C(1) << (id & 63);
    if ((atomic_fetch_or(&told, bit) & bit) == 0) {
        ga_warn("launch attribute %u (CUlaunchAttributeID) is newer than this library: not "
                "supported",
                id);
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult front_cooperative_check(unsigned __int128 blocks, unsigned each, unsigned sms)
{
    static _Atomic bool told;
    if (blocks <= (uint64_t)each * sms) {
        return CUDA_SUCCESS;
    }
    if (!atomic_exchange(&told, true)) {
        ga_warn("a cooperative launch of %llu blocks is too large: at once %llu fit, %u on each of "
                "%u multiprocessors (the key sms of a software GPU)",
                (unsigned long long)blocks, (unsigned long long)each * sms, each, sms);
    }
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

/* Hints: the kernel runs without them. Only their values are checked. */
static CUresult hint(const CUlaunchAttribute *attribute)
{
    const CUlaunchAttributeValue *value = &attribute->value;
    switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: /* overlap is allowed, not required
                                                                 */
    case API_LAUNCH_PREFERRED_CLUSTER_DIMENSION: /* has an effect only with a cluster dimension */
    case API_LAUNCH_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        return valid(value->accessPolicyWindow.hitRatio >= 0 &&
                     value->accessPolicyWindow.hitRatio <= 1 &&
                     value->accessPolicyWindow.missProp != CU_ACCESS_PROPERTY_PERSISTING);
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return valid(value->clusterSchedulingPolicyPreference <=
                     CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: /* one domain orders more than two would */
        return valid(value->memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        return CUDA_SUCCESS;
    case API_LAUNCH_PREFERRED_SHARED_MEMORY_CARVEOUT: {
        int percent = *(const int *)(const void *)value;
        return valid(percent >= -1 && percent <= 100);
    }
    default:
        return unknown((unsigned)attribute->id);
    }
}

static CUresult launch_option_read(const CUlaunchAttribute *attribute,
                                   struct front_launch_options *options)
{
    const CUlaunchAttributeValue *value = &attribute->value;
    switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        options->cooperative = value->cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        options->prioritised = true;
        options->priority = value->priority;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        return launch_clusters(value, options->cluster);
    /* Both events may be late: they are recorded when the kernel has ended. */
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case API_LAUNCH_COMPLETION_EVENT: /* begins with the same two members */
        options->completion = value->programmaticEvent.event;
        options->event_flags = (unsigned)value->programmaticEvent.flags;
        return valid(options->completion != NULL);
    /* Attributes of streams and of graphs. */
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case API_LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_INVALID_VALUE;
    default:
        return hint(attribute);
    }
}

CUresult front_launch_options_read(const CUlaunchConfig *config,
                                   struct front_launch_options *options)
{
    *options = (struct front_launch_options){0};
    if (config == NULL || (config->attrs == NULL && config->numAttrs != 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; i < config->numAttrs && rc == CUDA_SUCCESS; i++) {
        rc = launch_option_read(&config->attrs[i], options);
    }
    return rc;
}
