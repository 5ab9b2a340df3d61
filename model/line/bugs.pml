/* The planted bugs. Each name is set with -D, one at a time; without any of them these are the rules of the protocol. */

/* An ask takes a free key although others wait. */
#ifdef BUG_NEWCOMER
#define OVERTAKES 1
#else
#define OVERTAKES 0
#endif

/* Only a release of the owner settles the line: a key that expired stays free. */
#ifdef BUG_NOBODY_SETTLES
#define ASKS_SETTLE 0
#define RELEASES_SETTLE 0
#else
#define ASKS_SETTLE 1
#define RELEASES_SETTLE 1
#endif

/* The scripts do not look whether the key is left to guests. */
#ifdef BUG_WINDOW
#define IGNORES_WINDOW 1
#else
#define IGNORES_WINDOW 0
#endif

/* A ticket has no deadline. */
#ifdef BUG_DEAD_TICKET
#define DROPS_DEAD 0
#else
#define DROPS_DEAD 1
#endif

/* The line does not expire: what stands in it when nobody asks any more stays for ever. */
#ifdef BUG_LINE_STAYS
#define LINE_EXPIRES 0
#else
#define LINE_EXPIRES 1
#endif

/* The line grants the key for a whole lease, as an ask does. */
#ifdef BUG_WHOLE_LEASE
#define GRANT_TICKS LEASE
#else
#define GRANT_TICKS CLAIM
#endif

/* A release ends the hold, and leaves the ticket of its holder in the line. */
#ifdef BUG_TICKET_STAYS
#define RELEASES_TICKET 0
#else
#define RELEASES_TICKET 1
#endif

/* "Yours" answers with as many fences as are asked for now, counted back from the counter. */
#ifdef BUG_YOURS
#define YOURS_FIRST (BLOCKS - 1)
#else
#define YOURS_FIRST 0
#endif

/* What the claim is counted from. ECHO is the age that a grant carries, EVIDENCE the age that its process counts. */
#ifdef BUG_SERVER_TIME          /* the server's time of the grant, compared with what is known of the server's clock */
#define ECHO(old) 0
#define EVIDENCE(process, old) (stepped -> 0 : (old))
#else
#define ECHO(old) (old)
#ifdef BUG_FROM_ARRIVAL         /* the arrival of the message */
#define EVIDENCE(process, old) 0
#else
#ifdef BUG_LAST_ANSWERED        /* the last ask that had an answer */
#define EVIDENCE(process, old) answered[process]
#else                           /* the ask that the grant echoes */
#define EVIDENCE(process, old) (old)
#endif
#endif
#endif

/* A holder that left is released once, although an ask of it may still arrive. */
#ifdef BUG_NO_CLEANUP
#define CLEANS_UP 0
#else
#define CLEANS_UP 1
#endif

/* A waiter whose ask had no answer, because the connection was remade, trusts in its ticket and does not ask again. */
#ifdef BUG_NO_RESYNC
#define RESYNCS 0
#else
#define RESYNCS 1
#endif

/* An ask that did not hear yet, and arrives late, makes the ticket of a process deaf that hears by now. */
#ifdef BUG_LATE_MODE
#define KEEPS_MODE 0
#else
#define KEEPS_MODE 1
#endif

/* A grant is sent to a process that does not listen here, and taken back. The process listens at a replica, and receives it. */
#ifdef BUG_UNCOUNTED
#define SENDS_UNCOUNTED 1
#else
#define SENDS_UNCOUNTED 0
#endif
