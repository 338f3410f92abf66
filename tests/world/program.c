/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/program.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/clients/client_send.h"
#include "tests/world/node.h"
#include "tests/world/process.h"
#include "tests/world/tenants.h"
#include "tests/world/wire.h"

#define PAUSE_MS 20000u /* until the next one begins, at most */
#define MIB      (UINT64_C(1) << 20)

struct world_program {
    struct world *world;
    unsigned number, tenant;
    struct world_node *node; /* NULL: it has not begun */
    struct world_wire *wire; /* NULL: closed */
    struct server_timer timer;
    bool admitted;
    int64_t expires, greeted_s; /* its token, and when it has shown it */
    uint32_t gpu;               /* that it opens */
    uint64_t process;           /* that its ticket is for */
    uint8_t ticket[16];
    struct world_backend *backend; /* that it is connected to; NULL: none */
    unsigned steps;                /* that it does until it ends */
    bool allocates;                /* and waits for the answer */
};

static uint64_t any(struct world_program *program, uint64_t below)
{
    return world_any(program->world, below);
}

static void after(struct world_program *program, uint64_t ms,
                  void (*due)(struct server_timer *timer))
{
    timers_start(&program->world->events, &program->timer, due, ms, 0);
}

static struct world_program *program_due(struct server_timer *timer)
{
    return ga_container(timer, struct world_program, timer);
}

static void note(struct world_program *program, const char *what)
{
    world_log(program->world, "node %u program %u of %s: %s", program->node->number,
              program->number, program->world->tenants[program->tenant].name, what);
}

unsigned program_tenant(const struct world_program *program)
{
    return program->tenant;
}

/* ---- its end */

static void program_begin(struct server_timer *timer);

static void control_close(struct world_program *program)
{
    struct world_wire *wire = program->wire;
    program->wire = NULL;
    if (wire != NULL) {
        wire_close(wire);
    }
}

static void data_close(struct world_program *program)
{
    struct world_backend *backend = program->backend;
    program->backend = NULL;
    if (backend != NULL) {
        backend_leave(backend);
    }
}

static void program_end(struct world_program *program, const char *why)
{
    note(program, why);
    program->world->counts.ended++;
    data_close(program);
    control_close(program);
    program->node = NULL;
    program->admitted = false;
    if (program->world->ending) {
        timers_stop(&program->world->events, &program->timer);
    } else {
        after(program, 1 + any(program, PAUSE_MS), program_begin);
    }
}

static void program_ends(struct server_timer *timer)
{
    program_end(program_due(timer), "ends");
}

void program_lost(struct world_program *program)
{
    program->backend = NULL;
    program_end(program, "has lost its backend process");
}

void program_told(struct world_program *program, const char *why)
{
    program->backend = NULL;
    program_end(program, why);
}

/* ---- messages */

static void hello_send(struct world_program *program)
{
    struct world *world = program->world;
    const struct world_token *token = tenants_token(world, program->tenant, program->node->number);
    struct control_client_out out = {0};
    struct handshake_hello hello = {.magic = WIRE_MAGIC,
                                    .major = WIRE_MAJOR,
                                    .minor = WIRE_MINOR,
                                    .pid = program->number,
                                    .build = "world",
                                    .program = "train",
                                    .token = token->text};
    for (unsigned i = 0; i < sizeof hello.application; i++) {
        hello.application[i] = (uint8_t)any(program, 256);
    }
    program->expires = token->expires;
    program->greeted_s = world_wall_s(world);
    handshake_hello_write(control_client_out_begin(&out), &hello);
    control_client_out_end(&out, WIRE_HELLO, 0);
    wire_send(program->wire, out.bytes, out.size);
    control_client_out_fini(&out);
}

static void program_opens(struct server_timer *timer)
{
    struct world_program *program = program_due(timer);
    struct control_client_out out = {0};
    program->gpu = (uint32_t)any(program, WORLD_GPUS);
    const struct handshake_open open = {.device = program->gpu};
    if (program->wire == NULL) {
        program_end(program, "cannot open a device any more");
        return;
    }
    handshake_open_write(control_client_out_begin(&out), &open);
    control_client_out_end(&out, WIRE_OPEN, 1);
    wire_send(program->wire, out.bytes, out.size);
    control_client_out_fini(&out);
}

static void program_begin(struct server_timer *timer)
{
    struct world_program *program = program_due(timer);
    struct world *world = program->world;
    if (world->ending) {
        return;
    }
    program->node = world->nodes[any(program, WORLD_NODES)];
    program->steps = 3 + (unsigned)any(program, 40);
    program->allocates = false;
    program->wire = wire_open(program->node, program);
    note(program, "connects");
    if (world_chance(world, 2)) {
        after(program, 20000, program_ends); /* it says nothing, and is dropped before */
    } else {
        hello_send(program);
    }
}

static void program_shows(struct server_timer *timer);

static void welcome_take(struct world_program *program)
{
    struct world *world = program->world;
    cr_assert_gt(program->expires, program->greeted_s, "its token had expired");
    program->admitted = true;
    world->counts.admitted++;
    note(program, "is admitted");
    if (world_chance(world, 10)) {
        after(program, any(program, 5000), program_ends); /* it only looks */
    } else {
        after(program, any(program, 2000), program_opens);
    }
}

static void ticket_take(struct world_program *program, struct ga_reader *reader)
{
    struct handshake_ticket ticket;
    cr_assert_eq(handshake_ticket_read(reader, &ticket), GA_OK);
    program->process = ticket.process;
    memcpy(program->ticket, ticket.id, sizeof program->ticket);
    note(program, "has a ticket");
    after(program, 1 + any(program, world_chance(program->world, 5) ? 15000 : 5), program_shows);
}

