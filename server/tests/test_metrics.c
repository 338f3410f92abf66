/* SPDX-License-Identifier: Apache-2.0 */
/* The page of metrics: each value of a node whose state is known, and no others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/monitoring/metrics.h"
#include "server/tests/fake_node.h"
#include "server/tests/golden.h"

static struct control_application *lab_program;
static struct store_credential_end ends[3] = {
    {.kind = STORE_TOKEN, .scope = STORE_OF_TENANT, .created = 100, .expires = 200},
    {.kind = STORE_CERTIFICATE, .scope = STORE_OF_ADMIN, .created = 300, .expires = 400},
    {.kind = STORE_CERTIFICATE, .scope = STORE_OF_SERVER, .created = 500, .expires = 600}};

static void figures_set(const struct seat *seat, uint32_t gpu, uint64_t bytes)
{
    struct figures_page *page = (struct figures_page *)(uintptr_t)seat->process->figures;
    atomic_fetch_add(&page->seats[seat->number].of[FIGURE_DEVICE_BYTES], bytes);
    atomic_store(&page->memory[seat->number][gpu].bytes, bytes);
}

static void totals_set(const char *tenant, uint32_t gpu, uint64_t first)
{
    uint64_t told[TOTALS_FIGURES] = {0}, now[TOTALS_FIGURES];
    for (unsigned i = 0; i < TOTALS_FIGURES; i++) {
        now[i] = (first + i) * 1000000000 + i;
    }
    totals_use(&node.gpuaasd.usage.totals, tenant, gpu, FAKE_GPUS, now, told);
}

static void start(void)
{
    fake_node_start();
    struct tenant_terms lab = fake_terms("lab", 1), other = fake_terms("o\"th\\er\n", 2);
    struct gpuaasd *gpuaasd = &node.gpuaasd;
    lab.limits.of[LIMIT_SESSIONS] = 5;
    lab.limits.of[LIMIT_GPU_MEM] = 1 << 30;
    lab_program = fake_application(&lab, 1);
    struct control_application *second = fake_application(&lab, 2);
    struct seat *seat = fake_seat(lab_program), *its = fake_seat(second);
    (void)fake_application(&other, 3);
    (void)fake_spare();
    fake_open(seat, 0);
    fake_open(seat, 2);
    fake_open(its, 0);
    figures_set(seat, 0, 1000);
    figures_set(seat, 2, 30);
    figures_set(its, 0, 200);
    totals_set("lab", 0, 10);
    totals_set("lab", 1, 20);
    totals_set("gone", 1, 30);
    totals_refused(&gpuaasd->usage.totals, "gone", LIMIT_GPUS);
    totals_refused(&gpuaasd->usage.totals, "lab", LIMIT_GPU_MEM);
    totals_refused(&gpuaasd->usage.totals, "lab", LIMIT_GPU_MEM);
    struct device *devices = gpuaasd->processes.devices.all;
    devices[0].health.failed = true;
    devices[0].health.failures = 3;
    devices[2].drain.state = DRAIN_GOING;
    gpuaasd->clients.count = 7;
    gpuaasd->clients.idle.table.count = 2;
    gpuaasd->clients.pending.table.count = 4;
    gpuaasd->processes.images.held = 12345;
    for (unsigned i = 0; i < APPLICATION_CLOSES; i++) {
        gpuaasd->applications.closed[i] = 40 + i;
    }
    for (unsigned i = 0; i < REFUSAL_COUNT; i++) {
        gpuaasd->applications.refused[i] = 60 + i;
    }
    for (unsigned i = 0; i < AUTH_REASON_COUNT; i++) {
        gpuaasd->access.refusals[i] = 80 + i;
    }
    gpuaasd->access.audit.admins_refused = 9;
    for (unsigned i = 0; i < CERTIFICATE_KINDS; i++) {
        gpuaasd->access.certificates.of[i] =
            (struct transport_validity){.from = 1000 + i, .until = 4000000000 + i};
    }
    strcpy(ends[0].tenant, "lab");
    strcpy(ends[0].user, "ann");
    strcpy(ends[1].name, "root");
    strcpy(ends[2].name, "n1");
    gpuaasd->access.credential_ends.rows = ends;
    gpuaasd->access.credential_ends.count = 3;
}

static void stop(void)
{
    node.gpuaasd.access.credential_ends.rows = NULL;
    fake_node_stop();
}

TestSuite(metrics, .init = start, .fini = stop);

static char *page(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_not_null(out);
    metrics_write(&node.gpuaasd.monitoring, out);
    cr_assert_eq(fclose(out), 0);
    return text;
}

/* But for the lines of the disks and of the process itself, which come last. */
Test(metrics, each_line_is_as_it_should_be)
{
    char *made = page(), *golden = golden_read("metrics.txt"), *rest = made, *wants = golden;
    char *line, *wanted;
    while ((wanted = golden_line(&wants)) != NULL) {
        line = golden_line(&rest);
        cr_assert(line != NULL && golden_like(line, wanted), "%s\nis not\n%s", line, wanted);
    }
    line = golden_line(&rest);
    cr_assert_str_eq(line, "# HELP gpuaas_disk_free_bytes Room on the disk of the database, and of "
                           "the audit log.");
    free(made);
    free(golden);
}

