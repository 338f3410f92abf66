/* SPDX-License-Identifier: Apache-2.0 */
/* A text that somebody else has written: what reaches a log or a terminal of it is UTF-8 without a
 * character that acts there, and what was harmless stays as it was. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/fuzz/input.h"

/* Characters of a clean text. */
static size_t characters(const char *text)
{
    size_t count = 0;
    while (*text != 0) {
        uint32_t character;
        size_t bytes = ga_text_character(text, &character);
        FUZZ_CHECK(bytes >= 1 && bytes <= 4 && ga_text_is_safe(character));
        FUZZ_CHECK(character >= ' ' && (character < 0x7f || character > 0x9f));
        text += bytes;
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *clean = malloc(size + 1);
    FUZZ_CHECK(text != NULL && clean != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    strcpy(clean, text);
    ga_text_clean(clean);
    FUZZ_CHECK(characters(clean) <= strlen(text) && strlen(clean) <= strlen(text));
    FUZZ_CHECK(ga_text_is_clean(clean));
    FUZZ_CHECK(ga_text_is_clean(text) == (strcmp(text, clean) == 0));
    free(clean);
    free(text);
    return 0;
}
