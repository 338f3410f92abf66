/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of instructions, and the beginnings of basic blocks. PTX instructions stand for those of
 * the hardware: instructions that the hardware's compiler removes (moves, parameters, address
 * spaces) cost nothing, instructions that it expands cost several. The weights are those of the
 * timing model (model/constants.def). */
#include "softgpu/ptx/decode_cost.h"

#include <string.h>

#include "model/counts.h"
#include "softgpu/engine/cost.h"
#include "softgpu/exec/cost.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/type.h"
#include "model/constants.h"

static void decode_cost_add(struct sg_cost *cost, enum model_count kind, uint32_t count)
{
    cost->of[kind] += count;
}

static bool is_one_of(struct sg_text text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sg_text_is(text, names[i])) {
            return true;
        }
    }
    return false;
}
#define IS_ONE_OF(text, names) is_one_of(text, names, sizeof(names) / sizeof *(names))

static bool has_modifier(const struct sg_ptx_insn *insn, const char *name)
{
    for (uint32_t i = 0; i < insn->modifier_count; i++) {
        if (sg_text_is(insn->modifiers[i], name)) {
            return true;
        }
    }
    return false;
}

/* The last type is that of the operands (cvt, set) or the only one. */
static enum sg_type last_type(const struct sg_ptx_insn *insn)
{
    enum sg_type type = SG_TYPE_NONE;
    for (uint32_t i = 0; i < insn->modifier_count; i++) {
        enum sg_type found = sg_type_of(insn->modifiers[i]);
        type = found != SG_TYPE_NONE ? found : type;
    }
    return type;
}

static uint32_t decode_cost_elements(const struct sg_ptx_insn *insn)
{
    return has_modifier(insn, "v8")   ? 8
           : has_modifier(insn, "v4") ? 4
           : has_modifier(insn, "v2") ? 2
                                      : 1;
}

static void access_cost(struct sg_cost *cost, const struct sg_ptx_insn *insn, uint32_t times)
{
    uint32_t bytes = sg_type_bytes(last_type(insn)) * decode_cost_elements(insn);
    bool fixed = has_modifier(insn, "param") || has_modifier(insn, "const");
    bytes = bytes != 0 ? bytes : 4;
    if (fixed) {
        return; /* they become operands of other instructions */
    }
    if (has_modifier(insn, "shared") || has_modifier(insn, "shared::cta") ||
        has_modifier(insn, "shared::cluster")) {
        decode_cost_add(cost, MODEL_COUNT_SHARED, (bytes + 3) / 4 * times);
    } else {
        decode_cost_add(cost, MODEL_COUNT_GLOBAL, times);
        decode_cost_add(cost, MODEL_COUNT_BYTES, bytes * times);
    }
    decode_cost_add(cost, MODEL_COUNT_ISSUE, 1);
}

/* "m16n8k16": the number of multiplications. */
static uint32_t matrix_products(const struct sg_ptx_insn *insn)
{
    for (uint32_t i = 0; i < insn->modifier_count; i++) {
        struct sg_text text = insn->modifiers[i];
        uint32_t product = 1, number = 0, numbers = 0;
        for (uint32_t at = 0; at < text.len && text.at[0] == 'm'; at++) {
            bool digit = text.at[at] >= '0' && text.at[at] <= '9';
            number = digit ? number * 10 + (uint32_t)(text.at[at] - '0') : number;
            if (number != 0 && (!digit || at + 1 == text.len)) {
                product *= number;
                number = 0;
                numbers++;
            }
        }
        if (numbers == 3) {
            return product;
        }
    }
    return 0;
}

static void matrix_cost(struct sg_cost *cost, const struct sg_ptx_insn *insn)
{
    if (has_modifier(insn, "load") || has_modifier(insn, "store")) {
        access_cost(cost, insn, MODEL_WEIGHT_FRAGMENT);
        return;
    }
    decode_cost_add(cost, MODEL_COUNT_MATRIX, matrix_products(insn) / SG_LANES);
    decode_cost_add(cost, MODEL_COUNT_ISSUE, 1);
}

