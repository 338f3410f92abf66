/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that conf/ cannot make: files, users, and addresses to listen on. */
#include "server/gpuaasd/check.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/wire.h"
#include "auth/auth.h"
#include "base/private_file.h"
#include "server/access/certificates.h"
#include "server/gpuaasd/identity.h"
#include "server/monitoring/http.h"

/* Complains about a key's file; the line that names it is not known any more. */
static bool file_complain(const char *file, const char *key, conf_complain *complain, void *user,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));

static bool file_complain(const char *file, const char *key, conf_complain *complain, void *user,
                          const char *format, ...)
{
    char why[600], line[900];
    va_list values;
    va_start(values, format);
    vsnprintf(why, sizeof why, format, values);
    va_end(values);
    snprintf(line, sizeof line, "%s: [server] %s: %s", file, key, why);
    complain(user, line);
    return false;
}

static bool file_check(const char *file, const char *key, const char *path, conf_complain *complain,
                       void *user)
{
    if (path[0] == 0 || access(path, R_OK) == 0) {
        return true;
    }
    return file_complain(file, key, complain, user, "cannot read %s: %s", path, strerror(errno));
}

/* A user that can read the private key can answer in this server's name. */
static bool private_check(const char *file, const char *key, const char *path,
                          conf_complain *complain, void *user)
{
    if (path[0] != 0 && ga_file_lacks(path, GA_FILE_OF_KEY)) {
        return file_complain(file, key, complain, user,
                             "%s holds no private key (PEM): is it the right file?", path);
    }
    return path[0] == 0 || ga_file_is_private(path) ||
           file_complain(file, key, complain, user,
                         "every user may read or change %s, which holds a private key: chmod o= %s",
                         path, path);
}

/* The folder in which gpuaasd makes a file. */
static bool place_check(const char *file, const char *key, const char *path,
                        conf_complain *complain, void *user)
{
    char folder[PATH_MAX];
    struct stat status;
    snprintf(folder, sizeof folder, "%s", path);
    const char *name = dirname(folder);
    if (path[0] == 0) {
        return true;
    }
    if (stat(name, &status) != 0) {
        return file_complain(file, key, complain, user, "there is no folder %s for it: %s%s", name,
                             strerror(errno), errno == ENOENT ? "; make it (mode 0700)" : "");
    }
    return S_ISDIR(status.st_mode) ||
           file_complain(file, key, complain, user, "%s is no folder", name);
}

/* Another user that may write the audit log could change it. */
static bool audit_check(const char *file, const struct conf_server *server, conf_complain *complain,
                        void *user)
{
    char why[600];
    return server->audit_log[0] == 0 ||
           auth_audit_check(server->audit_log, why, sizeof why) == GA_OK ||
           file_complain(file, "audit_log", complain, user, "%s", why);
}

static bool validity_check(const char *file, const struct conf_server *server,
                           conf_complain *complain, void *user)
{
    bool right = true;
    for (unsigned kind = 0; kind < CERTIFICATE_KINDS; kind++) {
        const char *key;
        char why[600];
        right &= certificates_usable(server, (enum certificates_kind)kind, time(NULL), &key, why,
                                     sizeof why) ||
                 file_complain(file, key, complain, user, "%s", why);
    }
    return right;
}

static bool identity_check(const char *file, const struct conf_server *server,
                           conf_complain *complain, void *user)
{
    struct channel_identity identity;
    const char *key;
    char why[300];
    return identity_find(server, &identity, &key, why, sizeof why) == GA_OK ||
           file_complain(file, key, complain, user, "%s", why);
}

/* ---- addresses */

bool check_is_here(const struct transport_address *address)
{
    return transport_address_is(address, "shm") || strncmp(address->host, "127.", 4) == 0 ||
           strcmp(address->host, "::1") == 0 || strcmp(address->host, "localhost") == 0;
}

