/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions and their operands. */
#include "softgpu/ptx/statement.h"

#include "softgpu/ptx/opcode.h"
#include "softgpu/ptx/parse.h"
#include "softgpu/ptx/scope.h"
#include "softgpu/ptx/table.h"
#include "softgpu/ptx/token.h"

#include <string.h>

static struct sg_operand *push_item(struct sg_parser *parser, struct sg_operand *list,
                                    uint32_t *room)
{
    if (list->item_count == *room) {
        list->items = sg_load_grow(parser->load, list->items, room, sizeof *list->items);
    }
    return &list->items[list->item_count++];
}

static uint64_t parse_signed(struct sg_parser *parser)
{
    bool minus = sg_parse_take(parser, '-');
    uint64_t value = sg_parse_int(parser, "an offset", UINT64_MAX);
    return minus ? -value : value;
}

/* "%tid" ".x" -> "%tid.x" */
static struct sg_text join_component(struct sg_parser *parser, struct sg_text name)
{
    const struct sg_token *token = &parser->token;
    if (token->kind == SG_TOKEN_DOT && token->text.at == name.at + name.len + 1 &&
        token->text.len == 1 && strchr("xyzw", token->text.at[0]) != NULL) {
        name.len += 2;
        sg_parse_advance(parser);
    }
    return name;
}

/* The component of a vector register: "%v1" ".x" */
static bool take_component(struct sg_parser *parser, struct sg_text name, uint32_t vector,
                           uint32_t *component)
{
    static const char letters[] = "xyzwrgba";
    const struct sg_token *token = &parser->token;
    if (token->kind != SG_TOKEN_DOT || token->text.at != name.at + name.len + 1 ||
        token->text.len != 1 || strchr(letters, token->text.at[0]) == NULL) {
        return false;
    }
    *component = (uint32_t)(strchr(letters, token->text.at[0]) - letters) % 4;
    if (*component >= vector) {
        sg_parse_unexpected(parser, "a component of the vector");
    }
    sg_parse_advance(parser);
    return true;
}

/* "%r1" ".h0" in video instructions; empty: the whole register */
static struct sg_text part_of_register(struct sg_parser *parser, struct sg_text name)
{
    const struct sg_token *token = &parser->token;
    struct sg_text part = {NULL, 0};
    if (token->kind == SG_TOKEN_DOT && token->text.at == name.at + name.len + 1 &&
        token->text.len > 0 && strchr("bh", token->text.at[0]) != NULL) {
        part = token->text;
        sg_parse_advance(parser);
    }
    return part;
}

/* A vector register is the list of its components, or one of them. */
static void register_operand(struct sg_parser *parser, const struct sg_symbol *symbol,
                             struct sg_operand *operand)
{
    const uint32_t vector = symbol->vector;
    uint32_t component = 0, room = 0;
    if (vector != 1 && !take_component(parser, operand->text, vector, &component)) {
        operand->kind = SG_OPERAND_LIST;
        for (uint32_t i = 0; i < vector; i++) {
            *push_item(parser, operand, &room) = (struct sg_operand){
                .kind = SG_OPERAND_REG, .place = operand->place, .reg = operand->reg + i};
        }
        return;
    }
    operand->kind = SG_OPERAND_REG;
    operand->reg += component;
    struct sg_text name = operand->text;
    name.len += vector != 1 ? 2 : 0;
    operand->part = part_of_register(parser, name);
}

/* A name in place of an operand. */
static struct sg_operand name_operand(struct sg_parser *parser)
{
    struct sg_operand operand = {.place = parser->token.place};
    struct sg_text name = sg_parse_name(parser, "an operand");
    if (sg_text_is(name, "_")) {
        operand.kind = SG_OPERAND_SINK;
        return operand;
    }
    struct sg_symbol *symbol = sg_scope_find(parser, name, &operand.reg);
    operand.text = name;
    if (symbol == NULL && sg_text_is(name, "WARP_SZ")) {
        operand.kind = SG_OPERAND_INT;
        operand.value = 32;
        return operand;
    }
    if (symbol == NULL && name.at[0] == '%') {
        operand.kind = SG_OPERAND_SPECIAL;
        operand.text = join_component(parser, name);
        return operand;
    }
    if (symbol == NULL || symbol->kind == SG_SYMBOL_LABEL) {
        operand.kind = SG_OPERAND_NONE; /* a label; sg_parse_insn notes the use */
        return operand;
    }
    switch (symbol->kind) {
    case SG_SYMBOL_VAR:
        operand.kind = SG_OPERAND_VAR;
        operand.var = symbol->var;
        break;
    case SG_SYMBOL_FUNC:
        operand.kind = SG_OPERAND_FUNC;
        operand.func = symbol->func;
        break;
    case SG_SYMBOL_TABLE:
        operand.kind = SG_OPERAND_TABLE;
        operand.table = symbol->table;
        break;
    default:
        register_operand(parser, symbol, &operand);
        break;
    }
    return operand;
}

