/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables of the client. */
#include "client/process/environment.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/amount.h"
#include "base/log.h"
#include "client/process/trace.h"

#define DEAD_AFTER_S 30u

const char *client_environment_token(void)
{
    static char text[1024];
    const char *token = getenv("GPUAAS_TOKEN");
    if (token != NULL && token[0] != 0) {
        return token;
    }
    const char *path = getenv("GPUAAS_TOKEN_FILE");
    if (path == NULL || path[0] == 0) {
        return NULL;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) {
        ga_warn("GPUAAS_TOKEN_FILE: cannot read %s", path);
        text[0] = 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    text[strcspn(text, "\r\n")] = 0;
    return text[0] != 0 ? text : NULL;
}

static unsigned dead_after_s = DEAD_AFTER_S;

static void read_dead_after(void)
{
    const char *text = getenv("GPUAAS_DEAD_AFTER");
    if (text == NULL || text[0] == 0) {
        return;
    }
    char *end;
    unsigned long seconds = strtoul(text, &end, 10);
    if (*end != 0 || !isdigit((unsigned char)text[0]) || seconds < 2 || seconds > 3600) {
        ga_warn("GPUAAS_DEAD_AFTER=%s: it can be 2 to 3600 (seconds)", text);
        return;
    }
    dead_after_s = (unsigned)seconds;
}

unsigned client_environment_dead_after_s(void)
{
    return dead_after_s;
}

static enum client_transport transport = CLIENT_TRANSPORT_AUTO;
static struct transport_secret secret;

static void read_transport(void)
{
    const char *text = getenv("GPUAAS_TRANSPORT");
    if (text == NULL || text[0] == 0 || strcmp(text, "auto") == 0) {
        transport = CLIENT_TRANSPORT_AUTO;
    } else if (strcmp(text, "tcp") == 0) {
        transport = CLIENT_TRANSPORT_TCP;
    } else if (strcmp(text, "tls") == 0) {
        transport = CLIENT_TRANSPORT_TLS;
    } else if (strcmp(text, "rdma") == 0) {
        transport = CLIENT_TRANSPORT_RDMA;
    } else {
        ga_warn("GPUAAS_TRANSPORT=%s: it can be auto (the fastest that there is), rdma, tcp or tls",
                text);
    }
}

static const char *file_of(const char *name)
{
    const char *path = getenv(name);
    return path != NULL && path[0] != 0 ? path : NULL;
}

const struct transport_secret *client_environment_secret(void)
{
    secret = (struct transport_secret){
        .cert = file_of("GPUAAS_CERT"), .key = file_of("GPUAAS_KEY"), .ca = file_of("GPUAAS_CA")};
    return &secret;
}

enum client_transport client_environment_transport(void)
{
    return transport;
}

static enum compression_mode compression = COMPRESSION_AUTO;

static void read_compression(void)
{
    const char *text = getenv("GPUAAS_COMPRESSION");
    if (text == NULL || text[0] == 0 || strcmp(text, "auto") == 0) {
        return;
    }
    if (strcmp(text, "off") == 0) {
        compression = COMPRESSION_OFF;
    } else if (strcmp(text, "always") == 0) {
        compression = COMPRESSION_ALWAYS;
    } else {
        ga_warn("GPUAAS_COMPRESSION=%s: it can be auto (where it pays), off or always", text);
    }
}

enum compression_mode client_environment_compression(void)
{
    return compression;
}

static uint64_t cache_bytes = UINT64_MAX;

static void read_cache(void)
{
    const char *text = getenv("GPUAAS_CLIENT_CACHE");
    if (text != NULL && text[0] != 0 && !ga_bytes_read(text, &cache_bytes)) {
        ga_warn("GPUAAS_CLIENT_CACHE=%s: it can be 0, or bytes: " GA_BYTES_FORM, text);
    }
}

uint64_t client_environment_cache_bytes(void)
{
    return cache_bytes;
}

void client_environment_apply(void)
{
    read_compression();
    read_dead_after();
    read_cache();
    read_transport();
    const char *trace = getenv("GPUAAS_TRACE");
    if (trace == NULL || trace[0] == 0 || strcmp(trace, "none") == 0) {
        return;
    }
    if (strcmp(trace, "summary") == 0) {
        client_trace_mode = CLIENT_TRACE_SUMMARY;
    } else if (strcmp(trace, "calls") == 0) {
        client_trace_mode = CLIENT_TRACE_CALLS;
    } else {
        ga_warn("GPUAAS_TRACE=%s: it can be none, summary or calls", trace);
    }
}

/* "GPU-xxxxxxxx-xxxx-..." as far as the entry goes. */
static bool uuid_matches(const char *entry, size_t length, const uint8_t *uuid)
{
    char text[48] = "GPU-";
    size_t at = 4;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[at++] = '-';
        }
        at += (size_t)snprintf(text + at, sizeof text - at, "%02x", uuid[i]);
    }
    return length >= 5 && length <= at && strncasecmp(entry, text, length) == 0;
}

static int entry_device(const char *entry, size_t length, const struct client_choice *devices,
                        int count)
{
    int found = -1;
    if (isdigit((unsigned char)entry[0])) {
        int index = 0;
        for (size_t i = 0; i < length; i++) {
            if (!isdigit((unsigned char)entry[i]) || index > 100000) {
                return -1;
            }
            index = index * 10 + (entry[i] - '0');
        }
        return index < count ? index : -1;
    }
    for (int i = 0; i < count; i++) {
        if (uuid_matches(entry, length, devices[i].uuid)) {
            if (found >= 0) {
                return -1; /* the prefix means two devices */
            }
            found = i;
        }
    }
    return found;
}

int client_environment_choose(const char *text, const struct client_choice *devices, int count,
                              int *chosen)
{
    int made = 0;
    if (text == NULL) {
        for (; made < count; made++) {
            chosen[made] = made;
        }
        return made;
    }
    while (*text != 0) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, ", \t");
        int device = length != 0 ? entry_device(text, length, devices, count) : -1;
        for (int i = 0; i < made && device >= 0; i++) {
            if (chosen[i] == device) {
                return 0; /* named twice: CUDA then shows no device */
            }
        }
        if (device < 0) {
            break;
        }
        chosen[made++] = device;
        text += length;
        text += strspn(text, " \t");
        text += *text == ',';
    }
    return made;
}
