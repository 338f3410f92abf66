/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies, mbarriers, clusters, and advice about caches. */
#include "softgpu/ptx/decode_async.h"

#include "softgpu/exec/async.h"

#include <string.h>

#include "softgpu/exec/cluster.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_memory.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/type.h"

static const struct sg_operand *operand(const struct sg_decoder *decoder, uint32_t index)
{
    return &decoder->at->operands[index];
}

static struct sg_draft *decode_async_emit(struct sg_decoder *decoder, sg_handler *handler)
{
    return sg_guard(decoder, sg_emit(decoder, handler, handler));
}

/* Modifiers of asynchronous instructions; ptxas checks which of them go together. */
static const char scope_words[] = "relaxed release acquire weak cta cluster gpu sys shared "
                                  "shared::cta shared::cluster b64 ";

static void decode_async_check_words(struct sg_decoder *decoder, const char *words)
{
    char allowed[512] = "";
    strcat(strcat(allowed, scope_words), words);
    sg_modifiers_check(decoder, allowed, true);
}

/* ---- mbarrier ---- */

static enum sg_mem_space barrier_space(const struct sg_decoder *decoder)
{
    return sg_modifier(decoder, "shared") || sg_modifier(decoder, "shared::cta") ||
                   sg_modifier(decoder, "shared::cluster")
               ? SG_MEM_SHARED
               : SG_MEM_GENERIC;
}

static void emit_barrier(struct sg_decoder *decoder, enum sg_mbarrier_op op, uint32_t a, uint32_t b,
                         uint32_t c, uint32_t d)
{
    struct sg_draft *draft = decode_async_emit(decoder, sg_mbarrier_do);
    draft->in.mode = (uint8_t)op;
    draft->in.a = a;
    draft->in.b = b;
    draft->in.c = c;
    draft->in.d = d;
    draft->reads = (uint8_t)(SG_FIELD_A | (b ? SG_FIELD_B : 0) | (c ? SG_FIELD_C : 0));
    draft->writes = d ? SG_FIELD_D : 0;
}

/* init, inval, expect_tx, complete_tx: no result */
static void decode_change(struct sg_decoder *decoder)
{
    bool inval = sg_modifier(decoder, "inval");
    enum sg_mbarrier_op op = inval                               ? SG_MBARRIER_INVAL
                             : sg_modifier(decoder, "init")      ? SG_MBARRIER_INIT
                             : sg_modifier(decoder, "expect_tx") ? SG_MBARRIER_EXPECT
                                                                 : SG_MBARRIER_COMPLETE;
    decode_async_check_words(decoder, "init inval expect_tx complete_tx");
    sg_operands_check(decoder, inval ? 1 : 2, inval ? 1 : 2);
    uint32_t a = sg_row_generic(decoder, operand(decoder, 0), barrier_space(decoder));
    uint32_t b = inval ? 0 : sg_row_source(decoder, operand(decoder, 1), SG_TYPE_B32);
    emit_barrier(decoder, op, a, b, 0, 0);
}

/* arrive and arrive_drop, with or without a result, a count, and bytes to expect */
static void decode_arrive(struct sg_decoder *decoder)
{
    bool drop = sg_modifier(decoder, "arrive_drop"), expect = sg_modifier(decoder, "expect_tx");
    decode_async_check_words(decoder, "arrive arrive_drop expect_tx noComplete");
    uint32_t first = operand(decoder, 0)->kind == SG_OPERAND_ADDRESS ? 0 : 1;
    sg_operands_check(decoder, first + 1 + expect, first + 2);
    bool counted = !expect && decoder->at->operand_count == first + 2;
    uint32_t a = sg_row_generic(decoder, operand(decoder, first), barrier_space(decoder));
    uint32_t count = counted ? sg_row_source(decoder, operand(decoder, first + 1), SG_TYPE_B32)
                             : sg_row_literal(decoder, 1, false);
    uint32_t bytes = expect ? sg_row_source(decoder, operand(decoder, first + 1), SG_TYPE_B32) : 0;
    bool wanted = first && operand(decoder, 0)->kind != SG_OPERAND_SINK;
    uint32_t d = wanted ? sg_row_target(decoder, operand(decoder, 0), SG_TYPE_B64) : 0;
    emit_barrier(decoder,
                 expect ? (drop ? SG_MBARRIER_DROP_EXPECT : SG_MBARRIER_ARRIVE_EXPECT)
                 : drop ? SG_MBARRIER_ARRIVE_DROP
                        : SG_MBARRIER_ARRIVE,
                 a, count, bytes, d);
}

