/* SPDX-License-Identifier: Apache-2.0 */
/* Slot allocation: rows that never live at the same time share a slot. Liveness over the control
 * flow of a function, then linear scan.
 *
 * Rows are columns of lanes and a lane only writes its own column, so the liveness of one lane's
 * path suffices, however the warp diverges. A result never gets the slot of an operand that ends at
 * the same instruction: handlers may assume that rows are equal or do not overlap.
 *
 * A row is momentary if no lane holds a value in it while its group waits for its turn. Momentary
 * rows have slots of their own: an instruction may write all lanes of such a row, even lanes of
 * other groups. */
#include "softgpu/ptx/decode_slots.h"

#include "softgpu/ptx/decode.h"

#include <stdlib.h>
#include <string.h>

struct interval {
    uint32_t row, start, end; /* instruction indices, inclusive */
};

struct liveness {
    struct sg_decoder *decoder;
    uint32_t first, count; /* instructions */
    uint32_t *local;       /* row -> 1 + its number in this function, 0: another function's */
    uint32_t *rows;        /* the reverse, without the 1 */
    uint32_t row_count, words;
    uint32_t *block_of;    /* instruction -> block */
    uint32_t *block_first; /* block -> instruction, one more at the end */
    uint32_t block_count;
    uint32_t *stops; /* instruction -> number of places before it where a group may wait */
    uint64_t *in, *out, *gen, *kill; /* per block, `words` each */
    struct interval *intervals;
};

static void *scratch(struct liveness *l, size_t bytes)
{
    return sg_load_alloc(l->decoder->load, &l->decoder->load->scratch, bytes + 1);
}

static const struct sg_draft *draft_at(const struct liveness *l, uint32_t at)
{
    return &l->decoder->drafts.items[l->first + at];
}

static uint32_t field(const struct sg_insn *in, unsigned f)
{
    const uint32_t fields[SG_FIELDS] = {in->d, in->a, in->b, in->c, in->e, in->f};
    return fields[f];
}

static bool ends(const struct sg_draft *draft)
{
    unsigned kind = draft->in.kind;
    return !draft->in.guard &&
           (kind == SG_KIND_BRANCH || kind == SG_KIND_EXIT || kind == SG_KIND_RETURN ||
            kind == SG_KIND_TRAP || kind == SG_KIND_LOST);
}

/* Groups may wait before and after such an instruction, but not within a run of others. */
static bool is_special(const struct sg_draft *draft)
{
    return draft->in.kind != SG_KIND_PLAIN || draft->in.guard;
}

static void number_rows(struct liveness *l, uint32_t slot)
{
    const struct sg_decoder *decoder = l->decoder;
    l->local = scratch(l, decoder->rows.count * sizeof *l->local);
    l->rows = scratch(l, decoder->rows.count * sizeof *l->rows);
    for (uint32_t r = 1; r < decoder->rows.count; r++) {
        const struct sg_draft_row *row = &decoder->rows.items[r];
        if (!row->constant && row->func == slot) {
            l->rows[l->row_count++] = r;
            l->local[r] = l->row_count;
        }
    }
    l->words = (l->row_count + 63) / 64;
}

static void find_blocks(struct liveness *l)
{
    uint8_t *leader = scratch(l, l->count + 1);
    leader[0] = 1;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct sg_draft *draft = draft_at(l, i);
        if (draft->in.kind == SG_KIND_BRANCH) {
            leader[draft->in.imm - l->first] = 1;
            leader[i + 1] = 1;
        } else if (ends(draft)) {
            leader[i + 1] = 1;
        }
    }
    l->block_of = scratch(l, l->count * sizeof *l->block_of);
    l->stops = scratch(l, l->count * sizeof *l->stops);
    l->block_first = scratch(l, (l->count + 1) * sizeof *l->block_first);
    for (uint32_t i = 0; i < l->count; i++) {
        if (leader[i]) {
            l->block_first[l->block_count++] = i;
        }
        l->block_of[i] = l->block_count - 1;
        bool stop = leader[i] || is_special(draft_at(l, i)) ||
                    is_special(draft_at(l, i - 1)); /* the first one is a leader */
        l->stops[i] = (i ? l->stops[i - 1] : 0) + stop;
    }
    l->block_first[l->block_count] = l->count;
}

