/* SPDX-License-Identifier: Apache-2.0 */
/* With the option -ptx NVIDIA's library stops before it makes machine code. */
#include "jit/lto.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/real.h"

#define LTO_TYPE(name) __typeof__(&JIT_VERSIONED(name))

struct real {
    LTO_TYPE(nvJitLinkCreate) create;
    LTO_TYPE(nvJitLinkDestroy) destroy;
    LTO_TYPE(nvJitLinkAddData) add;
    LTO_TYPE(nvJitLinkComplete) complete;
    LTO_TYPE(nvJitLinkGetLinkedPtxSize) ptx_size;
    LTO_TYPE(nvJitLinkGetLinkedPtx) ptx;
    LTO_TYPE(nvJitLinkGetErrorLogSize) log_size;
    LTO_TYPE(nvJitLinkGetErrorLog) log;
};

static void *lto_find(const char *name)
{
    return jit_real_find("nvJitLink", name);
}

static bool real_find(struct real *real)
{
    real->create = (LTO_TYPE(nvJitLinkCreate))lto_find("nvJitLinkCreate");
    real->destroy = (LTO_TYPE(nvJitLinkDestroy))lto_find("nvJitLinkDestroy");
    real->add = (LTO_TYPE(nvJitLinkAddData))lto_find("nvJitLinkAddData");
    real->complete = (LTO_TYPE(nvJitLinkComplete))lto_find("nvJitLinkComplete");
    real->ptx_size = (LTO_TYPE(nvJitLinkGetLinkedPtxSize))lto_find("nvJitLinkGetLinkedPtxSize");
    real->ptx = (LTO_TYPE(nvJitLinkGetLinkedPtx))lto_find("nvJitLinkGetLinkedPtx");
    real->log_size = (LTO_TYPE(nvJitLinkGetErrorLogSize))lto_find("nvJitLinkGetErrorLogSize");
    real->log = (LTO_TYPE(nvJitLinkGetErrorLog))lto_find("nvJitLinkGetErrorLog");
    return real->create != NULL && real->destroy != NULL && real->add != NULL &&
           real->complete != NULL && real->ptx_size != NULL && real->ptx != NULL &&
           real->log_size != NULL && real->log != NULL;
}

static nvJitLinkResult link_with(const struct real *real, nvJitLinkHandle link,
                                 const struct jit_input *inputs, size_t count, char **ptx,
                                 size_t *size)
{
    nvJitLinkResult rc = NVJITLINK_SUCCESS;
    for (size_t i = 0; rc == NVJITLINK_SUCCESS && i < count; i++) {
        rc =
            real->add(link, NVJITLINK_INPUT_LTOIR, inputs[i].bytes, inputs[i].size, inputs[i].name);
    }
    if (rc == NVJITLINK_SUCCESS) {
        rc = real->complete(link);
    }
    if (rc == NVJITLINK_SUCCESS) {
        rc = real->ptx_size(link, size);
    }
    char *made = NULL;
    if (rc == NVJITLINK_SUCCESS) {
        made = calloc(1, *size + 1);
        rc = made != NULL ? real->ptx(link, made) : NVJITLINK_ERROR_INTERNAL;
    }
    if (rc != NVJITLINK_SUCCESS) {
        free(made);
        return rc;
    }
    *ptx = made;
    return rc;
}

nvJitLinkResult jit_lto_link(char *const *options, uint32_t option_count,
                             const struct jit_input *inputs, size_t count, char **ptx, size_t *size,
                             char *log)
{
    struct real real;
    nvJitLinkHandle link;
    if (!real_find(&real)) {
        snprintf(log, JIT_LOG_BYTES, "LTO-IR needs NVIDIA's libnvJitLink, of CUDA %d",
                 JIT_CUDA_MAJOR);
        return NVJITLINK_ERROR_NVVM_COMPILE;
    }
    const char **told = calloc((size_t)option_count + 1, sizeof *told);
    if (told == NULL) {
        return NVJITLINK_ERROR_INTERNAL;
    }
    uint32_t told_count = 0;
    bool lto = false;
    for (uint32_t i = 0; i < option_count; i++) {
        lto = lto || strcmp(options[i], "-lto") == 0;
        if (strcmp(options[i], "-ptx") != 0) {
            told[told_count++] = options[i];
        }
    }
    told[told_count++] = "-ptx";
    nvJitLinkResult rc =
        lto ? real.create(&link, told_count, told) : NVJITLINK_ERROR_LTO_NOT_ENABLED;
    free(told);
    if (rc != NVJITLINK_SUCCESS) {
        return rc;
    }
    rc = link_with(&real, link, inputs, count, ptx, size);
    size_t bytes;
    if (rc != NVJITLINK_SUCCESS && real.log_size(link, &bytes) == NVJITLINK_SUCCESS &&
        bytes <= JIT_LOG_BYTES) {
        (void)real.log(link, log);
    }
    (void)real.destroy(&link);
    return rc;
}
