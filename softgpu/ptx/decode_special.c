/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers, found in the table special.def. */
#include "softgpu/ptx/decode_special.h"

#include <string.h>

#include "softgpu/ptx/decode_rows.h"

enum special_kind { SPECIAL_ROW, SPECIAL_NUMBER, SPECIAL_CLOCK, SPECIAL_REFUSED };

struct special {
    const char *name; /* REFUSED: its stem */
    enum special_kind kind;
    uint32_t value; /* ROW: enum sg_special; NUMBER: itself */
    unsigned sm;
    sg_handler *clock;
    bool wide;       /* of a clock */
    int last;        /* REFUSED: the highest number behind the stem, -1: there is none */
    const char *end; /* REFUSED: what follows */
    const char *why;
};

static const struct special specials[] = {
#define ROW(text, special, least)                                                                  \
    {.name = text, .kind = SPECIAL_ROW, .value = SG_SPECIAL_##special, .sm = least},
#define NUMBER(text, number, least)                                                                \
    {.name = text, .kind = SPECIAL_NUMBER, .value = number, .sm = least},
#define CLOCK(text, handler, long)                                                                 \
    {.name = text, .kind = SPECIAL_CLOCK, .clock = handler, .wide = long},
#define REFUSED(stem, most, tail, reason)                                                          \
    {.name = stem, .kind = SPECIAL_REFUSED, .last = most, .end = tail, .why = reason},
#include "softgpu/ptx/special.def"
};

/* "%pm" 3 "_64" */
static bool is_of_family(struct sg_text name, const struct special *family)
{
    uint32_t at = (uint32_t)strlen(family->name), digits = 0;
    int number = 0;
    if (!sg_text_starts(name, family->name)) {
        return false;
    }
    for (; at + digits < name.len && digits < 2; digits++) {
        char c = name.at[at + digits];
        if (c < '0' || c > '9' || (digits == 1 && number == 0)) {
            break;
        }
        number = 10 * number + (c - '0');
    }
    struct sg_text rest = {name.at + at + digits, name.len - at - digits};
    return sg_text_is(rest, family->end) && (digits != 0) == (family->last >= 0) &&
           number <= (family->last >= 0 ? family->last : 0);
}

static const struct special *special_find(struct sg_text name)
{
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        const struct special *special = &specials[i];
        if (special->kind == SPECIAL_REFUSED ? is_of_family(name, special)
                                             : sg_text_is(name, special->name)) {
            return special;
        }
    }
    return NULL;
}

sg_handler *sg_special_clock(const struct sg_operand *operand, bool *wide)
{
    const struct special *special =
        operand->kind == SG_OPERAND_SPECIAL ? special_find(operand->text) : NULL;
    if (special == NULL || special->kind != SPECIAL_CLOCK) {
        return NULL;
    }
    *wide = special->wide;
    return special->clock;
}

bool sg_special_component(struct sg_operand *operand, uint32_t component)
{
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        const char *name = specials[i].name;
        size_t length = strlen(name);
        if (length == operand->text.len + 2u && sg_text_starts(operand->text, "%") &&
            memcmp(name, operand->text.at, operand->text.len) == 0 && name[length - 2] == '.' &&
            name[length - 1] == "xyzw"[component]) {
            operand->text = (struct sg_text){name, (uint32_t)length};
            return true;
        }
    }
    return false;
}

static _Noreturn void special_refuse(struct sg_decoder *decoder, const struct sg_operand *operand,
                                     const struct special *special)
{
    if (special == NULL) {
        sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, operand->place,
                     "special register '%.*s' is unknown or not supported",
                     SG_TEXT_ARGS(operand->text));
    }
    sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, operand->place,
                 "special register '%.*s' is not supported: %s", SG_TEXT_ARGS(operand->text),
                 special->kind == SPECIAL_REFUSED ? special->why
                                                  : "a clock can be read by mov alone");
}

uint32_t sg_row_special(struct sg_decoder *decoder, const struct sg_operand *operand, bool wide)
{
    const struct special *special = special_find(operand->text);
    if (special == NULL || special->kind == SPECIAL_REFUSED || special->kind == SPECIAL_CLOCK) {
        special_refuse(decoder, operand, special);
    }
    if (decoder->funcs.items[decoder->slot].func->sm < special->sm) {
        sg_load_fail(decoder->load, SG_LOAD_SYNTAX, operand->place,
                     "special register '%.*s' requires .target sm_%u or higher",
                     SG_TEXT_ARGS(operand->text), special->sm);
    }
    if (special->kind == SPECIAL_NUMBER) {
        decoder->code->uses_reserved |= sg_text_starts(operand->text, "%reserved_");
        return sg_row_literal(decoder, special->value, wide);
    }
    return sg_row_const(
        decoder,
        (struct sg_const){.kind = SG_CONST_SPECIAL, .index = special->value, .wide = wide});
}
