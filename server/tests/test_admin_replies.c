/* SPDX-License-Identifier: Apache-2.0 */
/* The replies to admins: conversations with a node, in files of the folder golden, where each
 * request ("> VERB ARGUMENTS", "> dry VERB ARGUMENTS": it is only tried, "! LINE": as it is) has
 * its reply in the next line. The store and the programs are as the requests before have left them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/admin_verb.h"
#include "server/tests/fake_node.h"
#include "server/tests/golden.h"

static const struct admin_peer peer = {.uid = 1, .name = "uid:1"};

static void start(void)
{
    fake_node_start();
    node.gpuaasd.file = "/nonexistent/gpuaasd.conf";
    node.gpuaasd.notify.fd = -1;
}

TestSuite(admin_replies, .init = start, .fini = fake_node_stop);

static char *ask(const char *line)
{
    char *reply = admin_answer(&node.gpuaasd, &peer, line, strlen(line), NULL);
    cr_assert_not_null(reply);
    return reply;
}

/* A line of the conversation as a request. */
static void request_write(const char *line, char *request, size_t size)
{
    if (line[0] == '!') {
        snprintf(request, size, "%s", line + 2);
        return;
    }
    bool dry = strncmp(line, "> dry ", 6) == 0;
    const char *verb = line + (dry ? 6 : 2), *arguments = strchr(verb, ' ');
    cr_assert_not_null(arguments, "%s", line);
    snprintf(request, size,
             "{\"apiVersion\":1,\"id\":7,\"verb\":\"%.*s\",\"dryRun\":%s,\"arguments\":%s}",
             (int)(arguments - verb), verb, dry ? "true" : "false", arguments + 1);
}

/* Two programs of the tenant lab, of which one has opened GPUs; and one of the tenant home. */
static void programs_begin(void)
{
    struct tenant_terms lab = fake_terms("lab", 2), home = fake_terms("home", 3);
    struct control_application *program = fake_application_of_user(&lab, "ann", NULL, 0x11);
    struct seat *seat = fake_seat(program);
    struct figures_page *page = (struct figures_page *)(uintptr_t)seat->process->figures;
    (void)fake_client(program);
    (void)fake_application(&lab, 0x12);
    (void)fake_application(&home, 0x33);
    fake_node_pass(2000);
    fake_open(seat, 0);
    fake_open(seat, 2);
    fake_node_pass(1500);
    for (unsigned i = 0; i < FIGURE_COUNT; i++) {
        atomic_store(&page->seats[0].of[i], 100 + i);
    }
    atomic_store(&page->memory[0][2].bytes, 4096);
    struct gpu_figures *gpu = &page->seats[0].gpus[0];
    atomic_store(&gpu->gpu, 2 + 1);
    atomic_store(&gpu->works, 9);
    for (unsigned i = 0; i < 2; i++) {
        atomic_store(&gpu->copies[i], 20 + i);
        atomic_store(&gpu->copied_bytes[i], 3000 + i);
    }
    struct figures_shape *shape = &gpu->shapes[0];
    atomic_store(&shape->count, 8);
    for (unsigned i = 0; i < 3; i++) {
        atomic_store(&shape->grid[i], 2 + i);
        atomic_store(&shape->block[i], 32 + i);
    }
    atomic_store(&shape->shared_bytes, 48);
    atomic_store(&shape->share, 250000);
}

static void converse(const char *name)
{
    char request[4096], *text = golden_read(name), *rest = text, *line;
    unsigned asked = 0;
    while ((line = golden_line(&rest)) != NULL) {
        if (line[0] == 0 || line[0] == '#') {
            continue;
        }
        if (strcmp(line, "= programs begin") == 0) {
            programs_begin();
            continue;
        }
        cr_assert(line[0] == '>' || line[0] == '!', "%s", line);
        request_write(line, request, sizeof request);
        char *reply = ask(request), *wanted = golden_line(&rest);
        cr_expect(wanted != NULL && golden_like(reply, wanted), "%s\n%s\nis not\n%s", line, reply,
                  wanted);
        free(reply);
        asked++;
    }
    cr_assert_gt(asked, 0);
    free(text);
}

Test(admin_replies, of_the_node)
{
    converse("admin_node.txt");
}

Test(admin_replies, of_tenants_and_users)
{
    converse("admin_tenants.txt");
}

Test(admin_replies, of_credentials)
{
    converse("admin_credentials.txt");
}

Test(admin_replies, of_sessions)
{
    converse("admin_sessions.txt");
}
