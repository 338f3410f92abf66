/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel: its functions, labels, frames, and the final instruction array. */
#include "softgpu/ptx/decode_kernel.h"

#include <string.h>

#include "softgpu/ptx/call_graph.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_alu.h"
#include "softgpu/ptx/decode_async.h"
#include "softgpu/ptx/decode_atom.h"
#include "softgpu/ptx/decode_call.h"
#include "softgpu/ptx/decode_cluster.h"
#include "softgpu/ptx/decode_compare.h"
#include "softgpu/ptx/decode_convert.h"
#include "softgpu/ptx/decode_cost.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_flow.h"
#include "softgpu/ptx/decode_matrix.h"
#include "softgpu/ptx/decode_memory.h"
#include "softgpu/ptx/decode_move.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/decode_stack.h"
#include "softgpu/ptx/decode_texture.h"
#include "softgpu/ptx/decode_video.h"
#include "softgpu/ptx/opcode.h"

/* Sorted by name; all other opcodes are arithmetic. */
static const struct {
    const char *name;
    void (*decode)(struct sg_decoder *);
} opcodes[] = {
    {"activemask", sg_decode_simple},
    {"alloca", sg_decode_stack},
    {"applypriority", sg_decode_advice},
    {"atom", sg_decode_atom},
    {"bar", sg_decode_barrier},
    {"barrier", sg_decode_barrier},
    {"bra", sg_decode_bra},
    {"brkpt", sg_decode_simple},
    {"brx", sg_decode_brx},
    {"call", sg_decode_call},
    {"cp", sg_decode_cp},
    {"createpolicy", sg_decode_createpolicy},
    {"cvt", sg_decode_cvt},
    {"cvta", sg_decode_cvta},
    {"discard", sg_decode_advice},
    {"elect", sg_decode_elect},
    {"exit", sg_decode_simple},
    {"fence", sg_decode_fence},
    {"getctarank", sg_decode_mapa},
    {"griddepcontrol", sg_decode_advice},
    {"isspacep", sg_decode_isspacep},
    {"istypep", sg_decode_istypep},
    {"ld", sg_decode_load},
    {"ldmatrix", sg_decode_ldmatrix},
    {"ldu", sg_decode_load},
    {"mapa", sg_decode_mapa},
    {"match", sg_decode_match},
    {"mbarrier", sg_decode_mbarrier},
    {"membar", sg_decode_fence},
    {"mma", sg_decode_mma},
    {"mov", sg_decode_mov},
    {"movmatrix", sg_decode_ldmatrix},
    {"nanosleep", sg_decode_simple},
    {"pmevent", sg_decode_advice},
    {"prefetch", sg_decode_advice},
    {"prefetchu", sg_decode_advice},
    {"red", sg_decode_atom},
    {"redux", sg_decode_redux},
    {"ret", sg_decode_ret},
    {"set", sg_decode_set},
    {"setmaxnreg", sg_decode_advice},
    {"setp", sg_decode_setp},
    {"shfl", sg_decode_shfl},
    {"st", sg_decode_store},
    {"stackrestore", sg_decode_stack},
    {"stacksave", sg_decode_stack},
    {"stmatrix", sg_decode_ldmatrix},
    {"suld", sg_decode_surface},
    {"suq", sg_decode_query},
    {"sured", sg_decode_surface},
    {"sust", sg_decode_surface},
    {"tex", sg_decode_tex},
    {"tld4", sg_decode_tex},
    {"trap", sg_decode_simple},
    {"txq", sg_decode_query},
    {"vabsdiff", sg_decode_video},
    {"vabsdiff2", sg_decode_video},
    {"vabsdiff4", sg_decode_video},
    {"vadd", sg_decode_video},
    {"vadd2", sg_decode_video},
    {"vadd4", sg_decode_video},
    {"vavrg2", sg_decode_video},
    {"vavrg4", sg_decode_video},
    {"vmad", sg_decode_video},
    {"vmax", sg_decode_video},
    {"vmax2", sg_decode_video},
    {"vmax4", sg_decode_video},
    {"vmin", sg_decode_video},
    {"vmin2", sg_decode_video},
    {"vmin4", sg_decode_video},
    {"vote", sg_decode_vote},
    {"vset", sg_decode_video},
    {"vset2", sg_decode_video},
    {"vset4", sg_decode_video},
    {"vshl", sg_decode_video},
    {"vshr", sg_decode_video},
    {"vsub", sg_decode_video},
    {"vsub2", sg_decode_video},
    {"vsub4", sg_decode_video},
    {"wmma", sg_decode_wmma},
};

