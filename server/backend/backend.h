/* A backend process: the program started with --backend on one end of a channel. */
#ifndef SERVER_BACKEND_BACKEND_H
#define SERVER_BACKEND_BACKEND_H

/* The whole life of the process; its exit status. */
int backend_main(void);

#endif
