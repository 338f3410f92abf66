/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface references. A module declares them (.texref, .surfref); the program sets,
 * call by call, what they are bound to and how they are read. On software GPUs a reference is a
 * variable with the handle of a texture or surface object (api/reference_names.h). Every change
 * makes a new object of the settings.
 *
 * Note: the settings may be inconsistent between two calls. Until they are consistent the
 * reference holds no object, and a kernel that reads it fails. */
#include "front/texture/reference.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reference_names.h"
#include "base/handle_table.h"
#include "front/front.h"

#define REFERENCES_MAX 65536u
#define LOOK_FIRST     64u
#define NAME_MAX       4096u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_handle_table references;
static struct ga_list all = {&all, &all};
static unsigned look_at = LOOK_FIRST;

/* ---- life ---- */

static CUresult reference_make(const struct front_reference *wanted, struct front_reference **out)
{
    struct front_reference *made = malloc(sizeof *made);
    if (references.limit == 0) {
        ga_handle_table_init(&references, GA_HANDLE_REFERENCE, REFERENCES_MAX);
    }
    if (made != NULL) {
        *made = *wanted;
    }
    if (made == NULL || ga_handle_table_make(&references, made, &made->handle) != GA_OK) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_append(&all, &made->of_all);
    *out = made;
    return CUDA_SUCCESS;
}

/* Makes another context current for calls of the library. */
static CUresult reference_context_begin(CUcontext context)
{
    return cuCtxPushCurrent_v2(context);
}

static void reference_context_end(void)
{
    CUcontext popped;
    (void)cuCtxPopCurrent_v2(&popped);
}

static void object_destroy(uint64_t object, bool surface)
{
    if (object != 0) {
        (void)(surface ? cuSurfObjectDestroy(object) : cuTexObjectDestroy(object));
    }
}

static void reference_forget(struct front_reference *reference)
{
    if (reference->object != 0 && reference_context_begin(reference->context) == CUDA_SUCCESS) {
        object_destroy(reference->object, reference->surface);
        reference_context_end();
    }
    (void)ga_handle_table_remove(&references, reference->handle);
    ga_list_remove(&reference->of_all);
    free(reference);
}

static bool is_gone(const struct front_reference *reference)
{
    unsigned count;
    return reference->module != NULL &&
           front_host.module_function_count(&count, reference->module) == CUDA_ERROR_INVALID_HANDLE;
}

/* Module unloads are not reported here, so references of unloaded modules are searched for now
 * and then. */
static void reference_forget_gone(void)
{
    if (references.live < look_at) {
        return;
    }
    ga_list_each (at, following, &all) {
        struct front_reference *reference = ga_container(at, struct front_reference, of_all);
        if (is_gone(reference)) {
            reference_forget(reference);
        }
    }
    look_at = references.live * 2 > LOOK_FIRST ? references.live * 2 : LOOK_FIRST;
}

