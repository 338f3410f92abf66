/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a scripted client that the server's network card reaches: copies by offset, and what
 * wrong numbers, keys and ends get. Where there is a card for it (tests/rdma). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/cuda_names.h"
#include "server/tests/script.h"

#define MIB   (UINT64_C(1) << 20)
#define BYTES (9 * MIB) /* more than there are slots for */

static struct script_server server;
static struct script_app app;

static bool card(void)
{
    return (script_rdma = getenv("GPUAAS_TEST_RDMA")) != NULL;
}

static void app_begin(struct script_app *begun)
{
    script_app_start(begun, server.url, 0);
    cr_assert_eq(script_map(begun, begun->window, 16 * MIB), 0);
}

static void start(void)
{
    script_server_start(&server, "shared_memory = 24MiB\nticket_s = 120\n"
                                 "handshake_timeout_s = 120\nspare_backends = 1\n");
    app_begin(&app);
}

static void stop(void)
{
    script_app_close(&app);
    script_server_stop(&server);
}

struct piece {
    uint8_t *memory;
    struct transport_memory shared;
};

static struct piece register_piece(struct script_app *of, uint64_t bytes)
{
    struct piece piece = {.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)};
    struct transport_conn *conn = &of->data.conn;
    cr_assert(piece.memory != MAP_FAILED);
    cr_assert_eq(
        conn->ops->one_sided->share(conn, piece.memory, bytes, TRANSPORT_SHARED, &piece.shared),
        GA_OK);
    return piece;
}

static void unregister_piece(struct script_app *of, struct piece *piece)
{
    of->data.conn.ops->one_sided->unshare(&of->data.conn, &piece->shared);
}

static int32_t offer(struct script_app *from, uint32_t number, uint64_t bytes, uint64_t address,
                     uint32_t key)
{
    const struct ga_shared_buffer_reach_args args = {
        .piece = number, .key = key, .bytes = bytes, .address = address};
    ga_shared_buffer_reach_args_write(script_begin(&from->data), &args);
    script_send(&from->data, API_OP_ga_shared_buffer_reach, 1, from->sequence);
    return script_wait(from, from->sequence++);
}

static struct piece share(struct script_app *from, uint32_t number, uint64_t bytes)
{
    struct piece piece = register_piece(from, bytes);
    cr_assert_eq(offer(from, number, bytes, piece.shared.address, piece.shared.key), 0);
    return piece;
}

static void end_piece(struct script_app *of, uint32_t number)
{
    const struct ga_shared_buffer_close_args args = {.piece = number};
    ga_shared_buffer_close_args_write(script_begin(&of->data), &args);
    script_send(&of->data, API_OP_ga_shared_buffer_close, 1, of->sequence++);
}

static uint64_t send_copy(struct script_app *from, bool in, uint64_t device, uint32_t number,
                          uint64_t offset, uint64_t bytes)
{
    const struct ga_shared_buffer_in_args args = {
        .dst = device, .piece = number, .offset = offset, .bytes = bytes, .waits = 1};
    const struct ga_shared_buffer_out_args back = {
        .src = device, .piece = number, .offset = offset, .bytes = bytes, .waits = 1};
    if (in) {
        ga_shared_buffer_in_args_write(script_begin(&from->data), &args);
    } else {
        ga_shared_buffer_out_args_write(script_begin(&from->data), &back);
    }
    script_send(&from->data, in ? API_OP_ga_shared_buffer_in : API_OP_ga_shared_buffer_out, 1,
                from->sequence);
    return from->sequence++;
}

static int32_t copy(bool in, uint64_t device, uint32_t number, uint64_t offset, uint64_t bytes)
{
    return script_wait(&app, send_copy(&app, in, device, number, offset, bytes));
}

static void fill(uint8_t *at, uint64_t bytes, unsigned seed)
{
    for (uint64_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(i * 5 + i / 300 + seed);
    }
}

