/* SPDX-License-Identifier: Apache-2.0 */
/* tex, tld4, txq, suld, sust, sured, suq, istypep.
 *
 * Textures and surfaces are 64-bit handles in registers, as nvcc compiles texture and surface
 * objects. A reference (.texref, .surfref) is a variable with such a handle, which the host writes
 * when it binds the reference. Not supported: variables of the type .samplerref (refused at their
 * declaration), samplers apart from the texture, depth comparison and multiple samples. */
#include "softgpu/ptx/decode_texture.h"

#include <string.h>

#include "softgpu/exec/tex.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_rows.h"
#include "softgpu/ptx/type.h"

static const struct {
    const char *name;
    uint8_t axes, layered;
} geometries[] = {
    [SG_GEOMETRY_1D] = {"1d", 1, 0},       [SG_GEOMETRY_2D] = {"2d", 2, 0},
    [SG_GEOMETRY_3D] = {"3d", 3, 0},       [SG_GEOMETRY_A1D] = {"a1d", 1, 1},
    [SG_GEOMETRY_A2D] = {"a2d", 2, 1},     [SG_GEOMETRY_CUBE] = {"cube", 3, 0},
    [SG_GEOMETRY_ACUBE] = {"acube", 3, 1},
};
#define GEOMETRIES (sizeof geometries / sizeof geometries[0])

static uint8_t geometry_of(struct sg_decoder *decoder)
{
    for (size_t g = 0; g < GEOMETRIES; g++) {
        if (sg_modifier(decoder, geometries[g].name)) {
            return (uint8_t)g;
        }
    }
    sg_decode_unsupported(decoder);
}

/* The index of the word that is a modifier; `fallback` if none is. */
static uint8_t choice(struct sg_decoder *decoder, const char *const *words, uint8_t count,
                      uint8_t fallback)
{
    for (uint8_t i = 0; i < count; i++) {
        if (sg_modifier(decoder, words[i])) {
            return i;
        }
    }
    return fallback;
}

/* "[%rd1, ...]" or "[%rd1]": the row of the handle */
static uint32_t handle(struct sg_decoder *decoder, const struct sg_operand *operand, uint32_t items)
{
    if (operand->kind != SG_OPERAND_ADDRESS || operand->item_count == 0 || operand->value != 0) {
        sg_decode_wrong(decoder, "a texture or surface in brackets must stand here");
    }
    if (operand->item_count == 3) {
        sg_decode_unsupported(decoder); /* a separate sampler */
    }
    if (operand->item_count != items) {
        sg_decode_wrong(decoder, "the wrong number of operands in brackets");
    }
    return sg_row_source(decoder, &operand->items[0], SG_TYPE_B64);
}

/* Elements of a vector, or the scalar, as `type`; those beyond `count` are padding. */
static void vector(struct sg_decoder *decoder, const struct sg_operand *operand, uint32_t count,
                   enum sg_type type, uint32_t *rows)
{
    const bool list = operand->kind == SG_OPERAND_LIST;
    const uint32_t length = list ? operand->item_count : 1;
    if (length < count || length > 4) {
        sg_decode_wrong(decoder, "a vector of the wrong length");
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = sg_row_source(decoder, list ? &operand->items[i] : operand, type);
    }
}

/* "{layer, x, y, z}" */
static void coordinates(struct sg_decoder *decoder, const struct sg_operand *operand,
                        uint8_t geometry, enum sg_type type, uint32_t *layer, uint32_t *rows)
{
    const bool layered = geometries[geometry].layered;
    struct sg_operand rest = *operand;
    if (layered) {
        if (operand->kind != SG_OPERAND_LIST || operand->item_count < 2) {
            sg_decode_wrong(decoder, "a vector of the wrong length");
        }
        *layer = sg_row_source(decoder, &operand->items[0], SG_TYPE_U32);
        rest.items++;
        rest.item_count--;
    }
    vector(decoder, &rest, geometries[geometry].axes, type, rows);
}

static void results(struct sg_decoder *decoder, const struct sg_operand *list, uint32_t count,
                    enum sg_type type, uint32_t *rows)
{
    if (list->kind != SG_OPERAND_LIST || list->item_count != count) {
        sg_decode_wrong(decoder, "a vector of the wrong length");
    }
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = list->items[i].kind == SG_OPERAND_SINK
                      ? 0
                      : sg_row_target(decoder, &list->items[i], type);
    }
}

static void set_form(struct sg_draft *draft, const void *form, size_t bytes)
{
    memcpy(&draft->in.imm, form, bytes);
}

/* ---- tex and tld4 ---- */

struct tex {
    struct sg_tex_form form;
    enum sg_type result, coordinate;
    uint32_t rows[SG_TEX_ROWS];
};