/* test_wait, try_wait. A failing try lets other groups run first. */
static void decode_wait(struct sg_decoder *decoder)
{
    bool parity = sg_modifier(decoder, "parity"), try = sg_modifier(decoder, "try_wait");
    decode_async_check_words(decoder, "test_wait try_wait parity");
    sg_operands_check(decoder, 3, try ? 4 : 3);
    uint32_t a = sg_row_generic(decoder, operand(decoder, 1), barrier_space(decoder));
    uint32_t b = sg_row_source(decoder, operand(decoder, 2), parity ? SG_TYPE_B32 : SG_TYPE_B64);
    if (decoder->at->operand_count == 4) { /* the time limit is a hint */
        sg_row_source(decoder, operand(decoder, 3), SG_TYPE_B32);
    }
    uint32_t d = sg_row_target(decoder, operand(decoder, 0), SG_TYPE_PRED);
    struct sg_draft *draft =
        decode_async_emit(decoder, parity ? sg_mbarrier_test_parity : sg_mbarrier_test_state);
    draft->in.a = a;
    draft->in.b = b;
    draft->in.d = d;
    draft->reads = SG_FIELD_A | SG_FIELD_B;
    draft->writes = SG_FIELD_D;
    if (try) {
        draft = sg_emit(decoder, NULL, NULL);
        draft->in.kind = SG_KIND_YIELD;
        draft->in.guard = d;
        draft->in.guard_negated = 1;
    }
}

static void decode_pending(struct sg_decoder *decoder)
{
    decode_async_check_words(decoder, "pending_count");
    sg_operands_check(decoder, 2, 2);
    uint32_t a = sg_row_source(decoder, operand(decoder, 1), SG_TYPE_B64);
    uint32_t d = sg_row_target(decoder, operand(decoder, 0), SG_TYPE_B32);
    struct sg_draft *draft = decode_async_emit(decoder, sg_mbarrier_pending);
    draft->in.a = a;
    draft->in.d = d;
    draft->reads = SG_FIELD_A;
    draft->writes = SG_FIELD_D;
}

void sg_decode_mbarrier(struct sg_decoder *decoder)
{
    if (sg_modifier(decoder, "test_wait") || sg_modifier(decoder, "try_wait")) {
        decode_wait(decoder);
    } else if (sg_modifier(decoder, "arrive") || sg_modifier(decoder, "arrive_drop")) {
        decode_arrive(decoder);
    } else if (sg_modifier(decoder, "pending_count")) {
        decode_pending(decoder);
    } else if (sg_modifier(decoder, "init") || sg_modifier(decoder, "inval") ||
               sg_modifier(decoder, "expect_tx") || sg_modifier(decoder, "complete_tx")) {
        decode_change(decoder);
    } else {
        sg_decode_unsupported(decoder);
    }
}

/* ---- cp.async ---- */

static const char cache_words[] = "L1::evict_normal L1::evict_unchanged L1::evict_first "
                                  "L1::evict_last L1::no_allocate L2::64B L2::128B L2::256B "
                                  "L2::evict_last L2::evict_normal L2::evict_first L2::cache_hint";

/* cp.async.mbarrier.arrive: the copies are complete already. Without .noinc the instruction itself
 * counts the arrival, so only the barrier is checked. */
static void decode_copy_arrive(struct sg_decoder *decoder)
{
    decode_async_check_words(decoder, "async mbarrier arrive noinc");
    sg_operands_check(decoder, 1, 1);
    uint32_t a = sg_row_generic(decoder, operand(decoder, 0), barrier_space(decoder));
    bool noinc = sg_modifier(decoder, "noinc");
    emit_barrier(decoder, noinc ? SG_MBARRIER_ARRIVE : SG_MBARRIER_EXPECT, a,
                 sg_row_literal(decoder, noinc, false), 0, 0);
}

