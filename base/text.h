/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of others (names of tenants, users and programs, messages of servers) made harmless for
 * terminals and log files. The only place that says which characters are not: control characters
 * (C0, DEL, C1), those that end a line or a paragraph, those that turn the direction of the line,
 * and invisible ones. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the character of UTF-8 that begins at `at`, in a text that ends with a NUL. Returns its
 * bytes; 0: none begins here (Unicode, table 3-7). */
size_t ga_text_character(const char *at, uint32_t *character);
bool ga_text_is_safe(uint32_t character);
/* Replaces each other character, and each byte that is no UTF-8, by one '?'. The text does not get
 * longer. */
void ga_text_clean(char *text);
/* Whether nothing of it would be replaced. */
bool ga_text_is_clean(const char *text);

#endif