static struct tex tex_modifiers(struct sg_decoder *decoder)
{
    static const char *const lods[] = {"base", "level", "grad"};
    static const char *const channels[] = {"r", "g", "b", "a"};
    const bool gather = sg_text_is(decoder->at->opcode, "tld4");
    struct tex tex = {.result = sg_modifier_type(decoder, 0),
                      .coordinate = sg_modifier_type(decoder, 1)};
    sg_modifiers_check(decoder,
                       gather ? "r g b a 2d a2d cube acube v4"
                              : "base level grad 1d 2d 3d a1d a2d cube acube v2 v4",
                       true);
    tex.form.geometry = geometry_of(decoder);
    tex.form.lod = choice(decoder, lods, 3, SG_LOD_BASE);
    tex.form.gather = gather ? choice(decoder, channels, 4, 4) + 1 : 0;
    tex.form.integer = tex.coordinate == SG_TYPE_S32;
    tex.form.result = tex.result == SG_TYPE_F16     ? SG_TEX_F16
                      : tex.result == SG_TYPE_F16X2 ? SG_TEX_F16X2
                                                    : SG_TEX_B32;
    const bool half = tex.form.result != SG_TEX_B32, cube = tex.form.geometry >= SG_GEOMETRY_CUBE;
    if (tex.form.gather == 5 || (gather && (half || tex.form.integer)) ||
        (tex.result != SG_TYPE_U32 && tex.result != SG_TYPE_S32 && tex.result != SG_TYPE_F32 &&
         !half) ||
        (tex.coordinate != SG_TYPE_S32 && tex.coordinate != SG_TYPE_F32) ||
        (tex.form.integer && (cube || tex.form.lod == SG_LOD_GRAD)) ||
        !sg_modifier(decoder, tex.form.result == SG_TEX_F16X2 ? "v2" : "v4")) {
        sg_decode_unsupported(decoder);
    }
    return tex;
}

/* Operands after the brackets. Depth comparison would be one scalar more. */
static void tex_extras(struct sg_decoder *decoder, struct tex *tex)
{
    const struct sg_ptx_insn *insn = decoder->at;
    const uint32_t axes = geometries[tex->form.geometry].axes;
    const bool cube = tex->form.geometry >= SG_GEOMETRY_CUBE;
    uint32_t next = 2;
    sg_operands_check(decoder, 2 + tex->form.lod, 6);
    if (tex->form.lod == SG_LOD_LEVEL) {
        tex->rows[SG_TEX_LOD] = sg_row_source(decoder, &insn->operands[next++], tex->coordinate);
    } else if (tex->form.lod == SG_LOD_GRAD) {
        vector(decoder, &insn->operands[next++], axes, SG_TYPE_F32, &tex->rows[SG_TEX_LOD]);
        vector(decoder, &insn->operands[next++], axes, SG_TYPE_F32, &tex->rows[SG_TEX_LOD + 3]);
    }
    if (next < insn->operand_count && insn->operands[next].kind == SG_OPERAND_LIST && !cube) {
        tex->form.offsets = 1;
        vector(decoder, &insn->operands[next++], axes, SG_TYPE_S32, &tex->rows[SG_TEX_OFFSET]);
    }
    if (next != insn->operand_count) {
        sg_decode_unsupported(decoder);
    }
}

void sg_decode_tex(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    struct tex tex = tex_modifiers(decoder);
    sg_operands_check(decoder, 2, 6);
    const struct sg_operand *to = &insn->operands[0];
    const uint32_t texture = handle(decoder, &insn->operands[1], 2);
    coordinates(decoder, &insn->operands[1].items[1], tex.form.geometry, tex.coordinate,
                &tex.rows[SG_TEX_LAYER], &tex.rows[SG_TEX_COORD]);
    tex_extras(decoder, &tex);
    results(decoder, to, tex.form.result == SG_TEX_F16X2 ? 2 : 4, tex.result,
            &tex.rows[SG_TEX_RESULT]);
    uint32_t resident = 0;
    if (to->pair != NULL && to->pair->kind == SG_OPERAND_REG) {
        resident = sg_row_target(decoder, to->pair, SG_TYPE_PRED);
    }
    struct sg_draft *draft =
        sg_guard(decoder, sg_emit(decoder, decoder->isa->tex, decoder->isa->tex));
    draft->in.a = texture;
    draft->in.d = resident;
    draft->reads = SG_FIELD_A;
    draft->writes = resident ? SG_FIELD_D : 0;
    set_form(draft, &tex.form, sizeof tex.form);
    sg_emit_list(decoder, draft, tex.rows, SG_TEX_LAYER, SG_LIST_WRITE);
    sg_emit_list(decoder, draft, tex.rows + SG_TEX_LAYER, SG_TEX_ROWS - SG_TEX_LAYER, SG_LIST_READ);
}

