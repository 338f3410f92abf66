/* SPDX-License-Identifier: Apache-2.0 */
/* Programs from text: parsed, decoded kernel by kernel, with their variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reference_names.h"
#include "softgpu/exec/code_ranges.h"
#include "softgpu/exec/op.h"
#include "softgpu/exec/program.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_kernel.h"
#include "softgpu/ptx/module.h"
#include "softgpu/ptx/parse.h"

static void load_reloc(struct sg_load *load, const struct sg_ptx_var *var, struct sg_reloc *reloc,
                       const struct sg_ptx_init *init)
{
    if (init->variable->external) {
        sg_load_fail(load, SG_LOAD_UNRESOLVED, var->place,
                     "'%.*s' holds the address of '%.*s', which is not defined",
                     SG_TEXT_ARGS(var->name), SG_TEXT_ARGS(init->variable->name));
    }
    if (var->managed && !init->variable->managed) { /* it is initialised before the other one */
        sg_load_fail(load, SG_LOAD_UNSUPPORTED, var->place,
                     "managed variable '%.*s' holds the address of '%.*s', which is not managed",
                     SG_TEXT_ARGS(var->name), SG_TEXT_ARGS(init->variable->name));
    }
    *reloc = (struct sg_reloc){init->offset, init->value, init->mask, init->variable->index,
                               init->bytes};
}

/* The host finds references by names that differ from those of variables. */
static const char *variable_name(struct sg_load *load, const struct sg_ptx_var *var)
{
    static const char *const kinds[] = {
        [SG_REFERENCE_TEXTURE] = API_TEXREF_NAME, [SG_REFERENCE_SURFACE] = API_SURFREF_NAME};
    if (var->reference == SG_REFERENCE_NONE) {
        return sg_load_string(load, load->keep, var->name);
    }
    size_t kind = strlen(kinds[var->reference]), size = kind + var->name.len + 1;
    char *name = sg_load_alloc(load, load->keep, size);
    snprintf(name, size, "%s%.*s", kinds[var->reference], SG_TEXT_ARGS(var->name));
    return name;
}

static void load_variable(struct sg_load *load, const struct sg_ptx_module *module,
                          const struct sg_ptx_var *var, struct sg_module_variable *out)
{
    if (var->bytes > (UINT64_C(1) << 40)) {
        sg_load_fail(load, SG_LOAD_SYNTAX, var->place, "variable too large");
    }
    out->public = (struct sg_variable){
        .name = variable_name(load, var),
        .bytes = var->bytes,
        .align = var->align,
        .space = var->space == SG_PTX_CONST ? SG_SPACE_CONST : SG_SPACE_GLOBAL,
        .visible = var->visible,
        .external = var->external,
        .managed = var->managed,
        .binding = var->reference != SG_REFERENCE_NONE,
    };
    uint32_t relocs = 0;
    for (uint32_t i = 0; i < var->inits.count; i++) {
        relocs += var->inits.items[i].variable != NULL;
    }
    if (!var->inits.count) {
        return;
    }
    uint64_t end = var->inits.items[var->inits.count - 1].offset +
                   var->inits.items[var->inits.count - 1].bytes;
    uint8_t *bytes = sg_load_alloc(load, load->keep, end);
    struct sg_reloc *table = sg_load_alloc(load, load->keep, (relocs + 1) * sizeof *table);
    for (uint32_t i = 0; i < var->inits.count; i++) {
        const struct sg_ptx_init *init = &var->inits.items[i];
        if (init->variable != NULL) {
            load_reloc(load, var, &table[out->reloc_count++], init);
        } else if (init->func != NULL) {
            if (!init->func->defined) {
                sg_load_fail(load, SG_LOAD_UNRESOLVED, init->place,
                             "the address of function '%.*s' is used, but it is not defined",
                             SG_TEXT_ARGS(init->func->name));
            }
            uint64_t value = sg_ptx_func_address(module, init->func) + init->value;
            value = init->mask ? (value & init->mask) >> __builtin_ctzll(init->mask) : value;
            memcpy(bytes + init->offset, &value, init->bytes);
        } else {
            memcpy(bytes + init->offset, &init->value, init->bytes);
        }
    }
    out->bytes = bytes;
    out->initialised = end;
    out->relocs = table;
}

static void load_variables(struct sg_load *load, const struct sg_ptx_module *module,
                           struct sg_program *program)
{
    program->variables =
        sg_load_alloc(load, load->keep, (module->variable_count + 1) * sizeof *program->variables);
    for (const struct sg_ptx_var *var = module->vars; var != NULL; var = var->next) {
        load_variable(load, module, var, &program->variables[var->index]);
    }
    program->variable_count = module->variable_count;
}

#define CONST_BYTES_MAX 65536u /* of a module, on every GPU */

static uint32_t const_bytes(struct sg_load *load, const struct sg_program *program)
{
    uint64_t total = 0;
    for (size_t i = 0; i < program->variable_count; i++) {
        const struct sg_variable *variable = &program->variables[i].public;
        if (variable->space == SG_SPACE_CONST) {
            total = (total + variable->align - 1) / variable->align * variable->align;
            total += variable->bytes;
        }
    }
    if (total > CONST_BYTES_MAX) {
        sg_load_fail(load, SG_LOAD_SYNTAX, (struct sg_place){0},
                     "the .const variables have %llu bytes, %u are the most",
                     (unsigned long long)total, CONST_BYTES_MAX);
    }
    return (uint32_t)total;
}

