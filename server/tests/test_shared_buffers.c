/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a scripted client shares with its backend process: copies by offset, and what wrong
 * offers, offsets and ends get. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "base/shared_memory.h"
#include "server/tests/script.h"

#define MIB   (UINT64_C(1) << 20)
#define BYTES (3 * MIB)

static const char endless[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                              ".visible .entry spin(.param .u64 p)\n"
                              "{\n    .reg .pred %q;\n    .reg .b32 %r<2>;\n    .reg .b64 %d<2>;\n"
                              "    ld.param.u64 %d1, [p];\n"
                              "AGAIN:\n    ld.volatile.global.u32 %r1, [%d1];\n"
                              "    setp.eq.u32 %q, %r1, 0;\n    @%q bra AGAIN;\n    ret;\n}\n";

static struct script_server server;
static struct script_app app;

static void start(void)
{
    script_server_start(&server, "shared_memory = 8MiB\n");
    script_shm = true;
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_map(&app, app.window, 4 * MIB), 0);
}

static void stop(void)
{
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(shared_buffers, .init = start, .fini = stop, .timeout = 60);

static void pass(int fd)
{
    cr_assert_eq(app.data.conn.ops->send_fd(&app.data.conn, fd), GA_OK);
}

static uint64_t inode_of(int fd)
{
    struct stat file;
    cr_assert_eq(fstat(fd, &file), 0);
    return file.st_ino;
}

static int32_t offer(uint32_t piece, uint64_t bytes, uint64_t inode)
{
    const struct ga_shared_buffer_open_args args = {.piece = piece, .bytes = bytes, .inode = inode};
    ga_shared_buffer_open_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_shared_buffer_open, 1, app.sequence);
    return script_wait(&app, app.sequence++);
}

/* A piece that works, mapped here. */
static uint8_t *share(uint32_t piece, uint64_t bytes)
{
    int fd = ga_shared_memory_make("test", bytes);
    pass(fd);
    cr_assert_eq(offer(piece, bytes, inode_of(fd)), 0);
    uint8_t *memory = ga_shared_memory_map(fd, bytes, NULL);
    cr_assert_not_null(memory);
    close(fd);
    return memory;
}

static void end_piece(uint32_t piece)
{
    const struct ga_shared_buffer_close_args args = {.piece = piece};
    ga_shared_buffer_close_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_shared_buffer_close, 1, app.sequence++);
}

static uint64_t send_copy(bool in, uint64_t device, uint32_t piece, uint64_t offset, uint64_t bytes,
                          uint64_t stream)
{
    const uint32_t waits = (uint32_t)app.sequence % 3; /* whatever it says, the answer comes */
    const struct ga_shared_buffer_in_args args = {.dst = device,
                                                  .piece = piece,
                                                  .waits = waits,
                                                  .offset = offset,
                                                  .bytes = bytes,
                                                  .stream = stream};
    const struct ga_shared_buffer_out_args back = {.src = device,
                                                   .piece = piece,
                                                   .waits = waits,
                                                   .offset = offset,
                                                   .bytes = bytes,
                                                   .stream = stream};
    if (in) {
        ga_shared_buffer_in_args_write(script_begin(&app.data), &args);
    } else {
        ga_shared_buffer_out_args_write(script_begin(&app.data), &back);
    }
    script_send(&app.data, in ? API_OP_ga_shared_buffer_in : API_OP_ga_shared_buffer_out, 1,
                app.sequence);
    return app.sequence++;
}

static int32_t copy(bool in, uint64_t device, uint32_t piece, uint64_t offset, uint64_t bytes)
{
    return script_wait(&app, send_copy(in, device, piece, offset, bytes, 0));
}

