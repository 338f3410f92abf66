/* SPDX-License-Identifier: Apache-2.0 */
/* The Damerau-Levenshtein distance (each pair of letters is swapped at most once). */
#include "base/nearest.h"

#include <string.h>

#define LETTERS_OF_AN_EDIT 3u /* letters per allowed edit */
#define BEGINNING          3u /* letters that suffice as the beginning of a word */

struct ga_nearest ga_nearest_to(const char *text, size_t length)
{
    size_t edits = length / LETTERS_OF_AN_EDIT;
    if (edits == 0 && length > 1) {
        edits = 1;
    }
    return (struct ga_nearest){.text = text, .length = length, .edits = (unsigned)edits + 1};
}

static unsigned nearest_least(unsigned a, unsigned b, unsigned c)
{
    a = b < a ? b : a;
    return c < a ? c : a;
}

/* Both are at most GA_NEAREST_MAX long. */
static unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][GA_NEAREST_MAX + 1];
    for (unsigned j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *now = rows[i % 3];
        const unsigned *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned other = a[i - 1] != b[j - 1];
            now[j] = nearest_least(last[j] + 1, now[j - 1] + 1, last[j - 1] + other);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = nearest_least(now[j], before[j - 2] + 1, now[j]);
            }
        }
    }
    return rows[a_length % 3][b_length];
}

void ga_nearest_offer(struct ga_nearest *nearest, const char *word)
{
    size_t length = strlen(word);
    if (length > GA_NEAREST_MAX || nearest->length > GA_NEAREST_MAX) {
        return;
    }
    unsigned edits = nearest_distance(nearest->text, nearest->length, word, length);
    if (nearest->length >= BEGINNING && length > nearest->length &&
        strncmp(word, nearest->text, nearest->length) == 0) {
        edits = 1;
    }
    if (edits < nearest->edits) {
        nearest->edits = edits;
        nearest->word = word;
    }
}
