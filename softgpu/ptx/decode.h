/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder: turns the AST of a kernel and of every function it can reach into instructions. Each
 * kernel gets its own copy of its callees, so that program counters order all code of a launch.
 *
 * During decoding, operands are row numbers; decode_rows.c turns them into offsets at the end. An
 * opcode may become several instructions; all but the last are unguarded and write temporary rows,
 * the last one carries the guard. */
#ifndef SOFTGPU_PTX_DECODE_H
#define SOFTGPU_PTX_DECODE_H

#include "softgpu/exec/misc.h"
#include "softgpu/exec/op.h"
#include "softgpu/exec/program.h"
#include "softgpu/ptx/ast.h"

enum sg_field {
    SG_FIELD_D = 1,
    SG_FIELD_A = 2,
    SG_FIELD_B = 4,
    SG_FIELD_C = 8,
    SG_FIELD_E = 16,
    SG_FIELD_F = 32
};
#define SG_FIELDS 6

/* A row list: operands beyond the fields. Liveness and allocation treat them like fields. */
enum sg_list_use { SG_LIST_READ = 1, SG_LIST_WRITE = 2 };

struct sg_list_row {
    uint32_t row; /* 0: none */
    uint32_t use; /* enum sg_list_use */
};

struct sg_draft {
    struct sg_insn in;
    struct sg_source source;
    const struct sg_op *op; /* NULL: another handler */
    struct {
        bool access, store;  /* a load or store with an address row */
        uint8_t space, type; /* enum sg_mem_space, sg_mem_type */
    } mem;
    uint32_t list, list_count; /* in sg_decoder.lists; with a list, in.f is no row */
    uint8_t reads, writes;     /* which fields are rows, by enum sg_field */
    uint8_t label;             /* imm is an instruction index in the function's AST */
};

struct sg_draft_row {
    uint8_t kind;           /* SG_ROW_* */
    bool constant, by_lane; /* by_lane: a constant that differs from lane to lane */
    uint32_t func;          /* slot of the function it belongs to; constants: to none */
    uint32_t slot;          /* set at the end: its place among those of its kind */
    uint32_t offset;        /* set at the end */
    uint32_t start, end;    /* the interval of instructions in which the place is its own */
    bool momentary;         /* read and written only where no group of lanes ever waits */
};

/* sg_call.target of a call through a pointer */
#define SG_CALL_BY_POINTER UINT32_MAX

struct sg_func_info {
    struct sg_ptx_func *func;
    uint32_t stack_row;   /* of a function with alloca: the row with the stack's top at its begin;
                             otherwise 0 */
    uint32_t extra_bytes; /* after its frame: arguments that are registers or constants */
    uint32_t first, end;  /* instructions */
    uint32_t *rows;       /* of its registers; 0: not seen yet */
    bool recursive;
    uint32_t first_row, row_count; /* its part of the code's table of rows, if recursive */
    uint32_t save_begin, save_bytes;
    uint32_t slots[3]; /* places that its rows need, by kind */
    uint32_t slot_base[3];
};

struct sg_decoder {
    struct sg_load *load;
    struct sg_ptx_module *module;
    const struct sg_isa *isa;
    uint32_t pass; /* number of the kernel */
    struct sg_kernel_code *code;
    struct {
        struct sg_draft *items;
        uint32_t count, room;
    } drafts;
    struct {
        struct sg_list_row *items;
        uint32_t count, room;
    } lists;
    struct {
        struct sg_draft_row *items;
        uint32_t count, room;
    } rows;
    struct {
        struct sg_const *items;
        uint32_t count, room;
    } consts;                    /* offset: row number */
    uint32_t const_buckets[256]; /* index + 1 of the last constant with that hash */
    struct {
        uint32_t *items;
        uint32_t count, room;
    } const_chain;
    struct {
        struct sg_call *items;
        uint32_t count, room;
    } calls; /* target: slot of the callee */
    struct {
        uint32_t *items;
        uint32_t count, room;
    } callers;           /* slots of the callers of calls */
    bool calls_pointers; /* some call of the kernel goes through a pointer */
    struct {
        struct sg_func_info *items;
        uint32_t count, room;
    } funcs;
    struct {
        struct sg_cost *items;
        uint32_t count, room;
    } costs; /* of basic blocks */
    uint64_t shared_bytes;
    uint32_t dynamic_align; /* of dynamic shared memory; 0: the kernel has none */
    /* Current position. */
    uint32_t slot; /* of the function */
    const struct sg_ptx_insn *at;
    uint32_t guard;
    bool guard_negated;
    uint32_t carry_row;
};

_Noreturn void sg_decode_unsupported(struct sg_decoder *decoder);
_Noreturn void sg_decode_wrong(struct sg_decoder *decoder, const char *what);

