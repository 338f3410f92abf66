/* SPDX-License-Identifier: Apache-2.0 */
#include "client/process/token_file.h"

#include <string.h>
#include <strings.h>

#define BLANKS " \t\r"

enum token_fit { TOKEN_FITS_NOT, TOKEN_FITS_ALL, TOKEN_FITS_HOST, TOKEN_FITS_PORT };

struct word {
    const char *at;
    size_t length;
};

/* The words of a line, at most three. */
static unsigned words_of(const char *line, size_t length, struct word words[3])
{
    unsigned count = 0;
    const char *end = line + length;
    while (count < 3) {
        line += strspn(line, BLANKS);
        if (line >= end) {
            break;
        }
        size_t word = strcspn(line, BLANKS "\n");
        words[count++] = (struct word){.at = line, .length = word};
        line += word;
    }
    return count;
}

static bool word_is(const struct word *word, const char *text)
{
    return strlen(text) == word->length && strncasecmp(word->at, text, word->length) == 0;
}

/* "host", "host:port" or "[v6]:port", as GPUAAS_SERVERS has them. */
static enum token_fit name_fits(struct word name, const char *host, const char *port)
{
    if (word_is(&name, host)) {
        return TOKEN_FITS_HOST;
    }
    const char *colon = memrchr(name.at, ':', name.length);
    if (colon == NULL) {
        return TOKEN_FITS_NOT;
    }
    struct word number = {.at = colon + 1, .length = name.length - (size_t)(colon + 1 - name.at)};
    struct word rest = {.at = name.at, .length = (size_t)(colon - name.at)};
    if (rest.length >= 2 && rest.at[0] == '[' && rest.at[rest.length - 1] == ']') {
        rest = (struct word){.at = rest.at + 1, .length = rest.length - 2};
    }
    return word_is(&rest, host) && word_is(&number, port) ? TOKEN_FITS_PORT : TOKEN_FITS_NOT;
}

bool client_token_find(const char *text, const char *host, const char *port, char *token,
                       size_t token_size, unsigned *wrong)
{
    enum token_fit best = TOKEN_FITS_NOT;
    *wrong = 0;
    for (unsigned line = 1; *text != 0; line++) {
        size_t length = strcspn(text, "\n");
        struct word words[3];
        unsigned count = words_of(text, length, words);
        text += length + (text[length] == '\n');
        if (count == 0 || words[0].at[0] == '#') {
            continue;
        }
        if (count == 3 || words[count - 1].length >= token_size) {
            *wrong = *wrong == 0 ? line : *wrong;
            continue;
        }
        enum token_fit fit = count == 1 ? TOKEN_FITS_ALL : name_fits(words[0], host, port);
        if (fit > best) {
            best = fit;
            memcpy(token, words[count - 1].at, words[count - 1].length);
            token[words[count - 1].length] = 0;
        }
    }
    return best != TOKEN_FITS_NOT;
}
