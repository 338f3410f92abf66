/* SPDX-License-Identifier: Apache-2.0 */
/* Loading of modules. An image comes from the client, so its container is walked within its length
 * before the driver, which is told no length, sees it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/bundle.h"
#include "api/calls.h"
#include "api/driver_places.h"
#include "api/extent.h"
#include "api/server_dispatch.h"
#include "base/failpoint.h"
#include "server/calls/module.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/driver/driver.h"
#include "server/image/image.h"
#include "server/image/image_variables.h"
#include "server/meter/meter.h"
#include "server/objects/kernel_memory.h"
#include "server/objects/mapped_memory.h"

/* ---- options */

struct module_options {
    unsigned count;
    CUjit_option names[6];
    void *values[6];
    char *info, *error; /* logs, or NULL */
    uint64_t log_bytes; /* of both, as charged */
};

static void option_add(struct module_options *options, CUjit_option name, uintptr_t value)
{
    options->names[options->count] = name;
    options->values[options->count] = (void *)value;
    options->count++;
}

/* More than the application may have is left out. */
static char *log_add(struct server_app *app, struct module_options *options, CUjit_option buffer,
                     CUjit_option size, uint32_t bytes)
{
    bytes = bytes < API_LOG_MAX ? bytes : API_LOG_MAX - 1;
    if (bytes == 0 ||
        ledger_charge(app->ledger, FIGURE_HOST_BYTES, (uint64_t)bytes + 1) != CUDA_SUCCESS) {
        return NULL;
    }
    options->log_bytes += (uint64_t)bytes + 1;
    char *log = calloc(1, (size_t)bytes + 1);
    if (log != NULL) {
        option_add(options, buffer, (uintptr_t)log);
        option_add(options, size, bytes);
    }
    return log;
}

static struct module_options options_of(const struct made_module *made)
{
    struct module_options options = {0};
    if (made->max_registers != 0) {
        option_add(&options, CU_JIT_MAX_REGISTERS, made->max_registers);
    }
    if (made->optimization != 0) {
        option_add(&options, CU_JIT_OPTIMIZATION_LEVEL, made->optimization);
    }
    return options;
}

static void logs_add(struct server_app *app, struct module_options *options,
                     const struct ga_module_load_args *args)
{
    options->info = log_add(app, options, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            args->log_bytes);
    /* Array sizes: two options each, at most two logs and one of the two others is common. */
    options->error = options->count <= 4
                         ? log_add(app, options, CU_JIT_ERROR_LOG_BUFFER,
                                   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, args->error_log_bytes)
                         : NULL;
}

static void options_free(struct server_app *app, struct module_options *options)
{
    ledger_return(app->ledger, FIGURE_HOST_BYTES, options->log_bytes);
    free(options->info);
    free(options->error);
}

/* ---- what the driver loads */

/* A linked program (nvcc -rdc=true): CUDA's wrapper of version 2, made again, for whatever the
 * driver takes of it: the machine code, or the modules of the translation units. */
struct linked {
    uint32_t magic, version;
    const void *code;
    const void **units; /* NULL-terminated; malloc-ed */
};

