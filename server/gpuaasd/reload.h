/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the configuration and the certificates anew while gpuaasd serves. */
#ifndef SERVER_GPUAASD_RELOAD_H
#define SERVER_GPUAASD_RELOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct gpuaasd;

/* Values whose key says so (conf/keys.def) hold for what begins from now on, as do new files of
 * certificates and keys; connections and applications that are there go on as they are. `note`
 * names the keys whose new value needs a restart; "": there is none. GA_INVALID with `note`, and a
 * log line for each mistake: nothing has changed. `trial`: nothing changes; only the renewed
 * certificates are not tried. */
GA_CHECKED enum ga_status reload(struct gpuaasd *gpuaasd, bool trial, char *note, size_t note_size);

#endif
