/*
 * An owner that keeps the lock unowned for a while (`lingerMs`), and a waiter in another process: docs/design/011-the-line.md.
 * Calls take a tick at most. The message "wanted" may be lost or late until the faults are over, and callers of the owner's
 * process come as often as they can.
 */
#define LINGER 4        /* how long the lock may be kept after the server's last word that nobody waits */
#define SECTION 1       /* how long one caller holds the lock */
#define PAUSE 2         /* the waiter asks again after this; each ask says "wanted" to the owner */

/* The rules: the waiter gets the lock within these ticks, whatever is lost, and within those when nothing is. */
#define ALWAYS (LINGER + SECTION)
#define HEALTHY (PAUSE + SECTION)

/* The planted bugs. */
#ifdef BUG_LOCAL_RELEASE        /* counted from the last release in the owner's process */
#define RESTARTS_LINGER 1
#else
#define RESTARTS_LINGER 0
#endif
#ifdef BUG_WANTED_ONCE          /* only the ask that joins the line says "wanted" */
#define REPEATS_WANTED 0
#else
#define REPEATS_WANTED 1
#endif

mtype = { FREE, KEEPER, WAITER };
mtype owner = FREE;             /* on the server */
bit marked;                     /* the owner may keep the lock unowned, and the line knows whom to tell */
bit inLine;

bit asking, answered, holds, owned, wanted;     /* the keeper */
byte age, section, linger;
bit message;                    /* "wanted" is on its way */
byte pause;                     /* the waiter */

bit healed;
byte waited, since;             /* ticks for which the waiter has been in line; of those, ticks after the faults */

hidden byte givenUp, exclusion;
inline require(rule, condition) { rule = (condition); assert(rule) }

/* Somebody waits: an owner that may be keeping the lock is told. */
inline want(isFirst) {
  printf("the waiter asks\n");
  message = message || (owner == KEEPER && marked && ((isFirst) || REPEATS_WANTED))
}

inline settle() {
  printf("the lock is free; somebody waits: %d\n", inLine);
  if
  :: inLine -> owner = WAITER; inLine = 0; pause = 0; waited = 0; since = 0
  :: else -> owner = FREE
  fi;
  marked = 0
}

proctype Keeper() {
end:
  do
  :: d_step { !asking && !answered && !holds -> asking = 1; age = 0 }
  :: d_step { asking && owner == FREE -> owner = KEEPER; marked = 1; asking = 0; answered = 1 }
  :: d_step { asking && owner == WAITER -> asking = 0; age = 0 }
  :: d_step { answered -> answered = 0; holds = 1; owned = 1; section = SECTION; linger = LINGER - age; age = 0 }

  /* The section ends; then the next caller of this process, or the end of the hold. */
  :: d_step { owned -> owned = 0; section = 0; linger = (RESTARTS_LINGER -> LINGER : linger) }
  :: d_step { holds && !owned && linger > 0 && !wanted -> printf("another caller of the keeper\n"); owned = 1; section = SECTION }
  :: d_step { holds && !owned -> holds = 0; linger = 0; wanted = 0; require(exclusion, owner == KEEPER); settle() }

  /* The message. One that overtakes the answer to the acquire finds nobody who waits for it. */
  :: d_step { message -> message = 0; wanted = holds }
  :: d_step { message && !healed -> printf("wanted is lost\n"); message = 0 }
  od
}

proctype Waiter() {
end:
  do
  :: d_step { owner == FREE && !inLine -> owner = WAITER }
  :: d_step { owner == KEEPER && !inLine -> inLine = 1; pause = PAUSE; want(1) }
  :: d_step { inLine && pause == 0 -> pause = PAUSE; want(0) }
  :: d_step { owner == WAITER -> settle() }
  od
}

/* Time stands still while somebody has something to do at once. Only a message may take longer, until the faults are over. */
#define isBusy (asking && age > 0 || answered && age > 0 || owned && section == 0 || holds && !owned && (linger == 0 || wanted) || \
  inLine && pause == 0 || healed && message)

proctype Clock() {
end:
  do
  :: d_step { !isBusy ->
      printf("-- a tick\n");
      age = age + (asking || answered);
      section = (section > 0 -> section - 1 : 0);
      linger = (linger > 0 -> linger - 1 : 0);
      if
      :: inLine ->
        pause--; waited++; since = since + healed;
        require(givenUp, waited <= ALWAYS && since <= HEALTHY)
      :: else
      fi }
  :: d_step { !healed -> healed = 1 }
  od
}

init { atomic { run Keeper(); run Waiter(); run Clock() } }