static void decode_slots_see(struct liveness *l, uint32_t row, uint32_t at)
{
    struct interval *interval = &l->intervals[l->local[row] - 1];
    interval->start = at < interval->start ? at : interval->start;
    interval->end = at > interval->end ? at : interval->end;
}

/* A read is live before the block unless the block has written the row before, unconditionally. */
static void decode_slots_note_read(struct liveness *l, uint32_t block, uint32_t row, uint32_t at)
{
    uint32_t n = l->local[row];
    if (!n) {
        return;
    }
    decode_slots_see(l, row, at);
    uint64_t bit = UINT64_C(1) << ((n - 1) & 63);
    size_t word = (size_t)block * l->words + (n - 1) / 64;
    if (!(l->kill[word] & bit)) {
        l->gen[word] |= bit;
    }
}

static void note_write(struct liveness *l, uint32_t block, uint32_t row, uint32_t at, bool certain)
{
    uint32_t n = l->local[row];
    if (!n) {
        return;
    }
    decode_slots_see(l, row, at);
    if (certain) {
        l->kill[(size_t)block * l->words + (n - 1) / 64] |= UINT64_C(1) << ((n - 1) & 63);
    }
}

static void scan_insn(struct liveness *l, uint32_t at)
{
    const struct sg_draft *draft = draft_at(l, at);
    uint32_t block = l->block_of[at];
    bool guarded = draft->in.guard != 0;
    if (guarded) {
        decode_slots_note_read(l, block, draft->in.guard, at);
    }
    const struct sg_list_row *list =
        draft->list_count ? &l->decoder->lists.items[draft->list] : NULL;
    for (unsigned f = 0; f < SG_FIELDS; f++) {
        bool reads = draft->reads >> f & 1, writes = draft->writes >> f & 1;
        if (reads || (writes && guarded)) { /* if the guard is false, the old value stays */
            decode_slots_note_read(l, block, field(&draft->in, f), at);
        }
    }
    for (uint32_t i = 0; i < draft->list_count; i++) {
        if ((list[i].use & SG_LIST_READ) || guarded) {
            decode_slots_note_read(l, block, list[i].row, at);
        }
    }
    for (unsigned f = 0; f < SG_FIELDS; f++) {
        if (draft->writes >> f & 1) {
            note_write(l, block, field(&draft->in, f), at, !guarded);
        }
    }
    for (uint32_t i = 0; i < draft->list_count; i++) {
        if (list[i].use & SG_LIST_WRITE) {
            note_write(l, block, list[i].row, at, !guarded);
        }
    }
}

static bool decode_slots_merge(struct liveness *l, uint32_t block, uint32_t successor)
{
    bool changed = false;
    uint64_t *out = l->out + (size_t)block * l->words;
    const uint64_t *in = l->in + (size_t)successor * l->words;
    for (uint32_t w = 0; w < l->words; w++) {
        changed |= (in[w] & ~out[w]) != 0;
        out[w] |= in[w];
    }
    return changed;
}

static void flow(struct liveness *l)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = l->block_count; b-- > 0;) {
            const struct sg_draft *last = draft_at(l, l->block_first[b + 1] - 1);
            if (last->in.kind == SG_KIND_BRANCH) {
                changed |= decode_slots_merge(l, b, l->block_of[last->in.imm - l->first]);
            }
            if (!ends(last) && b + 1 < l->block_count) {
                changed |= decode_slots_merge(l, b, b + 1);
            }
            uint64_t *in = l->in + (size_t)b * l->words;
            for (uint32_t w = 0; w < l->words; w++) {
                size_t at = (size_t)b * l->words + w;
                uint64_t live = l->gen[at] | (l->out[at] & ~l->kill[at]);
                changed |= live != in[w];
                in[w] = live;
            }
        }
    }
}