static CUresult linked_make(const struct api_image *bundle, struct linked *linked)
{
    struct api_image part;
    enum ga_status status = api_bundle_linked(bundle, &part);
    *linked = (struct linked){0x466243b1, 2, part.bytes, NULL};
    linked->units = status == GA_OK ? calloc(API_IMAGE_PRELINKED_MAX + 1, sizeof(void *)) : NULL;
    if (linked->units == NULL) {
        return status == GA_OK ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
    }
    for (size_t i = 0; (status = api_bundle_unit(bundle, i, &part)) == GA_OK; i++) {
        linked->units[i] = part.bytes;
    }
    return status == GA_AGAIN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult link_parts(struct server_app *app, const struct api_image *bundle,
                           CUlinkState state, CUmodule *module)
{
    static const CUjitInputType types[] = {[API_IMAGE_PTX] = CU_JIT_INPUT_PTX,
                                           [API_IMAGE_ELF] = CU_JIT_INPUT_CUBIN,
                                           [API_IMAGE_FATBIN] = CU_JIT_INPUT_FATBINARY};
    struct api_image part;
    enum ga_status status;
    for (size_t i = 0; (status = api_bundle_unit(bundle, i, &part)) == GA_OK; i++) {
        CUresult rc = app->driver->cuLinkAddData_v2(
            state, types[part.kind], (void *)(uintptr_t)part.bytes, part.size, NULL, 0, NULL, NULL);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
    }
    void *made;
    size_t size;
    CU_TRY(status == GA_AGAIN ? app->driver->cuLinkComplete(state, &made, &size)
                              : CUDA_ERROR_INVALID_IMAGE);
    return app->driver->cuModuleLoadData(module, made);
}

/* Here the driver links the inputs that the program has linked at run time (cuLinkComplete). */
static CUresult link_here(struct server_app *app, const struct api_image *bundle,
                          struct module_options *options, CUmodule *module)
{
    CUlinkState state;
    CUresult rc =
        app->driver->cuLinkCreate_v2(options->count, options->names, options->values, &state);
    if (rc == CUDA_SUCCESS) {
        rc = link_parts(app, bundle, state, module);
        (void)app->driver->cuLinkDestroy(state);
    }
    return rc;
}

static CUresult driver_load(struct server_app *app, const struct image *image,
                            struct module_options *options, CUmodule *module)
{
    struct linked linked = {0};
    struct api_image opened, part;
    CUresult rc = CUDA_SUCCESS;
    meter_long_call(app);
    if (api_image_open(image_bytes(image), image_size(image) + 1, &opened) != GA_OK) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    bool is_bundle = opened.kind == API_IMAGE_BUNDLE;
    bool is_linked = is_bundle && api_bundle_linked(&opened, &part) != GA_AGAIN;
    if (is_bundle && !is_linked) {
        return link_here(app, &opened, options, module);
    }
    if (is_linked) {
        rc = linked_make(&opened, &linked);
    }
    if (rc == CUDA_SUCCESS) {
        rc = app->driver->cuModuleLoadDataEx(module,
                                             is_linked ? (const void *)&linked : image_bytes(image),
                                             options->count, options->names, options->values);
    }
    free(linked.units);
    return rc;
}

CUresult module_real_load(struct server_app *app, struct server_module *module)
{
    struct module_options options = options_of(&module->made_from);
    return driver_load(app, module->image, &options, &module->real);
}

/* ---- its memory */

static CUresult module_charge(struct server_app *app, struct server_module *module, uint64_t bytes)
{
    if (bytes < module->bytes) {
        ledger_return_device(app->ledger, module->context->session->gpu, module->bytes - bytes);
    } else {
        CU_TRY(memory_charge(app, module->context->session, bytes - module->bytes));
    }
    module->bytes = bytes;
    return CUDA_SUCCESS;
}

/* CUDA_ERROR_NOT_FOUND: the image does not tell. */
static CUresult image_memory_of(struct server_app *app, const struct server_module *module,
                                const struct image *image, struct image_memory *memory)
{
    CUdevice device = module->context->session->real;
    int major = 0, minor = 0;
    struct api_image opened;
    (void)app->driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                            device);
    (void)app->driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                            device);
    const struct image_reader reader = {.sm = (unsigned)(10 * major + minor),
                                        .ptx_only = driver_counts(app->driver) != NULL,
                                        .ledger = app->ledger};
    if (api_image_open(image_bytes(image), image_size(image) + 1, &opened) != GA_OK) {
        return CUDA_ERROR_NOT_FOUND;
    }
    enum ga_status status = image_variables(&opened, &reader, memory);
    return status == GA_OK          ? CUDA_SUCCESS
           : status == GA_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                    : CUDA_ERROR_NOT_FOUND;
}

/* Before the driver loads it: what the image says. `told`: it does. */
static CUresult module_guess(struct server_app *app, struct server_module *module,
                             const struct image *image, bool *told)
{
    struct image_memory memory = {0};
    CUresult rc = image_memory_of(app, module, image, &memory);
    *told = rc == CUDA_SUCCESS;
    if (rc == CUDA_ERROR_NOT_FOUND) {
        return CUDA_SUCCESS;
    }
    CU_TRY(rc);
    CU_TRY(module_charge(
        app, module, memory.variables + (driver_counts(app->driver) != NULL ? 0 : memory.code)));
    return memory.heap ? kernel_memory_heap(app, module->context) : CUDA_SUCCESS;
}

