/* SPDX-License-Identifier: Apache-2.0 */
/* Handles and addresses of another application, in each field of each call that has one: of the
 * same tenant and of another one, in a process of its own and in the same one. All are refused, and
 * the other one notices nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "server/tests/fields_app.h"

#define FOREIGN      9 /* objects of this number has the other application alone */
#define FOREIGN_SIZE (2 * MIB)

static uint64_t foreign; /* memory of the other one, which it exports; here is none */
static struct script_shared exported;
static const uint64_t mark = 0x600df00d5eed;

static void make_foreign(void)
{
    const struct ga_context_create_args context = {
        .context = ga_handle_make(GA_HANDLE_CONTEXT, 1, FOREIGN)};
    const uint64_t module = ga_handle_make(GA_HANDLE_MODULE, 1, FOREIGN);
    foreign = app.window + 16 * MIB;
    (void)script_stream(&app, FOREIGN);
    make_event(FOREIGN);
    cr_assert_eq(script_module(&app, module, kernels), 0);
    cr_assert_eq(script_function(&app, module, "f", ga_handle_make(GA_HANDLE_FUNCTION, 1, FOREIGN)),
                 0);
    make_array(FOREIGN);
    make_physical(FOREIGN);
    cr_assert_eq(script_map(&app, foreign, FOREIGN_SIZE), 0);
    script_copy_in(&app, foreign, &mark, sizeof mark, 0);
    script_copy_in(&app, foreign + FOREIGN_SIZE - sizeof mark, &mark, sizeof mark, 0);
    cr_assert_eq(script_share(&app, foreign, FOREIGN_SIZE, &exported), 0);
    ga_context_create_args_write(script_begin(&app.data), &context);
    cr_assert_eq(ask(API_OP_ga_context_create), 0);
    script_context(&app, app.context);
    cr_assert_eq(script_stream_synchronize(&app, 0), 0);
}

/* The victim's objects are there, and work. It is `app` in this time. */
static void expect_unharmed(void)
{
    const struct ga_array_destroy_args array = {.array =
                                                    ga_handle_make(GA_HANDLE_ARRAY, 1, FOREIGN)};
    uint64_t found[2] = {0};
    cr_expect_eq(script_copy_out(&app, foreign, &found[0], sizeof mark, 0), 0);
    cr_expect_eq(
        script_copy_out(&app, foreign + FOREIGN_SIZE - sizeof mark, &found[1], sizeof mark, 0), 0);
    cr_expect(found[0] == mark && found[1] == mark, "its memory has been written to");
    script_launch(&app, ga_handle_make(GA_HANDLE_FUNCTION, 1, FOREIGN), 1, 1, 0, &foreign,
                  sizeof foreign);
    cr_expect_eq(script_stream_synchronize(&app, 0), 0);
    ga_array_destroy_args_write(script_begin(&app.data), &array);
    cr_expect_eq(ask(API_OP_ga_array_destroy), 0);
}

static void turn_round(void)
{
    const struct script_app turned = app;
    app = other;
    other = turned;
}

/* Where its memory was open here, and is no more. */
static uint64_t closed_again(void)
{
    const uint64_t at = app.window + 64 * MIB;
    cr_assert_eq(script_open_shared(&app, &exported, at), 0);
    cr_assert_eq(script_unmap(&app, at, FOREIGN_SIZE, true), 0);
    return at;
}

static void try_foreign(const struct field_call *call, bool may_open)
{
    for (unsigned i = 0; i < call->count; i++) {
        const struct field *field = &call->fields[i];
        if (field->kind == FIELD_HANDLE) {
            expect_error(call, i, ga_handle_make(field->type, 1, FOREIGN));
        } else if (field->kind == FIELD_ADDRESS) {
            expect_error(call, i, foreign);
            expect_error(call, i, foreign + FOREIGN_SIZE - 1);
            if (may_open) {
                expect_error(call, i, closed_again());
            }
        }
    }
}

/* `theirs` and `mine`: tokens of two applications of different tenants, or NULL, twice. With seats
 * the process goes on. */
static void try_all_foreign(const char *theirs, const char *mine, unsigned processes)
{
    script_token = theirs;
    start();
    make_foreign();
    turn_round();
    script_token = mine;
    start();
    if (mine != NULL) {
        cr_expect_eq(script_open_shared(&app, &exported, app.window + 64 * MIB),
                     CUDA_ERROR_INVALID_HANDLE, "a tenant has opened what another one exports");
    }
    for (unsigned i = 0; i < field_call_count; i++) {
        try_foreign(&field_calls[i], mine == NULL);
        script_server_drain(&server);
    }
    turn_round();
    expect_unharmed();
    script_app_close(&app);
    script_app_close(&other);
    stop(processes);
}

Test(foreign, what_another_application_has_is_refused, .timeout = 280)
{
    script_server_start_with(&server, "dead_after_s = 3600\n", "16GiB");
    try_all_foreign(NULL, NULL, 0);
}

/* There the driver knows the memory of both. */
Test(foreign, what_another_one_in_the_same_process_has_is_refused, .timeout = 280)
{
    cr_assert_eq(setenv("GPUAAS_TEST_SEATS", "2", 1), 0);
    script_server_start_with(&server, "dead_after_s = 3600\n", "16GiB");
    try_all_foreign(NULL, NULL, 1);
}

/* A tenant of this name, in that store; its token. */
static void tenant_make(const char *store, const char *name, char token[128])
{
    char command[400];
    snprintf(command, sizeof command, TENANTS_PATH " %s add %s && " TENANTS_PATH " %s token %s",
             store, name, store, name);
    FILE *said = popen(command, "r"); /* NOLINT(cert-env33-c): all its words are ours */
    cr_assert(said != NULL && fscanf(said, "%*s %127s", token) == 1);
    cr_assert_eq(pclose(said), 0);
}

Test(foreign, what_another_tenant_has_is_refused, .timeout = 280)
{
    char folder[] = "/tmp/gpuaas-fields-XXXXXX", store[64], more[200], tokens[2][128];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(store, sizeof store, "%s/store", folder);
    tenant_make(store, "theirs", tokens[0]);
    tenant_make(store, "mine", tokens[1]);
    snprintf(more, sizeof more, "dead_after_s = 3600\nauth = on\nstore = %s\n", store);
    cr_assert_eq(setenv("GPUAAS_TEST_SEATS", "2", 1), 0);
    script_server_start_with(&server, more, "16GiB");
    try_all_foreign(tokens[0], tokens[1], 1);
    snprintf(more, sizeof more, "rm -r %s", folder);
    cr_assert_eq(system(more), 0); /* NOLINT(cert-env33-c): the same */
}
