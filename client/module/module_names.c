/* SPDX-License-Identifier: Apache-2.0 */
/* The names of all functions of a module: asked once, as many at a time as an answer holds. */
#include "client/module/module_names.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/module/module.h"
#include "front/front.h"

struct names {
    char *text; /* each with its NUL */
    size_t bytes;
    uint32_t count, known; /* of all functions; of those in `text` */
};

/* The results point into the answer: the caller takes what it needs and ends the call, whatever
 * came. A server of a build before ga_module_names tells all at once, if that fits. */
static CUresult names_ask(struct client_call *call, const struct client_module *module,
                          uint32_t first, struct ga_module_names_results *page)
{
    struct client_context *context = module->object.context;
    const struct ga_module_names_args args = {.module = module->object.handle, .first = first};
    const struct ga_module_list_args all = {.module = module->object.handle};
    CUresult rc = client_call_enter_in(call, API_OP_ga_module_names, context);
    bool paged = rc == CUDA_SUCCESS && !client_call_lacking(call);
    if (rc == CUDA_SUCCESS && !paged) {
        rc = client_call_enter_in(call, API_OP_ga_module_list, context);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_call_begin(call, ga_module_names_args_bound(&args));
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct ga_reader reader;
    if (paged) {
        ga_module_names_args_write(&call->writer, &args);
    } else {
        ga_module_list_args_write(&call->writer, &all);
    }
    rc = client_call_wait_want(call, NULL, true, NULL, 0, &reader);
    if (rc == CUDA_SUCCESS && paged) {
        ga_module_names_results_read(&reader, page);
    } else if (rc == CUDA_SUCCESS) {
        struct ga_module_list_results list;
        ga_module_list_results_read(&reader, &list);
        *page = (struct ga_module_names_results){list.count, list.names_bytes, list.names};
    }
    return rc == CUDA_SUCCESS && reader.failed ? client_call_broken(call) : rc;
}

static CUresult names_add(struct names *names, const struct ga_module_names_results *page)
{
    char *more = realloc(names->text, names->bytes + page->names_bytes + 1);
    if (more == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    names->text = more;
    names->count = page->count;
    if (page->names_bytes != 0) {
        memcpy(more + names->bytes, page->names, page->names_bytes);
    }
    for (const char *c = more + names->bytes; c < more + names->bytes + page->names_bytes; c++) {
        names->known += *c == 0;
    }
    names->bytes += page->names_bytes;
    more[names->bytes] = 0;
    return CUDA_SUCCESS;
}

/* Takes `names` over. Another thread may have been quicker, and read its list just now. */
static void names_keep(struct client_module *module, struct names *names)
{
    pthread_mutex_lock(&client_state_lock);
    if (!atomic_load(&module->listed)) {
        module->names = names->text;
        module->names_bytes = names->bytes;
        module->function_count = names->count;
        atomic_store(&module->listed, true);
        names->text = NULL;
    }
    pthread_mutex_unlock(&client_state_lock);
    free(names->text);
}

CUresult client_module_names(struct client_module *module)
{
    struct names names = {0};
    CUresult rc = CUDA_SUCCESS;
    if (atomic_load(&module->listed)) {
        return CUDA_SUCCESS;
    }
    do {
        struct client_call call;
        struct ga_module_names_results page = {0};
        uint32_t known = names.known;
        rc = names_ask(&call, module, known, &page);
        rc = rc == CUDA_SUCCESS ? names_add(&names, &page) : rc;
        client_call_end(&call);
        if (rc == CUDA_SUCCESS && names.known == known && known < names.count) {
            rc = front_unsupported("a function whose name is too long for an answer, over the "
                                   "network");
        }
    } while (rc == CUDA_SUCCESS && names.known < names.count);
    if (rc == CUDA_SUCCESS) {
        names_keep(module, &names);
    } else {
        free(names.text);
    }
    return rc;
}
