/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": which word of a list somebody probably meant who wrote one that is not in it. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define GA_NEAREST_MAX 40u /* longer words are near to nothing */

struct ga_nearest {
    const char *text;
    size_t length;
    const char *word; /* the nearest so far; NULL: none is near */
    unsigned edits;
};

/* `text` with `length` bytes, borrowed. */
struct ga_nearest ga_nearest_to(const char *text, size_t length);
/* Another word of the list, borrowed. Of equally near ones the first stays. Near is a word that
 * begins with the text, or comes of it by few edits, as each a letter more, less or other, or two
 * swapped: one in three letters at most. */
void ga_nearest_offer(struct ga_nearest *nearest, const char *word);

#endif
