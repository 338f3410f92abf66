/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tenants/lending.h"

#include <stdlib.h>

#include "server/lent.h"

static uint64_t *counts_make(uint32_t count)
{
    return calloc(count != 0 ? count : 1, sizeof(uint64_t));
}

enum ga_status lending_account_init(struct lending_account *account, uint32_t gpu_count)
{
    *account = (struct lending_account){
        .gpu_count = gpu_count, .most_each = LIMIT_NONE, .lent_on = counts_make(gpu_count)};
    for (unsigned i = 0; i < CHANNEL_LENT_KINDS; i++) {
        account->most[i] = LIMIT_NONE;
    }
    return account->lent_on != NULL ? GA_OK : GA_NO_MEMORY;
}

void lending_account_fini(struct lending_account *account)
{
    free(account->lent_on);
    account->lent_on = NULL;
}

enum ga_status lending_share_init(struct lending_share *share, uint32_t gpu_count)
{
    *share = (struct lending_share){.lent_on = counts_make(gpu_count)};
    return share->lent_on != NULL ? GA_OK : GA_NO_MEMORY;
}

void lending_limit(struct lending_account *account, const struct limits *limits)
{
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        account->most[kind] = limits->of[lent_table[kind].limit];
    }
    account->most_each = limits->of[LIMIT_GPU_MEM_PER_GPU];
}

bool lending_is_boundless(const struct lending_account *account, enum channel_lent kind)
{
    return account->most[kind] == LIMIT_NONE &&
           (kind != CHANNEL_LENT_DEVICE || account->most_each == LIMIT_NONE) &&
           (account->above == NULL || lending_is_boundless(account->above, kind));
}

static uint64_t room_below(uint64_t most, uint64_t lent)
{
    return most == LIMIT_NONE ? LIMIT_NONE : most > lent ? most - lent : 0;
}

static uint64_t own_room(const struct lending_account *account, enum channel_lent kind,
                         uint32_t gpu)
{
    uint64_t room = room_below(account->most[kind], account->lent[kind]);
    if (kind == CHANNEL_LENT_DEVICE) {
        uint64_t here = room_below(account->most_each, account->lent_on[gpu]);
        room = here < room ? here : room;
    }
    return room;
}

uint64_t lending_room(const struct lending_account *account, enum channel_lent kind, uint32_t gpu)
{
    uint64_t room = own_room(account, kind, gpu);
    uint64_t above = account->above != NULL ? lending_room(account->above, kind, gpu) : room;
    return above < room ? above : room;
}

const struct lending_account *lending_lacks(const struct lending_account *account,
                                            enum channel_lent kind, uint32_t gpu, uint64_t wanted)
{
    const struct lending_account *found = NULL;
    for (; account != NULL; account = account->above) {
        found = own_room(account, kind, gpu) < wanted ? account : found;
    }
    return found;
}

static uint64_t rounded_up(uint64_t amount, uint64_t grain)
{
    uint64_t more = (grain - amount % grain) % grain;
    return amount <= UINT64_MAX - more ? amount + more : amount;
}

static void share_raise(struct lending_account *account, struct lending_share *share,
                        enum channel_lent kind, uint32_t gpu, uint64_t amount)
{
    for (; account != NULL; account = account->above) {
        account->lent[kind] += amount;
        account->lent_on[gpu] += kind == CHANNEL_LENT_DEVICE ? amount : 0;
    }
    share->lent[kind] += amount;
    share->lent_on[gpu] += kind == CHANNEL_LENT_DEVICE ? amount : 0;
}

uint64_t lending_lend(struct lending_account *account, struct lending_share *share,
                      enum channel_lent kind, uint32_t gpu, uint64_t wanted)
{
    uint64_t room = lending_room(account, kind, gpu);
    uint64_t grain =
        lending_is_boundless(account, kind) ? CHANNEL_BOUNDLESS : lent_table[kind].grain;
    uint64_t lent = rounded_up(wanted, grain);
    lent = lent < room ? lent : room;
    if (wanted == 0 || wanted > room || lent > UINT64_MAX - account->lent[kind]) {
        return 0;
    }
    share_raise(account, share, kind, gpu, lent);
    return lent;
}

void lending_charge(struct lending_account *account, struct lending_share *share, uint32_t gpu,
                    uint64_t bytes)
{
    share_raise(account, share, CHANNEL_LENT_DEVICE, gpu, bytes);
}

void lending_return(struct lending_account *account, struct lending_share *share,
                    enum channel_lent kind, uint32_t gpu, uint64_t amount)
{
    uint64_t has = kind == CHANNEL_LENT_DEVICE ? share->lent_on[gpu] : share->lent[kind];
    amount = amount < has ? amount : has;
    for (; account != NULL; account = account->above) {
        account->lent[kind] -= amount;
        account->lent_on[gpu] -= kind == CHANNEL_LENT_DEVICE ? amount : 0;
    }
    share->lent[kind] -= amount;
    share->lent_on[gpu] -= kind == CHANNEL_LENT_DEVICE ? amount : 0;
}

void lending_end(struct lending_account *account, struct lending_share *share)
{
    if (share->lent_on == NULL) {
        return;
    }
    for (uint32_t gpu = 0; gpu < account->gpu_count; gpu++) {
        lending_return(account, share, CHANNEL_LENT_DEVICE, gpu, UINT64_MAX);
    }
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        if (kind != CHANNEL_LENT_DEVICE) {
            lending_return(account, share, (enum channel_lent)kind, 0, UINT64_MAX);
        }
    }
    free(share->lent_on);
    share->lent_on = NULL;
}
