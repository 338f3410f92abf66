/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/certificates.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/moment.h"
#include "conf/conf.h"

#define DAY_S  INT64_C(86400)
#define HOUR_S INT64_C(3600)
#define SOON_S (14 * DAY_S) /* the log tells each day */
#define LAST_S DAY_S        /* gpuaasd is not ready */

static const struct {
    const char *key, *word, *cure;
} kinds[CERTIFICATE_KINDS] = {
    [CERTIFICATE_SERVER] = {"tls_cert", "server",
                            "make a new one, as by `gpuaasctl cert issue-server`, and reload"},
    [CERTIFICATE_CLIENT_CA] = {"tls_client_ca", "client_ca",
                               "give the authority a new one, as by `gpuaasctl ca rotate`, and "
                               "reload"},
};

const char *certificates_word(enum certificates_kind kind)
{
    return kinds[kind].word;
}

const char *certificates_path(const struct conf_server *server, enum certificates_kind kind)
{
    return kind == CERTIFICATE_SERVER ? server->tls_cert : server->tls_client_ca;
}

/* A chain is valid while all of it is; of several authorities one suffices. */
static bool validity_read(const struct conf_server *server, enum certificates_kind kind,
                          struct transport_validity *validity)
{
    const char *path = certificates_path(server, kind);
    return path[0] != 0 &&
           transport_certificates_look(path, kind == CERTIFICATE_CLIENT_CA, validity);
}

static void length_write(int64_t seconds, char *text, size_t size)
{
    if (seconds >= 2 * DAY_S) {
        snprintf(text, size, "%" PRId64 " days", seconds / DAY_S);
    } else if (seconds >= 2 * HOUR_S) {
        snprintf(text, size, "%" PRId64 " hours", seconds / HOUR_S);
    } else {
        snprintf(text, size, "%" PRId64 " s", seconds);
    }
}

/* How it is now. False: it is valid for longer than `soon_s`. */
static bool validity_write(const char *path, enum certificates_kind kind,
                           const struct transport_validity *validity, int64_t now, int64_t soon_s,
                           char *why, size_t why_size)
{
    char moment[GA_MOMENT_BYTES], length[40];
    if (validity->from > now) {
        ga_moment_for_people(validity->from, moment);
        snprintf(why, why_size,
                 "%.200s is valid from %s on only: is the clock of this machine right?", path,
                 moment);
        return true;
    }
    ga_moment_for_people(validity->until, moment);
    if (validity->until <= now) {
        snprintf(why, why_size, "%.200s has expired, at %s: %s", path, moment, kinds[kind].cure);
    } else {
        length_write(validity->until - now, length, sizeof length);
        snprintf(why, why_size, "%.200s ends in %s, at %s: %s", path, length, moment,
                 kinds[kind].cure);
    }
    return validity->until - now <= soon_s;
}

bool certificates_usable(const struct conf_server *server, enum certificates_kind kind, int64_t now,
                         const char **key, char *why, size_t why_size)
{
    struct transport_validity validity;
    *key = kinds[kind].key;
    return !validity_read(server, kind, &validity) ||
           !validity_write(certificates_path(server, kind), kind, &validity, now, 0, why, why_size);
}

void certificates_loaded(struct certificates *certificates, const struct conf_server *server,
                         int64_t now)
{
    *certificates = (struct certificates){.told = {0}};
    for (unsigned kind = 0; kind < CERTIFICATE_KINDS; kind++) {
        struct transport_validity validity;
        if (validity_read(server, (enum certificates_kind)kind, &validity)) {
            certificates->of[kind] = validity;
        }
    }
    certificates_look(certificates, server, now);
}

void certificates_look(struct certificates *certificates, const struct conf_server *server,
                       int64_t now)
{
    for (unsigned kind = 0; kind < CERTIFICATE_KINDS; kind++) {
        const struct transport_validity *of = &certificates->of[kind];
        int64_t *told = &certificates->told[kind];
        char why[600];
        bool crossed = *told < of->until && of->until <= now; /* it has ended since */
        if (of->until != 0 && (crossed || now - *told >= DAY_S) &&
            validity_write(certificates_path(server, (enum certificates_kind)kind),
                           (enum certificates_kind)kind, of, now, SOON_S, why, sizeof why)) {
            ga_log_write(NULL, of->until <= now ? GA_LOG_ERROR : GA_LOG_WARN, NULL,
                         "[server] %s: %s", kinds[kind].key, why);
            *told = now;
        }
    }
}

bool certificates_wrong(const struct certificates *certificates, const struct conf_server *server,
                        int64_t now, char *why, size_t why_size)
{
    const struct transport_validity *of = &certificates->of[CERTIFICATE_SERVER];
    return of->until != 0 &&
           validity_write(server->tls_cert, CERTIFICATE_SERVER, of, now, LAST_S, why, why_size);
}