static void decode_insn(struct sg_decoder *decoder, const struct sg_ptx_insn *insn)
{
    decoder->at = insn;
    decoder->guard = insn->guarded ? sg_row_reg(decoder, insn->guard_reg) : 0;
    decoder->guard_negated = insn->guard_negated;
    size_t first = 0, end = sizeof opcodes / sizeof opcodes[0];
    while (first < end) {
        size_t middle = (first + end) / 2;
        int order = sg_text_order(insn->opcode, opcodes[middle].name);
        if (order == 0) {
            opcodes[middle].decode(decoder);
            return;
        }
        first = order > 0 ? middle + 1 : first;
        end = order > 0 ? end : middle;
    }
    sg_decode_alu(decoder);
}

static void resolve_labels(struct sg_decoder *decoder, uint32_t first, const uint32_t *starts)
{
    for (uint32_t i = first; i < decoder->drafts.count; i++) {
        struct sg_draft *draft = &decoder->drafts.items[i];
        if (draft->label) {
            draft->in.imm = starts[draft->in.imm];
        }
    }
}

static void decode_function(struct sg_decoder *decoder, uint32_t slot)
{
    struct sg_ptx_func *func = decoder->funcs.items[slot].func;
    uint32_t count = func->insns.count, first = decoder->drafts.count;
    uint32_t *starts =
        sg_load_alloc(decoder->load, &decoder->load->scratch, (count + 1) * sizeof *starts);
    uint8_t *skip = sg_load_alloc(decoder->load, &decoder->load->scratch, count + 1);
    decoder->slot = slot;
    decoder->carry_row = 0;
    decoder->guard = 0;
    sg_decode_enter_stack(decoder);
    sg_decode_take_parameters(decoder);
    sg_decode_constants(decoder, skip);
    const uint8_t *heads = sg_cost_heads(decoder, func);
    for (uint32_t i = 0; i < count; i++) {
        starts[i] = decoder->drafts.count;
        if (heads != NULL && heads[i]) {
            sg_cost_begin(decoder);
        }
        if (!skip[i]) {
            if (heads != NULL) {
                sg_cost_insn(decoder, &func->insns.items[i]);
            }
            decode_insn(decoder, &func->insns.items[i]);
        }
    }
    starts[count] = decoder->drafts.count;
    decoder->guard = 0; /* a body may end without ret */
    sg_decode_leave_stack(decoder);
    sg_decode_give_results(decoder);
    sg_emit(decoder, NULL, NULL)->in.kind = (uint8_t)(func->entry ? SG_KIND_EXIT : SG_KIND_RETURN);
    decoder->funcs.items[slot].first = first;
    decoder->funcs.items[slot].end = decoder->drafts.count;
    resolve_labels(decoder, first, starts);
}

/* ---- the result ---- */

static void finish_insns(struct sg_decoder *decoder)
{
    uint32_t count = decoder->drafts.count, run = 0;
    struct sg_insn *insns =
        sg_load_alloc(decoder->load, decoder->load->keep, count * sizeof *insns);
    for (uint32_t i = count; i-- > 0;) {
        insns[i] = decoder->drafts.items[i].in;
        run = insns[i].kind == SG_KIND_PLAIN && !insns[i].guard ? run + 1 : 0;
        insns[i].run = run;
    }
    decoder->code->insns = insns;
    decoder->code->insn_count = count;
}

static void finish_sources(struct sg_decoder *decoder)
{
    uint32_t count = decoder->drafts.count;
    struct sg_source *sources =
        sg_load_alloc(decoder->load, decoder->load->keep, count * sizeof *sources);
    for (uint32_t i = 0; i < count; i++) {
        sources[i] = decoder->drafts.items[i].source;
    }
    decoder->code->sources = sources;
    decoder->code->files = decoder->module->file_names;
}

static bool changes_with_block(const struct sg_const *c)
{
    return c->kind == SG_CONST_SPECIAL &&
           ((c->index >= SG_SPECIAL_CTAID_X && c->index <= SG_SPECIAL_CTAID_Z) ||
            c->index == SG_SPECIAL_SMID ||
            (c->index >= SG_SPECIAL_CLUSTERID_X && c->index <= SG_SPECIAL_CLUSTER_CTARANK));
}

