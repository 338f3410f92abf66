/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a seat that the room of tenants gets. */
#ifndef SERVER_SEATS_SEAT_LENDING_H
#define SERVER_SEATS_SEAT_LENDING_H

#include <stdint.h>

struct seat;

/* Its process, room, number and application are known. */
void seat_lending_init(struct seat *seat);
/* A ticket for this GPU, an index into the list that clients see, has been told. */
void seat_offer(struct seat *seat, uint32_t gpu);

#endif
