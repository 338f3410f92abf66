/* SPDX-License-Identifier: Apache-2.0 */
#include "client/process/token_file.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "api/wire.h"

#define BLANKS " \t\r"

/* How much a line says of a server: a domain by its length, doubled to leave room for the port. */
#define FITS_NOT      0u
#define FITS_ALL      1u
#define FITS_NAME     (2 * TOKEN_FILE_BYTES + 2)
#define FITS_PORT_TOO 1u

struct word {
    const char *at;
    size_t length;
};

struct server_name {
    struct word host, port; /* of length 0: whatever port */
    bool domain;            /* `host` is the end of names: ".lab.example.org" */
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

static bool word_is(struct word word, const char *text)
{
    return strlen(text) == word.length && strncasecmp(word.at, text, word.length) == 0;
}

static bool word_has(struct word word, char what)
{
    return memchr(word.at, what, word.length) != NULL;
}

static struct word word_behind(struct word word, size_t length)
{
    return (struct word){.at = word.at + length, .length = word.length - length};
}

/* Takes a scheme as of GPUAAS_SERVERS away. */
static struct word without_scheme(struct word word)
{
    static const char *const schemes[] = {"tls://", "tcp://", "rdma://", "shm:"};
    for (unsigned i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i]);
        if (word.length >= length && strncmp(word.at, schemes[i], length) == 0) {
            word = word_behind(word, length);
            /* "shm:" is the name of the default port */
            return word.length == 0 && i == 3
                       ? (struct word){.at = WIRE_DEFAULT_PORT, .length = strlen(WIRE_DEFAULT_PORT)}
                       : word;
        }
    }
    return word;
}

static bool token_port_is_valid(struct word port)
{
    unsigned value = 0;
    for (size_t i = 0; i < port.length; i++) {
        if (!isdigit((unsigned char)port.at[i]) || i == 5) {
            return false;
        }
        value = value * 10 + (unsigned)(port.at[i] - '0');
    }
    return value >= 1 && value <= 65535;
}

/* Where the port begins, with its colon. An IPv6 address has a port only behind brackets. */
static const char *port_find(struct word word)
{
    const char *colon = memrchr(word.at, ':', word.length);
    if (colon != NULL && word.at[0] != '[' && memchr(word.at, ':', word.length) != colon) {
        return NULL;
    }
    return colon != NULL && word.at[0] == '[' && colon[-1] != ']' ? NULL : colon;
}

/* The last part of a name; one of digits only belongs to an IPv4 address. */
static bool ends_in_number(struct word host)
{
    size_t digits = 0;
    while (digits < host.length && isdigit((unsigned char)host.at[host.length - digits - 1])) {
        digits++;
    }
    return digits != 0 && (digits == host.length || host.at[host.length - digits - 1] == '.');
}

/* "host", "host:port", "[v6]:port", as GPUAAS_SERVERS has them, or "*.domain". NULL: read;
 * otherwise what is wrong with it. */
static const char *name_read(struct word word, struct server_name *name)
{
    word = without_scheme(word);
    const char *colon = word.length != 0 ? port_find(word) : NULL;
    *name = (struct server_name){.host = word};
    if (colon != NULL) {
        name->host.length = (size_t)(colon - word.at);
        name->port = word_behind(word, name->host.length + 1);
        if (!token_port_is_valid(name->port)) {
            return "a port is 1 to 65535";
        }
    }
    if (name->host.length != 0 && name->host.at[0] == '[') {
        if (name->host.at[name->host.length - 1] != ']') {
            return "a ] is missing or misplaced";
        }
        name->host = (struct word){.at = name->host.at + 1, .length = name->host.length - 2};
    }
    if (name->host.length == 0) {
        return "a server is missing: several are separated by commas, without spaces";
    }
    if (name->host.length >= 3 && memcmp(name->host.at, "*.", 2) == 0) {
        name->domain = true;
        name->host = word_behind(name->host, 1);
    }
    if (word_has(name->host, '*') || (name->domain && ends_in_number(name->host))) {
        return "a * stands only in front of a domain, for all names in it: *.gpu.example.org";
    }
    return word_has(name->host, '/') ? "a server is HOST, HOST:PORT or *.DOMAIN" : NULL;
}

static unsigned name_fits(const struct server_name *name, const char *host, const char *port)
{
    size_t length = strlen(host);
    struct word end = {.at = host, .length = length};
    if (name->domain) {
        if (length <= name->host.length) {
            return FITS_NOT;
        }
        end = word_behind(end, length - name->host.length);
    }
    if (!word_is(name->host, end.at)) {
        return FITS_NOT;
    }
    if (name->port.length != 0 && !word_is(name->port, port)) {
        return FITS_NOT;
    }
    return (name->domain ? 2 * (unsigned)name->host.length : FITS_NAME) +
           (name->port.length != 0 ? FITS_PORT_TOO : 0);
}

/* How well the names of a line, separated by commas, fit. NULL: they are right; otherwise what is
 * wrong with the first one that is not. */
static const char *names_fit(struct word names, const char *host, const char *port, unsigned *best)
{
    *best = FITS_NOT;
    for (;;) {
        const char *comma = memchr(names.at, ',', names.length);
        struct word one = {.at = names.at,
                           .length = comma != NULL ? (size_t)(comma - names.at) : names.length};
        struct server_name name;
        const char *why = name_read(one, &name);
        if (why != NULL) {
            return why;
        }
        unsigned fit = name_fits(&name, host, port);
        *best = fit > *best ? fit : *best;
        if (comma == NULL) {
            return NULL;
        }
        names = word_behind(names, one.length + 1);
    }
}

/* A token has none of these characters. */
static bool is_server(struct word word)
{
    return word_has(word, ',') || word_has(word, ':') || word_has(word, '*');
}

static const char *line_read(const struct word *words, unsigned count, const char *host,
                             const char *port, size_t token_size, unsigned *fit)
{
    if (count == 3) {
        return "it has more than two words: servers, separated by commas without spaces, and their "
               "token";
    }
    if (count == 1 && is_server(words[0])) {
        return "it has no token behind the servers";
    }
    if (words[count - 1].length >= token_size) {
        return "the token is too long";
    }
    *fit = FITS_ALL;
    return count == 2 ? names_fit(words[0], host, port, fit) : NULL;
}

bool client_token_find(const char *text, const char *host, const char *port, char *token,
                       size_t token_size, struct token_file_wrong *wrong)
{
    unsigned best = FITS_NOT;
    *wrong = (struct token_file_wrong){0};
    for (unsigned line = 1; *text != 0; line++) {
        size_t length = strcspn(text, "\n");
        struct word words[3];
        unsigned fit = FITS_NOT, count = words_of(text, length, words);
        text += length + (text[length] == '\n');
        if (count == 0 || words[0].at[0] == '#') {
            continue;
        }
        const char *why = line_read(words, count, host, port, token_size, &fit);
        if (why != NULL && wrong->count++ == 0) {
            wrong->line = line;
            wrong->why = why;
        }
        if (why == NULL && fit > best) {
            best = fit;
            memcpy(token, words[count - 1].at, words[count - 1].length);
            token[words[count - 1].length] = 0;
        }
    }
    return best != FITS_NOT;
}