/* A stream whose kernel spins until a word at the end of the memory is not 0. */
static uint64_t held_stream(void)
{
    const uint32_t zero = 0;
    uint64_t word = app.window + 4 * MIB - 16, stream = script_stream(&app, 1);
    uint64_t module = ga_handle_make(GA_HANDLE_MODULE, 1, 1);
    uint64_t function = ga_handle_make(GA_HANDLE_FUNCTION, 1, 1);
    cr_assert_eq(script_module(&app, module, endless), 0);
    cr_assert_eq(script_function(&app, module, "spin", function), 0);
    script_copy_in(&app, word, &zero, sizeof zero, stream);
    script_launch(&app, function, 1, 1, stream, &word, sizeof word);
    return stream;
}

static void let_go(void)
{
    const uint32_t one = 1;
    script_copy_in(&app, app.window + 4 * MIB - 16, &one, sizeof one, script_stream(&app, 2));
}

Test(shared_buffers, bytes_go_there_and_back)
{
    uint8_t *memory = share(7, BYTES);
    for (size_t i = 0; i < BYTES / 2; i++) {
        memory[i + 1] = (uint8_t)(i * 5 + i / 300);
    }
    cr_assert_eq(copy(true, app.window + 3, 7, 1, BYTES / 2), 0);
    cr_assert_eq(copy(false, app.window + 3, 7, BYTES / 2, BYTES / 2), 0);
    cr_assert_eq(memcmp(memory + 1, memory + BYTES / 2, BYTES / 2 - 1), 0);
    end_piece(7);
    cr_assert_eq(copy(true, app.window, 7, 0, 1), CUDA_ERROR_INVALID_VALUE, "it is gone");
    uint8_t *again = share(7, MIB);
    memset(again, 9, MIB);
    cr_assert_eq(copy(true, app.window, 7, 0, MIB), 0);
    uint8_t got = 0;
    cr_assert_eq(script_copy_out(&app, app.window + MIB - 1, &got, 1, 0), 0);
    cr_assert_eq(got, 9);
}

Test(shared_buffers, a_copy_is_answered_when_its_stream_has_got_there)
{
    uint8_t *memory = share(0, MIB);
    memset(memory, 3, MIB);
    uint64_t stream = held_stream();
    uint64_t in = send_copy(true, app.window, 0, 0, MIB, stream);
    uint64_t out = send_copy(false, app.window, 0, 0, MIB, stream);
    memset(memory, 4, MIB); /* it is read when its turn has come */
    let_go();
    cr_assert_eq(script_wait(&app, in), 0);
    cr_assert_eq(script_wait(&app, out), 0);
    cr_assert_eq(memory[0], 4);
    cr_assert_eq(memory[MIB - 1], 4);
    uint8_t got = 0;
    cr_assert_eq(script_copy_out(&app, app.window + MIB - 1, &got, 1, 0), 0);
    cr_assert_eq(got, 4);
}

