/* SPDX-License-Identifier: Apache-2.0 */
/* A quota and the lender's arithmetic together: many threads take, give and are recalled; what is
 * spare, what is taken and what is lent agree at the end, and no sum was ever above the limit. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/charge/quota.h"
#include "server/tenants/lending.h"

#define PROCESSES 4u
#define TURNS     20000u
#define MIB       (UINT64_C(1) << 20)
#define LIMIT_MAX (200 * MIB)
#define ALL_KINDS ((1u << CHANNEL_LENT_KINDS) - 1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lending_account account;
static struct lending_share shares[PROCESSES];
static struct quota quotas[PROCESSES];
static _Atomic uint64_t taken;
static bool is_late; /* the answer comes when nobody waits for it any more */
static unsigned told;

static struct quota *quota_of(const void *share)
{
    return &quotas[(const struct lending_share *)share - shares];
}

/* As gpuaasd does it, but at once: recalls from all, then decides. */
static enum ga_status fake_ask(void *user, struct channel_request *packet)
{
    struct lending_share *share = user;
    uint64_t wanted = packet->bytes;
    pthread_mutex_lock(&lock);
    quota_asks(quota_of(share), packet);
    lending_return(&account, share, (enum channel_lent)packet->what, 0, packet->offset);
    packet->bytes =
        lending_lend(&account, share, (enum channel_lent)packet->what, 0, packet->bytes);
    packet->result = packet->bytes != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    quota_answered(quota_of(share), packet, is_late ? 0 : wanted);
    if (packet->bytes == 0) {
        packet->what = LIMIT_GPU_MEM;
    }
    pthread_mutex_unlock(&lock);
    return is_late ? GA_TIMEOUT : GA_OK;
}

static void fake_tell(void *user, const struct channel_request *packet)
{
    if (packet->verb == CHANNEL_RETURN) {
        pthread_mutex_lock(&lock);
        lending_return(&account, user, (enum channel_lent)packet->what, 0, packet->bytes);
        pthread_mutex_unlock(&lock);
    }
}

static void begin(uint64_t most)
{
    struct channel_application to = {.tenant_name = "lab", .gpu_count = 1};
    limits_clear(&to.limits);
    to.limits.of[LIMIT_GPU_MEM] = most;
    to.shown = to.limits;
    cr_assert_eq(lending_account_init(&account, 1), GA_OK);
    lending_limit(&account, &to.limits);
    for (unsigned i = 0; i < PROCESSES; i++) {
        const struct quota_host host = {.user = &shares[i], .ask = fake_ask, .tell = fake_tell};
        cr_assert_eq(lending_share_init(&shares[i], 1), GA_OK);
        quota_init(&quotas[i], &to, &host);
    }
}

static void *work(void *argument)
{
    struct quota *quota = argument;
    unsigned seed = (unsigned)(quota - quotas) + 1;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        uint64_t amount = 1 + (uint64_t)rand_r(&seed) % (90 * MIB);
        if (quota_take(quota, CHANNEL_LENT_DEVICE, 0, amount) == CUDA_SUCCESS) {
            cr_assert_leq(atomic_fetch_add(&taken, amount) + amount, LIMIT_MAX);
            atomic_fetch_sub(&taken, amount);
            quota_give(quota, CHANNEL_LENT_DEVICE, 0, amount);
        }
        if (turn % 7 == 0) {
            const struct channel_request recall = {.verb = CHANNEL_RECALL, .bytes = ALL_KINDS};
            quota_recall(&quotas[turn / 7 % PROCESSES], &recall);
        }
    }
    return NULL;
}

Test(quota, racing_threads_never_have_more_than_the_limit)
{
    pthread_t threads[PROCESSES];
    begin(LIMIT_MAX);
    for (unsigned i = 0; i < PROCESSES; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, work, &quotas[i]), 0);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        cr_assert_eq(shares[i].lent[CHANNEL_LENT_DEVICE], atomic_load(&quotas[i].spare_on[0]));
    }
}

static char heard[400];

static void hear(void *user, const char *text)
{
    (void)user;
    told++;
    snprintf(heard, sizeof heard, "%s", text);
}

Test(quota, a_refusal_is_told_once_a_second)
{
    begin(MIB);
    quota_listen(&quotas[0], hear, NULL);
    cr_assert_eq(quota_take(&quotas[0], CHANNEL_LENT_DEVICE, 0, MIB), CUDA_SUCCESS);
    for (unsigned i = 0; i < 5; i++) {
        cr_assert_eq(quota_take(&quotas[0], CHANNEL_LENT_DEVICE, 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
    }
    cr_assert_eq(told, 1);
    cr_assert(strstr(heard, "limit gpu-mem of tenant lab: ") != NULL, "%s", heard);
    quota_give(&quotas[0], CHANNEL_LENT_DEVICE, 0, MIB);
    cr_assert_eq(quota_take(&quotas[0], CHANNEL_LENT_DEVICE, 0, 1), CUDA_SUCCESS);
}

Test(quota, what_is_lent_too_late_is_spare)
{
    begin(LIMIT_MAX);
    is_late = true;
    cr_assert_eq(quota_take(&quotas[0], CHANNEL_LENT_DEVICE, 0, MIB), CUDA_ERROR_OUT_OF_MEMORY);
    cr_assert_eq(shares[0].lent[CHANNEL_LENT_DEVICE], CHANNEL_GRAIN_BYTES);
    cr_assert_eq(atomic_load(&quotas[0].spare_on[0]), CHANNEL_GRAIN_BYTES);
    is_late = false;
    cr_assert_eq(quota_take(&quotas[0], CHANNEL_LENT_DEVICE, 0, MIB), CUDA_SUCCESS);
    cr_assert_eq(shares[0].lent[CHANNEL_LENT_DEVICE], CHANNEL_GRAIN_BYTES);
}

Test(quota, a_recall_is_for_the_kinds_that_it_names)
{
    begin(LIMIT_MAX);
    cr_assert_eq(quota_take(&quotas[0], CHANNEL_LENT_DEVICE, 0, 1), CUDA_SUCCESS);
    cr_assert_eq(quota_take(&quotas[0], CHANNEL_LENT_OBJECTS, 0, 1), CUDA_SUCCESS);
    const struct channel_request recall = {.verb = CHANNEL_RECALL,
                                           .bytes = 1u << CHANNEL_LENT_DEVICE};
    quota_recall(&quotas[0], &recall);
    cr_assert_eq(shares[0].lent[CHANNEL_LENT_DEVICE], 1);
    cr_assert_eq(shares[0].lent[CHANNEL_LENT_OBJECTS], CHANNEL_BOUNDLESS);
}

Test(quota, without_a_limit_gpuaasd_is_not_asked)
{
    struct channel_application to = {.boundless = 1u << CHANNEL_LENT_OBJECTS};
    limits_clear(&to.limits);
    const struct quota_host host = {.user = NULL};
    quota_init(&quotas[0], &to, &host);
    for (unsigned i = 0; i < 100000; i++) {
        cr_assert_eq(quota_take(&quotas[0], CHANNEL_LENT_OBJECTS, 0, 1), CUDA_SUCCESS);
    }
}