static void refused_take(struct world_program *program, struct ga_reader *reader)
{
    struct handshake_refused refused;
    cr_assert_eq(handshake_refused_read(reader, &refused), GA_OK);
    program->world->counts.refused++;
    program_end(program, strstr(refused.reason, "the token ") == NULL
                             ? refused.reason
                             : "has shown a token that is not valid"); /* whose id is random */
}

static void message_take(struct world_program *program, const struct wire_header *header,
                         struct ga_reader *reader)
{
    switch (header->opcode) {
    case WIRE_WELCOME:
        welcome_take(program);
        break;
    case WIRE_TICKET:
        ticket_take(program, reader);
        break;
    case WIRE_REFUSED:
        refused_take(program, reader);
        break;
    default:
        cr_assert_fail("message %u", header->opcode);
    }
}

void program_hear(struct world_program *program, const uint8_t *bytes, size_t size)
{
    const struct world_wire *wire = program->wire;
    if (size == 0) {
        control_close(program);
        if (program->backend == NULL) {
            program_end(program, "is turned away");
        }
        return;
    }
    while (size != 0 && program->wire == wire) {
        struct wire_header header;
        memcpy(&header, bytes, sizeof header);
        struct ga_reader reader = ga_reader_of(bytes + sizeof header, header.length);
        message_take(program, &header, &reader);
        bytes += sizeof header + header.length;
        size -= sizeof header + header.length;
    }
}

/* ---- work */

static void program_step(struct server_timer *timer);

static void next_step(struct world_program *program)
{
    after(program, 50 + any(program, world_chance(program->world, 3) ? 12000 : 1000), program_step);
}

static void program_shows(struct server_timer *timer)
{
    struct world_program *program = program_due(timer);
    struct world_process *process = process_find(program->node, program->process);
    bool first = program->backend == NULL;
    if (process == NULL ||
        !backend_show(&process->backend, program, program->ticket, program->gpu)) {
        program_end(program, "has a ticket that is worth nothing");
        return;
    }
    program->backend = &process->backend;
    program->world->counts.sessions += first;
    note(program, "has opened a device");
    next_step(program);
}

static uint32_t opened_gpu(struct world_program *program)
{
    uint32_t gpu = (uint32_t)any(program, WORLD_GPUS);
    return program->backend->opened[gpu] ? gpu : (gpu + 1) % WORLD_GPUS;
}

void program_allocated(struct world_program *program, uint32_t gpu, uint64_t bytes, bool done)
{
    char text[80];
    snprintf(text, sizeof text, "%u MiB on GPU %u: %s", (unsigned)(bytes / MIB), gpu,
             done ? "allocated" : "refused");
    note(program, text);
    program->allocates = false;
    program->world->counts.allocations += done;
    program->world->counts.allocation_refusals += !done;
}

/* Its connections end in some order; or its process dies. */
static void last_step(struct world_program *program)
{
    struct world *world = program->world;
    bool ill = program->node->number == 0 && world->now_ns / (60 * GA_NS_PER_S) % 20 < 4;
    if (world_chance(world, ill ? 80 : 5)) { /* then a check of the GPUs is due, too */
        struct world_process *process = program->backend->process;
        process->page->seats[program->backend->application.seat].fault =
            world_chance(world, 90) ? 719 : 0;
        note(program, "dies of a fault");
        process_exit(process, 1, SIGKILL);
    } else if (world_chance(world, 30)) {
        note(program, "loses its control connection");
        control_close(program);
        after(program, 1 + any(program, 8000), program_ends);
    } else if (world_chance(world, 30)) {
        data_close(program);
        after(program, 1 + any(program, 50), program_ends);
    } else {
        program_end(program, "ends");
    }
}

static void program_step(struct server_timer *timer)
{
    struct world_program *program = program_due(timer);
    struct world_backend *backend = program->backend;
    if (program->steps-- == 0 || program->world->ending) {
        program->steps = 0;
        last_step(program);
        return;
    }
    uint32_t gpu = opened_gpu(program);
    uint64_t choice = any(program, 10);
    if (choice == 0 && program->wire != NULL) {
        program_opens(timer); /* perhaps another one */
        return;
    }
    if (choice <= 3 && !program->allocates) {
        program->allocates = true;
        backend_allocate(backend, gpu, (1 + any(program, 1500)) * MIB);
    } else if (choice <= 5 && backend->charged[gpu] != 0) {
        backend_free(backend, gpu, backend->charged[gpu] / 2 / MIB * MIB);
    } else {
        gpu_work(&backend->sessions[gpu], 10 + any(program, 1500));
    }
    next_step(program);
}

/* ---- all */

void programs_make(struct world *world)
{
    world->programs = calloc(WORLD_PROGRAMS, sizeof *world->programs);
    cr_assert_not_null(world->programs);
    for (unsigned i = 0; i < WORLD_PROGRAMS; i++) {
        struct world_program *program = &world->programs[i];
        program->world = world;
        program->number = i;
        program->tenant = i % WORLD_TENANTS;
        after(program, 1500 + any(program, PAUSE_MS), program_begin);
    }
}

bool programs_ended(const struct world *world)
{
    bool ended = true;
    for (unsigned i = 0; i < WORLD_PROGRAMS; i++) {
        ended = ended && world->programs[i].node == NULL && !world->programs[i].timer.runs;
    }
    return ended;
}

void programs_free(struct world *world)
{
    free(world->programs);
}
