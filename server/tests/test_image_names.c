/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are named instead of sent: by whom, and what everybody else learns. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/constants.h"
#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/handle.h"
#include "server/tests/script.h"

#define BYTES (API_IMAGE_NAMED_MIN + 1000)

static const char code[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry nothing()\n{\n    ret;\n}\n//";

static struct script_server server;
static struct script_app app, other;
static char local[64]; /* where gpuaasd listens for programs of this machine */
static char image[BYTES + 1], another[BYTES + 1];
static const uint64_t first = 1, second = 2; /* modules, by index */

static void image_make(char *to, char fill)
{
    memset(to, fill, BYTES);
    memcpy(to, code, sizeof code - 1);
    to[BYTES] = 0;
}

static void start_with(const char *more)
{
    char lines[200];
    snprintf(local, sizeof local, "shm:gpuaas-test-%d", (int)getpid());
    snprintf(lines, sizeof lines, "listen = %s\n%s", local, more);
    image_make(image, 'x');
    image_make(another, 'y');
    script_server_start(&server, lines);
}

static void start(void)
{
    start_with("");
}

static void stop(void)
{
    script_app_close(&app);
    script_app_close(&other);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(image_names, .init = start, .fini = stop, .timeout = 60);

static uint64_t module_of(uint64_t index)
{
    return ga_handle_make(GA_HANDLE_MODULE, 1, (uint32_t)index);
}

/* Loads by name; the answer's code. */
static int32_t name_bytes(struct script_app *of, uint64_t index, const char *bytes, uint64_t size)
{
    struct ga_module_load_named_args args = {
        .module = module_of(index), .image_bytes = size, .error_log_bytes = 1000};
    uint8_t name[TRANSPORT_DIGEST_BYTES];
    struct transport_digest *digest = transport_digest_begin();
    transport_digest_add(digest, bytes, BYTES);
    cr_assert(transport_digest_end(digest, name));
    memcpy(args.name, name, sizeof args.name);
    ga_module_load_named_args_write(script_begin(&of->data), &args);
    script_send(&of->data, API_OP_ga_module_load_named, 1, of->sequence);
    return script_wait(of, of->sequence++);
}

static int32_t name_image(struct script_app *of, uint64_t index, const char *bytes)
{
    return name_bytes(of, index, bytes, BYTES);
}

static void unload(struct script_app *of, uint64_t index)
{
    const struct ga_module_unload_args args = {.module = module_of(index)};
    ga_module_unload_args_write(script_begin(&of->data), &args);
    script_send(&of->data, API_OP_ga_module_unload, 1, of->sequence++);
    cr_assert_eq(script_stream_synchronize(of, 0), CUDA_SUCCESS);
}

static int32_t function_of(struct script_app *of, uint64_t index)
{
    return script_function(of, module_of(index), "nothing",
                           ga_handle_make(GA_HANDLE_FUNCTION, 1, (uint32_t)index));
}

Test(image_names, a_program_names_what_it_has_sent)
{
    script_app_start(&app, server.url, 0);
    cr_expect_eq(name_image(&app, first, image), CUDA_ERROR_NOT_FOUND);
    cr_assert_eq(script_module(&app, module_of(first), image), CUDA_SUCCESS, "its handle is free");
    cr_assert_eq(name_image(&app, second, image), CUDA_SUCCESS, "while a module of it lives");
    cr_expect_eq(function_of(&app, second), CUDA_SUCCESS);
    unload(&app, first);
    unload(&app, second);
    cr_expect_eq(name_image(&app, 3, image), CUDA_SUCCESS, "gpuaasd has it");
    cr_expect_eq(function_of(&app, 3), CUDA_SUCCESS);
    cr_expect_eq(name_image(&app, 4, another), CUDA_ERROR_NOT_FOUND);
}

Test(image_names, a_name_says_all_of_the_image)
{
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_module(&app, module_of(first), image), CUDA_SUCCESS);
    const uint64_t sizes[] = {0, 1, BYTES - 1, BYTES + 1, API_IMAGE_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cr_expect_eq(name_bytes(&app, second, image, sizes[i]), CUDA_ERROR_NOT_FOUND);
    }
    cr_expect_eq(name_image(&app, first, image), CUDA_ERROR_INVALID_HANDLE, "that one is in use");
}

Test(image_names, over_tcp_nobody_has_other_programs)
{
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_module(&app, module_of(first), image), CUDA_SUCCESS);
    script_app_start(&other, server.url, 0);
    cr_expect_eq(name_image(&other, first, image), CUDA_ERROR_NOT_FOUND, "it is somebody else's");
    cr_expect_eq(name_image(&other, first, another), CUDA_ERROR_NOT_FOUND, "nobody has it");
    cr_assert_eq(script_module(&other, module_of(first), image), CUDA_SUCCESS);
    unload(&other, first);
    cr_expect_eq(name_image(&other, second, image), CUDA_SUCCESS, "now it is its own, too");
}

Test(image_names, a_users_programs_on_this_machine_have_the_same)
{
    script_app_start(&app, local, 0);
    cr_assert_eq(script_module(&app, module_of(first), image), CUDA_SUCCESS);
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_app_start(&other, local, 1);
    cr_expect_eq(name_image(&other, first, image), CUDA_SUCCESS);
    cr_expect_eq(function_of(&other, first), CUDA_SUCCESS);
    script_app_start(&app, server.url, 0);
    cr_expect_eq(name_image(&app, first, image), CUDA_ERROR_NOT_FOUND, "it has not said who it is");
}

Test(image_names, of_a_program_without_a_name_go_with_it)
{
    unsigned before = script_server_descriptors(&server);
    for (int i = 0; i < 3; i++) {
        script_app_start(&app, server.url, 0);
        cr_assert_eq(script_module(&app, module_of(first), image), CUDA_SUCCESS);
        cr_assert_eq(script_module(&app, module_of(second), another), CUDA_SUCCESS);
        script_app_close(&app);
    }
    script_server_wait_backends(&server, 0);
    uint64_t until = ga_clock_ns() + 5 * GA_NS_PER_S;
    while (script_server_descriptors(&server) > before && ga_clock_ns() < until) {
        usleep(10000);
    }
    cr_expect_leq(script_server_descriptors(&server), before);
}

Test(image_names, small_ones_have_none)
{
    static char small[API_IMAGE_NAMED_MIN];
    script_app_start(&app, local, 0);
    memset(small, 'z', sizeof small - 1);
    memcpy(small, code, sizeof code - 1);
    unsigned before = script_server_descriptors(&server);
    cr_assert_eq(script_module(&app, module_of(first), small), CUDA_SUCCESS);
    cr_expect_leq(script_server_descriptors(&server), before, "gpuaasd does not keep it");
}

static void start_without(void)
{
    start_with("image_store = 0\n");
}

TestSuite(image_store_off, .init = start_without, .fini = stop, .timeout = 60);

Test(image_store_off, every_name_has_the_same_answer)
{
    script_app_start(&app, local, 0);
    cr_assert_eq(script_module(&app, module_of(first), image), CUDA_SUCCESS);
    cr_expect_eq(name_image(&app, second, image), CUDA_ERROR_NOT_PERMITTED);
    cr_expect_eq(name_image(&app, second, another), CUDA_ERROR_NOT_PERMITTED);
}
