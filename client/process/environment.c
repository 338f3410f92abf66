/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables of the client. */
#include "client/process/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/amount.h"
#include "base/digits.h"
#include "base/log.h"
#include "base/private_file.h"
#include "client/process/token_file.h"
#include "client/process/trace.h"

enum variable_id {
#define ENVIRONMENT(name, ...) VARIABLE_##name,
#include "api/environment.def"
#undef ENVIRONMENT
};

enum variable_type {
    VARIABLE_TEXT,   /* its reader knows what it can be */
    VARIABLE_WORD,   /* its value is the index in `words` */
    VARIABLE_NUMBER, /* decimal digits */
    VARIABLE_BYTES,  /* a number and a unit */
};

struct variable {
    const char *name;
    enum variable_type type;
    const char *standard, *words, *allowed;
    uint64_t least, most;
};

static const struct variable variables[] = {
#define ENVIRONMENT(name_, reader_, type_, standard_, least_, most_, words_, allowed_, ...)        \
    [VARIABLE_##name_] = {.name = #name_,                                                          \
                          .type = VARIABLE_##type_,                                                \
                          .standard = (standard_),                                                 \
                          .words = (words_),                                                       \
                          .allowed = (allowed_),                                                   \
                          .least = (least_),                                                       \
                          .most = (most_)},
#include "api/environment.def"
#undef ENVIRONMENT
};

/* NULL: unset or empty. */
static const char *variable_text(enum variable_id id)
{
    const char *text = getenv(variables[id].name);
    return text != NULL && text[0] != 0 ? text : NULL;
}

/* The words of a variable are separated by blanks. */
static bool word_read(const char *words, const char *text, uint64_t *index)
{
    size_t length = strlen(text);
    for (*index = 0; *words != 0; ++*index) {
        size_t word = strcspn(words, " ");
        if (word == length && memcmp(words, text, length) == 0) {
            return true;
        }
        words += word + (words[word] == ' ');
    }
    return false;
}

static bool variable_parse(const struct variable *variable, const char *text, uint64_t *value)
{
    const char *end;
    switch (variable->type) {
    case VARIABLE_WORD:
        return word_read(variable->words, text, value);
    case VARIABLE_NUMBER:
        return ga_digits_read(text, &end, value) && *end == 0 && *value >= variable->least &&
               *value <= variable->most;
    case VARIABLE_BYTES:
        return ga_bytes_read(text, value) && *value >= variable->least && *value <= variable->most;
    case VARIABLE_TEXT:
        break;
    }
    return false;
}

/* The table's default if the variable is unset or empty, or wrong, which is said; without a default
 * the most that it can be. */
static uint64_t variable_value(enum variable_id id)
{
    const struct variable *variable = &variables[id];
    const char *text = variable_text(id);
    uint64_t value;
    if (text != NULL && variable_parse(variable, text, &value)) {
        return value;
    }
    if (text != NULL) {
        ga_warn("%s=%s: it can be %s", variable->name, text, variable->allowed);
    }
    return variable_parse(variable, variable->standard, &value) ? value : variable->most;
}

static unsigned dead_after_s, connect_s;
static enum client_transport transport;
static enum compression_mode compression;
static uint64_t cache_bytes;

void client_environment_apply(void)
{
    dead_after_s = (unsigned)variable_value(VARIABLE_GPUAAS_DEAD_AFTER);
    connect_s = (unsigned)variable_value(VARIABLE_GPUAAS_CONNECT_TIMEOUT);
    transport = (enum client_transport)variable_value(VARIABLE_GPUAAS_TRANSPORT);
    compression = (enum compression_mode)variable_value(VARIABLE_GPUAAS_COMPRESSION);
    cache_bytes = variable_value(VARIABLE_GPUAAS_CLIENT_CACHE);
    client_trace_mode = (enum client_trace)variable_value(VARIABLE_GPUAAS_TRACE);
}

unsigned client_environment_dead_after_s(void)
{
    return dead_after_s;
}

unsigned client_environment_connect_s(void)
{
    return connect_s;
}

enum client_transport client_environment_transport(void)
{
    return transport;
}

enum compression_mode client_environment_compression(void)
{
    return compression;
}

uint64_t client_environment_cache_bytes(void)
{
    return cache_bytes;
}

/* The whole file; NULL, which has been said: it cannot be used. Free it. */
static char *token_file_read(const char *path)
{
    char *text = malloc(TOKEN_FILE_BYTES + 1);
    FILE *file = fopen(path, "re");
    size_t size = file != NULL && text != NULL ? fread(text, 1, TOKEN_FILE_BYTES + 1, file) : 0;
    bool good = text != NULL && file != NULL && !ferror(file) && size <= TOKEN_FILE_BYTES;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (!good) {
        ga_warn("GPUAAS_TOKEN_FILE: cannot read %s, or it is longer than 64 KiB", path);
        free(text);
        return NULL;
    }
    text[size] = 0;
    return text;
}

const char *client_environment_token(const char *host, const char *port)
{
    static char found[1024];
    const char *token = variable_text(VARIABLE_GPUAAS_TOKEN);
    const char *path = variable_text(VARIABLE_GPUAAS_TOKEN_FILE);
    struct token_file_wrong wrong;
    if (token != NULL || path == NULL) {
        return token;
    }
    if (ga_file_lacks(path, GA_FILE_OF_TOKEN)) {
        ga_warn("GPUAAS_TOKEN_FILE: %s holds no token: is it the right file?", path);
        return NULL;
    }
    if (!ga_file_is_private(path)) {
        ga_warn("GPUAAS_TOKEN_FILE: every user may read or change %s, so the token is not used: "
                "chmod o= %s",
                path, path);
        return NULL;
    }
    char *text = token_file_read(path);
    if (text == NULL) {
        return NULL;
    }
    bool any = client_token_find(text, host, port, found, sizeof found, &wrong);
    if (wrong.count != 0) {
        char more[64] = "";
        if (wrong.count > 1) {
            snprintf(more, sizeof more, ", as are %u more", wrong.count - 1);
        }
        ga_warn("GPUAAS_TOKEN_FILE: line %u of %s is left out%s: %s. A line can be TOKEN, SERVER "
                "TOKEN or SERVER,... TOKEN; a SERVER can be HOST, HOST:PORT or *.DOMAIN",
                wrong.line, path, more, wrong.why);
    }
    explicit_bzero(text, strlen(text));
    free(text);
    return any ? found : NULL;
}

bool client_environment_token_in_clear(void)
{
    return variable_value(VARIABLE_GPUAAS_TOKEN_IN_CLEAR) != 0;
}

const struct transport_secret *client_environment_secret(void)
{
    static struct transport_secret secret;
    secret = (struct transport_secret){.cert = variable_text(VARIABLE_GPUAAS_CERT),
                                       .key = variable_text(VARIABLE_GPUAAS_KEY),
                                       .ca = variable_text(VARIABLE_GPUAAS_CA)};
    return &secret;
}
