/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a free data port. */
#include "server/backend/data_ports.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const char *bracket(const char *host, const char *text)
{
    return strchr(host, ':') != NULL ? text : "";
}

static enum ga_status data_port_listen(const char *scheme, const char *host, unsigned port,
                                       const struct transport_secret *secret,
                                       struct transport_listener *listener, char *why,
                                       size_t why_size)
{
    char url[CONF_TEXT_MAX + 32];
    struct transport_address address;
    snprintf(url, sizeof url, "%s://%s%s%s:%u", scheme, bracket(host, "["), host,
             bracket(host, "]"), port);
    GA_TRY(transport_address_parse(url, "0", &address, why, why_size));
    address.secret = secret;
    return address.ops->listen(&address, listener, why, why_size);
}

enum ga_status data_ports_listen(const struct channel_setup *setup,
                                 const struct channel_application *application,
                                 const struct transport_secret *secret,
                                 struct transport_listener *listener, struct channel_ready *ready,
                                 char *why, size_t why_size)
{
    unsigned first = setup->conf.data_ports.first, last = setup->conf.data_ports.last;
    unsigned count = last - first + 1, start = 0;
    enum ga_status status = GA_INVALID;
    const char *scheme = application->tls ? "tls" : "tcp";
    /* A listener for RDMA is one of tcp for clients that do not ask for more. Encrypted data does
     * not go that way. */
    bool rdma = setup->conf.rdma && !application->tls && transport_is_useful("rdma");
    (void)!getrandom(&start, sizeof start, 0);
    for (unsigned i = 0; i < count && status != GA_OK; i++) {
        status =
            data_port_listen(rdma ? "rdma" : scheme, application->bind_host,
                             first + (start % count + i) % count, secret, listener, why, why_size);
    }
    if (status != GA_OK) {
        char last_why[200];
        snprintf(last_why, sizeof last_why, "%s", why);
        snprintf(why, why_size,
                 "none of the data_ports %u-%u is free: each running program takes one, so give "
                 "more (%s)",
                 first, last, last_why);
        return status;
    }
    char bound[CONF_TEXT_MAX + 32];
    status = listener->ops->local_address(listener->fd, bound, sizeof bound);
    if (status != GA_OK) {
        snprintf(why, why_size, "the address of a data port is not known");
        listener->ops->close_listener(listener);
        return status;
    }
    const char *host = setup->conf.advertise_address;
    const char *port = strrchr(bound, ':');
    const char *rest = strstr(bound, "://");
    const size_t url_size = sizeof ready->url;
    char *url = ready->url;
    ready->ways = rdma ? HANDSHAKE_WAY_RDMA : 0;
    int written = host[0] == 0 ? snprintf(url, url_size, "%s%s", scheme, rest != NULL ? rest : "")
                               : snprintf(url, url_size, "%s://%s%s%s%s", scheme,
                                          bracket(host, "["), host, bracket(host, "]"), port);
    return written > 0 && (size_t)written < url_size ? GA_OK : GA_INVALID;
}