/* ---- surfaces ---- */

static const char *const bounds_words[] = {"trap", "clamp", "zero"};

static void surface_emit(struct sg_decoder *decoder, const struct sg_surface_form *form,
                         uint32_t surface, const uint32_t *rows)
{
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, sg_surface, sg_surface));
    draft->in.a = surface;
    draft->reads = SG_FIELD_A;
    set_form(draft, form, sizeof *form);
    sg_emit_list(decoder, draft, rows, SG_SURFACE_LAYER,
                 form->op == SG_SURFACE_LOAD ? SG_LIST_WRITE : SG_LIST_READ);
    sg_emit_list(decoder, draft, rows + SG_SURFACE_LAYER, SG_SURFACE_ROWS - SG_SURFACE_LAYER,
                 SG_LIST_READ);
}

static bool is_bits(enum sg_type type)
{
    return type >= SG_TYPE_B8 && type <= SG_TYPE_B64;
}

/* One row for each element; registers may be larger than their element. */
static void surface_values(struct sg_decoder *decoder, const struct sg_operand *operand,
                           const struct sg_surface_form *form, enum sg_type type, uint32_t *rows)
{
    const bool list = operand->kind == SG_OPERAND_LIST;
    if ((list ? operand->item_count : 1) != form->count) {
        sg_decode_wrong(decoder, "a vector of the wrong length");
    }
    for (uint32_t i = 0; i < form->count; i++) {
        const struct sg_operand *item = list ? &operand->items[i] : operand;
        if (form->op != SG_SURFACE_LOAD) {
            rows[i] = sg_row_source(decoder, item, type);
        } else if (item->kind != SG_OPERAND_SINK) {
            rows[i] = sg_row_target(decoder, item, type);
        }
    }
}

static void surface_access(struct sg_decoder *decoder, bool is_load)
{
    const struct sg_ptx_insn *insn = decoder->at;
    const enum sg_type type = sg_modifier_type(decoder, 0);
    uint32_t rows[SG_SURFACE_ROWS] = {0};
    struct sg_surface_form form = {.op = is_load ? SG_SURFACE_LOAD : SG_SURFACE_STORE};
    sg_modifiers_check(decoder,
                       is_load ? "b 1d 2d 3d a1d a2d ca cg cs cv v2 v4 trap clamp zero"
                               : "b p 1d 2d 3d a1d a2d wb cg cs wt v2 v4 trap clamp zero",
                       true);
    form.geometry = geometry_of(decoder);
    form.bounds = choice(decoder, bounds_words, 3, SG_BOUNDS_TRAP);
    form.formatted = sg_modifier(decoder, "p");
    form.count = sg_modifier(decoder, "v2") ? 2 : sg_modifier(decoder, "v4") ? 4 : 1;
    form.bytes = (uint8_t)sg_type_bytes(type);
    if (!is_bits(type) || form.formatted == sg_modifier(decoder, "b") ||
        form.bytes * form.count > 16 ||
        (form.formatted && (type != SG_TYPE_B32 || geometries[form.geometry].layered))) {
        sg_decode_unsupported(decoder);
    }
    sg_operands_check(decoder, 2, 2);
    const struct sg_operand *where = &insn->operands[is_load ? 1 : 0];
    const uint32_t surface = handle(decoder, where, 2);
    coordinates(decoder, &where->items[1], form.geometry, SG_TYPE_S32, &rows[SG_SURFACE_LAYER],
                &rows[SG_SURFACE_COORD]);
    surface_values(decoder, &insn->operands[is_load ? 0 : 1], &form, type, rows);
    surface_emit(decoder, &form, surface, rows);
}

