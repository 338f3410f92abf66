/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries: objects of the client alone, which keep their image. They are loaded in a context when
 * something of theirs is used there first, and again after a reset. */
#include "client/module/library.h"

#include <stdlib.h>
#include <string.h>

#include "client/context/context.h"
#include "client/context/object.h"
#include "client/module/image.h"
#include "client/module/managed_variable.h"
#include "client/module/module.h"
#include "client/module/module_functions.h"
#include "client/module/module_names.h"
#include "client/process/process.h"
#include "front/front.h"

static CUresult library_of(CUlibrary handle, struct client_library **library)
{
    CU_TRY(front_ready());
    *library = client_object_find(GA_HANDLE_LIBRARY, (uint64_t)(uintptr_t)handle);
    return *library != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- the module of a library in a context */

static struct client_module *loaded_module(const struct client_library *library,
                                           const struct client_context *context)
{
    pthread_mutex_lock(&client_state_lock);
    struct client_module *at = library->modules;
    while (at != NULL && (at->object.context != context || at->object.handle == 0)) {
        at = at->next;
    }
    pthread_mutex_unlock(&client_state_lock);
    return at;
}

static CUresult load(struct client_library *library, struct client_context *context,
                     struct front_jit *jit, struct client_module **module)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one); /* two threads must not both load it */
    *module = loaded_module(library, context);
    CUresult rc = CUDA_SUCCESS;
    if (*module == NULL) {
        rc = client_module_load(context, library->image, library->image_bytes, jit, module);
        client_image_refused(library->given, NULL, rc);
        if (rc == CUDA_SUCCESS) {
            pthread_mutex_lock(&client_state_lock);
            (*module)->library = library;
            (*module)->next = library->modules;
            library->modules = *module;
            pthread_mutex_unlock(&client_state_lock);
            rc = client_managed_join(library, *module);
        }
    }
    pthread_mutex_unlock(&one);
    return rc;
}

CUresult client_library_module(struct client_library *library, struct client_context *context,
                               struct client_module **module)
{
    struct front_jit jit = {.max_registers = library->max_registers,
                            .optimization = library->optimization};
    *module = loaded_module(library, context);
    return *module != NULL ? CUDA_SUCCESS : load(library, context, &jit, module);
}

/* A context that can load something now, or NULL. */
static struct client_context *some_context(void)
{
    struct client_context *context;
    uint32_t index = 0;
    while ((context = client_context_next(&index)) != NULL) {
        if (atomic_load(&context->active)) {
            return context;
        }
    }
    return NULL;
}

CUresult client_library_module_anywhere(struct client_library *library,
                                        struct client_module **module)
{
    struct client_context *context;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_ERROR_INVALID_CONTEXT || rc == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
        context = some_context();
        rc = context != NULL ? CUDA_SUCCESS : rc;
    }
    return rc == CUDA_SUCCESS ? client_library_module(library, context, module) : rc;
}

/* ---- loading and unloading */

/* The library owns the prepared image from now on. */
static CUresult keep_image(struct client_library *library, const struct client_image *image,
                           bool preserved)
{
    library->image_bytes = image->size;
    library->image = image->bytes;
    library->owned = image->owned;
    if (preserved || image->owned != NULL) {
        return CUDA_SUCCESS;
    }
    library->owned = malloc(image->size);
    if (library->owned == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(library->owned, image->bytes, image->size);
    library->image = library->owned;
    return CUDA_SUCCESS;
}

static bool is_preserved(unsigned count, const CUlibraryOption *options, void **values)
{
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED) {
            return values == NULL || values[i] != NULL;
        }
    }
    return false;
}

/* With a current context it is loaded there, and errors of the image come from this call. A lack of
 * the context is an error of the call that uses the library there. */
