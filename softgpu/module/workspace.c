/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/module/workspace.h"

#include <stdbool.h>
#include <stdlib.h>

#include "softgpu/engine/budget.h"
#include "softgpu/engine/engine.h"
#include "softgpu/memory/host_memory.h"

#define PAGE_BYTES ((uint64_t)64 << 10)
#define PAGE_SLOTS ((unsigned)(PAGE_BYTES / SG_GRID_WORKSPACE))

struct workspace_page {
    struct ga_list link;
    struct sg_range *range;
    unsigned used;
    uint64_t taken[PAGE_SLOTS / 64];
};

static struct ga_list pages; /* empty: never used */

static struct workspace_page *page_make(void)
{
    if (!sg_budget_take(PAGE_BYTES, "workspaces of cooperative grids")) {
        return NULL;
    }
    struct workspace_page *page = calloc(1, sizeof *page);
    if (page == NULL || sg_managed_alloc(NULL, PAGE_BYTES, &page->range) != CUDA_SUCCESS) {
        free(page);
        sg_budget_give(PAGE_BYTES);
        return NULL;
    }
    page->range->variable = true; /* not the program's allocation: cuMemFree refuses it */
    ga_list_append(&pages, &page->link);
    return page;
}

static void page_drop(struct workspace_page *page)
{
    ga_list_remove(&page->link);
    sg_host_free(page->range);
    sg_budget_give(PAGE_BYTES);
    free(page);
}

static uint64_t workspace_slot(struct workspace_page *page)
{
    unsigned word = 0;
    while (page->taken[word] == UINT64_MAX) {
        word++;
    }
    unsigned bit = (unsigned)__builtin_ctzll(~page->taken[word]);
    page->taken[word] |= UINT64_C(1) << bit;
    page->used++;
    return page->range->span.base + (uint64_t)(64 * word + bit) * SG_GRID_WORKSPACE;
}

uint64_t sg_workspace_take(void)
{
    if (pages.next == NULL) {
        ga_list_init(&pages);
    }
    ga_list_each (at, following, &pages) {
        struct workspace_page *page = ga_container(at, struct workspace_page, link);
        if (page->used < PAGE_SLOTS) {
            return workspace_slot(page);
        }
    }
    struct workspace_page *page = page_make();
    return page != NULL ? workspace_slot(page) : 0;
}

void sg_workspace_give(uint64_t address)
{
    ga_list_each (at, following, &pages) {
        struct workspace_page *page = ga_container(at, struct workspace_page, link);
        uint64_t base = page->range->span.base;
        if (address >= base && address - base < PAGE_BYTES) {
            unsigned slot = (unsigned)((address - base) / SG_GRID_WORKSPACE);
            page->taken[slot / 64] &= ~(UINT64_C(1) << slot % 64);
            if (--page->used == 0) {
                page_drop(page);
            }
            return;
        }
    }
}