static void assert_line(const char *wanted)
{
    char *made = page();
    cr_assert_not_null(strstr(made, wanted), "%s", wanted);
    free(made);
}

Test(metrics, a_gpu_is_in_the_worst_of_its_states)
{
    struct device *devices = node.gpuaasd.processes.devices.all;
    struct drain *drain = &node.gpuaasd.applications.drains.node;
    drain->state = DRAIN_DONE;
    assert_line("gpu=\"GPU-a0000000-0000-0000-0000-000000000000\",state=\"failed\"} 1\n");
    assert_line("gpu=\"GPU-a1000000-0000-0000-0000-000000000000\",state=\"drained\"} 1\n");
    assert_line("gpu=\"GPU-a2000000-0000-0000-0000-000000000000\",state=\"draining\"} 1\n");
    drain->state = DRAIN_GOING;
    devices[2].drain.state = DRAIN_DONE;
    assert_line("gpu=\"GPU-a1000000-0000-0000-0000-000000000000\",state=\"draining\"} 1\n");
    assert_line("gpu=\"GPU-a2000000-0000-0000-0000-000000000000\",state=\"drained\"} 1\n");
}

Test(metrics, gpus_that_the_driver_does_not_show_are_counted_once_it_is_known)
{
    node.gpuaasd.processes.devices.all[1].known = false;
    node.gpuaasd.processes.devices.all[2].known = false;
    assert_line("gpuaas_gpus_left_out 2\n");
    assert_line("gpuaas_up 1\n");
    node.gpuaasd.processes.serving = false;
    assert_line("gpuaas_gpus_left_out 0\n");
    assert_line("gpuaas_up 0\n");
    assert_line("gpuaas_ready 0\n");
    assert_line("gpuaas_condition{condition=\"serving\"} 0\n");
}

Test(metrics, a_disk_is_named_with_the_time_of_its_last_write)
{
    struct flush *flush = &node.gpuaasd.storage.flush;
    atomic_store(&flush->took_ns[FLUSH_STORE], 1500000);
    atomic_store(&flush->took_ns[FLUSH_AUDIT], 2250000000);
    assert_line("gpuaas_disk_write_seconds{of=\"store\"} 0.001500\n");
    assert_line("gpuaas_disk_write_seconds{of=\"audit\"} 2.250000\n");
    strcpy(node.conf.server.store, "/tmp/store.db");
    assert_line("gpuaas_disk_free_bytes{of=\"store\"} ");
    node.conf.server.store[0] = 0;
}

Test(metrics, tenants_of_one_name_are_one_to_a_reader)
{
    struct tenant_terms next = fake_terms("lab", 77);
    struct control_application *its = fake_application(&next, 9);
    fake_open(fake_seat(its), 1);
    assert_line("gpuaas_tenant_sessions{tenant=\"lab\"} 3\n");
}

/* ---- whether it is ready */

static void assert_ready(bool ready, const char *text)
{
    char *made = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&made, &size);
    cr_assert_not_null(out);
    cr_assert_eq(metrics_ready(&node.gpuaasd.monitoring, out), ready);
    cr_assert_eq(fclose(out), 0);
    cr_assert_str_eq(made, text);
    free(made);
}

Test(metrics, it_is_ready_if_all_conditions_hold)
{
    struct gpuaasd *gpuaasd = &node.gpuaasd;
    struct device *devices = gpuaasd->processes.devices.all;
    assert_ready(true, "ok serving\nok taking programs\nok gpu\nok store\nok certificate\n");
    gpuaasd->access.certificates.of[CERTIFICATE_SERVER].until = 0;
    assert_ready(true, "ok serving\nok taking programs\nok gpu\nok store\n");
    devices[1].health.failed = true;
    assert_ready(false, "ok serving\nok taking programs\nnot gpu: there is none that takes "
                        "programs\nok store\n");
    devices[2].drain.state = DRAIN_NONE;
    gpuaasd->processes.serving = false;
    assert_ready(false, "not serving: the drivers are being opened\nok taking programs\nok gpu\n"
                        "ok store\n");
    gpuaasd->applications.stopping = true;
    assert_ready(false, "not serving: it is ending\nok taking programs\nok gpu\nok store\n");
    gpuaasd->applications.stopping = false;
    gpuaasd->processes.serving = true;
    gpuaasd->applications.drains.node = (struct drain){.state = DRAIN_DONE, .reason = "we move"};
    assert_ready(false, "ok serving\nnot taking programs: drained: we move\nok gpu\nok store\n");
    gpuaasd->applications.drains.node.state = DRAIN_NONE;
    (void)storage_tell(&gpuaasd->storage, STORAGE_USAGE, "the disk is full");
    assert_ready(false, "ok serving\nok taking programs\nok gpu\nnot store: the disk is full\n");
}
