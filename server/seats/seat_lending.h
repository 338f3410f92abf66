/* SPDX-License-Identifier: Apache-2.0 */
/* What the room of tenants is told of a seat. */
#ifndef SERVER_SEATS_SEAT_LENDING_H
#define SERVER_SEATS_SEAT_LENDING_H

struct seat;

/* Its process, room, number and application are known. */
void seat_lending_init(struct seat *seat);

#endif