/* When it is loaded: what a driver says that counts. */
static CUresult module_count(struct server_app *app, struct server_module *module)
{
    const struct cuda_driver_places *places = driver_counts(app->driver);
    struct cuda_module_layout layout;
    CU_TRY((CUresult)places->module_layout(module->real, &layout));
    uint64_t bytes = api_extent(layout.runtime_bytes);
    for (size_t i = 0; i < layout.variable_count; i++) {
        struct cuda_module_variable variable;
        CU_TRY((CUresult)places->module_variable(module->real, i, &variable));
        bytes += api_extent(variable.bytes);
    }
    CU_TRY(module_charge(app, module, bytes));
    return kernel_memory_settle(app, module->context);
}

static uint64_t memory_free_now(const struct server_app *app)
{
    size_t bytes = 0, all;
    return app->driver->cuMemGetInfo_v2(&bytes, &all) == CUDA_SUCCESS ? bytes : 0;
}

/* Loads it, charged before as far as its image tells, and else with what the GPU has less. */
static CUresult load_charged(struct server_app *app, struct server_module *module,
                             const struct image *image, struct module_options *options)
{
    bool told;
    CU_TRY(module_guess(app, module, image, &told));
    bool measured = !told && driver_counts(app->driver) == NULL;
    uint64_t before = measured ? memory_free_now(app) : 0;
    CU_TRY(driver_load(app, image, options, &module->real));
    uint64_t after = measured ? memory_free_now(app) : 0;
    if (measured) {
        return module_charge(app, module, before > after ? before - after : 0);
    }
    return driver_counts(app->driver) != NULL ? module_count(app, module) : CUDA_SUCCESS;
}

/* Unloads it, if it is loaded. */
static void module_undo(struct server_app *app, struct server_module *module)
{
    if (module->real != NULL) {
        module_unmake(app, module->context, module->real, module->bytes);
    } else {
        ledger_return_device(app->ledger, module->context->session->gpu, module->bytes);
        (void)kernel_memory_settle(app, module->context);
    }
    free(module);
}

/* ---- */