/* ---- rows (decode_rows.c) ---- */
uint32_t sg_row_new(struct sg_decoder *decoder, unsigned kind);
uint32_t sg_row_const(struct sg_decoder *decoder, struct sg_const c);
uint32_t sg_row_literal(struct sg_decoder *decoder, uint64_t value, bool wide);
unsigned sg_row_kind_of(enum sg_type type);
/* A source operand used as `type` (only its bits count). */
uint32_t sg_row_source(struct sg_decoder *decoder, const struct sg_operand *operand,
                       enum sg_type type);
/* A destination register; for '_' a row that nobody reads. */
uint32_t sg_row_target(struct sg_decoder *decoder, const struct sg_operand *operand,
                       enum sg_type type);
/* A special register (decode_special.c). */
uint32_t sg_row_special(struct sg_decoder *decoder, const struct sg_operand *operand, bool wide);
/* The address of a function, which must be defined. */
uint32_t sg_row_function(struct sg_decoder *decoder, const struct sg_operand *operand);
uint32_t sg_row_reg(struct sg_decoder *decoder, uint32_t reg);
unsigned sg_row_kind(const struct sg_decoder *decoder, uint32_t row);
/* The instruction with offsets in place of row numbers, after places are assigned. */
struct sg_insn sg_row_patched(const struct sg_decoder *decoder, const struct sg_draft *draft);
void sg_rows_finish(struct sg_decoder *decoder);
/* For sg_kernel_code.rows; sets first_row and row_count of the functions. */
void sg_rows_table(struct sg_decoder *decoder);
uint32_t sg_rows_registers(const struct sg_decoder *decoder, uint32_t max_threads);
/* Instructions for undiverged warps (decode_shape.c, decode_fast.c). Begun while operands are rows,
 * finished when they have places; the pairs begin at *cursor. NULL: none. */
struct sg_fast_plan;
struct sg_fast_plan *sg_fast_begin(struct sg_decoder *decoder);
void sg_fast_place(struct sg_decoder *decoder, struct sg_fast_plan *plan, uint32_t *cursor);
void sg_fast_finish(struct sg_decoder *decoder, const struct sg_fast_plan *plan);
/* Lets rows of a function share a slot if they never live at the same time (decode_slots.c). */
void sg_slots_assign(struct sg_decoder *decoder, uint32_t slot);
/* The address of a variable, as an 8- or 4-byte row. */
uint32_t sg_row_address(struct sg_decoder *decoder, struct sg_ptx_var *var, uint64_t addend,
                        bool wide);
/* An address in brackets, as a row and a constant offset. *space becomes that of the named
 * variable; FRAME if there is no row. The row is 4 bytes wide for shared memory, otherwise 8. */
uint32_t sg_row_place(struct sg_decoder *decoder, const struct sg_operand *operand,
                      enum sg_mem_space *space, int64_t *offset);
/* The handle in a texture or surface reference at the time of the instruction (decode_memory.c). */
uint32_t sg_row_reference(struct sg_decoder *decoder, struct sg_ptx_var *var);
/* The low and the high half of a .b128 register */
void sg_row_pair(struct sg_decoder *decoder, const struct sg_operand *operand, uint32_t rows[2]);
/* An address in brackets, as an 8-byte row with the generic address, for instructions that are too
 * rare to distinguish the spaces. Local memory and parameters are refused. */
uint32_t sg_row_generic(struct sg_decoder *decoder, const struct sg_operand *operand,
                        enum sg_mem_space space);
/* Whether the value of the operand is known before the kernel begins. */
bool sg_operand_is_constant(struct sg_decoder *decoder, const struct sg_operand *operand);

/* ---- emitting (decode_emit.c) ---- */
struct sg_draft *sg_emit(struct sg_decoder *decoder, sg_handler *full, sg_handler *masked);
/* Emits the operation of that name in op.def, which must exist. */
struct sg_draft *sg_emit_op(struct sg_decoder *decoder, const char *name, uint32_t d, uint32_t a,
                            uint32_t b, uint32_t c);
/* Adds rows to the row list of the draft, which must be the last draft with a list. A row that is
 * read and written is SG_LIST_READ | SG_LIST_WRITE. The draft's in.f must not be used otherwise. */
void sg_emit_list(struct sg_decoder *decoder, struct sg_draft *draft, const uint32_t *rows,
                  uint32_t count, unsigned use);
/* Marks the last instruction of the opcode: it carries the guard. */
struct sg_draft *sg_guard(struct sg_decoder *decoder, struct sg_draft *draft);
/* Emits an instruction that waits for the lanes in the row `members` (0: it does not wait),
 * guarded. */
struct sg_draft *sg_emit_collective(struct sg_decoder *decoder, sg_handler *handler,
                                    uint32_t members);
bool sg_modifier(const struct sg_decoder *decoder, const char *name);
/* The index-th type among the modifiers; NONE if there are fewer. */
enum sg_type sg_modifier_type(const struct sg_decoder *decoder, unsigned index);
/* Every modifier must be in `allowed` ("a b c") or, with `types`, a type. */
void sg_modifiers_check(struct sg_decoder *decoder, const char *allowed, bool types);
void sg_operands_check(struct sg_decoder *decoder, uint32_t least, uint32_t most);

