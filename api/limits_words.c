/* SPDX-License-Identifier: Apache-2.0 */
/* Rights of a tenant that are no numbers: isolation, what happens when GPU time is used up, types
 * of GPU. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/limits.h"

enum ga_status limits_isolation_read(const char *text, enum isolation *isolation, char *why,
                                     size_t why_size)
{
    for (enum isolation i = ISOLATION_APP; i <= ISOLATION_EXCLUSIVE; i++) {
        if (strcmp(text, limits_isolation_name(i)) == 0) {
            *isolation = i;
            return GA_OK;
        }
    }
    if (strcmp(text, "shared") == 0) {
        snprintf(why, why_size, "isolation=shared is not in this version; app and exclusive are");
        return GA_UNSUPPORTED;
    }
    snprintf(why, why_size, "isolation: '%.40s' is not app or exclusive", text);
    return GA_INVALID;
}

const char *limits_isolation_name(enum isolation isolation)
{
    return isolation == ISOLATION_EXCLUSIVE ? "exclusive" : "app";
}

enum ga_status limits_exhausted_read(const char *text, enum exhausted *exhausted, char *why,
                                     size_t why_size)
{
    for (enum exhausted i = EXHAUSTED_DENY; i <= EXHAUSTED_SUSPEND; i++) {
        if (strcmp(text, limits_exhausted_name(i)) == 0) {
            *exhausted = i;
            return GA_OK;
        }
    }
    if (strcmp(text, "throttle") == 0) {
        snprintf(why, why_size,
                 "on-exhausted=throttle: set throttle=20%% (or another part); it goes before "
                 "deny and suspend");
        return GA_INVALID;
    }
    snprintf(why, why_size, "on-exhausted: '%.40s' is not deny or suspend", text);
    return GA_INVALID;
}

const char *limits_exhausted_name(enum exhausted exhausted)
{
    return exhausted == EXHAUSTED_SUSPEND ? "suspend" : "deny";
}

/* The next word of a list, without spaces around it; *text is behind its comma, or NULL. */
static const char *word_next(const char **text, size_t *length)
{
    const char *word = *text + strspn(*text, " ");
    *length = strcspn(word, ",");
    *text = word[*length] == ',' ? word + *length + 1 : NULL;
    while (*length > 0 && word[*length - 1] == ' ') {
        --*length;
    }
    return word;
}

enum ga_status limits_types_read(const char *text, char types[LIMITS_TYPES_MAX], char *why,
                                 size_t why_size)
{
    char list[LIMITS_TYPES_MAX] = "";
    size_t at = 0;
    if (strcmp(text, "-") == 0 || text[strspn(text, " ")] == 0) {
        text = NULL;
    }
    while (text != NULL) {
        size_t length, fine = 0;
        const char *word = word_next(&text, &length);
        while (fine < length &&
               (isalnum((unsigned char)word[fine]) || strchr("._- ", word[fine]) != NULL)) {
            fine++;
        }
        if (length == 0 || fine < length || !isalnum((unsigned char)word[0])) {
            snprintf(why, why_size,
                     "gpu-types: a type is letters, digits, '.', '_', '-' and spaces, a letter or "
                     "digit first, with a comma before the next one; - is any");
            return GA_INVALID;
        }
        if (at + length + 2 > sizeof list) {
            snprintf(why, why_size, "gpu-types: the list is longer than %u characters",
                     LIMITS_TYPES_MAX - 1);
            return GA_INVALID;
        }
        if (at != 0) {
            list[at++] = ',';
        }
        memcpy(list + at, word, length);
        at += length;
    }
    memcpy(types, list, sizeof list);
    return GA_OK;
}

/* Whether `word` stands in `name` with no letter or digit beside it. */
static bool has_word(const char *name, const char *word, size_t length)
{
    for (const char *at = name; *at != 0; at++) {
        bool begins = at == name || !isalnum((unsigned char)at[-1]);
        if (begins && strncasecmp(at, word, length) == 0 && !isalnum((unsigned char)at[length])) {
            return true;
        }
    }
    return false;
}

bool limits_types_allow(const char *types, const char *type)
{
    const char *rest = *types != 0 ? types : NULL;
    while (rest != NULL) {
        size_t length;
        const char *word = word_next(&rest, &length);
        if (length != 0 && has_word(type, word, length)) {
            return true;
        }
    }
    return *types == 0;
}
