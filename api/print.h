/* SPDX-License-Identifier: Apache-2.0 */
/* The text buffer of the generated printers. Text beyond the buffer is counted, not stored. */
#ifndef API_PRINT_H
#define API_PRINT_H

#include <stddef.h>
#include <stdint.h>

struct api_print {
    char *text;
    size_t size;
    size_t used; /* of the whole text, may exceed size */
    int fields;
};

/* Bytes of a string with its NUL; 0 for NULL. */
size_t api_string_bytes(const char *text);

void api_print_number(struct api_print *print, const char *name, uint64_t value);
void api_print_handle(struct api_print *print, const char *name, uint64_t value);
void api_print_text(struct api_print *print, const char *name, const char *value);
void api_print_bytes(struct api_print *print, const char *name, uint64_t count);

#endif