Test(shared_buffers, what_is_not_there_is_refused)
{
    (void)share(1, MIB);
    cr_expect_eq(copy(true, app.window, 2, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window, 1024, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window, UINT32_MAX, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(false, app.window, 1, MIB - 15, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(false, app.window, 1, UINT64_MAX - 7, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window, 1, 16, UINT64_MAX - 7), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window + 4 * MIB - 15, 1, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, 4096, 1, 0, 16), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(script_wait(&app, send_copy(true, app.window, 1, 0, 16, 0x1234)),
                 CUDA_ERROR_INVALID_HANDLE);
    cr_expect_eq(copy(true, app.window, 1, MIB, 0), 0, "nothing is copied");
    cr_expect_eq(copy(true, app.window, 1, MIB - 16, 16), 0);
}

Test(shared_buffers, memory_that_could_go_away_is_not_taken)
{
    int good = ga_shared_memory_make("test", MIB), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int shrinks = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int read_only = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(shrinks, (off_t)MIB), 0);
    cr_assert_eq(ftruncate(read_only, (off_t)MIB), 0);
    cr_assert_eq(fcntl(read_only, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
    cr_expect_eq(offer(1, MIB, 0), CUDA_ERROR_INVALID_VALUE, "no descriptor came");
    pass(shrinks);
    cr_expect_eq(offer(1, MIB, inode_of(shrinks)), CUDA_ERROR_INVALID_VALUE);
    pass(null);
    cr_expect_eq(offer(1, MIB, inode_of(null)), CUDA_ERROR_INVALID_VALUE);
    pass(read_only);
    cr_expect_eq(offer(1, MIB, inode_of(read_only)), CUDA_ERROR_OUT_OF_MEMORY);
    pass(good);
    cr_expect_eq(offer(1, 2 * MIB, inode_of(good)), CUDA_ERROR_INVALID_VALUE, "it is smaller");
    pass(good);
    cr_expect_eq(offer(1, MIB, inode_of(good) + 1), CUDA_ERROR_INVALID_VALUE, "it is another");
    pass(good);
    cr_expect_eq(offer(1024, MIB, inode_of(good)), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(copy(true, app.window, 1, 0, 16), CUDA_ERROR_INVALID_VALUE);
    pass(good);
    cr_expect_eq(offer(1, MIB, inode_of(good)), 0);
    pass(good);
    cr_expect_eq(offer(1, MIB, inode_of(good)), CUDA_ERROR_INVALID_VALUE, "the number is used");
    cr_expect_eq(copy(true, app.window, 1, 0, 16), 0);
    close(good), close(null), close(shrinks), close(read_only);
}

Test(shared_buffers, no_more_than_is_allowed)
{
    (void)share(0, 5 * MIB);
    int more = ga_shared_memory_make("test", 4 * MIB), rest = ga_shared_memory_make("test", BYTES);
    pass(more);
    cr_expect_eq(offer(1, 4 * MIB, inode_of(more)), CUDA_ERROR_OUT_OF_MEMORY);
    pass(rest);
    cr_expect_eq(offer(1, BYTES, inode_of(rest)), 0);
    end_piece(0);
    pass(more);
    cr_expect_eq(offer(0, 4 * MIB, inode_of(more)), 0);
    close(more), close(rest);
}

Test(shared_buffers, what_a_copy_uses_cannot_be_given_up)
{
    (void)share(3, MIB);
    uint64_t stream = held_stream();
    (void)send_copy(false, app.window, 3, 0, MIB, stream);
    end_piece(3);
    script_expect_end(&app.data);
}

Test(shared_buffers, an_unknown_piece_that_ends_is_a_late_error)
{
    end_piece(3);
    script_expect(&app.data, WIRE_ERROR);
    cr_expect_eq(ga_read_i32(&app.data.values), CUDA_ERROR_INVALID_VALUE);
    (void)share(3, MIB);
    cr_expect_eq(copy(true, app.window, 3, 0, 16), 0);
}

/* Its pages are gone, and the copies find zeros. */
Test(shared_buffers, a_client_that_punches_holes_hurts_nobody)
{
    uint8_t *memory = share(2, BYTES);
    memset(memory, 8, BYTES);
    uint64_t stream = held_stream();
    uint64_t in = send_copy(true, app.window, 2, 0, BYTES, stream);
    cr_assert_eq(madvise(memory, BYTES, MADV_REMOVE), 0);
    munmap(memory, BYTES);
    let_go();
    cr_assert_eq(script_wait(&app, in), 0);
    uint8_t got = 1;
    cr_assert_eq(script_copy_out(&app, app.window + BYTES - 1, &got, 1, 0), 0);
    cr_assert_eq(got, 0);
}

Test(shared_buffers, over_tcp_nothing_can_be_shared)
{
    struct script_app other;
    int fd = ga_shared_memory_make("test", MIB);
    script_shm = false;
    script_app_start(&other, server.url, 0);
    cr_assert_null(other.data.conn.ops->send_fd);
    const struct ga_shared_buffer_open_args args = {.bytes = MIB, .inode = inode_of(fd)};
    ga_shared_buffer_open_args_write(script_begin(&other.data), &args);
    script_send(&other.data, API_OP_ga_shared_buffer_open, 1, other.sequence);
    cr_expect_eq(script_wait(&other, other.sequence++), CUDA_ERROR_INVALID_VALUE);
    script_app_close(&other);
    close(fd);
}
