/* SPDX-License-Identifier: Apache-2.0 */
/* Source positions: ".file 1 "name.cu"" and ".loc 1 12 5" (PTX ISA 9.0, 11.5). Inlined code has the
 * line that was inlined. */
#include "softgpu/ptx/source.h"

#include "softgpu/ptx/parse.h"
#include "softgpu/ptx/token.h"

/* The file's index among all, from 1; the first mention makes one. */
static uint32_t source_file(struct sg_parser *parser, uint16_t unit, uint64_t number)
{
    const struct sg_ptx_module *module = parser->module;
    uint32_t last = parser->source.file;
    if (last && module->files.items[last - 1].unit == unit &&
        module->files.items[last - 1].number == number) {
        return last;
    }
    for (uint32_t i = 0; i < module->files.count; i++) {
        if (module->files.items[i].unit == unit && module->files.items[i].number == number) {
            return i + 1;
        }
    }
    *SG_LOAD_PUSH(parser->load, parser->module->files) =
        (struct sg_ptx_file){.unit = unit, .number = number, .name = {"", 0}};
    return module->files.count;
}

static void end_line(struct sg_parser *parser)
{
    sg_lexer_skip_line(&parser->lexer);
    sg_parse_advance(parser);
}

void sg_parse_loc(struct sg_parser *parser)
{
    uint16_t unit = parser->token.place.unit;
    sg_parse_advance(parser);
    uint64_t file = sg_parse_int(parser, "the number of a file", UINT32_MAX);
    uint64_t line = sg_parse_int(parser, "the number of a line", UINT32_MAX);
    if (line != 0) { /* 0: no line */
        parser->source = (struct sg_source){source_file(parser, unit, file), (uint32_t)line, 0};
    }
    end_line(parser);
}

void sg_parse_file(struct sg_parser *parser)
{
    uint16_t unit = parser->token.place.unit;
    sg_parse_advance(parser);
    uint64_t number = sg_parse_int(parser, "the number of a file", UINT32_MAX);
    if (parser->token.kind != SG_TOKEN_STRING) {
        sg_parse_unexpected(parser, "the name of a file");
    }
    uint32_t file = source_file(parser, unit, number);
    parser->module->files.items[file - 1].name = parser->token.text;
    end_line(parser);
}
