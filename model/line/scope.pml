/*
 * What one run of the line's model covers. model/configurations.ts sets these with -D; the defaults are the smallest scope.
 * Time is in ticks. Only the order of these lengths matters: half a claim < claim <= pause between asks < life of a ticket,
 * and claim < lease.
 */
#ifndef PROCESSES
#define PROCESSES 2     /* processes of ours that want the lock */
#endif
#ifndef WAITS
#define WAITS 1         /* how often each of them wants it, one after the other, each time under a new holder id */
#endif
#ifndef CRASHES
#define CRASHES 0       /* how many processes may die */
#endif
#ifndef CUTS
#define CUTS 0          /* how often a subscription may break, or turn out to be at a replica, while its process does not know it yet */
#endif
#ifndef GUESTS
#define GUESTS 0        /* how often a guest, who knows no line, may take a free key */
#endif
#ifndef TRIES
#define TRIES 0         /* 1: the last process calls tryAcquire, which never joins the line */
#endif
#ifndef UNANSWERED
#define UNANSWERED 1        /* 1: an ask or a renewal without an answer may still arrive, at any time */
#endif
#ifndef STEPS
#define STEPS 1         /* 1: the server's clock may jump: any ticket may be dropped, no ask is too late */
#endif
#ifndef OUTSIDE
#define OUTSIDE 0       /* 1: a jump of the server's clock expires the key early, which is outside of what is promised */
#endif
#ifndef PROMPT
#define PROMPT 0        /* 1: nothing else happens between a call and its answer; the answer may still be lost */
#endif
#ifndef BLOCKS
#define BLOCKS 1        /* the most fences that one grant reserves; 0: fences are not modelled */
#endif
#ifndef HEARS
#define HEARS 1         /* 0: nobody is subscribed at first, so the first ask states a ticket that does not hear */
#endif
#ifndef MESSAGES
#define MESSAGES 1      /* how many grants of one holder may be on their way: 2 lets an old one meet a new one */
#endif
#ifndef RENEWS
#define RENEWS 1        /* 1: an owner renews its lease, which extends a claim to a full lease */
#endif
#ifndef LIVENESS
#define LIVENESS 1      /* 1: the faults may end at any moment, and everybody must then be served in time */
#endif
#ifndef WALK
#define WALK 16         /* how many places one settle looks at */
#endif
#define CLAIM 2         /* expiry of a lock that the line has granted */
#define HALF 1          /* a grant with less than this left of its claim is confirmed first */
#define LEASE 3         /* expiry of a lock that an ask or a renewal has stated */
#define LIMIT 1         /* an ask that is older than this when it arrives is refused, unless the clock jumps */
#define PAUSE 2         /* a waiter asks again after this */
#define NEVER 99
#define TICKET 3        /* a ticket lives for this after its last ask */
#define OPEN 1          /* length of a window for guests */
#ifndef SERVED
#define SERVED 6        /* ticks after the faults within which everybody must have been served */
#endif

#define HOLDERS (PROCESSES * WAITS)
#define GUEST (HOLDERS + 1)     /* in `owner`: 0 nobody, 1..HOLDERS a holder plus one, GUEST */
#define NOBODY HOLDERS          /* a holder id that nobody has */
#define OLD LEASE               /* the age of a call stops here: an answer that is this old is worth nothing */
#define FAR (4 + 2 * OUTSIDE)   /* distances between fences stop here */