static void arithmetic_cost(struct sg_cost *cost, const struct sg_ptx_insn *insn)
{
    static const char *const special[] = {"ex2",   "lg2",  "sin",  "cos", "rcp",
                                          "rsqrt", "sqrt", "tanh", "div"};
    enum sg_type type = last_type(insn);
    bool f64 = type == SG_TYPE_F64, f32 = sg_type_is_float(type) && !f64;
    bool divides = sg_text_is(insn->opcode, "div") || sg_text_is(insn->opcode, "rem");
    bool long_way = divides || has_modifier(insn, "rn");
    uint32_t wide = sg_type_bytes(type) == 8 ? MODEL_WEIGHT_INT64 : 1, count = 1;
    if ((f32 || f64) && IS_ONE_OF(insn->opcode, special)) {
        decode_cost_add(cost, MODEL_COUNT_SPECIAL, 1);
        count = f64 ? MODEL_WEIGHT_F64_SPECIAL : long_way ? MODEL_WEIGHT_F32_SPECIAL : 0;
        decode_cost_add(cost, f64 ? MODEL_COUNT_F64 : MODEL_COUNT_F32, count++);
    } else if (f64 || f32) {
        decode_cost_add(cost, f64 ? MODEL_COUNT_F64 : MODEL_COUNT_F32, 1);
    } else {
        count = divides ? MODEL_WEIGHT_INT_DIV * wide : wide;
        decode_cost_add(cost, MODEL_COUNT_INT, count);
    }
    decode_cost_add(cost, MODEL_COUNT_ISSUE, count);
}

static void insn_cost(struct sg_cost *cost, const struct sg_ptx_insn *insn)
{
    static const char *const accesses[] = {"ld", "st", "ldu", "cp", "ldmatrix", "stmatrix"};
    static const char *const texture[] = {"tex", "tld4", "suld", "sust"};
    static const char *const atomics[] = {"atom", "red", "sured"};
    static const char *const matrix[] = {"mma", "wmma"};
    static const char *const free_ones[] = {"mov", "cvta", "prefetch", "prefetchu", "pragma"};
    static const char *const control[] = {"bra",   "brx",       "call",     "ret",
                                          "exit",  "bar",       "barrier",  "membar",
                                          "fence", "nanosleep", "mbarrier", "trap"};
    struct sg_text opcode = insn->opcode;
    if (IS_ONE_OF(opcode, accesses)) {
        access_cost(cost, insn, 1);
    } else if (IS_ONE_OF(opcode, texture)) {
        access_cost(cost, insn, 1);
    } else if (IS_ONE_OF(opcode, atomics)) {
        access_cost(cost, insn, MODEL_WEIGHT_ATOMIC);
    } else if (IS_ONE_OF(opcode, matrix)) {
        matrix_cost(cost, insn);
    } else if (IS_ONE_OF(opcode, control)) {
        decode_cost_add(cost, MODEL_COUNT_ISSUE, 1);
    } else if (!IS_ONE_OF(opcode, free_ones)) {
        arithmetic_cost(cost, insn);
    }
}

/* ---- basic blocks ---- */

static bool ends_block(const struct sg_ptx_insn *insn)
{
    static const char *const enders[] = {"bra", "brx", "call", "ret", "exit", "trap"};
    return IS_ONE_OF(insn->opcode, enders);
}

static void mark_labels(const struct sg_operand *operand, uint8_t *heads, uint32_t count)
{
    if (operand->kind == SG_OPERAND_LABEL && operand->value < count) {
        heads[operand->value] = 1;
    }
    const struct sg_ptx_table *table = operand->kind == SG_OPERAND_TABLE ? operand->table : NULL;
    for (uint32_t i = 0; table != NULL && i < table->label_count; i++) {
        if (table->labels[i] < count) {
            heads[table->labels[i]] = 1;
        }
    }
}

uint8_t *sg_cost_heads(struct sg_decoder *decoder, const struct sg_ptx_func *func)
{
    uint32_t count = func->insns.count;
    if (!sg_cost_counted() || count == 0) {
        return NULL;
    }
    uint8_t *heads = sg_load_alloc(decoder->load, &decoder->load->scratch, count);
    memset(heads, 0, count);
    heads[0] = 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct sg_ptx_insn *insn = &func->insns.items[i];
        for (uint32_t o = 0; o < insn->operand_count; o++) {
            mark_labels(&insn->operands[o], heads, count);
        }
        if (ends_block(insn) && i + 1 < count) {
            heads[i + 1] = 1;
        }
    }
    return heads;
}

void sg_cost_begin(struct sg_decoder *decoder)
{
    struct sg_cost *cost = SG_LOAD_PUSH(decoder->load, decoder->costs);
    memset(cost, 0, sizeof *cost);
    struct sg_draft *draft = sg_emit(decoder, sg_cost_pass, sg_cost_pass);
    draft->in.imm = decoder->costs.count - 1;
}

void sg_cost_insn(struct sg_decoder *decoder, const struct sg_ptx_insn *insn)
{
    insn_cost(&decoder->costs.items[decoder->costs.count - 1], insn);
}

void sg_cost_finish(struct sg_decoder *decoder)
{
    uint32_t count = decoder->costs.count;
    if (count != 0) {
        struct sg_cost *costs =
            sg_load_alloc(decoder->load, decoder->load->keep, count * sizeof *costs);
        memcpy(costs, decoder->costs.items, count * sizeof *costs);
        decoder->code->costs = costs;
        decoder->code->cost_count = count;
    }
}
