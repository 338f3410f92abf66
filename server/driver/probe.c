/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of all devices, in a process of its own: gpuaasd opens no driver. */
#include "server/driver/probe.h"

#include <poll.h>

#include "base/log.h"

/* gpuaasd reads them one by one: with many devices the channel fills up meanwhile. */
static enum ga_status probe_send(int fd, const void *packet, size_t size)
{
    enum ga_status status;
    while ((status = channel_send(fd, packet, size)) == GA_AGAIN) {
        struct pollfd at = {.fd = fd, .events = POLLOUT};
        (void)poll(&at, 1, -1);
    }
    return status;
}

/* Devices of one driver are opened by one process, so they can reach each other if it lets them. */
static uint64_t peers_of(const struct channel_setup *setup, const struct cuda_driver *driver,
                         uint32_t at)
{
    uint64_t peers = 0;
    CUdevice device, other;
    for (uint32_t i = 0; i < setup->device_count; i++) {
        int access = 0;
        bool asked =
            i != at && setup->devices[i].device < 64 &&
            driver->cuDeviceGet(&device, (int)setup->devices[at].ordinal) == CUDA_SUCCESS &&
            driver->cuDeviceGet(&other, (int)setup->devices[i].ordinal) == CUDA_SUCCESS &&
            driver->cuDeviceCanAccessPeer(&access, device, other) == CUDA_SUCCESS;
        peers |= (uint64_t)(asked && access != 0) << (setup->devices[i].device & 63);
    }
    return peers;
}

int probe_devices(const struct channel_setup *setup, const struct cuda_driver *driver, int fd)
{
    int exit_status = 0;
    for (uint32_t i = 0; i < setup->device_count; i++) {
        struct channel_facts facts = {.kind = CHANNEL_FACTS, .device = setup->devices[i].device};
        char why[300];
        if (driver_facts(driver, setup->devices[i].ordinal, &facts, why, sizeof why) != GA_OK) {
            ga_error("%s", why);
            exit_status = 1;
            continue;
        }
        facts.peers = peers_of(setup, driver, i);
        if (probe_send(fd, &facts, sizeof facts) != GA_OK) {
            return 1;
        }
    }
    return exit_status;
}

int probe_check(const struct channel_setup *setup, const struct cuda_driver *driver, int fd)
{
    for (uint32_t i = 0; i < setup->device_count; i++) {
        struct channel_checked checked = {.kind = CHANNEL_CHECKED,
                                          .device = setup->devices[i].device};
        driver_check(driver, setup->devices[i].ordinal, checked.reason, sizeof checked.reason);
        if (probe_send(fd, &checked, sizeof checked) != GA_OK) {
            return 1;
        }
    }
    return 0;
}
