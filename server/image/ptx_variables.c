/* SPDX-License-Identifier: Apache-2.0 */
#include "server/image/ptx_variables.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/extent.h"

#define BYTES_MAX (UINT64_C(1) << 48)

struct scan {
    const char *at, *end;
};

struct token {
    const char *text;
    size_t length; /* 0: the text has ended */
};

static bool token_is(struct token token, const char *word)
{
    return token.length == strlen(word) && memcmp(token.text, word, token.length) == 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

/* Behind blanks and comments. */
static void blanks_skip(struct scan *scan)
{
    while (scan->at < scan->end) {
        size_t left = (size_t)(scan->end - scan->at);
        const char *to = NULL;
        if (isspace((unsigned char)*scan->at) || *scan->at == 0) {
            scan->at++;
            continue;
        }
        if (left < 2 || scan->at[0] != '/' || (scan->at[1] != '/' && scan->at[1] != '*')) {
            return;
        }
        if (scan->at[1] == '/') {
            to = memchr(scan->at, '\n', left);
        } else {
            to = memmem(scan->at + 2, left - 2, "*/", 2);
            to = to != NULL ? to + 2 : NULL;
        }
        scan->at = to != NULL ? to : scan->end;
    }
}

static struct token token_next(struct scan *scan)
{
    blanks_skip(scan);
    struct token token = {.text = scan->at};
    if (scan->at == scan->end) {
        return token;
    }
    if (*scan->at == '"') {
        const char *to = memchr(scan->at + 1, '"', (size_t)(scan->end - scan->at - 1));
        scan->at = to != NULL ? to + 1 : scan->end;
    } else if (is_word(*scan->at)) {
        while (scan->at < scan->end && is_word(*scan->at)) {
            scan->at++;
        }
    } else {
        scan->at++;
    }
    token.length = (size_t)(scan->at - token.text);
    return token;
}

/* Behind the brace that closes the one before. Returns how many parts commas made on its level. */
static uint64_t skip_to(struct scan *scan, const char *open, const char *close)
{
    uint64_t depth = 1, parts = 1;
    while (depth != 0) {
        struct token token = token_next(scan);
        if (token.length == 0) {
            break;
        }
        depth += token_is(token, open);
        depth -= token_is(token, close);
        parts += depth == 1 && token_is(token, ",");
    }
    return parts;
}

/* The bytes of an element of a fundamental type: ".u32", ".b8", ".f16x2". Others, as textures, take
 * none. */
static uint64_t ptx_type_bytes(struct token type)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } types[] = {{".b8", 1},   {".u8", 1},  {".s8", 1},    {".b16", 2},  {".u16", 2},
                 {".s16", 2},  {".f16", 2}, {".bf16", 2},  {".b32", 4},  {".u32", 4},
                 {".s32", 4},  {".f32", 4}, {".f16x2", 4}, {".tf32", 4}, {".bf16x2", 4},
                 {".b64", 8},  {".u64", 8}, {".s64", 8},   {".f64", 8},  {".b128", 16},
                 {".e4m3", 1}, {".e5m2", 1}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (token_is(type, types[i].name)) {
            return types[i].bytes;
        }
    }
    return 0;
}

static bool ptx_number(struct token token, uint64_t *number)
{
    char text[32], *end;
    if (token.length == 0 || token.length >= sizeof text || !isdigit((unsigned char)*token.text)) {
        return false;
    }
    memcpy(text, token.text, token.length);
    text[token.length] = 0;
    *number = strtoull(text, &end, 0);
    return *end == 0 || (*end == 'U' && end[1] == 0);
}

static void bytes_multiply(uint64_t *bytes, uint64_t by)
{
    *bytes = by != 0 && *bytes > BYTES_MAX / by ? BYTES_MAX + 1 : *bytes * by;
}

struct declaration {
    uint64_t element; /* bytes, vectors included */
    uint64_t count;   /* of the variable that is being read */
    bool unsized;     /* its initializer tells the first dimension */
    bool understood;
    uint64_t bytes; /* of those before it */
};

static void variable_end(struct declaration *declaration)
{
    uint64_t bytes = declaration->element;
    bytes_multiply(&bytes, declaration->count);
    declaration->bytes += api_extent(bytes);
    declaration->understood = declaration->understood && declaration->bytes <= BYTES_MAX;
    declaration->count = 1;
    declaration->unsized = false;
}

static void dimension_read(struct scan *scan, struct declaration *declaration)
{
    uint64_t number;
    struct token token = token_next(scan);
    if (token_is(token, "]")) {
        declaration->unsized = true;
    } else if (ptx_number(token, &number) && token_is(token_next(scan), "]")) {
        bytes_multiply(&declaration->count, number);
    } else {
        declaration->understood = false;
    }
}

/* Reads the declaration behind the state space, up to the semicolon. */
static enum ga_status declaration_read(struct scan *scan, uint64_t *bytes)
{
    struct declaration declaration = {.count = 1, .understood = true};
    struct token token;
    uint64_t vector = 1;
    while ((token = token_next(scan)).length != 0 && !token_is(token, ";")) {
        if (token_is(token, ".attribute")) {
            (void)(token_is(token_next(scan), "(") ? skip_to(scan, "(", ")") : 0);
        } else if (token_is(token, ".align")) {
            (void)token_next(scan);
        } else if (token_is(token, ".v2") || token_is(token, ".v4")) {
            vector = token_is(token, ".v4") ? 4 : 2;
        } else if (token.text[0] == '.') {
            declaration.element = ptx_type_bytes(token) * vector;
        } else if (token_is(token, "[")) {
            dimension_read(scan, &declaration);
        } else if (token_is(token, "{")) {
            uint64_t parts = skip_to(scan, "{", "}");
            bytes_multiply(&declaration.count, declaration.unsized ? parts : 1);
        } else if (token_is(token, "(")) { /* generic(name) + 8 */
            (void)skip_to(scan, "(", ")");
        } else if (token_is(token, ",")) {
            variable_end(&declaration);
        }
    }
    variable_end(&declaration);
    *bytes = declaration.bytes;
    return declaration.understood ? GA_OK : GA_INVALID;
}

/* A function of the device run time that takes or gives memory of the heap: malloc, cudaMalloc,
 * __cuda_syscall_aligned_malloc, and so on. */
static bool names_heap(struct token token)
{
    static const char *const words[] = {"alloc", "free", "Free"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (memmem(token.text, token.length, words[i], strlen(words[i])) != NULL) {
            return true;
        }
    }
    return false;
}

enum ga_status ptx_variables(const char *text, size_t size, uint64_t *bytes, bool *heap)
{
    struct scan scan = {text, text + size};
    struct token token;
    uint64_t all = 0, some = 0;
    bool external = false, function = false;
    *heap = false;
    while ((token = token_next(&scan)).length != 0) {
        if (token_is(token, "{")) {
            (void)skip_to(&scan, "{", "}");
            external = false;
        } else if (token_is(token, "(")) {
            (void)skip_to(&scan, "(", ")");
        } else if (token_is(token, ".global") || token_is(token, ".const")) {
            GA_TRY(declaration_read(&scan, &some));
            all += external ? 0 : some;
            external = false;
            if (all > BYTES_MAX) {
                return GA_INVALID;
            }
        } else {
            function = (function || token_is(token, ".func")) && !token_is(token, ";");
            *heap = *heap || (function && names_heap(token));
            external = (external || token_is(token, ".extern")) && !token_is(token, ";");
        }
    }
    *bytes = all;
    return GA_OK;
}
