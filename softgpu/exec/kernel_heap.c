/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of 4 KiB: each is free, divided into small blocks of one size, or part of a run that is one
 * large block. Pages of one block size with free blocks form a list. */
#include "softgpu/exec/kernel_heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES        4096u
#define KERNEL_HEAP_UNIT  16u /* blocks are multiples of it and aligned to it */
#define KERNEL_HEAP_UNITS (PAGE_BYTES / KERNEL_HEAP_UNIT)
#define KERNEL_HEAP_NONE  UINT32_MAX

static const uint16_t sizes[] = {16,  32,  48,  64,  80,  96,  112, 128,  160,  192, 224,
                                 256, 320, 384, 448, 512, 640, 768, 1024, 1360, 2048};
#define KERNEL_HEAP_SIZES       (sizeof sizes / sizeof sizes[0])
#define KERNEL_HEAP_SMALL_BYTES 2048u

enum page_kind { PAGE_FREE, PAGE_SMALL, PAGE_LARGE, PAGE_LARGE_REST };

struct page {
    uint8_t kind, size; /* SMALL: index in `sizes` */
    uint16_t taken;     /* SMALL: number of blocks */
    uint32_t count;     /* LARGE: pages */
    uint32_t next, before;
    uint64_t blocks[KERNEL_HEAP_UNITS / 64]; /* SMALL: a bit per taken block */
};

struct sg_kernel_heap {
    pthread_mutex_t lock;
    uint64_t base;
    uint32_t page_count;
    uint32_t cursor;                   /* the search for free pages begins here */
    uint32_t roomy[KERNEL_HEAP_SIZES]; /* pages with free blocks, by size */
    struct page pages[];
};