static CUresult load_here(struct client_library *library, struct front_jit *jit)
{
    struct client_context *context;
    struct client_module *module;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_ERROR_INVALID_CONTEXT || rc == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
        return CUDA_SUCCESS;
    }
    CU_TRY(rc);
    rc = load(library, context, jit, &module);
    return rc == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : rc;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                   void **jitOptionsValues, unsigned int numJitOptions,
                                   CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                   unsigned int numLibraryOptions)
{
    struct front_jit jit;
    struct client_image image;
    CUresult rc = front_ready();
    bool wrong =
        library == NULL || code == NULL || (numLibraryOptions != 0 && libraryOptions == NULL);
    if (rc == CUDA_SUCCESS) {
        rc = wrong ? CUDA_ERROR_INVALID_VALUE
                   : front_jit_read(numJitOptions, jitOptions, jitOptionsValues, &jit);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_image_find(code, &image);
        if (rc != CUDA_SUCCESS) {
            front_jit_end(&jit);
        }
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct client_library *made = client_object_make(GA_HANDLE_LIBRARY, NULL);
    if (made == NULL) {
        free(image.owned);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->given = code;
    made->max_registers = jit.max_registers;
    made->optimization = jit.optimization;
    rc = keep_image(made, &image,
                    is_preserved(numLibraryOptions, libraryOptions, libraryOptionValues));
    if (rc == CUDA_SUCCESS) {
        rc = load_here(made, &jit);
    }
    front_jit_end(&jit);
    if (rc != CUDA_SUCCESS) {
        client_object_drop(made);
        return rc;
    }
    *library = (CUlibrary)(uintptr_t)made->object.handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                       CUjit_option *jitOptions, void **jitOptionsValues,
                                       unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                       void **libraryOptionValues, unsigned int numLibraryOptions)
{
    void *image;
    (void)libraryOptionValues;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && (fileName == NULL || library == NULL ||
                               (numLibraryOptions != 0 && libraryOptions == NULL))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_image_read(fileName, &image);
    }
    if (rc == CUDA_SUCCESS) {
        rc = cuLibraryLoadData(library, image, jitOptions, jitOptionsValues, numJitOptions, NULL,
                               NULL, 0);
        client_image_refused(NULL, fileName, rc);
        free(image);
    }
    return rc;
}

static void library_release(void *at)
{
    struct client_library *library = at;
    for (struct client_kernel *at = library->kernels, *next; at != NULL; at = next) {
        next = at->next;
        client_object_drop(at);
    }
    client_managed_release(library);
    free(library->owned);
    library->owned = NULL;
    library->kernels = NULL;
}

static void kernel_release(void *at)
{
    struct client_kernel *kernel = at;
    free(kernel->name);
}

const struct client_object_type client_library_type = {.bytes = sizeof(struct client_library),
                                                       .release = library_release};
const struct client_object_type client_kernel_type = {.bytes = sizeof(struct client_kernel),
                                                      .release = kernel_release};

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    struct client_library *found;
    CU_TRY(library_of(library, &found));
    if (atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    struct client_context *context;
    uint32_t index = 0;
    while ((context = client_context_next(&index)) != NULL) {
        struct client_module *module = loaded_module(found, context);
        if (module != NULL) {
            (void)client_module_unload(module);
        }
    }
    client_object_drop(found);
    return CUDA_SUCCESS;
}

/* ---- kernels */

/* Under client_state_lock. */
static struct client_kernel *find_kernel(struct client_library *library, const char *name)
{
    struct client_kernel *at = library->kernels;
    while (at != NULL && strcmp(at->name, name) != 0) {
        at = at->next;
    }
    return at;
}

static struct client_kernel *known_kernel(struct client_library *library, const char *name)
{
    pthread_mutex_lock(&client_state_lock);
    struct client_kernel *found = find_kernel(library, name);
    pthread_mutex_unlock(&client_state_lock);
    return found;
}

static CUresult make_kernel(struct client_library *library, const char *name,
                            struct client_kernel **out)
{
    *out = known_kernel(library, name);
    if (*out != NULL) {
        return CUDA_SUCCESS;
    }
    struct client_kernel *made = client_object_make(GA_HANDLE_KERNEL, NULL);
    if (made == NULL || (made->name = strdup(name)) == NULL) {
        if (made != NULL) {
            client_object_drop(made);
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->library = library;
    pthread_mutex_lock(&client_state_lock);
    *out = find_kernel(library, name);
    if (*out == NULL) {
        made->next = library->kernels;
        library->kernels = made;
        *out = made;
    }
    pthread_mutex_unlock(&client_state_lock);
    if (*out != made) { /* another thread was quicker */
        client_object_drop(made);
    }
    return CUDA_SUCCESS;
}

CUresult client_library_kernel(const struct client_function *function, CUkernel *kernel)
{
    struct client_kernel *found;
    *kernel = NULL;
    CUresult rc = function->module->library != NULL
                      ? make_kernel(function->module->library, function->name, &found)
                      : CUDA_SUCCESS;
    if (rc == CUDA_SUCCESS && function->module->library != NULL) {
        *kernel = (CUkernel)(uintptr_t)found->object.handle;
    }
    return rc;
}

/* Whether the library has it is known as soon as there is a context that it can be loaded in. */
CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    struct client_library *found;
    struct client_kernel *kernel;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = pKernel == NULL ? CUDA_ERROR_INVALID_VALUE : library_of(library, &found);
    }
    if (rc == CUDA_SUCCESS && name == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && known_kernel(found, name) == NULL) {
        struct client_module *module;
        struct client_function *function;
        rc = client_library_module_anywhere(found, &module);
        if (rc == CUDA_SUCCESS) {
            rc = client_module_function(module, name, &function);
        } else if (rc == CUDA_ERROR_INVALID_CONTEXT || rc == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                   rc == CUDA_ERROR_OUT_OF_MEMORY) {
            rc = CUDA_SUCCESS;
        }
    }
    if (rc == CUDA_SUCCESS) {
        rc = make_kernel(found, name, &kernel);
    }
    if (rc == CUDA_SUCCESS) {
        *pKernel = (CUkernel)(uintptr_t)kernel->object.handle;
    }
    return rc;
}

/* ---- enumeration: needs a context, but not a current one */

static CUresult list(const void *out, CUlibrary handle, struct client_library **library,
                     struct client_module **module)
{
    CU_TRY(front_ready());
    CU_TRY(out == NULL ? CUDA_ERROR_INVALID_VALUE : library_of(handle, library));
    CU_TRY(client_library_module_anywhere(*library, module));
    return client_module_names(*module);
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    struct client_library *library;
    struct client_module *module;
    CU_TRY(list(count, lib, &library, &module));
    *count = module->function_count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels,
                                           CUlibrary lib)
{
    struct client_library *library;
    struct client_module *module;
    CUresult rc = list(kernels, lib, &library, &module);
    size_t at = 0;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < numKernels && i < module->function_count &&
                         at < module->names_bytes;
         i++) {
        struct client_kernel *kernel;
        rc = make_kernel(library, module->names + at, &kernel);
        at += strlen(module->names + at) + 1;
        if (rc == CUDA_SUCCESS) {
            kernels[i] = (CUkernel)(uintptr_t)kernel->object.handle;
        }
    }
    return rc;
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct client_library *found;
    struct client_context *context;
    struct client_module *module;
    CU_TRY(library_of(library, &found));
    if (pMod == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_context_current(&context));
    CU_TRY(client_library_module(found, context, &module));
    *pMod = (CUmodule)(uintptr_t)module->object.handle;
    return CUDA_SUCCESS;
}
