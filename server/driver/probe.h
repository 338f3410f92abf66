/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a probe process: report each device's facts, or whether it works, to gpuaasd. */
#ifndef SERVER_DRIVER_PROBE_H
#define SERVER_DRIVER_PROBE_H

#include "server/driver/driver.h"

/* Sends CHANNEL_FACTS for each device that SETUP names and the driver shows; logs the others. The
 * exit status of the process. */
int probe_devices(const struct channel_setup *setup, const struct cuda_driver *driver, int fd);
/* Sends CHANNEL_CHECKED for each device that SETUP names. The same. */
int probe_check(const struct channel_setup *setup, const struct cuda_driver *driver, int fd);

#endif