static void decode_copy(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    char words[512] = "async ca cg global ";
    decode_async_check_words(decoder, strcat(words, cache_words));
    bool hint = sg_modifier(decoder, "L2::cache_hint");
    sg_operands_check(decoder, 3u + hint, 4u + hint);
    uint32_t a = sg_row_generic(decoder, operand(decoder, 0), SG_MEM_SHARED);
    uint32_t b = sg_row_generic(decoder, operand(decoder, 1), SG_MEM_GLOBAL);
    const struct sg_operand *size = operand(decoder, 2);
    if (size->kind != SG_OPERAND_INT ||
        (size->value != 4 && size->value != 8 && size->value != 16)) {
        sg_decode_wrong(decoder, "a size that is not 4, 8 or 16");
    }
    uint32_t c = 0, ignore = 0;
    if (insn->operand_count == 4u + hint) {
        const struct sg_operand *extra = operand(decoder, 3);
        bool predicate = extra->kind == SG_OPERAND_REG &&
                         sg_row_kind(decoder, sg_row_reg(decoder, extra->reg)) == SG_ROW_PREDICATE;
        if (predicate) {
            ignore = sg_row_source(decoder, extra, SG_TYPE_PRED);
        } else {
            c = sg_row_source(decoder, extra, SG_TYPE_B32);
        }
    }
    c = c ? c : sg_row_literal(decoder, size->value, false);
    struct sg_draft *draft = decode_async_emit(decoder, sg_async_copy);
    draft->in.a = a;
    draft->in.b = b;
    draft->in.c = c;
    draft->in.d = ignore;
    draft->in.imm = (int64_t)size->value;
    draft->reads = (uint8_t)(SG_FIELD_A | SG_FIELD_B | SG_FIELD_C | (ignore ? SG_FIELD_D : 0));
}

/* ---- bulks ---- */

static void read_reduction(struct sg_decoder *decoder, uint8_t *op, int64_t *type)
{
    static const char *const ops[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    static const struct {
        const char *name;
        enum sg_reduce_type type;
    } types[] = {{"u32", SG_REDUCE_U32}, {"s32", SG_REDUCE_S32},   {"u64", SG_REDUCE_U64},
                 {"s64", SG_REDUCE_S64}, {"b32", SG_REDUCE_U32},   {"b64", SG_REDUCE_U64},
                 {"f16", SG_REDUCE_F16}, {"bf16", SG_REDUCE_BF16}, {"f32", SG_REDUCE_F32},
                 {"f64", SG_REDUCE_F64}};
    struct sg_text last = decoder->at->modifiers[decoder->at->modifier_count - 1];
    int found = 0;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (sg_modifier(decoder, ops[i])) {
            *op = (uint8_t)i;
            found |= 1;
        }
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (sg_text_is(last, types[i].name)) {
            *type = types[i].type;
            found |= 2;
        }
    }
    bool bits = *op >= SG_REDUCE_AND, floating = *type >= SG_REDUCE_F16;
    if (found != 3 || (floating && (bits || *op == SG_REDUCE_INC || *op == SG_REDUCE_DEC))) {
        sg_decode_unsupported(decoder);
    }
}

/* The spaces: in all three forms the destination is named first. */
static void bulk_spaces(struct sg_decoder *decoder, enum sg_mem_space *to, enum sg_mem_space *from)
{
    enum sg_mem_space spaces[2];
    unsigned count = 0;
    for (uint32_t i = 0; i < decoder->at->modifier_count && count < 2; i++) {
        struct sg_text word = decoder->at->modifiers[i];
        if (sg_text_is(word, "global")) {
            spaces[count++] = SG_MEM_GLOBAL;
        } else if (sg_text_is(word, "shared::cta") || sg_text_is(word, "shared::cluster")) {
            spaces[count++] = SG_MEM_SHARED;
        }
    }
    if (count != 2) {
        sg_decode_unsupported(decoder);
    }
    *to = spaces[0];
    *from = spaces[1];
}

static void decode_bulk(struct sg_decoder *decoder, bool reduce)
{
    char words[640] = "async bulk reduce global bulk_group mbarrier::complete_tx::bytes "
                      "multicast::cluster noftz add min max inc dec and or xor ";
    decode_async_check_words(decoder, strcat(words, cache_words));
    bool barrier = sg_modifier(decoder, "mbarrier::complete_tx::bytes");
    bool multicast = sg_modifier(decoder, "multicast::cluster");
    bool hint = sg_modifier(decoder, "L2::cache_hint");
    enum sg_mem_space to, from;
    bulk_spaces(decoder, &to, &from);
    uint32_t count = 3u + barrier + multicast;
    sg_operands_check(decoder, count + hint, count + hint);
    struct sg_insn in = {0};
    if (reduce) {
        read_reduction(decoder, &in.mode, &in.imm);
    }
    in.a = sg_row_generic(decoder, operand(decoder, 0), to);
    in.b = sg_row_generic(decoder, operand(decoder, 1), from);
    in.c = sg_row_source(decoder, operand(decoder, 2), SG_TYPE_B32);
    in.e = barrier ? sg_row_generic(decoder, operand(decoder, 3), SG_MEM_SHARED) : 0;
    in.d = multicast ? sg_row_source(decoder, operand(decoder, 3u + barrier), SG_TYPE_B16) : 0;
    struct sg_draft *draft = decode_async_emit(decoder, reduce ? sg_async_reduce : sg_async_bulk);
    draft->in.a = in.a;
    draft->in.b = in.b;
    draft->in.c = in.c;
    draft->in.d = in.d;
    draft->in.e = in.e;
    draft->in.mode = in.mode;
    draft->in.imm = in.imm;
    draft->reads = (uint8_t)(SG_FIELD_A | SG_FIELD_B | SG_FIELD_C | (in.d ? SG_FIELD_D : 0) |
                             (in.e ? SG_FIELD_E : 0));
}

