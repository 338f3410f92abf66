/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting resources. The fake device 0 has 16 multiprocessors of a capability above 9.0, so parts
 * of 8. */
#include <criterion/criterion.h>

#include "front/front.h"
#include "front/green/partition.h"
#include "front/tests/fake_host.h"

#if CUDA_VERSION >= 13000

static CUdevResource whole(void)
{
    CUdevResource all;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    cr_assert_eq(all.sm.smCount, 16);
    cr_assert_eq(all.sm.minSmPartitionSize, 8);
    cr_assert_eq(all.sm.smCoscheduledAlignment, 8);
    return all;
}

static unsigned groups(const CUdevResource *all, unsigned flags, unsigned least)
{
    unsigned count = 0;
    CUresult rc = cuDevSmResourceSplitByCount(NULL, &count, all, NULL, flags, least);
    return rc == CUDA_SUCCESS ? count : 0;
}

Test(partition, groups_are_rounded_up)
{
    CUdevResource all = whole();
    cr_assert_eq(groups(&all, 0, 0), 2);
    cr_assert_eq(groups(&all, 0, 8), 2);
    cr_assert_eq(groups(&all, 0, 9), 1);
    const unsigned fine = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    cr_assert_eq(groups(&all, fine, 0), 8);
    cr_assert_eq(groups(&all, fine, 3), 4);
    cr_assert_eq(groups(&all, CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE, 1), 1);
    cr_assert_eq(groups(&all, 4, 0), 0);
    cr_assert_eq(groups(&all, 0, 17), 0);
}

Test(partition, what_is_left_is_told)
{
    CUdevResource all = whole(), parts[3], rest;
    const unsigned fine = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    unsigned count = 3;
    cr_assert_eq(cuDevSmResourceSplitByCount(parts, &count, &all, &rest, fine, 4), CUDA_SUCCESS);
    cr_assert_eq(count, 3);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(parts[i].sm.smCount, 4);
        cr_assert_eq(parts[i].sm.minSmPartitionSize, 2);
    }
    cr_assert_eq(rest.sm.smCount, 4);
    count = 3;
    cr_assert_eq(cuDevSmResourceSplitByCount(parts, &count, &all, &rest, 0, 0), CUDA_SUCCESS);
    cr_assert_eq(count, 2);
    cr_assert_eq(rest.type, CU_DEV_RESOURCE_TYPE_INVALID);
}

Test(partition, descriptors_are_of_one_split)
{
    CUdevResource all = whole(), one[2], two[2];
    CUdevResourceDesc desc = NULL, again = NULL;
    CUdevice device;
    struct front_partition part;
    unsigned count = 2;
    cr_assert_eq(cuDevSmResourceSplitByCount(one, &count, &all, NULL, 0, 0), CUDA_SUCCESS);
    cr_assert_eq(cuDevSmResourceSplitByCount(two, &count, &all, NULL, 0, 0), CUDA_SUCCESS);
    cr_assert_eq(cuDevResourceGenerateDesc(&desc, one, 2), CUDA_SUCCESS);
    cr_assert_eq(front_partition_of(desc, &device, &part), CUDA_SUCCESS);
    cr_assert_eq(front_partition_sms(device, &part), 16);
    cr_assert_eq(cuDevResourceGenerateDesc(&again, &all, 1), CUDA_SUCCESS);
    cr_assert_eq(again, desc, "the same parts have the same descriptor");
    const CUdevResource mixed[2] = {one[0], two[1]}, twice[2] = {one[0], one[0]};
    cr_assert_eq(cuDevResourceGenerateDesc(&desc, (CUdevResource *)mixed, 2),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    cr_assert_eq(cuDevResourceGenerateDesc(&desc, (CUdevResource *)twice, 2),
                 CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    cr_assert_eq(front_partition_of((CUdevResourceDesc)0x1234, &device, &part),
                 CUDA_ERROR_INVALID_VALUE);
}

#endif