static void bytes_go_there_and_back(void)
{
    static const uint64_t lengths[] = {1,      16384,  16385,         262143,
                                       262144, 262145, 3 * MIB + 100, BYTES - 7};
    struct piece from = share(&app, 7, BYTES), to = share(&app, 1023, BYTES);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t bytes = lengths[i];
        fill(from.memory + 3, bytes, i);
        memset(to.memory, 0xee, BYTES);
        cr_assert_eq(copy(true, app.window + i, 7, 3, bytes), 0);
        cr_assert_eq(copy(false, app.window + i, 1023, 5, bytes), 0);
        cr_assert_eq(memcmp(from.memory + 3, to.memory + 5, bytes), 0, "%u", i);
        cr_assert(to.memory[4] == 0xee && to.memory[5 + bytes] == 0xee);
    }
    /* Several at once are answered in their order. */
    uint64_t first = send_copy(&app, true, app.window, 7, 0, MIB);
    uint64_t second = send_copy(&app, false, app.window + 1, 1023, 1, MIB - 1);
    uint64_t third = send_copy(&app, true, app.window + 4 * MIB, 1023, 0, MIB);
    cr_assert_eq(script_wait(&app, first), 0);
    cr_assert_eq(script_wait(&app, second), 0);
    cr_assert_eq(memcmp(from.memory + 1, to.memory + 1, MIB - 1), 0);
    cr_assert_eq(script_wait(&app, third), 0);
    end_piece(&app, 1023);
    end_piece(&app, 7);
    cr_assert_eq(copy(true, app.window, 7, 0, 1), CUDA_ERROR_INVALID_VALUE, "it is gone");
    unregister_piece(&app, &from);
    from = share(&app, 7, MIB);
    memset(from.memory, 9, MIB);
    cr_assert_eq(copy(true, app.window, 7, 0, MIB), 0);
    uint8_t got = 0;
    cr_assert_eq(script_copy_out(&app, app.window + MIB - 1, &got, 1, 0), 0);
    cr_assert_eq(got, 9);
    end_piece(&app, 7);
    unregister_piece(&app, &from);
    unregister_piece(&app, &to);
}

static void what_is_not_there_is_refused(void)
{
    struct piece piece = share(&app, 1, MIB);
    uint64_t address = piece.shared.address;
    uint32_t key = piece.shared.key;
    cr_expect_eq(copy(true, app.window, 2, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window, UINT32_MAX, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(false, app.window, 1, MIB - 15, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(false, app.window, 1, UINT64_MAX - 7, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window, 1, 16, UINT64_MAX - 7), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window + 16 * MIB - 15, 1, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(false, 4096, 1, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window, 1, MIB, 0), 0, "nothing is copied");
    cr_expect_eq(copy(false, app.window, 1, MIB, 0), 0, "nothing is copied");
    cr_expect_eq(offer(&app, 1, MIB, address, key), CUDA_ERROR_INVALID_VALUE, "it is used");
    cr_expect_eq(offer(&app, 1024, MIB, address, key), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(offer(&app, 2, 0, address, key), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(offer(&app, 2, MIB, UINT64_MAX - MIB + 1, key), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(offer(&app, 2, 24 * MIB, address, key), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(offer(&app, 2, 23 * MIB, address, key), 0, "nobody looks at it before a copy");
    end_piece(&app, 2);
    cr_expect_eq(copy(true, app.window, 1, MIB - 16, 16), 0);
    end_piece(&app, 1);
    unregister_piece(&app, &piece);
}

/* The connection of who does it ends; another application beside it notices nothing. */
static void what_the_card_refuses_is_the_end(void)
{
    for (int wrong = 0; wrong < 6; wrong++) {
        struct script_app hostile;
        app_begin(&hostile);
        struct piece piece = register_piece(&hostile, 2 * MIB);
        uint32_t key = piece.shared.key ^ (wrong < 2 ? 0x5a5a5a00 : 0);
        uint64_t bytes = wrong == 2 || wrong == 3 ? 3 * MIB : 2 * MIB;
        cr_assert_eq(offer(&hostile, 5, bytes, piece.shared.address, key), 0);
        if (wrong >= 4) {
            unregister_piece(&hostile, &piece);
        }
        (void)send_copy(&hostile, wrong % 2 == 0, hostile.window, 5, 0, bytes);
        uint16_t got;
        do { /* the answer may come in front of the end: the card says it later */
            got = script_receive(&hostile.data);
        } while (got == WIRE_REPLY);
        cr_assert_eq(got, 0, "case %d: opcode %u", wrong, got);
        if (wrong < 4) {
            unregister_piece(&hostile, &piece);
        }
        script_app_close(&hostile);
        uint8_t byte = (uint8_t)wrong, back = 77;
        script_copy_in(&app, app.window, &byte, 1, 0);
        cr_assert_eq(script_copy_out(&app, app.window, &back, 1, 0), 0);
        cr_assert_eq(back, byte);
    }
}

static void over_tcp_nothing_is_reached(void)
{
    struct script_app other;
    script_rdma = NULL;
    script_app_start(&other, server.url, 0);
    cr_expect_eq(offer(&other, 0, MIB, 4096, 1), CUDA_ERROR_INVALID_VALUE);
    script_app_close(&other);
}

/* One server for all: it starts slowly where the card is emulated. */
Test(one_sided, pieces_of_a_scripted_client, .timeout = 300)
{
    if (card()) {
        start();
        bytes_go_there_and_back();
        what_is_not_there_is_refused();
        what_the_card_refuses_is_the_end();
        over_tcp_nothing_is_reached();
        stop();
    }
}