void sg_decode_cp(struct sg_decoder *decoder)
{
    if (sg_modifier(decoder, "tensor") || !sg_modifier(decoder, "async")) {
        sg_decode_unsupported(decoder);
    }
    bool reduce = sg_modifier(decoder, "reduce"), bulk = sg_modifier(decoder, "bulk");
    if (sg_modifier(decoder, "commit_group") || sg_modifier(decoder, "wait_all") ||
        sg_modifier(decoder, "wait_group")) { /* all copies are complete */
        sg_modifiers_check(decoder, "async bulk commit_group wait_all wait_group read", false);
        sg_operands_check(decoder, 0, 1);
        decode_async_emit(decoder, sg_misc_nothing);
    } else if (sg_modifier(decoder, "prefetch")) {
        sg_operands_check(decoder, 2, 3);
        decode_async_emit(decoder, sg_misc_nothing);
    } else if (bulk) {
        decode_bulk(decoder, reduce);
    } else if (sg_modifier(decoder, "mbarrier")) {
        decode_copy_arrive(decoder);
    } else {
        decode_copy(decoder);
    }
}

/* ---- st.async, red.async ---- */

void sg_decode_store_async(struct sg_decoder *decoder)
{
    bool reduce = sg_text_is(decoder->at->opcode, "red");
    decode_async_check_words(
        decoder, "async mbarrier::complete_tx::bytes v2 v4 add min max inc dec and or xor");
    sg_operands_check(decoder, 3, 3);
    unsigned count = sg_modifier(decoder, "v4") ? 4 : sg_modifier(decoder, "v2") ? 2 : 1;
    enum sg_type type = sg_type_of(decoder->at->modifiers[decoder->at->modifier_count - 1]);
    unsigned bytes = sg_type_bytes(type);
    if ((bytes != 4 && bytes != 8) || !sg_modifier(decoder, "mbarrier::complete_tx::bytes") ||
        (reduce && count != 1)) {
        sg_decode_unsupported(decoder);
    }
    struct sg_async_element *element =
        sg_load_alloc(decoder->load, decoder->load->keep, sizeof *element);
    *element = (struct sg_async_element){.bytes = (uint8_t)bytes, .reduce = reduce};
    if (reduce) {
        uint8_t op = 0;
        int64_t reduce_type = 0;
        read_reduction(decoder, &op, &reduce_type);
        element->op = (enum sg_reduce_op)op;
        element->type = (enum sg_reduce_type)reduce_type;
    }
    const struct sg_operand *value = operand(decoder, 1);
    bool list = value->kind == SG_OPERAND_LIST;
    if ((list ? value->item_count : 1) != count) {
        sg_decode_wrong(decoder, "a list of the wrong length");
    }
    uint32_t rows[4];
    for (unsigned i = 0; i < count; i++) {
        rows[i] = sg_row_source(decoder, list ? &value->items[i] : value, type);
    }
    uint32_t a = sg_row_generic(decoder, operand(decoder, 0), SG_MEM_SHARED);
    uint32_t e = sg_row_generic(decoder, operand(decoder, 2), SG_MEM_SHARED);
    struct sg_draft *draft = decode_async_emit(decoder, sg_async_store);
    sg_emit_list(decoder, draft, rows, count, SG_LIST_READ);
    draft->in.a = a;
    draft->in.e = e;
    draft->in.mode = (uint8_t)count;
    draft->in.imm = (int64_t)(intptr_t)element;
    draft->reads = SG_FIELD_A | SG_FIELD_E;
}
