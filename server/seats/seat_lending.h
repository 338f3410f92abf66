/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a seat that the room of tenants gets. */
#ifndef SERVER_SEATS_SEAT_LENDING_H
#define SERVER_SEATS_SEAT_LENDING_H

struct seat;

/* Its process, room, number and application are known. */
void seat_lending_init(struct seat *seat);

#endif