CUresult front_reference_enter(void *handle, bool surface, struct front_reference **reference)
{
    CUcontext context;
    CUresult rc = front_context_need(&context);
    if (rc == CUDA_SUCCESS) {
        rc =
            cuCtxGetFlags(&(unsigned){0}); /* a live context in a process without a sticky error? */
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    struct front_reference *found = ga_handle_table_find(&references, (uint64_t)(uintptr_t)handle);
    if (found == NULL || found->surface != surface || is_gone(found)) {
        return front_reference_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *reference = found;
    return CUDA_SUCCESS;
}

CUresult front_reference_leave(CUresult rc)
{
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- binding ---- */

/* Makes the object. 0, without an error: the settings make no valid object. */
static CUresult object_make(const struct front_reference *reference, uint64_t *object)
{
    *object = 0;
    if (!reference->bound) {
        return CUDA_SUCCESS;
    }
    CUresult rc = reference->surface
                      ? cuSurfObjectCreate((CUsurfObject *)object, &reference->resource)
                      : cuTexObjectCreate((CUtexObject *)object, &reference->resource,
                                          &reference->texture, NULL);
    return rc == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : rc;
}

/* Stores the new object, in the reference's context. Running kernels read the old one to their
 * end. */
static CUresult reference_put(const struct front_reference *reference, uint64_t object)
{
    CUresult rc = cuCtxSynchronize();
    if (rc == CUDA_SUCCESS) {
        rc = cuMemcpyHtoD_v2(reference->variable, &object, sizeof object);
    }
    return rc == CUDA_SUCCESS ? cuCtxSynchronize() : rc;
}

CUresult front_reference_change(struct front_reference *reference,
                                const struct front_reference *changed)
{
    uint64_t object = 0;
    CUresult rc = CUDA_SUCCESS;
    if (reference->module != NULL && (changed->bound || reference->bound)) {
        rc = reference_context_begin(reference->context);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        rc = object_make(changed, &object);
        if (rc == CUDA_SUCCESS && (object != 0 || reference->object != 0)) {
            rc = reference_put(reference, object);
        }
        object_destroy(rc == CUDA_SUCCESS ? reference->object : object, reference->surface);
        reference_context_end();
    }
    if (rc == CUDA_SUCCESS) {
        const struct ga_list link = reference->of_all;
        *reference = *changed;
        reference->of_all = link;
        reference->object = object;
    }
    return rc;
}

/* ---- from modules ---- */

/* The address of the variable; CUDA_ERROR_NOT_FOUND. `name` NULL: none. */
static CUresult reference_variable_find(CUmodule module, bool surface, const char *name,
                                        struct front_reference *reference)
{
    char whole[NAME_MAX];
    name = name != NULL ? name : "";
    int length =
        snprintf(whole, sizeof whole, "%s%s", surface ? API_SURFREF_NAME : API_TEXREF_NAME, name);
    if (length < 0 || (size_t)length >= sizeof whole) {
        return CUDA_ERROR_NOT_FOUND;
    }
    size_t bytes;
    struct front_pointer pointer;
    CUresult rc = cuModuleGetGlobal_v2(&reference->variable, &bytes, module, whole);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    reference->context = front_context_current();
    if (front_host.pointer(reference->variable, &pointer) && pointer.context != NULL) {
        reference->context = pointer.context;
    }
    reference->module = module;
    reference->surface = surface;
    return bytes == sizeof reference->object ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static struct front_reference *reference_known(const struct front_reference *wanted)
{
    ga_list_each (at, following, &all) {
        struct front_reference *reference = ga_container(at, struct front_reference, of_all);
        if (reference->module == wanted->module && reference->variable == wanted->variable) {
            return reference;
        }
    }
    return NULL;
}

static CUresult reference_get(void *out, CUmodule module, const char *name, bool surface)
{
    struct front_reference wanted = {.surface = surface}, *reference;
    CUresult rc =
        reference_variable_find(module, surface, name, &wanted); /* checks that it is a module */
    if ((rc == CUDA_SUCCESS || rc == CUDA_ERROR_NOT_FOUND) && (out == NULL || name == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    reference = reference_known(&wanted);
    if (reference == NULL) {
        reference_forget_gone();
        rc = reference_make(&wanted, &reference);
    }
    if (rc == CUDA_SUCCESS) {
        memcpy(out, &reference->handle, sizeof reference->handle);
    }
    return front_reference_leave(rc);
}

CUresult CUDAAPI cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name)
{
    return reference_get(pTexRef, hmod, name, false);
}

CUresult CUDAAPI cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name)
{
    return reference_get(pSurfRef, hmod, name, true);
}

/* ---- made by cuTexRefCreate: no kernel sees them ---- */

CUresult CUDAAPI cuTexRefCreate(CUtexref *pTexRef)
{
    CUcontext context;
    struct front_reference fresh = {0}, *reference;
    CUresult rc = front_context_need(&context);
    if (rc == CUDA_SUCCESS) {
        rc = cuCtxGetFlags(&(unsigned){0});
    }
    if (rc != CUDA_SUCCESS || pTexRef == NULL) {
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    rc = reference_make(&fresh, &reference);
    if (rc == CUDA_SUCCESS) {
        *pTexRef = (CUtexref)(uintptr_t)reference->handle;
    }
    return front_reference_leave(rc);
}

/* References of modules are destroyed with their module. */
CUresult CUDAAPI cuTexRefDestroy(CUtexref hTexRef)
{
    struct front_reference *reference;
    CUresult rc = front_reference_enter(hTexRef, false, &reference);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (reference->module != NULL) {
        return front_reference_leave(CUDA_ERROR_INVALID_VALUE);
    }
    reference_forget(reference);
    return front_reference_leave(CUDA_SUCCESS);
}
