/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a GPU's memory that the limits leave, which programs see (cuMemGetInfo). A process
 * remembers it, and subtracts what it has itself, as long as no other one counts up the number in
 * the tenant's memory (struct figures_tenant).
 *
 * Note: a process that has device memory and has not got that memory cannot count. As long as there
 * is such a one, the others must ask each time. */
#include <sys/mman.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "base/shared_memory.h"
#include "server/figures.h"
#include "server/tenants/lender.h"
#include "server/tenants/member.h"
#include "server/tenants/tenant.h"

/* ---- the tenant's memory */

void lender_shared_fini(struct lender *lender)
{
    if (lender->shared != NULL) {
        (void)munmap(lender->shared, FIGURES_TENANT_BYTES);
        close(lender->shared_fd);
        lender->shared = NULL;
    }
}

static bool shared_make(struct lender *lender)
{
    if (lender->shared != NULL) {
        return true;
    }
    int fd = ga_shared_memory_make("gpuaasd-tenant", FIGURES_TENANT_BYTES);
    lender->shared = fd >= 0 ? ga_shared_memory_map(fd, FIGURES_TENANT_BYTES, NULL) : NULL;
    if (lender->shared == NULL && fd >= 0) {
        close(fd);
        fd = -1;
    }
    lender->shared_fd = fd;
    return lender->shared != NULL;
}

void lender_changed(struct lender *lender)
{
    if (lender->shared != NULL) {
        atomic_fetch_add(&lender->shared->changes, 1);
    }
}

static bool is_limited(const struct lender_seat *seat)
{
    const struct member *member = seat->member;
    const struct lending_account *account =
        member != NULL ? &member->account : &seat->tenant->lender.account;
    return !lending_is_boundless(account, CHANNEL_LENT_DEVICE);
}

int lender_share(struct lender_seat *seat, struct channel_request *answer)
{
    struct lender *lender = &seat->tenant->lender;
    bool passes = !seat->shares && is_limited(seat) && shared_make(lender);
    answer->opening = passes;
    return passes ? lender->shared_fd : -1;
}

/* ---- the room */

/* The room of the tenant (`member` NULL), or of one of its users, beside this seat. */
static uint64_t room_beside(const struct lender_seat *seat, const struct member *member,
                            uint32_t gpu)
{
    const struct tenant *tenant = seat->tenant;
    enum limit limit = gpu == UINT32_MAX ? LIMIT_GPU_MEM : LIMIT_GPU_MEM_PER_GPU;
    uint64_t most = member_limits(tenant, member)->of[limit];
    uint64_t others = 0;
    ga_list_each (at, next, &tenant->lender.seats) {
        const struct lender_seat *other = ga_container(at, struct lender_seat, link);
        bool counts = other != seat && (member == NULL || other->member == member);
        uint64_t charged = counts ? lender_charged_of(other, CHANNEL_LENT_DEVICE, gpu) : 0;
        others = charged <= UINT64_MAX - others ? others + charged : UINT64_MAX;
    }
    uint64_t taken = lender_taken_bytes(seat, gpu);
    others = taken <= UINT64_MAX - others ? others + taken : UINT64_MAX;
    return most == LIMIT_NONE ? LIMIT_NONE : most > others ? most - others : 0;
}

static uint64_t room_on(const struct lender_seat *seat, uint32_t gpu)
{
    uint64_t all = room_beside(seat, NULL, gpu);
    uint64_t own = room_beside(seat, seat->member, gpu);
    return own < all ? own : all;
}

/* Where no limit holds for a seat, what it has counts for nobody else's limit either. */
static bool all_count(const struct lender_seat *seat)
{
    bool all = true;
    ga_list_each (at, next, &seat->tenant->lender.seats) {
        const struct lender_seat *other = ga_container(at, struct lender_seat, link);
        all = all &&
              (other->shares || other->share.lent[CHANNEL_LENT_DEVICE] == 0 || !is_limited(other));
    }
    return all;
}

void lender_room(const struct lender_seat *seat, struct channel_request *answer)
{
    const struct figures_tenant *shared = seat->tenant->lender.shared;
    answer->result = CUDA_SUCCESS;
    answer->changes = shared != NULL ? atomic_load(&shared->changes) : 0; /* first */
    answer->bytes = room_on(seat, UINT32_MAX);
    answer->offset = room_on(seat, (uint32_t)answer->address);
    answer->mapping_bytes = all_count(seat);
}