/* Without authentication, the operator must have set `insecure`. NULL: all is well. */
static const char *open_to_strangers(const struct conf_server *server,
                                     const struct transport_address *address)
{
    bool tls = transport_address_is(address, "tls");
    if (server->insecure || check_is_here(address)) {
        return NULL;
    }
    if (!server->auth && !(tls && server->tls_client_ca[0] != 0)) {
        return "other machines can reach it, and with auth = off whoever does may use all GPUs; "
               "either let only known programs in (auth = on with listen = tls://..., or "
               "tls_client_ca), or, "
               "where every machine and every user of the network can be trusted, write "
               "insecure = yes; programs of this machine need listen = tcp://127.0.0.1 alone";
    }
    if (server->auth && !tls) {
        return "other machines can reach it, and it encrypts nothing: tokens and tickets can be "
               "overheard there; either listen = tls://..., or, where every machine and every "
               "user of the network can be trusted, write insecure = yes";
    }
    return NULL;
}

static const char *listen_wrong(const struct conf_server *server,
                                const struct transport_address *address)
{
    bool certified = server->tls_cert[0] != 0 && server->tls_key[0] != 0;
    if (transport_address_is(address, "tls") && !certified) {
        return "tls:// needs tls_cert and tls_key";
    }
    if (transport_address_is(address, "rdma")) {
        return "clients connect over tcp:// first; their data goes by RDMA with rdma = yes";
    }
    return open_to_strangers(server, address);
}

static bool listen_check(const char *file, const struct conf_server *server,
                         const struct conf_listen *listen, conf_complain *complain, void *user)
{
    struct transport_address address;
    char why[600], line[900];
    const char *wrong = why;
    if (transport_address_parse(listen->url, WIRE_DEFAULT_PORT, &address, why, sizeof why) ==
        GA_OK) {
        wrong = listen_wrong(server, &address);
    }
    if (wrong != NULL) {
        snprintf(line, sizeof line, "%s:%u: [server] listen: %s", file, listen->line, wrong);
        complain(user, line);
    }
    return wrong == NULL;
}

/* It tells everybody who asks. */
static bool http_check(const char *file, const struct conf_server *server, conf_complain *complain,
                       void *user)
{
    struct transport_address address;
    char why[600];
    if (server->http[0] == 0) {
        return true;
    }
    if (transport_address_parse(server->http, HTTP_PORT, &address, why, sizeof why) != GA_OK) {
        return file_complain(file, "http", complain, user, "%s", why);
    }
    bool here = strncmp(address.host, "127.", 4) == 0 || strcmp(address.host, "::1") == 0;
    return here || file_complain(file, "http", complain, user,
                                 "%s is not allowed; allowed: a loopback address and a port, as "
                                 "127.0.0.1:9954 (it has no authentication)",
                                 server->http);
}

enum ga_status check_configuration(const char *file, const struct conf *conf,
                                   conf_complain *complain, void *user)
{
    const struct conf_server *server = &conf->server;
    bool right = file_check(file, "tls_cert", server->tls_cert, complain, user);
    right &= file_check(file, "tls_key", server->tls_key, complain, user);
    right &= private_check(file, "tls_key", server->tls_key, complain, user);
    right &= file_check(file, "tls_client_ca", server->tls_client_ca, complain, user);
    right &= validity_check(file, server, complain, user);
    right &= place_check(file, "store", server->store, complain, user);
    right &= place_check(file, "audit_log", server->audit_log, complain, user);
    right &= audit_check(file, server, complain, user);
    right &= place_check(file, "admin_socket", server->admin_socket, complain, user);
    right &= identity_check(file, server, complain, user);
    right &= !server->auth || server->store[0] != 0 ||
             file_complain(file, "auth", complain, user,
                           "on: it needs store = /var/lib/gpuaas/store.db (or another path)");
    right &= http_check(file, server, complain, user);
    for (unsigned i = 0; i < server->listen_count; i++) {
        right &= listen_check(file, server, &server->listen[i], complain, user);
    }
    return right ? GA_OK : GA_INVALID;
}
