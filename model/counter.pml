/*
 * The fence counter of one name on one server: docs/design/010-counters-that-expire.md. A fence is a moment of the server's clock,
 * so the counter may expire once the clock has passed it. The clock may jump forward; back by any amount while there is a counter,
 * and by TTL in all once it is gone: that much is promised.
 * A tick is the time that one grant takes at least, and a fence is a tick.
 */
#define TTL 3           /* how long the counter outlives its last fence and its lease */
#define LEASE 2
#define BLOCK 3         /* fences that a grant asks for; the block ends at most AHEAD past the server's time */
#define AHEAD 1
#define JUMP 4          /* the longest jump forward */
#define EARLY 6         /* how far the last fence may get ahead of the clock */
#define FAR 12          /* distances stop here */

/* The planted bugs. */
#ifdef BUG_EXPIRES_AHEAD        /* the life of the counter is counted from now, although its fence is ahead of the clock */
#define LIFE (LEASE + TTL)
#else
#define LIFE (((-past) + 1 > LEASE -> (-past) + 1 : LEASE) + TTL)
#endif
#ifdef BUG_COUNTER_ALONE        /* without a counter fences begin at 1: before every fence that was given */
#define TIME (1 - FAR)
#else
#define TIME 0
#endif
#ifdef BUG_CLOCK_ALONE          /* the counter is not looked at */
#define STORED (-FAR)
#else
#define STORED (-past + 1)
#endif

/* Distances from the server's time: `past` is how long ago the largest fence given was, negative if it is ahead. */
short past = FAR;
short left;                     /* until the counter expires; 0: there is none */
byte back = TTL;                /* how far the clock may still be set back without a counter */
bit isGranted;                  /* in this tick */

hidden short first, last;
hidden byte fences;
inline require(rule, condition) { rule = (condition); assert(rule) }

/* The clock moves by `ticks`. An expiry is a moment of that clock too. */
inline move(ticks) {
  printf("the clock moves by %d; the counter had %d left\n", ticks, left);
  past = (past + (ticks) > FAR -> FAR : past + (ticks));
  left = (left > (ticks) -> left - (ticks) : 0);
  isGranted = 0
}

active proctype Server() {
  byte jump;
end:
  do
  :: atomic { !isGranted -> d_step {
      first = TIME;
      if
      :: left > 0 && STORED > first -> first = STORED
      :: else
      fi;
      last = (first + BLOCK - 1 < AHEAD -> first + BLOCK - 1 : AHEAD);
      last = (last < first -> first : last);
      printf("fences from %d to %d, by the clock; the last one was %d\n", first, last, -past);
      require(fences, first > -past);
      past = -last;
      left = (left > LIFE -> left : LIFE);
      back = TTL;
      isGranted = 1 } }
  :: d_step { move(1) }
  :: atomic { jump = 1;
      do
      :: jump < JUMP -> jump++
      :: break
      od;
      d_step { move(jump); jump = 0 } }
  :: d_step { left > 0 && past > -EARLY -> past--; left++ }
  :: d_step { left == 0 && back > 0 -> past--; back-- }
  od
}