struct sg_kernel_heap *sg_kernel_heap_make(uint64_t base, uint64_t bytes)
{
    uint64_t begin = (base + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t pages = base + bytes < begin ? 0 : (base + bytes - begin) / PAGE_BYTES;
    if (pages >= KERNEL_HEAP_NONE) {
        pages = KERNEL_HEAP_NONE - 1;
    }
    struct sg_kernel_heap *heap = calloc(1, sizeof *heap + pages * sizeof heap->pages[0]);
    if (heap == NULL) {
        return NULL;
    }
    pthread_mutex_init(&heap->lock, NULL);
    heap->base = begin;
    heap->page_count = (uint32_t)pages;
    for (size_t i = 0; i < KERNEL_HEAP_SIZES; i++) {
        heap->roomy[i] = KERNEL_HEAP_NONE;
    }
    return heap;
}

void sg_kernel_heap_free(struct sg_kernel_heap *heap)
{
    if (heap != NULL) {
        pthread_mutex_destroy(&heap->lock);
        free(heap);
    }
}

/* ---- runs of pages ---- */

/* The first run of `count` free pages at or after `from`, before `end`, with the alignment in
 * pages; KERNEL_HEAP_NONE: there is none. */
static uint32_t find_run(const struct sg_kernel_heap *heap, uint32_t from, uint32_t end,
                         uint32_t count, uint64_t align)
{
    uint32_t begin = from;
    while (begin < end) {
        uint64_t address = heap->base + (uint64_t)begin * PAGE_BYTES;
        uint64_t skip = (((address + align - 1) & ~(align - 1)) - address) / PAGE_BYTES;
        if (skip >= heap->page_count - begin || count > heap->page_count - begin - skip) {
            return KERNEL_HEAP_NONE;
        }
        begin += (uint32_t)skip;
        uint32_t length = 0;
        while (length < count && heap->pages[begin + length].kind == PAGE_FREE) {
            length++;
        }
        if (length == count) {
            return begin;
        }
        const struct page *in_the_way = &heap->pages[begin + length];
        begin += length + (in_the_way->kind == PAGE_LARGE ? in_the_way->count : 1);
    }
    return KERNEL_HEAP_NONE;
}

static uint32_t take_run(struct sg_kernel_heap *heap, uint32_t count, uint64_t align)
{
    uint32_t first = find_run(heap, heap->cursor, heap->page_count, count, align);
    if (first == KERNEL_HEAP_NONE) {
        first = find_run(heap, 0, heap->cursor, count, align);
    }
    if (first != KERNEL_HEAP_NONE) {
        heap->cursor = first + count;
    }
    return first;
}

static uint64_t take_large(struct sg_kernel_heap *heap, uint64_t bytes, uint64_t align)
{
    if (bytes > (uint64_t)heap->page_count * PAGE_BYTES || align > (UINT64_C(1) << 40)) {
        return 0;
    }
    uint32_t count = (uint32_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
    uint32_t first = take_run(heap, count, align < PAGE_BYTES ? PAGE_BYTES : align);
    if (first == KERNEL_HEAP_NONE) {
        return 0;
    }
    heap->pages[first].kind = PAGE_LARGE;
    heap->pages[first].count = count;
    for (uint32_t i = 1; i < count; i++) {
        heap->pages[first + i].kind = PAGE_LARGE_REST;
    }
    return heap->base + (uint64_t)first * PAGE_BYTES;
}

static void give_large(struct sg_kernel_heap *heap, uint32_t first)
{
    uint32_t count = heap->pages[first].count;
    for (uint32_t i = 0; i < count; i++) {
        heap->pages[first + i].kind = PAGE_FREE;
    }
    heap->cursor = first < heap->cursor ? first : heap->cursor;
}

/* ---- small blocks ---- */

static void enter_list(struct sg_kernel_heap *heap, uint32_t index)
{
    struct page *page = &heap->pages[index];
    uint32_t *head = &heap->roomy[page->size];
    page->next = *head;
    page->before = KERNEL_HEAP_NONE;
    if (*head != KERNEL_HEAP_NONE) {
        heap->pages[*head].before = index;
    }
    *head = index;
}

static void leave_list(struct sg_kernel_heap *heap, uint32_t index)
{
    const struct page *page = &heap->pages[index];
    if (page->before != KERNEL_HEAP_NONE) {
        heap->pages[page->before].next = page->next;
    } else {
        heap->roomy[page->size] = page->next;
    }
    if (page->next != KERNEL_HEAP_NONE) {
        heap->pages[page->next].before = page->before;
    }
}

static uint32_t blocks_of(unsigned size)
{
    return PAGE_BYTES / sizes[size];
}

static uint64_t take_small(struct sg_kernel_heap *heap, unsigned size)
{
    uint32_t index = heap->roomy[size];
    if (index == KERNEL_HEAP_NONE) {
        index = take_run(heap, 1, PAGE_BYTES);
        if (index == KERNEL_HEAP_NONE) {
            return 0;
        }
        heap->pages[index] = (struct page){.kind = PAGE_SMALL, .size = (uint8_t)size};
        enter_list(heap, index);
    }
    struct page *page = &heap->pages[index];
    uint32_t word = 0;
    while (page->blocks[word] == UINT64_MAX) {
        word++;
    }
    uint32_t block = word * 64 + (uint32_t)__builtin_ctzll(~page->blocks[word]);
    page->blocks[word] |= UINT64_C(1) << (block % 64);
    if (++page->taken == blocks_of(size)) {
        leave_list(heap, index);
    }
    return heap->base + (uint64_t)index * PAGE_BYTES + (uint64_t)block * sizes[size];
}

static enum sg_heap_give give_small(struct sg_kernel_heap *heap, uint32_t index, uint32_t offset)
{
    struct page *page = &heap->pages[index];
    uint32_t block = offset / sizes[page->size];
    uint64_t bit = UINT64_C(1) << (block % 64);
    if (offset % sizes[page->size] || block >= blocks_of(page->size)) {
        return SG_HEAP_NO_BLOCK;
    }
    if (!(page->blocks[block / 64] & bit)) {
        return SG_HEAP_NOT_TAKEN;
    }
    if (page->taken == blocks_of(page->size)) {
        enter_list(heap, index);
    }
    page->blocks[block / 64] &= ~bit;
    if (--page->taken == 0) {
        leave_list(heap, index);
        page->kind = PAGE_FREE;
        heap->cursor = index < heap->cursor ? index : heap->cursor;
    }
    return SG_HEAP_GIVEN;
}

/* The smallest size for `bytes` with the alignment; KERNEL_HEAP_SIZES: none. */
static unsigned size_for(uint64_t bytes, uint64_t align)
{
    unsigned size = 0;
    while (size < KERNEL_HEAP_SIZES && (sizes[size] < bytes || (sizes[size] & (align - 1)))) {
        size++;
    }
    return size;
}

/* ---- both ---- */

uint64_t sg_kernel_heap_take(struct sg_kernel_heap *heap, uint64_t bytes, uint64_t align)
{
    align = align < KERNEL_HEAP_UNIT ? KERNEL_HEAP_UNIT : align;
    bytes = bytes == 0 ? 1 : bytes;
    unsigned size = bytes <= KERNEL_HEAP_SMALL_BYTES ? size_for(bytes, align) : KERNEL_HEAP_SIZES;
    pthread_mutex_lock(&heap->lock);
    uint64_t address =
        size < KERNEL_HEAP_SIZES ? take_small(heap, size) : take_large(heap, bytes, align);
    pthread_mutex_unlock(&heap->lock);
    return address;
}

enum sg_heap_give sg_kernel_heap_give(struct sg_kernel_heap *heap, uint64_t address)
{
    uint64_t offset = address - heap->base;
    uint64_t index = offset / PAGE_BYTES;
    uint32_t inside = (uint32_t)(offset % PAGE_BYTES);
    if (address < heap->base || index >= heap->page_count || inside % KERNEL_HEAP_UNIT) {
        return SG_HEAP_NO_BLOCK;
    }
    enum sg_heap_give answer = SG_HEAP_GIVEN;
    pthread_mutex_lock(&heap->lock);
    switch ((enum page_kind)heap->pages[index].kind) {
    case PAGE_FREE:
        answer = SG_HEAP_NOT_TAKEN;
        break;
    case PAGE_SMALL:
        answer = give_small(heap, (uint32_t)index, inside);
        break;
    case PAGE_LARGE:
        if (inside == 0) {
            give_large(heap, (uint32_t)index);
        } else {
            answer = SG_HEAP_NO_BLOCK;
        }
        break;
    case PAGE_LARGE_REST:
        answer = SG_HEAP_NO_BLOCK;
        break;
    }
    pthread_mutex_unlock(&heap->lock);
    return answer;
}

void sg_kernel_heap_usage(struct sg_kernel_heap *heap, uint64_t *blocks, uint64_t *bytes)
{
    *blocks = *bytes = 0;
    if (heap == NULL) {
        return;
    }
    pthread_mutex_lock(&heap->lock);
    for (uint32_t i = 0; i < heap->page_count; i++) {
        const struct page *page = &heap->pages[i];
        bool large = page->kind == PAGE_LARGE;
        if (large || page->kind == PAGE_SMALL) {
            *blocks += large ? 1 : page->taken;
            *bytes += large ? (uint64_t)page->count * PAGE_BYTES
                            : (uint64_t)page->taken * sizes[page->size];
        }
    }
    pthread_mutex_unlock(&heap->lock);
}

/* ---- records: a struct page each, of which the links mean nothing */

size_t sg_kernel_heap_record_bytes(const struct sg_kernel_heap *heap)
{
    return heap->page_count * sizeof heap->pages[0];
}

void sg_kernel_heap_records(struct sg_kernel_heap *heap, void *records)
{
    pthread_mutex_lock(&heap->lock);
    memcpy(records, heap->pages, sg_kernel_heap_record_bytes(heap));
    pthread_mutex_unlock(&heap->lock);
}

static bool small_remake(struct sg_kernel_heap *heap, uint32_t index)
{
    struct page *page = &heap->pages[index];
    uint32_t taken = 0, most = page->size < KERNEL_HEAP_SIZES ? blocks_of(page->size) : 0;
    for (uint32_t block = 0; block < KERNEL_HEAP_UNITS; block++) {
        bool set = page->blocks[block / 64] >> (block % 64) & 1;
        if (set && block >= most) {
            return false;
        }
        taken += set;
    }
    if (taken == 0 || page->taken != taken) {
        return false;
    }
    if (taken < most) {
        enter_list(heap, index);
    }
    return true;
}

static bool large_remake(const struct sg_kernel_heap *heap, uint32_t index)
{
    uint32_t count = heap->pages[index].count;
    if (count == 0 || count > heap->page_count - index) {
        return false;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (heap->pages[index + i].kind != PAGE_LARGE_REST) {
            return false;
        }
    }
    return true;
}

static bool pages_remake(struct sg_kernel_heap *heap)
{
    for (uint32_t i = 0; i < heap->page_count;) {
        const struct page *page = &heap->pages[i];
        bool right = page->kind == PAGE_FREE ||
                     (page->kind == PAGE_SMALL && small_remake(heap, i)) ||
                     (page->kind == PAGE_LARGE && large_remake(heap, i));
        if (!right) {
            return false;
        }
        i += page->kind == PAGE_LARGE ? page->count : 1;
    }
    return true;
}

enum ga_status sg_kernel_heap_remake(uint64_t base, uint64_t bytes, const void *records,
                                     size_t record_bytes, struct sg_kernel_heap **out)
{
    struct sg_kernel_heap *heap = sg_kernel_heap_make(base, bytes);
    if (heap == NULL) {
        return GA_NO_MEMORY;
    }
    bool right = record_bytes == sg_kernel_heap_record_bytes(heap);
    if (right) {
        memcpy(heap->pages, records, record_bytes);
        right = pages_remake(heap);
    }
    if (!right) {
        sg_kernel_heap_free(heap);
        return GA_INVALID;
    }
    *out = heap;
    return GA_OK;
}