static void surface_reduce(struct sg_decoder *decoder)
{
    static const char *const reductions[] = {"add", "min", "max", "and", "or"};
    const struct sg_ptx_insn *insn = decoder->at;
    const enum sg_type type = sg_modifier_type(decoder, 0);
    uint32_t rows[SG_SURFACE_ROWS] = {0};
    struct sg_surface_form form = {.op = SG_SURFACE_REDUCE, .count = 1};
    sg_modifiers_check(decoder, "b p add min max and or 1d 2d 3d trap clamp zero", true);
    form.geometry = geometry_of(decoder);
    form.bounds = choice(decoder, bounds_words, 3, SG_BOUNDS_TRAP);
    form.formatted = sg_modifier(decoder, "p");
    form.reduction = choice(decoder, reductions, 5, 5);
    form.bytes = (uint8_t)sg_type_bytes(type);
    form.is_signed = is_bits(type) ? 2 : sg_type_is_signed(type);
    const bool wide = form.bytes == 8;
    const bool bitwise = form.reduction >= SG_SURED_AND;
    if (form.reduction == 5 || sg_type_is_float(type) || (form.bytes != 4 && !wide) ||
        form.formatted == sg_modifier(decoder, "b") || (bitwise && (type != SG_TYPE_B32)) ||
        (!bitwise && !form.formatted && is_bits(type))) {
        sg_decode_unsupported(decoder);
    }
    sg_operands_check(decoder, 2, 2);
    const uint32_t surface = handle(decoder, &insn->operands[0], 2);
    coordinates(decoder, &insn->operands[0].items[1], form.geometry, SG_TYPE_S32,
                &rows[SG_SURFACE_LAYER], &rows[SG_SURFACE_COORD]);
    surface_values(decoder, &insn->operands[1], &form, type, rows);
    surface_emit(decoder, &form, surface, rows);
}

void sg_decode_surface(struct sg_decoder *decoder)
{
    if (sg_text_is(decoder->at->opcode, "sured")) {
        surface_reduce(decoder);
    } else {
        surface_access(decoder, sg_text_is(decoder->at->opcode, "suld"));
    }
}

/* ---- queries ---- */

void sg_decode_query(struct sg_decoder *decoder)
{
    static const char *const words[] = {
        [SG_QUERY_WIDTH] = "width",
        [SG_QUERY_HEIGHT] = "height",
        [SG_QUERY_DEPTH] = "depth",
        [SG_QUERY_CHANNEL_DATA_TYPE] = "channel_data_type",
        [SG_QUERY_ARRAY_SIZE] = "array_size",
        [SG_QUERY_LEVELS] = "num_mipmap_levels",
        [SG_QUERY_SAMPLES] = "num_samples",
        [SG_QUERY_NORMALIZED_COORDS] = "normalized_coords",
        [SG_QUERY_FILTER_MODE] = "filter_mode",
        [SG_QUERY_ADDR_MODE_0] = "addr_mode_0",
        [SG_QUERY_ADDR_MODE_1] = "addr_mode_1",
        [SG_QUERY_ADDR_MODE_2] = "addr_mode_2",
    };
    const uint8_t count = sizeof words / sizeof words[0];
    const struct sg_ptx_insn *insn = decoder->at;
    const bool texture = sg_text_is(insn->opcode, "txq"), level = sg_modifier(decoder, "level");
    sg_modifiers_check(decoder,
                       texture ? "level width height depth channel_data_type array_size "
                                 "num_mipmap_levels num_samples normalized_coords filter_mode "
                                 "addr_mode_0 addr_mode_1 addr_mode_2 b32"
                               : "width height depth channel_data_type array_size b32",
                       false);
    const uint8_t query = choice(decoder, words, count, count);
    if (query == count || (level && query > SG_QUERY_DEPTH)) {
        sg_decode_unsupported(decoder);
    }
    sg_operands_check(decoder, 2 + level, 2 + level);
    const uint32_t object = handle(decoder, &insn->operands[1], 1);
    const uint32_t of = level ? sg_row_source(decoder, &insn->operands[2], SG_TYPE_B32) : 0;
    const uint32_t target = sg_row_target(decoder, &insn->operands[0], SG_TYPE_B32);
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, sg_tex_query, sg_tex_query));
    draft->in.d = target;
    draft->in.a = object;
    draft->in.b = of;
    draft->in.mode = query;
    draft->in.imm = texture ? SG_OBJECT_TEXTURE : SG_OBJECT_SURFACE;
    draft->reads = (uint8_t)(SG_FIELD_A | (level ? SG_FIELD_B : 0));
    draft->writes = SG_FIELD_D;
}

void sg_decode_istypep(struct sg_decoder *decoder)
{
    const struct sg_ptx_insn *insn = decoder->at;
    sg_modifiers_check(decoder, "texref samplerref surfref", false);
    sg_operands_check(decoder, 2, 2);
    const uint32_t object = sg_row_source(decoder, &insn->operands[1], SG_TYPE_B64);
    const uint32_t target = sg_row_target(decoder, &insn->operands[0], SG_TYPE_PRED);
    struct sg_draft *draft = sg_guard(decoder, sg_emit(decoder, sg_istypep, sg_istypep));
    draft->in.d = target;
    draft->in.a = object;
    draft->in.imm = sg_modifier(decoder, "texref")    ? SG_OBJECT_TEXTURE
                    : sg_modifier(decoder, "surfref") ? SG_OBJECT_SURFACE
                                                      : -1; /* there are no separate samplers */
    draft->reads = SG_FIELD_A;
    draft->writes = SG_FIELD_D;
}
