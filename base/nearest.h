/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the word of a list that is nearest to a misspelt one. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define GA_NEAREST_MAX 40u /* longer words have no nearest word */

struct ga_nearest {
    const char *text;
    size_t length;
    const char *word; /* the nearest so far; NULL: none is near */
    unsigned edits;
};

/* `text` with `length` bytes, borrowed. */
struct ga_nearest ga_nearest_to(const char *text, size_t length);
/* Offers a word of the list, borrowed. Among equally near words the first wins. A word is near
 * if it begins with the text, or differs by few edits: a letter added, removed or changed, or
 * two swapped, at most one edit for three letters. */
void ga_nearest_offer(struct ga_nearest *nearest, const char *word);

#endif