static void finish_consts(struct sg_decoder *decoder)
{
    uint32_t count = decoder->consts.count, used = 0;
    struct sg_const *consts =
        sg_load_alloc(decoder->load, decoder->load->keep, (count + 1) * sizeof *consts);
    for (int rest = 0; rest < 2; rest++) {
        for (uint32_t i = 0; i < count; i++) {
            if (changes_with_block(&decoder->consts.items[i]) != (rest != 0)) {
                consts[used++] = decoder->consts.items[i];
            }
        }
        decoder->code->block_const_count = rest ? decoder->code->block_const_count : used;
    }
    decoder->code->consts = consts;
    decoder->code->const_count = count;
}

static void describe(struct sg_decoder *decoder, const struct sg_ptx_func *func)
{
    struct sg_kernel *kernel = &decoder->code->kernel;
    struct sg_param *params = sg_load_alloc(decoder->load, decoder->load->keep,
                                            (func->params.count + 1) * sizeof *params);
    for (uint32_t i = 0; i < func->params.count; i++) {
        const struct sg_ptx_var *var = func->params.items[i];
        params[i] = (struct sg_param){(uint32_t)var->offset, (uint32_t)var->bytes, var->align};
    }
    kernel->params = params;
    kernel->param_count = func->params.count;
    kernel->param_bytes = (uint32_t)func->param_bytes;
    kernel->sm = func->sm;
    kernel->min_blocks = func->min_blocks;
    memcpy(kernel->cluster, func->cluster, sizeof kernel->cluster);
    kernel->explicit_cluster = func->explicit_cluster;
    kernel->max_cluster = func->max_cluster;
    memcpy(kernel->reqntid, func->reqntid, sizeof kernel->reqntid);
    const uint32_t *limit = func->reqntid[0] ? func->reqntid : func->maxntid;
    uint64_t threads = (uint64_t)limit[0] * limit[1];
    threads = threads > 1024 ? 1024 : threads * limit[2];
    kernel->max_threads = threads == 0 || threads > 1024 ? 1024 : (uint32_t)threads;
    kernel->shared_bytes = (uint32_t)decoder->shared_bytes;
    decoder->code->reserved_bytes = (uint32_t)sg_shared_reserved(decoder);
    kernel->registers = sg_rows_registers(decoder, kernel->max_threads);
}

/* Dynamic shared memory follows the static one, aligned as it is declared. */
#define DYNAMIC_ALIGN_MIN 16u
#define SHARED_BYTES_MAX  49152u /* of static shared memory, on every GPU */

void sg_decode_kernel(struct sg_load *load, struct sg_ptx_module *module, struct sg_ptx_func *func,
                      uint32_t pass, struct sg_kernel_code *code)
{
    struct sg_decoder *decoder = sg_load_alloc(load, &load->scratch, sizeof *decoder);
    decoder->load = load;
    decoder->module = module;
    decoder->isa = sg_isa_here();
    decoder->pass = pass;
    decoder->code = code;
    code->kernel.name = sg_load_string(load, load->keep, func->name);
    sg_func_slot(decoder, func);
    for (uint32_t slot = 0; slot < decoder->funcs.count; slot++) {
        decode_function(decoder, slot);
    }
    if (func->entry && decoder->shared_bytes > SHARED_BYTES_MAX) {
        sg_load_fail(load, SG_LOAD_SYNTAX, func->place,
                     "kernel '%.*s' and what it calls have %llu bytes of static shared memory, %u "
                     "are the most; dynamic memory may be more",
                     SG_TEXT_ARGS(func->name), (unsigned long long)decoder->shared_bytes,
                     SHARED_BYTES_MAX);
    }
    if (decoder->dynamic_align != 0) {
        uint64_t align =
            decoder->dynamic_align > DYNAMIC_ALIGN_MIN ? decoder->dynamic_align : DYNAMIC_ALIGN_MIN;
        decoder->shared_bytes = sg_shared_align(decoder, decoder->shared_bytes, align);
    }
    sg_call_graph(decoder);
    sg_rows_finish(decoder);
    sg_rows_table(decoder);
    sg_decode_calls_finish(decoder);
    finish_insns(decoder);
    finish_sources(decoder);
    finish_consts(decoder);
    sg_cost_finish(decoder);
    describe(decoder, func);
}