/* Takes a use of the image if it answers CUDA_SUCCESS. */
static CUresult module_make(struct server_app *app, uint64_t handle, const struct made_module *made,
                            struct image *image, struct module_options *options)
{
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    struct server_module *module = calloc(1, sizeof *module);
    if (module == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    module->context = app->current;
    CUresult rc = load_charged(app, module, image, options);
    if (rc == CUDA_SUCCESS) {
        enum ga_status status = ga_handle_table_take(&app->objects.modules, handle, module);
        rc = status == GA_OK        ? CUDA_SUCCESS
             : status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE
                                    : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        module_undo(app, module);
        return rc;
    }
    module->handle = handle;
    module->image = image;
    image_ref(image);
    module->made_from = *made;
    ga_list_init(&module->functions);
    ga_list_append(&app->current->modules, &module->link);
    return CUDA_SUCCESS;
}

/* Answers whatever the result: the log says why it failed. */
static CUresult load_and_answer(struct server_app *app, const struct ga_module_load_args *args,
                                struct image *image)
{
    const struct made_module made = {.max_registers = args->max_registers,
                                     .optimization = args->optimization};
    struct module_options options = options_of(&made);
    logs_add(app, &options, args);
    conn_flush(conn_of(app)); /* loading may take long */
    CUresult rc = image != NULL ? module_make(app, args->module, &made, image, &options)
                                : CUDA_ERROR_OUT_OF_MEMORY;
    const struct ga_module_load_results results = {.info_log = options.info,
                                                   .error_log = options.error};
    struct ga_writer *writer =
        server_reply_begin(app, app->call.header, rc, ga_module_load_results_bound(&results));
    if (writer != NULL) {
        ga_module_load_results_write(writer, &results);
    }
    server_reply_end(app);
    options_free(app, &options);
    return SERVER_ANSWERED;
}

/* ---- images that are there already */

_Static_assert(TRANSPORT_DIGEST_BYTES == CHANNEL_KEY_BYTES &&
                   TRANSPORT_DIGEST_BYTES == API_NAME_WORDS * sizeof(uint64_t),
               "a name travels as it is");

/* The owner's own image of this name. CUDA_ERROR_NOT_FOUND: the owner has not sent it, whoever else
 * may have; or nobody can say. CUDA_ERROR_NOT_PERMITTED: this server keeps none. */
static CUresult image_named(struct server_app *app, const uint8_t *name, uint64_t size,
                            struct image **out)
{
    struct channel_request packet = {.verb = CHANNEL_IMAGE_FIND, .bytes = size};
    int fd = -1;
    if (!app->host->keeps_images || app->host->request == NULL) {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    *out = image_find(&app->objects.images, name, size);
    if (*out != NULL) {
        return CUDA_SUCCESS;
    }
    memcpy(packet.key, name, sizeof packet.key);
    conn_flush(conn_of(app));
    if (GA_FAILPOINT("backend: before an image is asked for") ||
        app->host->request(app->host->user, &packet, &fd) != GA_OK || fd < 0) {
        return CUDA_ERROR_NOT_FOUND;
    }
    CUresult rc = image_adopt(&app->objects.images, name, size, fd, out);
    close(fd);
    return rc;
}

CUresult server_do_ga_module_load_named(struct server_app *app,
                                        const struct ga_module_load_named_args *args,
                                        struct ga_module_load_named_results *results)
{
    (void)results; /* they are those of ga_module_load */
    uint8_t name[TRANSPORT_DIGEST_BYTES];
    struct image *image;
    memcpy(name, args->name, sizeof name);
    CUresult rc = image_named(app, name, args->image_bytes, &image);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct ga_module_load_args load = {.module = args->module,
                                             .image_bytes = args->image_bytes,
                                             .max_registers = args->max_registers,
                                             .optimization = args->optimization,
                                             .log_bytes = args->log_bytes,
                                             .error_log_bytes = args->error_log_bytes};
    CUresult answered = load_and_answer(app, &load, image);
    image_unref(image);
    return answered;
}

/* ---- images that come with the call */

#define PIECE_BYTES ((size_t)256 << 10) /* is still in the cache when its digest is computed */

/* Reads the bytes; False: the connection has ended. `*named`: `name` is theirs. */
static bool image_read(struct server_app *app, struct image *image, size_t bulk, uint8_t *name,
                       bool *named)
{
    uint8_t *room = image_room(image);
    uint64_t size = image_size(image);
    struct transport_digest *digest = image_is_large(size) ? transport_digest_begin() : NULL;
    for (size_t at = 0, now; at < bulk; at += now) {
        now = bulk - at < PIECE_BYTES ? bulk - at : PIECE_BYTES;
        if (conn_bulk(conn_of(app), room + at, now) != GA_OK) {
            (void)transport_digest_end(digest, NULL);
            return false;
        }
        transport_digest_add(digest, room + at, at + now < size ? now : size - at);
    }
    *named = transport_digest_end(digest, name);
    return true;
}

/* gpuaasd keeps it for the owner of the application; or not: then it is sent again. */
static void image_keep(struct server_app *app, const struct image *image, int fd)
{
    struct channel_request packet = {.verb = CHANNEL_IMAGE_KEEP, .bytes = image_size(image)};
    if (!image->named || !app->host->keeps_images || app->host->tell == NULL ||
        GA_FAILPOINT("backend: before an image is kept")) {
        return;
    }
    memcpy(packet.key, image->name, sizeof packet.key);
    app->host->tell(app->host->user, &packet, fd);
}

/* The image of the call's bulk bytes. NULL: it is more than the application may have. False: the
 * connection has ended. */
static bool image_take(struct server_app *app, uint64_t size, size_t bulk, struct image **out)
{
    uint8_t name[TRANSPORT_DIGEST_BYTES];
    bool named = false;
    int fd;
    *out = NULL;
    struct image *image;
    if (image_begin(&app->objects.images, size, &image) != CUDA_SUCCESS) {
        return conn_bulk_skip(conn_of(app));
    }
    if (!image_read(app, image, bulk, name, &named)) {
        image_unref(image);
        return false;
    }
    if (image_finish(&image, named ? name : NULL, &fd) == CUDA_SUCCESS) {
        *out = image;
        if (fd >= 0) {
            image_keep(app, image, fd);
            close(fd);
        }
    }
    return true;
}

CUresult server_do_ga_module_load(struct server_app *app, const struct ga_module_load_args *args,
                                  struct ga_module_load_results *results)
{
    (void)results; /* its logs are written whatever the result */
    size_t bulk = app->call.header->length - app->call.values;
    struct image *image;
    if (args->image_bytes > API_IMAGE_MAX || bulk != wire_padded(args->image_bytes) ||
        !image_take(app, args->image_bytes, bulk, &image)) {
        return SERVER_BROKEN;
    }
    CUresult answered = load_and_answer(app, args, image);
    image_unref(image);
    return answered;
}