/* The function's slot in this pass; the first mention makes one. */
uint32_t sg_func_slot(struct sg_decoder *decoder, struct sg_ptx_func *func);

/* ---- costs (decode_cost.c) ---- */
/* For each instruction, whether a basic block begins there. NULL: programs are not counted. */
uint8_t *sg_cost_heads(struct sg_decoder *decoder, const struct sg_ptx_func *func);
void sg_cost_begin(struct sg_decoder *decoder);
void sg_cost_insn(struct sg_decoder *decoder, const struct sg_ptx_insn *insn);
void sg_cost_finish(struct sg_decoder *decoder);

/* ---- opcodes ---- */
void sg_decode_alu(struct sg_decoder *decoder);
void sg_decode_carry(struct sg_decoder *decoder);
void sg_decode_mov(struct sg_decoder *decoder);
void sg_decode_cvta(struct sg_decoder *decoder);
void sg_decode_isspacep(struct sg_decoder *decoder);
void sg_decode_load(struct sg_decoder *decoder);
void sg_decode_store(struct sg_decoder *decoder);
void sg_decode_atom(struct sg_decoder *decoder);
void sg_decode_cvt(struct sg_decoder *decoder);
void sg_decode_video(struct sg_decoder *decoder);
bool sg_decode_cvt_packed(struct sg_decoder *decoder); /* false: it is no packed conversion */
void sg_decode_cvt_finish(struct sg_decoder *decoder, uint32_t row);
void sg_decode_setp(struct sg_decoder *decoder);
void sg_decode_set(struct sg_decoder *decoder);
void sg_decode_bra(struct sg_decoder *decoder);
void sg_decode_brx(struct sg_decoder *decoder);
void sg_decode_stack(struct sg_decoder *decoder); /* alloca, stacksave, stackrestore */
void sg_decode_call(struct sg_decoder *decoder);
void sg_decode_ret(struct sg_decoder *decoder);
void sg_decode_barrier(struct sg_decoder *decoder);
void sg_decode_fence(struct sg_decoder *decoder);
void sg_decode_shfl(struct sg_decoder *decoder);
void sg_decode_vote(struct sg_decoder *decoder);
void sg_decode_match(struct sg_decoder *decoder);
void sg_decode_redux(struct sg_decoder *decoder);
void sg_decode_mbarrier(struct sg_decoder *decoder);
void sg_decode_cp(struct sg_decoder *decoder);
void sg_decode_store_async(struct sg_decoder *decoder); /* and red.async */
void sg_decode_barrier_cluster(struct sg_decoder *decoder);
void sg_decode_mapa(struct sg_decoder *decoder); /* and getctarank */
void sg_decode_elect(struct sg_decoder *decoder);
void sg_decode_advice(struct sg_decoder *decoder);
void sg_decode_createpolicy(struct sg_decoder *decoder);
void sg_decode_mma(struct sg_decoder *decoder);
void sg_decode_wmma(struct sg_decoder *decoder);
void sg_decode_ldmatrix(struct sg_decoder *decoder); /* and stmatrix, movmatrix */
void sg_decode_tex(struct sg_decoder *decoder);      /* tex, tld4 */
void sg_decode_query(struct sg_decoder *decoder);    /* txq, suq */
void sg_decode_istypep(struct sg_decoder *decoder);
void sg_decode_surface(struct sg_decoder *decoder); /* suld, sust, sured */
void sg_decode_simple(struct sg_decoder *decoder); /* exit, trap, nanosleep, activemask, prefetch */

/* The driver's function for calls of `func`; NULL: none. */
sg_handler *sg_decode_builtin(struct sg_decoder *decoder, const struct sg_ptx_func *func);

/* Moves of a known value into a register that nothing else writes: the register becomes the
 * constant row, and the instruction disappears. Marks such instructions in `skip`. */
void sg_decode_constants(struct sg_decoder *decoder, uint8_t *skip);

/* The access that moves an element of `type` between memory and a row of that kind
 * (decode_memory.c). */
enum sg_mem_type sg_mem_type(struct sg_decoder *decoder, enum sg_type type, unsigned kind);

/* Calls (decode_call.c). */
/* Formal parameters that are registers: taken at the function's begin, given before it returns. */
void sg_decode_take_parameters(struct sg_decoder *decoder);
void sg_decode_give_results(struct sg_decoder *decoder);
/* alloca: the same for the stack (decode_stack.c). */
void sg_decode_enter_stack(struct sg_decoder *decoder);
void sg_decode_leave_stack(struct sg_decoder *decoder);
void sg_decode_calls_finish(struct sg_decoder *decoder);
/* Finds recursive functions and the deepest stack (call_graph.c). */
void sg_call_graph(struct sg_decoder *decoder);
uint64_t sg_frame_bytes(const struct sg_func_info *info);

/* Decodes one kernel. */
void sg_decode_kernel(struct sg_load *load, struct sg_ptx_module *module, struct sg_ptx_func *func,
                      uint32_t pass, struct sg_kernel_code *code);

#endif