static void stretch(struct liveness *l)
{
    for (uint32_t b = 0; b < l->block_count; b++) {
        for (uint32_t n = 0; n < l->row_count; n++) {
            size_t word = (size_t)b * l->words + n / 64;
            if (l->in[word] >> (n & 63) & 1) {
                decode_slots_see(l, l->rows[n], l->block_first[b]);
            }
            if (l->out[word] >> (n & 63) & 1) {
                decode_slots_see(l, l->rows[n], l->block_first[b + 1] - 1);
            }
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start ? 1 : -1)
                                : (x->row > y->row) - (x->row < y->row);
}

/* Slots of one kind: used ones with the end of their interval, and free ones. */
struct slots {
    uint32_t *end, *freed; /* end: per slot */
    uint32_t count, free_count;
    uint8_t *used;
};

static void expire(struct slots *slots, uint32_t now)
{
    for (uint32_t s = 0; s < slots->count; s++) {
        if (slots->used[s] && slots->end[s] < now) {
            slots->used[s] = 0;
            slots->freed[slots->free_count++] = s;
        }
    }
}

static void scan(struct liveness *l, struct sg_func_info *info)
{
    struct slots slots[6]; /* by kind; then those of momentary rows */
    for (int k = 0; k < 6; k++) {
        slots[k] = (struct slots){scratch(l, l->row_count * sizeof(uint32_t)),
                                  scratch(l, l->row_count * sizeof(uint32_t)), 0, 0,
                                  scratch(l, l->row_count)};
    }
    if (l->row_count) {
        qsort(l->intervals, l->row_count, sizeof *l->intervals, by_start);
    }
    for (uint32_t i = 0; i < l->row_count; i++) {
        const struct interval *interval = &l->intervals[i];
        if (interval->start == UINT32_MAX) {
            continue; /* a register without uses */
        }
        struct sg_draft_row *row = &l->decoder->rows.items[interval->row];
        row->momentary = l->stops[interval->start] == l->stops[interval->end];
        struct slots *kind = &slots[row->kind + (row->momentary ? 3 : 0)];
        if (kind->free_count == 0) {
            expire(kind, interval->start);
        }
        uint32_t slot = kind->free_count ? kind->freed[--kind->free_count] : kind->count++;
        kind->used[slot] = 1;
        kind->end[slot] = interval->end;
        row->slot = slot;
        row->start = l->first + interval->start;
        row->end = l->first + interval->end;
    }
    for (uint32_t n = 0; n < l->row_count; n++) {
        struct sg_draft_row *row = &l->decoder->rows.items[l->rows[n]];
        row->slot += row->momentary ? slots[row->kind].count : 0;
    }
    for (int k = 0; k < 3; k++) {
        info->slots[k] = slots[k].count + slots[k + 3].count;
    }
}

void sg_slots_assign(struct sg_decoder *decoder, uint32_t slot)
{
    struct sg_func_info *info = &decoder->funcs.items[slot];
    struct liveness l = {
        .decoder = decoder, .first = info->first, .count = info->end - info->first};
    number_rows(&l, slot);
    find_blocks(&l);
    size_t set = (size_t)l.block_count * l.words * sizeof(uint64_t);
    l.in = scratch(&l, set);
    l.out = scratch(&l, set);
    l.gen = scratch(&l, set);
    l.kill = scratch(&l, set);
    l.intervals = scratch(&l, l.row_count * sizeof *l.intervals);
    for (uint32_t n = 0; n < l.row_count; n++) {
        l.intervals[n] = (struct interval){l.rows[n], UINT32_MAX, 0};
    }
    for (uint32_t i = 0; i < l.count; i++) {
        scan_insn(&l, i);
    }
    flow(&l);
    stretch(&l);
    scan(&l, info);
}