static void unknown_name(struct sg_parser *parser, const struct sg_operand *operand)
{
    sg_load_fail(parser->load, SG_LOAD_SYNTAX, operand->place, "unknown name '%.*s'",
                 SG_TEXT_ARGS(operand->text));
}

static void add_offset(struct sg_parser *parser, struct sg_operand *operand)
{
    while (sg_parse_at(parser, '+') || sg_parse_at(parser, '-')) {
        sg_parse_take(parser, '+');
        operand->value += parse_signed(parser);
    }
}

static void nest(struct sg_parser *parser, const struct sg_operand *operand)
{
    if (++parser->depth > SG_PARSE_DEPTH) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, operand->place, "lists nested too deep");
    }
}

static void parse_coordinates(struct sg_parser *parser, struct sg_operand *address, uint32_t *room)
{
    nest(parser, address);
    while (sg_parse_take(parser, ',')) {
        struct sg_operand item = sg_parse_operand(parser);
        if (item.kind == SG_OPERAND_NONE) {
            unknown_name(parser, &item);
        }
        *push_item(parser, address, room) = item;
    }
    parser->depth--;
}

static void parse_list(struct sg_parser *parser, struct sg_operand *list, char close)
{
    uint32_t room = 0;
    nest(parser, list);
    list->kind = SG_OPERAND_LIST;
    while (!sg_parse_at(parser, close)) {
        struct sg_operand item = sg_parse_operand(parser);
        if (item.kind == SG_OPERAND_NONE) {
            unknown_name(parser, &item);
        }
        *push_item(parser, list, &room) = item;
        if (!sg_parse_take(parser, ',')) {
            break;
        }
    }
    sg_parse_expect(parser, close);
    parser->depth--;
}

/* "[a+4]", or "[texture, {x, y}]" */
static void parse_address(struct sg_parser *parser, struct sg_operand *address)
{
    address->kind = SG_OPERAND_ADDRESS;
    if (parser->token.kind == SG_TOKEN_NAME) {
        uint32_t room = 0;
        struct sg_operand base = name_operand(parser);
        if (base.kind == SG_OPERAND_NONE) {
            unknown_name(parser, &base);
        }
        *push_item(parser, address, &room) = base;
        add_offset(parser, address);
        if (sg_parse_at(parser, ',')) {
            parse_coordinates(parser, address, &room);
        }
    } else {
        address->value = parse_signed(parser);
    }
    sg_parse_expect(parser, ']');
}

static void parse_number(struct sg_parser *parser, struct sg_operand *operand)
{
    bool minus = sg_parse_take(parser, '-');
    bool invert = !minus && sg_parse_take(parser, '~');
    const struct sg_token *token = &parser->token;
    if (minus && token->kind == SG_TOKEN_NAME) { /* of vmad */
        *operand = name_operand(parser);
        operand->negated = true;
        if (operand->kind != SG_OPERAND_REG) {
            unknown_name(parser, operand);
        }
        return;
    }
    operand->value = token->value;
    if (token->kind == SG_TOKEN_INT) {
        operand->kind = SG_OPERAND_INT;
        operand->value = minus ? -token->value : invert ? ~token->value : token->value;
    } else if (token->kind == SG_TOKEN_F32 && !invert) {
        operand->kind = SG_OPERAND_F32;
        operand->value ^= minus ? UINT64_C(1) << 31 : 0;
    } else if (token->kind == SG_TOKEN_F64 && !invert) {
        operand->kind = SG_OPERAND_F64;
        operand->value ^= minus ? UINT64_C(1) << 63 : 0;
    } else {
        sg_parse_unexpected(parser, "an operand");
    }
    sg_parse_advance(parser);
}

/* "|q", if present */
static void parse_pair(struct sg_parser *parser, struct sg_operand *operand)
{
    if (sg_parse_take(parser, '|')) {
        struct sg_operand *pair = sg_load_alloc(parser->load, &parser->load->scratch, sizeof *pair);
        *pair = name_operand(parser);
        if (pair->kind != SG_OPERAND_REG && pair->kind != SG_OPERAND_SINK) {
            unknown_name(parser, pair);
        }
        operand->pair = pair;
    }
}

struct sg_operand sg_parse_operand(struct sg_parser *parser)
{
    struct sg_operand operand = {.place = parser->token.place};
    if (sg_parse_take(parser, '[')) {
        parse_address(parser, &operand);
    } else if (sg_parse_take(parser, '{')) {
        parse_list(parser, &operand, '}');
        parse_pair(parser, &operand);
    } else if (sg_parse_take(parser, '(')) {
        parse_list(parser, &operand, ')');
    } else if (sg_parse_take(parser, '!')) {
        operand = name_operand(parser);
        operand.negated = true;
        if (operand.kind != SG_OPERAND_REG) {
            unknown_name(parser, &operand);
        }
    } else if (parser->token.kind == SG_TOKEN_NAME) {
        operand = name_operand(parser);
        if (operand.kind == SG_OPERAND_VAR) {
            add_offset(parser, &operand);
        }
        parse_pair(parser, &operand);
    } else {
        parse_number(parser, &operand);
    }
    return operand;
}

