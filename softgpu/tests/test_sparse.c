/* SPDX-License-Identifier: Apache-2.0 */
/* mma.sp against plain loops: A is made dense first, packed row by row, and its metadata written
 * down as the PTX ISA describes it ("Sparse matrix storage"). Numbers are small integers, which
 * every format holds exactly. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_engine(void)
{
    engine_open(&engine, 0);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(sparse, .init = open_engine, .fini = shut);

struct lane { /* what a lane loads and stores */
    uint32_t a[4], b[4], c[4], d[4], metadata, unused[3];
};

/* -4 .. 4 */
static uint32_t encode(const char *type, int value)
{
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    uint32_t sign = value < 0, bits;
    float single = (float)value;
    memcpy(&bits, &single, sizeof bits);
    return strcmp(type, "f16") == 0    ? halves[value < 0 ? -value : value] | sign << 15
           : strcmp(type, "bf16") == 0 ? bits >> 16
                                       : bits;
}

/* Element `i` of a lane's fragment, with `per` in a register */
static void put(uint32_t *registers, const char *type, unsigned per, unsigned i, int value)
{
    registers[i / per] |= encode(type, value) << (i % per * 16);
}

struct matrices {
    int a[16][32], b[32][8], c[16][8];
    int packed[16][16];
    uint64_t metadata[16]; /* of each row, from bit 0 on */
};

static void fill(struct matrices *m, unsigned k, bool tf32, uint64_t *seed)
{
    *m = (struct matrices){0};
    for (unsigned i = 0; i < k * 8; i++) {
        m->b[i / 8][i % 8] = (int)(engine_random(seed) % 9) - 4;
    }
    for (unsigned row = 0; row < 16; row++) {
        for (unsigned column = 0; column < 8; column++) {
            m->c[row][column] = (int)(engine_random(seed) % 9) - 4;
        }
        for (unsigned i = 0; i < k / 2; i++) {
            int value = m->packed[row][i] = (int)(engine_random(seed) % 4) + 1;
            if (tf32) {
                bool upper = engine_random(seed) & 1;
                m->a[row][2 * i + upper] = value;
                m->metadata[row] |= (uint64_t)(upper ? 14 : 4) << 4 * i;
            } else if (i % 2 == 0) { /* the lower one of two places among four */
                m->metadata[row] |= (engine_random(seed) % 3) << 2 * i;
                m->a[row][i * 2 + (m->metadata[row] >> 2 * i & 3)] = value;
            } else {
                unsigned low = (unsigned)(m->metadata[row] >> 2 * (i - 1) & 3);
                unsigned at = low + 1 + (unsigned)(engine_random(seed) % (3 - low));
                m->metadata[row] |= (uint64_t)at << 2 * i;
                m->a[row][(i - 1) * 2 + at] = value;
            }
        }
    }
}

/* `width`: lanes of four that have metadata; the others have what must not be looked at. */
static void deal(const struct matrices *m, struct lane *lanes, const char *type, unsigned k,
                 unsigned selector)
{
    unsigned per = strcmp(type, "tf32") == 0 ? 1 : 2, width = per == 1 ? k / 8 : k / 16;
    memset(lanes, 0, 32 * sizeof *lanes);
    for (unsigned l = 0; l < 32; l++) {
        unsigned g = l / 4, t = l % 4;
        for (unsigned i = 0; i < k / 4; i++) { /* 16 * k / 2 elements in 32 lanes */
            unsigned block = i / (2 * per), row = g + (i / per % 2) * 8;
            put(lanes[l].a, type, per, i, m->packed[row][block * 4 * per + t * per + i % per]);
            put(lanes[l].b, type, per, i, m->b[i / per * 4 * per + t * per + i % per][g]);
        }
        for (unsigned i = 0; i < 4; i++) {
            lanes[l].c[i] = encode("f32", m->c[g + i / 2 * 8][t * 2 + i % 2]);
        }
        unsigned part = t - selector * width;
        bool mine = t >= selector * width && part < width;
        lanes[l].metadata = mine ? (uint32_t)(m->metadata[g] >> 16 * part & 0xffff) |
                                       (uint32_t)(m->metadata[g + 8] >> 16 * part & 0xffff) << 16
                                 : 0x4e4e4e4e;
    }
}

