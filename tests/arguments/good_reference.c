/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface references: each a new one, of a module of its own. */
#include "tests/arguments/good.h"
#include "tests/arguments/table.h"

static const char text[] = ".version 7.5\n"
                           ".target sm_75\n"
                           ".address_size 64\n"
                           ".global .texref plane;\n"
                           ".global .surfref sheet;\n"
                           ".visible .entry none() { ret; }\n";

uint64_t new_module_of_references(void)
{
    CUmodule module;
    MUST(driver.cuModuleLoadData(&module, text));
    return (uint64_t)module;
}

static uint64_t reference_of(uint64_t module)
{
    CUtexref reference;
    MUST(driver.cuModuleGetTexRef(&reference, (CUmodule)module, "plane"));
    MUST(driver.cuTexRefSetFormat(reference, CU_AD_FORMAT_FLOAT, 1));
    return (uint64_t)reference;
}

uint64_t new_reference(void)
{
    return reference_of(new_module_of_references());
}

uint64_t new_dead_reference(void)
{
    uint64_t module = new_module_of_references(), reference = reference_of(module);
    MUST(driver.cuModuleUnload((CUmodule)module));
    return reference;
}

uint64_t new_own_reference(void)
{
    CUtexref reference;
    MUST(driver.cuTexRefCreate(&reference));
    return (uint64_t)reference;
}

uint64_t new_bound_reference(void)
{
    uint64_t reference = new_reference();
    MUST(driver.cuTexRefSetArray((CUtexref)reference, (CUarray)good_array(),
                                 CU_TRSA_OVERRIDE_FORMAT));
    return reference;
}

uint64_t new_mipmap_reference(void)
{
    uint64_t reference = new_reference();
    MUST(driver.cuTexRefSetFlags((CUtexref)reference, CU_TRSF_NORMALIZED_COORDINATES));
    MUST(driver.cuTexRefSetMipmappedArray((CUtexref)reference, (CUmipmappedArray)good_mipmap(),
                                          CU_TRSA_OVERRIDE_FORMAT));
    return reference;
}

uint64_t new_linear_reference(void)
{
    uint64_t reference = new_reference();
    MUST(driver.cuTexRefSetAddress_v2(NULL, (CUtexref)reference, good_block(), 1024));
    return reference;
}

uint64_t new_surface_reference(void)
{
    CUsurfref reference;
    MUST(driver.cuModuleGetSurfRef(&reference, (CUmodule)new_module_of_references(), "sheet"));
    return (uint64_t)reference;
}

uint64_t new_bound_surface_reference(void)
{
    uint64_t reference = new_surface_reference();
    MUST(driver.cuSurfRefSetArray((CUsurfref)reference, (CUarray)good_array(), 0));
    return reference;
}

uint64_t new_dead_surface_reference(void)
{
    CUsurfref reference;
    CUmodule module = (CUmodule)new_module_of_references();
    MUST(driver.cuModuleGetSurfRef(&reference, module, "sheet"));
    MUST(driver.cuModuleUnload(module));
    return (uint64_t)reference;
}