static void note_label_use(struct sg_parser *parser, const struct sg_operand *operand,
                           uint32_t insn, uint32_t index)
{
    struct sg_label_use *use = sg_load_alloc(parser->load, &parser->load->scratch, sizeof *use);
    *use = (struct sg_label_use){
        parser->scope->uses, operand->text, operand->place, insn, index, NULL};
    parser->scope->uses = use;
}

static void parse_guard(struct sg_parser *parser, struct sg_ptx_insn *insn)
{
    insn->guarded = true;
    insn->guard_negated = sg_parse_take(parser, '!');
    struct sg_place place = parser->token.place;
    struct sg_text name = sg_parse_name(parser, "a predicate");
    struct sg_symbol *symbol = sg_scope_find(parser, name, &insn->guard_reg);
    if (symbol == NULL || (symbol->kind != SG_SYMBOL_REG && symbol->kind != SG_SYMBOL_REG_RANGE) ||
        parser->func->regs.items[insn->guard_reg].type != SG_TYPE_PRED) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, place, "'%.*s' is no predicate",
                     SG_TEXT_ARGS(name));
    }
}

static void parse_opcode(struct sg_parser *parser, struct sg_ptx_insn *insn, struct sg_text opcode)
{
    insn->opcode = opcode;
    while (parser->token.kind == SG_TOKEN_DOT) {
        if (insn->modifier_count == SG_PTX_MODIFIERS) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, parser->token.place, "too many modifiers");
        }
        insn->modifiers[insn->modifier_count++] = parser->token.text;
        sg_parse_advance(parser);
    }
    enum sg_opcode_class class = sg_opcode_class_of(opcode);
    if (class == SG_OPCODE_UNKNOWN) {
        sg_load_fail(parser->load, SG_LOAD_SYNTAX, insn->place, "'%.*s' is no instruction",
                     SG_TEXT_ARGS(opcode));
    }
    if (class == SG_OPCODE_KNOWN) {
        struct sg_text last =
            insn->modifier_count ? insn->modifiers[insn->modifier_count - 1] : opcode;
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, insn->place,
                     "instruction '%.*s' is not supported", (int)(last.at + last.len - opcode.at),
                     opcode.at);
    }
}

static void declare_label(struct sg_parser *parser, struct sg_text name, struct sg_place place)
{
    struct sg_symbol *label = sg_scope_declare(parser, name, place, SG_SYMBOL_LABEL);
    label->first = parser->func->insns.count;
    if (sg_parse_at_table(parser)) {
        sg_parse_table(parser, label);
    }
}

void sg_parse_pointer(struct sg_parser *parser, struct sg_ptx_func *func)
{
    if (func->pointer == 0) {
        func->pointer = ++parser->module->pointer_count;
    }
    if (func->pointer > SG_CODE_POINTERS) {
        sg_load_fail(parser->load, SG_LOAD_UNSUPPORTED, parser->token.place,
                     "a module that uses the addresses of more than %d functions is not supported",
                     SG_CODE_POINTERS);
    }
}

void sg_parse_insn(struct sg_parser *parser)
{
    struct sg_ptx_insn insn = {.place = parser->token.place, .source = parser->source};
    if (sg_parse_take(parser, '@')) {
        parse_guard(parser, &insn);
        insn.place = parser->token.place;
    }
    struct sg_text name = sg_parse_name(parser, "an instruction");
    if (!insn.guarded && sg_parse_take(parser, ':')) {
        declare_label(parser, name, insn.place);
        return;
    }
    parse_opcode(parser, &insn, name);
    uint32_t index = parser->func->insns.count;
    while (!sg_parse_at(parser, ';')) {
        if (insn.operand_count == SG_PTX_OPERANDS) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, parser->token.place, "too many operands");
        }
        struct sg_operand operand = sg_parse_operand(parser);
        if (operand.kind == SG_OPERAND_NONE) {
            if (!sg_text_is(name, "bra")) {
                unknown_name(parser, &operand);
            }
            note_label_use(parser, &operand, index, insn.operand_count);
        }
        if (operand.kind == SG_OPERAND_FUNC && !sg_text_is(name, "call")) {
            sg_parse_pointer(parser, operand.func);
        }
        if (operand.kind == SG_OPERAND_LIST && operand.pair != NULL && !sg_text_is(name, "tex") &&
            !sg_text_is(name, "tld4")) {
            sg_load_fail(parser->load, SG_LOAD_SYNTAX, operand.pair->place,
                         "'|' after a list that cannot have one");
        }
        insn.operands[insn.operand_count++] = operand;
        if (!sg_parse_take(parser, ',')) {
            break;
        }
    }
    sg_parse_expect(parser, ';');
    *SG_LOAD_PUSH(parser->load, parser->func->insns) = insn;
}