static void load_kernel(const char *type, unsigned k, unsigned selector, const char *sp)
{
    char text[2048];
    bool two = (strcmp(type, "tf32") == 0 ? 2 * k : k) == 16;
    snprintf(text, sizeof text,
             ".version 8.6\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
             ".reg .b32 %%t, %%e, %%a<4>, %%b<4>;\n.reg .f32 %%c<4>, %%d<4>;\n.reg .b64 %%p;\n"
             "ld.param.u64 %%p, [p];\nmov.u32 %%t, %%tid.x;\nmad.wide.u32 %%p, %%t, 80, %%p;\n"
             "ld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%p];\n"
             "ld.global.v4.b32 {%%b0, %%b1, %%b2, %%b3}, [%%p+16];\n"
             "ld.global.v4.f32 {%%c0, %%c1, %%c2, %%c3}, [%%p+32];\n"
             "ld.global.b32 %%e, [%%p+64];\n"
             "mma.%s.sync.aligned.m16n8k%u.row.col.f32.%s.%s.f32 {%%d0, %%d1, %%d2, %%d3}, %s, %s, "
             "{%%c0, %%c1, %%c2, %%c3}, %%e, %u;\n"
             "st.global.v4.f32 [%%p+48], {%%d0, %%d1, %%d2, %%d3};\nret;\n}\n",
             sp, k, type, type, two ? "{%a0, %a1}" : "{%a0, %a1, %a2, %a3}",
             two ? "{%b0, %b1}" : "{%b0, %b1, %b2, %b3}", selector);
    engine_load_text(&engine, text);
}

static void check(const char *type, unsigned k, unsigned selector, const char *sp)
{
    static struct matrices m;
    struct lane *lanes = engine_memory(&engine, 32 * sizeof *lanes);
    uint64_t seed = 7 + k + selector;
    fill(&m, k, strcmp(type, "tf32") == 0, &seed);
    deal(&m, lanes, type, k, selector);
    load_kernel(type, k, selector, sp);
    ENGINE_LAUNCH(&engine, "k", 1, 32, 0, PTR(lanes));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s", engine.fault.text);
    for (unsigned row = 0; row < 16; row++) {
        for (unsigned column = 0; column < 8; column++) {
            float got, want = (float)m.c[row][column];
            for (unsigned i = 0; i < k; i++) {
                want += (float)(m.a[row][i] * m.b[i][column]);
            }
            const struct lane *lane = &lanes[row % 8 * 4 + column / 2];
            memcpy(&got, &lane->d[row / 8 * 2 + column % 2], sizeof got);
            cr_assert_eq(got, want, "%s k%u, selector %u, row %u, column %u: %g, not %g", type, k,
                         selector, row, column, (double)got, (double)want);
        }
    }
}

Test(sparse, products)
{
    static const char *const sp[] = {"sp", "sp::ordered_metadata"};
    for (int i = 0; i < 2; i++) {
        for (unsigned selector = 0; selector < 4; selector++) {
            check("f16", 16, selector, sp[i]);
            check("bf16", 16, selector, sp[i]);
            check("tf32", 8, selector, sp[i]);
        }
        for (unsigned selector = 0; selector < 2; selector++) {
            check("f16", 32, selector, sp[i]);
            check("bf16", 32, selector, sp[i]);
            check("tf32", 16, selector, sp[i]);
        }
    }
}

Test(sparse, what_there_is_not_is_refused)
{
    static const char *const wrong[] = {
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 f, r, r, f, e, 2;",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 f, h, h, f, e, 4;",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 f, h, h, f, e, e;",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 f, h, h, f;",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 f, r, r, f, e, 0;",
        "mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 f, h, h, f, e, 0;",
        "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 r, r, r, r, e, 0;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 f, r, h, f, e, 0;"};
    static const char *const lists[][2] = {
        {" f,", " {f0, f1, f2, f3},"}, {" r,", " {r0, r1, r2, r3},"}, {" h,", " {r0, r1},"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[1024] = ".version 8.6\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
                          ".reg .b32 e, r0, r1, r2, r3; .reg .f32 f0, f1, f2, f3;\n";
        for (const char *c = wrong[i]; *c; c++) {
            const char *put = NULL;
            for (int k = 0; k < 3 && put == NULL; k++) {
                put = strncmp(c, lists[k][0], 3) == 0 ? lists[k][1] : NULL;
            }
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%.*s", put != NULL ? 100 : 1,
                     put != NULL ? put : c);
            c += put != NULL ? 2 : 0;
        }
        strcat(text, "\nret;\n}\n");
        struct sg_program *program = NULL;
        enum sg_load_result rc = sg_program_load(text, strlen(text), NULL, &program);
        cr_expect(rc == SG_LOAD_SYNTAX || rc == SG_LOAD_UNSUPPORTED, "%s: %d", wrong[i], (int)rc);
        sg_program_destroy(program);
    }
}
