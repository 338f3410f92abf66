/* SPDX-License-Identifier: Apache-2.0 */
/* Advice: an array of disjoint pieces in order of address. Memory outside of all pieces has no
 * advice. */
#include "front/memory/advice.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct piece {
    uint64_t start, end;
    struct front_advice advice;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;
static size_t count, room;

/* The index of the first piece that ends behind the address. */
static size_t piece_at(uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pieces[middle].end > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void advice_insert(size_t at, uint64_t start, uint64_t end,
                          const struct front_advice *advice)
{
    struct piece made = {start, end, *advice};
    memmove(&pieces[at + 1], &pieces[at], (count - at) * sizeof *pieces);
    pieces[at] = made;
    count++;
}

/* Splits the piece that contains the address. There is room. */
static void advice_cut(uint64_t address)
{
    size_t at = piece_at(address);
    if (at < count && pieces[at].start < address) {
        advice_insert(at, pieces[at].start, address, &pieces[at].advice);
        pieces[at + 1].start = address;
    }
}

/* Makes room for the worst case: a gap before each piece of the range, and two splits. */
static bool advice_reserve(uint64_t start, uint64_t end)
{
    size_t wanted = count + (piece_at(end) - piece_at(start)) + 4;
    if (wanted <= room) {
        return true;
    }
    struct piece *grown = realloc(pieces, 2 * wanted * sizeof *pieces);
    if (grown != NULL) {
        pieces = grown;
        room = 2 * wanted;
    }
    return grown != NULL;
}

static bool same_place(const CUmemLocation *a, const CUmemLocation *b)
{
    return a->type == b->type && a->id == b->id;
}

void front_advice_get(uint64_t start, uint64_t end, struct front_advice *out)
{
    const CUmemLocation nowhere = {0};
    pthread_mutex_lock(&lock);
    size_t at = piece_at(start);
    memset(out, 0, sizeof *out);
    if (at < count && pieces[at].start <= start) {
        *out = pieces[at].advice;
    }
    while (at < count && pieces[at].start <= start && start < end) {
        const struct front_advice *advice = &pieces[at].advice;
        out->read_mostly &= advice->read_mostly;
        out->preferred = same_place(&out->preferred, &advice->preferred) ? out->preferred : nowhere;
        out->prefetched =
            same_place(&out->prefetched, &advice->prefetched) ? out->prefetched : nowhere;
        for (size_t i = 0; i < sizeof out->accessed / sizeof out->accessed[0]; i++) {
            out->accessed[i] &= advice->accessed[i];
        }
        start = pieces[at++].end;
    }
    if (start < end) { /* a gap */
        memset(out, 0, sizeof *out);
    }
    pthread_mutex_unlock(&lock);
}

bool front_advice_set(uint64_t start, uint64_t end,
                      void (*change)(struct front_advice *advice, const void *user),
                      const void *user)
{
    static const struct front_advice none;
    pthread_mutex_lock(&lock);
    bool fits = advice_reserve(start, end);
    if (fits) {
        advice_cut(start);
        advice_cut(end);
    }
    for (size_t at = piece_at(start); fits && start < end; at++) {
        uint64_t next = at < count && pieces[at].start < end ? pieces[at].start : end;
        if (next > start) {
            advice_insert(at, start, next, &none);
        }
        change(&pieces[at].advice, user);
        start = pieces[at].end;
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

/* Freed memory is a whole allocation, and pieces never reach beyond the allocation they were
 * made in. */
void front_advice_forget(uint64_t start, uint64_t end)
{
    pthread_mutex_lock(&lock);
    size_t first = piece_at(start), last = piece_at(end - 1);
    last += last < count && pieces[last].start < end;
    if (last > first) {
        memmove(&pieces[first], &pieces[last], (count - last) * sizeof *pieces);
        count -= last - first;
    }
    pthread_mutex_unlock(&lock);
}
