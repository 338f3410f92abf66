/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and images: lookup, and initial contents of variables. */
#include "softgpu/exec/program.h"

#include <stdlib.h>
#include <string.h>

#include "softgpu/exec/code_ranges.h"

const struct sg_kernel_code *sg_program_entry(const struct sg_program *program, uint64_t address)
{
    uint64_t number = (address - program->code_base) / SG_CODE_UNIT;
    if (address < program->code_base || address % SG_CODE_UNIT || number > program->entry_count) {
        return NULL;
    }
    return program->entries[number];
}

void sg_program_destroy(struct sg_program *program)
{
    if (program != NULL) {
        sg_code_range_give(program->code_base);
        sg_arena_free(&program->arena);
        free(program);
    }
}

struct sg_target sg_program_target(const struct sg_program *program)
{
    return program->target;
}

size_t sg_program_kernel_count(const struct sg_program *program)
{
    return program->code_count;
}

const struct sg_kernel *sg_program_kernel_at(const struct sg_program *program, size_t index)
{
    return &program->codes[index].kernel;
}

const struct sg_kernel *sg_program_kernel_find(const struct sg_program *program, const char *name)
{
    for (size_t i = 0; i < program->code_count; i++) {
        if (strcmp(program->codes[i].kernel.name, name) == 0) {
            return &program->codes[i].kernel;
        }
    }
    return NULL;
}

size_t sg_program_variable_count(const struct sg_program *program)
{
    return program->variable_count;
}

const struct sg_variable *sg_program_variable_at(const struct sg_program *program, size_t index)
{
    return &program->variables[index].public;
}

size_t sg_program_variable_find(const struct sg_program *program, const char *name)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < program->variable_count; i++) {
        const struct sg_variable *variable = &program->variables[i].public;
        if ((found == SIZE_MAX || variable->visible) && strcmp(variable->name, name) == 0) {
            found = i;
        }
    }
    return found;
}

uint64_t sg_program_code(const struct sg_program *program, uint64_t *bytes)
{
    *bytes = SG_CODE_BYTES;
    return program->code_base;
}

/* ---- images ---- */

static void relocate(const uint64_t *addresses, uint8_t *at, const struct sg_reloc *reloc)
{
    uint64_t value = addresses[reloc->variable] + reloc->addend;
    if (reloc->mask) {
        value = (value & reloc->mask) >> __builtin_ctzll(reloc->mask);
    }
    memcpy(at + reloc->offset, &value, reloc->bytes);
}

void sg_program_initialise(const struct sg_program *program, size_t index,
                           const uint64_t *addresses)
{
    const struct sg_module_variable *variable = &program->variables[index];
    uint8_t *at = (uint8_t *)(uintptr_t)addresses[index];
    if (variable->public.external || variable->public.bytes == 0) {
        return;
    }
    if (variable->initialised) {
        memcpy(at, variable->bytes, variable->initialised);
    }
    memset(at + variable->initialised, 0, variable->public.bytes - variable->initialised);
    for (uint32_t r = 0; r < variable->reloc_count; r++) {
        relocate(addresses, at, &variable->relocs[r]);
    }
}

enum ga_status sg_image_create(const struct sg_program *program, const uint64_t *variable_addresses,
                               struct sg_image **out)
{
    size_t count = program->variable_count;
    for (size_t i = 0; i < count; i++) {
        const struct sg_variable *variable = &program->variables[i].public;
        bool needed = !variable->external && variable->bytes;
        if (needed && (!variable_addresses[i] || variable_addresses[i] % variable->align)) {
            return GA_INVALID;
        }
    }
    struct sg_image *image = calloc(1, sizeof *image + count * sizeof image->addresses[0]);
    if (image == NULL) {
        return GA_NO_MEMORY;
    }
    image->program = program;
    if (count) {
        memcpy(image->addresses, variable_addresses, count * sizeof image->addresses[0]);
    }
    for (size_t i = 0; i < count; i++) {
        if (!program->variables[i].public.managed) {
            sg_program_initialise(program, i, image->addresses);
        }
    }
    *out = image;
    return GA_OK;
}

void sg_image_destroy(struct sg_image *image)
{
    free(image);
}
