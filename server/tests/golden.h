/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are compared with a file of the folder `golden`, line by line. In the file, * stands
 * for some digits, letters and dashes: for a time, or what is drawn by chance.
 *
 * A text that has changed on purpose: read what the test prints, and change the file. */
#ifndef SERVER_TESTS_GOLDEN_H
#define SERVER_TESTS_GOLDEN_H

#include <ctype.h>
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool golden_like(const char *text, const char *wanted)
{
    while (*wanted != 0) {
        if (*wanted == '*') {
            for (wanted++; isalnum((unsigned char)*text) || *text == '-' || *text == '_'; text++) {
            }
        } else if (*wanted++ != *text++) {
            return false;
        }
    }
    return *text == 0;
}

/* The text of the file; NULL: it cannot be read. To be freed. */
static inline char *golden_read(const char *name)
{
    char path[4096], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", GOLDEN_DIR, name);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    cr_assert_neq(getdelim(&text, &size, 0, file), -1, "%s is empty", path);
    fclose(file);
    return text;
}

/* Takes the next line out of the text; NULL: there is none. */
static inline char *golden_line(char **text)
{
    char *line = *text, *end = line != NULL ? strchr(line, '\n') : NULL;
    if (line == NULL || *line == 0) {
        return NULL;
    }
    *text = end != NULL ? end + 1 : NULL;
    if (end != NULL) {
        *end = 0;
    }
    return line;
}

#endif
