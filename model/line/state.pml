/*
 * The state. An ask has no number here: what its echo leads to is the time since it was sent, so its age stands for it.
 * A fence is its distance below the fence counter, so that 0 is the last fence given out and all of them move with the counter.
 */

/* The server. */
byte owner;                     /* who has the key */
byte expires;                   /* ticks until it expires */
byte tickets;                   /* length of the line */
typedef Ticket {
  byte holder;
  byte echo;                    /* the age of the ask that stated the ticket last */
  bit hears;                    /* false: mode `n` */
  bit told;                     /* some ask since it joined has said that it hears; only for the rule of order */
  byte left                     /* ticks until it is dropped, counted after the faults */
}
Ticket line[HOLDERS];
byte open;                      /* ticks for which a free key is left to guests */

/* What each process knows. `turn` counts its waits: its holder id is process + turn * PROCESSES. */
mtype = { IDLE, WAITING, OWNER, DEAD };
mtype state[PROCESSES] = IDLE;
byte turn[PROCESSES];
byte valid[PROCESSES];          /* ticks for which the process believes that it owns the lock */
byte pause[PROCESSES];          /* ticks until it asks again; counted once the faults are over */
mtype = { DEAF, HEARING, CUT };
mtype subscription[PROCESSES] = DEAF;    /* its subscription; CUT: the server knows that it is gone, the process does not */
#ifdef BUG_LAST_ANSWERED
byte answered[PROCESSES];       /* the age of the last ask that had an answer */
#endif

/* The call of a process that is under way. */
mtype = { NONE, ASK, RENEW, GRANTED, HELD, LATE, KEPT, GONE };
typedef Call { mtype is; byte age; byte hears; byte first; byte last }
Call call[PROCESSES];

/* A grant that the line has published. `age` is that of the ask which it echoes, plus one; 0: there is none. */
typedef Grant { byte age; byte first; byte last }
Grant heard[PROCESSES];         /* kept while an ask is under way */
Grant sent[HOLDERS];            /* on its way */
Grant sent2[HOLDERS];           /* a second one on its way */

/* A call that its process has given up, and that may still arrive. */
typedef Unanswered { mtype is; byte age; byte hears }
Unanswered unanswered[HOLDERS];

/*
 * What is left to do for a holder id that is not used any more. FIRST: a release is under way, but an unanswered ask may arrive behind
 * it. PATIENT: wait until none can. LAST: a release is under way that nothing can follow.
 */
mtype = { NOTHING, FIRST, PATIENT, LAST };
mtype ending[HOLDERS] = NOTHING;
byte late[HOLDERS];             /* ticks for which an unanswered call of this holder may still be granted */

/* Faults that are left, and the time since they ended. */
byte crashes = CRASHES;
byte cuts = CUTS;
byte guests = GUESTS;
bit healed;
#ifdef BUG_SERVER_TIME
bit stepped;                    /* the server's clock was set back since the processes have compared it with theirs */
#endif
byte since;

/* What only the properties look at. */
byte used = FAR;                /* the largest fence that an owner was given */
byte mine[PROCESSES] = FAR;     /* the last fence of each owner; only where two may believe to be the owner */
bit byLine;                     /* the key was granted by the line, and nobody has extended it */
byte orphan;                    /* ticks for which the key has belonged to a holder that had left when the line granted it */

/* Scratch: not part of the state. */
hidden byte i, k, p, h, size, seen;
hidden byte found;

#define processOf(holder) ((holder) % PROCESSES)
#define current(process) ((process) + turn[process] * PROCESSES)
#define uses(process, holder) (turn[process] < WAITS && current(process) == (holder))
#define isWaiting(holder) (uses(processOf(holder), holder) && state[processOf(holder)] == WAITING)
#define wants(holder) (isWaiting(holder) || (uses(processOf(holder), holder) && state[processOf(holder)] == OWNER))
#define believes(process) (state[process] == OWNER && valid[process] > 0)
#if PROCESSES == 2
#define isCalling (call[0].is != NONE || call[1].is != NONE)
#else
#define isCalling (call[0].is != NONE || call[1].is != NONE || call[2].is != NONE)
#endif
#define least(a, b) ((a) < (b) -> (a) : (b))
#define most(a, b) ((a) > (b) -> (a) : (b))
