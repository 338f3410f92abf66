/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the lanes of a load or store. Neighbouring addresses, and equal ones, are accessed
 * together (exec/access.h, exec/fast_memory.c); these tests also have addresses that are almost so.
 * */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/tests/engine_fixture.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static struct engine engine;

static void open_engine(void)
{
    engine_open(&engine, 0);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(access, .init = open_engine, .fini = shut, .timeout = 60);

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

/* ---- any places */

enum { LANES = 32, ELEMENTS = 64, PART = ELEMENTS * 8, ROWS = 6, SHAPES = ROWS + 2 * LANES + 12 };

/* The element that a lane reads: in rows that are nearly neighbours, or nearly one address. */
static uint32_t place(unsigned shape, uint32_t lane)
{
    const uint32_t rows[] = {lane, 0, lane + lane / 4, lane + lane / 8, lane % 4, lane / 16};
    if (shape < ROWS) {
        return rows[shape];
    }
    const uint32_t more = shape - ROWS, one = more % LANES; /* of all, of 4, of 8: goes elsewhere */
    return more / LANES == 0   ? lane == one
           : more / LANES == 1 ? lane + (lane == one)
           : one < 4           ? lane + (lane % 4 == one)
                               : lane + (lane % 8 == one - 4);
}

/* 1: the type, 2: a register for it, 3: its bytes, 4: those of a warp. Gathers from global memory,
 * then from shared memory, and scatters into both; `to` gets a part of PART bytes of each. */
static const char gather_and_scatter[] =
    HEAD ".visible .entry k(.param .u64 from, .param .u64 index, .param .u64 to)\n{\n"
         ".shared .align 8 .b8 s[512];\n"
         ".reg .b32 t, i, near, far; .reg .b64 f, x, o, own, place, at; .reg .%2$s v, w;\n"
         "mov.u32 t, %%tid.x;\n"
         "ld.param.u64 f, [from]; ld.param.u64 x, [index]; ld.param.u64 o, [to];\n"
         "mul.wide.u32 at, t, 4; add.u64 x, x, at; ld.global.u32 i, [x];\n"
         "mul.wide.u32 own, t, %3$u; mul.wide.u32 place, i, %3$u;\n"
         "mov.u32 near, s; mad.lo.u32 far, i, %3$u, near; mad.lo.u32 near, t, %3$u, near;\n"
         "add.u64 at, f, place; ld.global.%1$s v, [at];\n"
         "add.u64 at, o, own; st.global.%1$s [at], v;\n"
         "add.u64 at, f, own; ld.global.%1$s v, [at]; ld.global.%1$s w, [at+%4$u];\n"
         "st.shared.%1$s [near], v; st.shared.%1$s [near+%4$u], w; bar.sync 0;\n"
         "ld.shared.%1$s w, [far];\n"
         "add.u64 at, o, own; st.global.%1$s [at+512], w; bar.sync 0;\n"
         "add.u64 at, o, place; st.global.%1$s [at+1024], v;\n"
         "st.shared.%1$s [far], v; bar.sync 0;\n"
         "ld.shared.%1$s v, [near]; ld.shared.%1$s w, [near+%4$u];\n"
         "add.u64 at, o, own;\n"
         "st.global.%1$s [at+1536], v; add.u64 at, at, %4$u;\n"
         "st.global.%1$s [at+1536], w;\nret;\n}\n";

struct memory {
    uint8_t *from, *to;
    uint32_t *index;
};

static void expect_places(const struct memory *memory, unsigned shape, uint32_t bytes)
{
    uint8_t want[4][PART] = {0};
    const uint8_t *from = memory->from;
    memset(memory->to, 0, sizeof want);
    memcpy(want[3], from, (size_t)ELEMENTS * bytes);
    for (uint32_t i = 0; i < LANES; i++) { /* of several stores, the highest lane's stays */
        const size_t at = (size_t)place(shape, i) * bytes, own = (size_t)i * bytes;
        memory->index[i] = place(shape, i);
        memcpy(want[0] + own, from + at, bytes);
        memcpy(want[1] + own, from + at, bytes);
        memcpy(want[2] + at, from + own, bytes);
        memcpy(want[3] + at, from + own, bytes);
    }
    ENGINE_LAUNCH(&engine, "k", 1, LANES, 0, PTR(memory->from), PTR(memory->index),
                  PTR(memory->to));
    no_fault();
    for (size_t i = 0; i < sizeof want; i++) {
        cr_assert_eq(memory->to[i], want[i / PART][i % PART],
                     "shape %u, %u bytes: byte %zu of part %zu", shape, bytes, i % PART, i / PART);
    }
}

Test(access, each_lane_has_its_own_place)
{
    static const char *const types[][2] = {
        {"u8", "b32"}, {"u16", "b32"}, {"u32", "b32"}, {"u64", "b64"}};
    const struct memory memory = {engine_memory(&engine, 4096), engine_memory(&engine, 4096),
                                  engine_memory(&engine, 4096)};
    uint64_t state = 1;
    for (unsigned i = 0; i < ELEMENTS * 8; i++) {
        memory.from[i] = (uint8_t)engine_random(&state);
    }
    for (unsigned type = 0; type < 4; type++) {
        char text[4096];
        snprintf(text, sizeof text, gather_and_scatter, types[type][0], types[type][1], 1u << type,
                 LANES << type);
        engine_load_text(&engine, text);
        for (unsigned shape = 0; shape < SHAPES; shape++) {
            expect_places(&memory, shape, 1u << type);
        }
    }
}

/* 1: a register's type, 2: its bits, 3: what is done there. Odd lanes alone, then all of them, look
 * at shared memory; only the last lane's place is near the end. */
static const char at_the_end[] =
    HEAD ".extern .shared .align 8 .b8 s[];\n"
         ".visible .entry k(.param .u32 place, .param .u32 all)\n{\n"
         ".reg .b32 t, at, near, all_; .reg .pred last, here; .reg .%1$s v;\n"
         "mov.u32 t, %%tid.x; ld.param.u32 at, [place]; ld.param.u32 all_, [all];\n"
         "mov.b%2$u v, 0;\n"
         "setp.eq.u32 last, t, 31; and.b32 near, t, 1; shl.b32 near, near, 3;\n"
         "selp.b32 at, at, near, last; mov.u32 near, s; add.u32 at, at, near;\n"
         "or.b32 t, t, all_; and.b32 t, t, 1; setp.eq.u32 here, t, 1;\n"
         "@!here bra END;\n"
         "%3$s\n"
         "END: ret;\n}\n";

static void expect_end(uint32_t bytes, uint32_t shared, const char *what)
{
    for (uint32_t at = (shared / 8 - 1) * 8; at <= shared; at += bytes) {
        for (uint32_t all = 0; all < 2; all++) {
            const bool fits = at + bytes <= shared;
            ENGINE_LAUNCH(&engine, "k", 1, LANES, shared, at, all);
            cr_expect_eq(engine.fault.code, fits ? SG_FAULT_NONE : SG_FAULT_ILLEGAL_ADDRESS,
                         "%s: %u bytes at %u of %u, all: %u", what, bytes, at, shared, all);
        }
    }
}

Test(access, shared_memory_ends_where_it_ends)
{
    static const char *const types[][2] = {
        {"u8", "b32"}, {"u16", "b32"}, {"u32", "b32"}, {"u64", "b64"}};
    for (unsigned type = 0; type < 4; type++) {
        for (unsigned store = 0; store < 2; store++) {
            char text[2048], what[64];
            snprintf(what, sizeof what, "%s.shared.%s %s;", store ? "st" : "ld", types[type][0],
                     store ? "[at], v" : "v, [at]");
            snprintf(text, sizeof text, at_the_end, types[type][1], type == 3 ? 64 : 32, what);
            engine_load_text(&engine, text);
            for (uint32_t shared = 64; shared < 64 + 8; shared++) {
                expect_end(1u << type, shared, what);
            }
        }
    }
}

/* ---- two rows of a block in one warp */

/* 1: the type, 2: its bytes, 3: bytes from the lower to the upper half of the warp. Each register
 * is written once: so addresses are pairs. */
static const char two_rows[] =
    HEAD ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n"
         ".reg .b32 x, y, t, v; .reg .b64 from0, to0, across, up, sum, at, own, back;\n"
         "ld.param.u64 from0, [from]; ld.param.u64 to0, [to];\n"
         "mov.u32 x, %%tid.x; mov.u32 y, %%tid.y;\n"
         "mul.wide.s32 across, x, %2$u; mul.wide.s32 up, y, %3$d;\n"
         "add.s64 sum, across, up; add.s64 at, sum, from0;\n"
         "ld.global.%1$s v, [at];\n"
         "mad.lo.u32 t, y, 16, x; mul.wide.u32 own, t, 4; add.u64 back, own, to0;\n"
         "st.global.u32 [back], v;\nret;\n}\n";

static void launch_rows(uint32_t bytes, int apart, const uint8_t *from, uint32_t *to)
{
    char text[1024];
    const uint64_t params[] = {PTR(from), PTR(to)};
    snprintf(text, sizeof text, two_rows, bytes == 1 ? "u8" : "u32", bytes, apart);
    engine_load_text(&engine, text);
    engine_launch_3d(&engine, "k", (uint32_t[]){1, 1, 1}, (uint32_t[]){16, 2, 1}, 0, params, 2);
}

Test(access, the_halves_of_a_warp_may_lie_anywhere)
{
    static const struct {
        uint32_t bytes;
        int apart;
        size_t at; /* of two chunks: the second can be read */
        enum sg_fault_code fault;
    } cases[] = {
        {4, 0, SG_MAP_CHUNK, SG_FAULT_NONE},
        {4, 64, SG_MAP_CHUNK, SG_FAULT_NONE},
        {4, 4, SG_MAP_CHUNK, SG_FAULT_NONE},
        {4, -64, SG_MAP_CHUNK + 64, SG_FAULT_NONE},
        {1, 1, SG_MAP_CHUNK, SG_FAULT_NONE},
        {1, -1, SG_MAP_CHUNK + 1, SG_FAULT_NONE},
        {4, 64, 2 * SG_MAP_CHUNK - 128, SG_FAULT_NONE},
        {4, 1, SG_MAP_CHUNK, SG_FAULT_MISALIGNED},
        {4, 2, SG_MAP_CHUNK, SG_FAULT_MISALIGNED},
        {4, 63, SG_MAP_CHUNK, SG_FAULT_MISALIGNED},
        {4, 65, SG_MAP_CHUNK, SG_FAULT_MISALIGNED},
        {4, -1, SG_MAP_CHUNK + 64, SG_FAULT_MISALIGNED},
        {4, -64, SG_MAP_CHUNK, SG_FAULT_ILLEGAL_ADDRESS},
        {4, -4, SG_MAP_CHUNK, SG_FAULT_ILLEGAL_ADDRESS},
        {1, -1, SG_MAP_CHUNK, SG_FAULT_ILLEGAL_ADDRESS},
        {1, -16, SG_MAP_CHUNK, SG_FAULT_ILLEGAL_ADDRESS},
        {4, 64, SG_MAP_CHUNK - 256, SG_FAULT_ILLEGAL_ADDRESS},
    };
    uint8_t *from = engine_memory(&engine, 2 * SG_MAP_CHUNK);
    uint32_t *to = engine_memory(&engine, 4096);
    for (size_t i = 0; i < 256; i++) {
        from[SG_MAP_CHUNK + i] = from[2 * SG_MAP_CHUNK - 256 + i] = (uint8_t)(i * 5 + 1);
    }
    cr_assert_eq(sg_map_set(engine.map, PTR(from), SG_MAP_CHUNK, 0), GA_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint8_t *low = from + cases[i].at, *high = low + cases[i].apart;
        launch_rows(cases[i].bytes, cases[i].apart, low, to);
        cr_assert_eq(engine.fault.code, cases[i].fault, "%zu: %s", i, engine.fault.text);
        if (cases[i].fault != SG_FAULT_NONE) {
            const bool forbidden = cases[i].at < SG_MAP_CHUNK;
            cr_assert_eq(engine.fault.address, PTR(forbidden ? low : high), "%zu: %s", i,
                         engine.fault.text);
            continue;
        }
        for (uint32_t t = 0; t < 32; t++) {
            uint32_t want = 0;
            memcpy(&want, (t < 16 ? low : high) + (size_t)(t % 16) * cases[i].bytes,
                   cases[i].bytes);
            cr_assert_eq(to[t], want, "%zu: thread %u: 0x%x, not 0x%x", i, t, to[t], want);
        }
    }
    launch_rows(4, 0, NULL, to);
    cr_assert_eq(engine.fault.code, SG_FAULT_ILLEGAL_ADDRESS);
    cr_assert_eq(engine.fault.address, 0);
}