static void load_entries(struct sg_load *load, const struct sg_ptx_module *module,
                         struct sg_program *program)
{
    size_t index = 0;
    program->entries =
        sg_load_alloc(load, load->keep, (module->pointer_count + 1) * sizeof *program->entries);
    for (const struct sg_ptx_func *func = module->funcs; func != NULL; func = func->next) {
        if (func->entry && func->defined) {
            program->entries[func->pointer] = &program->codes[index++];
        }
    }
    program->entries[0] = NULL; /* functions whose address is not used have written here */
    program->entry_count = module->pointer_count;
}

static void keep_files(struct sg_load *load, struct sg_ptx_module *module)
{
    module->file_names =
        sg_load_alloc(load, load->keep, (module->files.count + 1) * sizeof module->file_names[0]);
    for (uint32_t i = 0; i < module->files.count; i++) {
        module->file_names[i] = sg_load_string(load, load->keep, module->files.items[i].name);
    }
}

static void load_module(struct sg_load *load, struct sg_program *program)
{
    struct sg_ptx_module *module = sg_parse_module(load);
    load->parsed = load->scratch;
    load->scratch = (struct sg_arena){.allowance = &load->allowance};
    program->target = module->target;
    module->code_base = program->code_base;
    keep_files(load, module);
    load_variables(load, module, program);
    size_t kernels = 0;
    for (const struct sg_ptx_func *func = module->funcs; func != NULL; func = func->next) {
        kernels += func->entry && func->defined;
    }
    program->codes = sg_load_alloc(load, load->keep, (kernels + 1) * sizeof *program->codes);
    uint32_t pass = 0, const_total = const_bytes(load, program);
    for (struct sg_ptx_func *func = module->funcs; func != NULL; func = func->next) {
        if (func->entry && func->defined) {
            struct sg_kernel_code *code = &program->codes[program->code_count++];
            sg_decode_kernel(load, module, func, ++pass, code);
            code->kernel.const_bytes = const_total;
            sg_arena_free(&load->scratch);
        }
    }
    load_entries(load, module, program);
    for (struct sg_ptx_func *func = module->funcs; func != NULL; func = func->next) {
        if (func->defined && !func->call_mark) { /* not reachable: it is checked all the same */
            struct sg_kernel_code *code = sg_load_alloc(load, &load->scratch, sizeof *code);
            sg_decode_kernel(load, module, func, ++pass, code);
            sg_arena_free(&load->scratch);
        }
    }
}

enum sg_load_result sg_program_load(const char *text, size_t bytes, struct sg_log *log,
                                    struct sg_program **out)
{
    struct sg_unit unit = {text, bytes, NULL};
    return sg_program_link(&unit, 1, log, out);
}

/* Memory that loading a text may take: a small one cannot become gigabytes. */
#define LOAD_BYTES_BASE ((size_t)64 << 20)
#define LOAD_BYTES_EACH 1024u /* of the text */

static size_t allowance(const struct sg_unit *units, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += units[i].bytes;
    }
    return LOAD_BYTES_BASE + bytes * LOAD_BYTES_EACH;
}

enum sg_load_result sg_program_link(const struct sg_unit *units, size_t count, struct sg_log *log,
                                    struct sg_program **out)
{
    return sg_program_link_at(units, count, 0, log, out);
}

/* The range of addresses of the program's functions. */
static void code_place(struct sg_load *load, uint64_t wish, struct sg_program *program)
{
    const struct sg_place nowhere = {0};
    enum sg_code_range range = SG_CODE_RANGE_TAKEN;
    if (wish == 0) {
        wish = sg_code_range_take();
        range = wish != 0 ? SG_CODE_RANGE_TAKEN : SG_CODE_RANGE_IN_USE;
    } else {
        range = sg_code_range_place(wish);
    }
    if (range == SG_CODE_RANGE_WRONG) {
        sg_load_fail(load, SG_LOAD_MISPLACED, nowhere, "functions cannot be at 0x%llx",
                     (unsigned long long)wish);
    }
    if (range == SG_CODE_RANGE_IN_USE) {
        sg_load_fail(load, SG_LOAD_OCCUPIED, nowhere,
                     "another program has the addresses of functions from 0x%llx",
                     (unsigned long long)wish);
    }
    program->code_base = wish;
}

enum sg_load_result sg_program_link_at(const struct sg_unit *units, size_t count,
                                       uint64_t code_base, struct sg_log *log,
                                       struct sg_program **out)
{
    struct sg_program *program = calloc(1, sizeof *program);
    struct sg_load *load = calloc(1, sizeof *load);
    if (log != NULL && log->size) {
        log->text[0] = '\0';
        log->used = 0;
    }
    if (program == NULL || load == NULL) {
        free(program);
        free(load);
        return SG_LOAD_NO_MEMORY;
    }
    load->log = log;
    load->units = units;
    load->unit_count = count;
    load->keep = &program->arena;
    load->allowance = allowance(units, count);
    load->scratch.allowance = load->keep->allowance = &load->allowance;
    if (setjmp(load->escape) == 0) {
        if (count == 0 || count > SG_UNITS_MAX) {
            sg_load_fail(load, SG_LOAD_UNSUPPORTED, (struct sg_place){0},
                         "%zu modules cannot be linked", count);
        }
        code_place(load, code_base, program);
        load_module(load, program);
    }
    enum sg_load_result rc = load->result;
    sg_arena_free(&load->scratch);
    sg_arena_free(&load->parsed);
    load->keep->allowance = NULL;
    free(load);
    if (rc == SG_LOAD_OK) {
        *out = program;
    } else {
        sg_program_destroy(program);
    }
    return rc;
}
