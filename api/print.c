/* SPDX-License-Identifier: Apache-2.0 */
/* Calls as text, for traces and logs, and looking up a call by its op. */
#include "api/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/call_info.h"

size_t api_string_bytes(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static void print_append(struct api_print *print, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print_append(struct api_print *print, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    size_t room = print->used < print->size ? print->size - print->used : 0;
    int length = vsnprintf(room != 0 ? print->text + print->used : NULL, room, format, list);
    va_end(list);
    print->used += length > 0 ? (size_t)length : 0;
}

static const char *separator(struct api_print *print)
{
    return print->fields++ == 0 ? "" : ", ";
}

void api_print_number(struct api_print *print, const char *name, uint64_t value)
{
    print_append(print, "%s%s=%" PRIu64, separator(print), name, value);
}

void api_print_handle(struct api_print *print, const char *name, uint64_t value)
{
    print_append(print, "%s%s=0x%" PRIx64, separator(print), name, value);
}

void api_print_text(struct api_print *print, const char *name, const char *value)
{
    print_append(print, "%s%s=%s%.200s%s", separator(print), name, value != NULL ? "\"" : "",
                 value != NULL ? value : "NULL", value != NULL ? "\"" : "");
}

void api_print_bytes(struct api_print *print, const char *name, uint64_t count)
{
    print_append(print, "%s%s=[%" PRIu64 "]", separator(print), name, count);
}

const struct api_call_info *api_call_find(uint16_t op)
{
    size_t low = 0;
    size_t high = api_call_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (api_calls[middle].op == op) {
            return &api_calls[middle];
        }
        if (api_calls[middle].op < op) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

const char *api_op_name(uint16_t op)
{
    const struct api_call_info *info = api_call_find(op);
    return info != NULL ? info->name : "?";
}

int api_call_print(char *text, size_t size, uint16_t op, struct ga_reader *args)
{
    struct api_print print = {.text = text, .size = size};
    const struct api_call_info *info = api_call_find(op);
    if (info == NULL) {
        print_append(&print, "op %u(", (unsigned)op);
    } else {
        print_append(&print, "%s(", info->name);
        info->print(&print, args);
    }
    print_append(&print, args->failed ? ", cut short)" : ")");
    return (int)print.used;
}
