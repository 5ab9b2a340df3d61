/*
 * The fences of a quorum: docs/design/009-one-round.md. Three servers, of which two must agree, and callers who want the lock once
 * each. What is checked is that fences grow from owner to owner, whatever times the servers begin from.
 * Any message may take any time, and so may be lost. A vote vanishes (released, expired) only after its caller has given up: that
 * is the rule of leases, which the model of the line checks.
 */
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef TIMES
#define TIMES 3         /* a server begins from any time below this, by its own clock or by the common time of the caller */
#endif
#ifndef BLOCKS
#define BLOCKS 2        /* the most fences that one vote reserves: its server's clock may cut the block off */
#endif
#define SERVERS 3
#define MAJORITY 2
#define pair(caller, server) ((caller) * SERVERS + (server))

/* The planted bugs. */
#ifdef BUG_NO_SECOND_ROUND      /* the owner is told before a majority stores its fence */
#define NEEDED 1
#else
#define NEEDED MAJORITY
#endif
#ifdef BUG_LONGEST_BLOCK        /* of the blocks that begin at the owner's fence the longest, although only some servers store its end */
#define IS_BETTER(one, other) ((one) > (other))
#define STORES(caller, at) (vote[at].first >= first[caller])
#else
#define IS_BETTER(one, other) ((one) < (other))
#define STORES(caller, at) (vote[at].last >= last[caller])
#endif
#ifdef BUG_TIME_ALONE           /* a server begins from the common time although its counter is ahead */
#define FIRST(counted, time) (time)
#else
#define FIRST(counted, time) ((counted) + 1 > (time) -> (counted) + 1 : (time))
#endif

/* The servers. */
byte counter[SERVERS];          /* the last fence given out */
byte holder[SERVERS];           /* 0: free; otherwise the caller plus one */

mtype = { IDLE, VOTING, RAISING, OWNER, OVER };
mtype phase[CALLERS] = IDLE;
byte first[CALLERS], last[CALLERS];     /* the block of a caller, once a majority has voted for it */
byte stores[CALLERS];                   /* how many servers are known to store the end of the block */

mtype = { NONE, SENT, GIVEN, REFUSED, HEARD };
typedef Vote { mtype is; byte first; byte last }
Vote vote[CALLERS * SERVERS];
mtype = { KEPT, GONE };
mtype raise[CALLERS * SERVERS] = NONE;  /* the second round; KEPT until it is counted, then GONE */
bit later[CALLERS * SERVERS];           /* the raise in the background, after the grant */

byte top;                       /* the largest fence that any owner was given */

hidden byte i, n, owners;
hidden byte fences, exclusion;
inline require(rule, condition) { rule = (condition); assert(rule) }

inline becomeOwner(me) {
  owners = 0;
  for (i : 0 .. CALLERS - 1) { owners = owners + (phase[i] == OWNER) }
  printf("caller %d is the owner with fences %d to %d\n", me, first[me], last[me]);
  require(exclusion, owners == 0);
  require(fences, first[me] > top);
  top = last[me];
  phase[me] = OWNER;
  for (i : 0 .. SERVERS - 1) {
    n = pair(me, i);
    later[n] = !(vote[n].is == HEARD && STORES(me, n)) && vote[n].is != REFUSED
  }
  forgetVotes(me)
}

/* Not looked at any more: the same state, whatever they were. */
inline forgetVotes(me) {
  first[me] = 0; stores[me] = 0;
  for (i : 0 .. SERVERS - 1) {
    n = pair(me, i);
    vote[n].first = 0; vote[n].last = 0; raise[n] = NONE;
    vote[n].is = (vote[n].is == HEARD -> GIVEN : vote[n].is)
  }
}
inline forgetBlock(me) {
  if
  :: phase[me] == OVER && !later[pair(me, 0)] && !later[pair(me, 1)] && !later[pair(me, 2)] -> last[me] = 0
  :: else
  fi
}

/* A majority has voted: the block begins at the largest fence, and is as long as the shortest block that begins there. */
inline decide(me) {
  for (i : 0 .. SERVERS - 1) {
    n = pair(me, i);
    if
    :: vote[n].is == HEARD && vote[n].first > first[me] -> first[me] = vote[n].first; last[me] = vote[n].last
    :: vote[n].is == HEARD && vote[n].first == first[me] && IS_BETTER(vote[n].last, last[me]) -> last[me] = vote[n].last
    :: else
    fi
  }
  for (i : 0 .. SERVERS - 1) {
    n = pair(me, i);
    if
    :: vote[n].is == HEARD && STORES(me, n) -> stores[me]++
    :: else -> raise[n] = (vote[n].is == REFUSED -> NONE : SENT)
    fi
  }
  if
  :: stores[me] >= NEEDED -> becomeOwner(me)
  :: else -> phase[me] = RAISING
  fi
}

inline hear(me) {
  owners = 0;
  for (i : 0 .. SERVERS - 1) { owners = owners + (vote[pair(me, i)].is == HEARD) }
  if
  :: phase[me] == VOTING && owners >= MAJORITY -> decide(me)
  :: else
  fi
}

/* The attempt or the hold is over. What is still on its way may arrive; what arrived is given back in time. */
inline stop(me) {
  printf("caller %d stops\n", me);
  phase[me] = OVER; forgetVotes(me); forgetBlock(me)
}

proctype Caller(byte me) {
end:
  do
  :: d_step { phase[me] == IDLE -> phase[me] = VOTING; for (i : 0 .. SERVERS - 1) { vote[pair(me, i)].is = SENT } }
  :: d_step { phase[me] == VOTING || phase[me] == RAISING || phase[me] == OWNER -> stop(me) }
  od
}

/* What happens between one caller and one server. */
proctype Link(byte me, at) {
  byte time, size;
  byte my = pair(me, at);
end:
  do
  :: atomic { vote[my].is == SENT && holder[at] == 0 ->
      do
      :: time + 1 < TIMES -> time++
      :: break
      od;
      if
      :: size = 1
      :: BLOCKS > 1 -> size = BLOCKS
      fi;
      d_step {
        holder[at] = me + 1;
        vote[my].is = GIVEN; vote[my].first = FIRST(counter[at], time); vote[my].last = vote[my].first + size - 1;
        counter[at] = vote[my].last;
        if
        :: phase[me] == OWNER || phase[me] == OVER -> vote[my].first = 0; vote[my].last = 0
        :: else
        fi;
        printf("server %d gives caller %d fences up to %d\n", at, me, counter[at]);
        time = 0; size = 0
      } }
  :: d_step { vote[my].is == SENT && holder[at] != 0 -> vote[my].is = REFUSED }
  :: d_step { vote[my].is == GIVEN && (phase[me] == VOTING || phase[me] == RAISING) -> vote[my].is = HEARD; hear(me) }
  :: d_step { holder[at] == me + 1 && phase[me] == OVER ->
      printf("the vote of server %d for caller %d is gone\n", at, me);
      holder[at] = 0; vote[my].is = REFUSED }

  /* The second round: only where the vote still stands, and nobody was given later fences. */
  :: d_step { raise[my] == SENT && phase[me] == RAISING ->
      if
      :: holder[at] == me + 1 && counter[at] <= last[me] ->
        printf("server %d is raised to fence %d for caller %d\n", at, last[me], me);
        counter[at] = last[me]; raise[my] = KEPT
      :: else -> raise[my] = GONE
      fi }
  :: d_step { raise[my] == KEPT && phase[me] == RAISING && vote[my].is == HEARD ->
      raise[my] = GONE;
      if
      :: vote[my].first <= first[me] -> stores[me]++
      :: else
      fi;
      if
      :: stores[me] >= MAJORITY -> becomeOwner(me)
      :: else
      fi }

  /* Behind the owner's back: also where nobody holds the lock any more, not where another does. */
  :: d_step { later[my] && (holder[at] == me + 1 || holder[at] == 0) ->
      counter[at] = (counter[at] > last[me] -> counter[at] : last[me]); later[my] = 0; forgetBlock(me) }
  :: d_step { later[my] -> later[my] = 0; forgetBlock(me) }
  od
}

init {
  atomic {
    byte c = 0;
    byte s = 0;
    do
    :: c < CALLERS && s < SERVERS -> run Link(c, s); s++
    :: c < CALLERS && s == SERVERS -> run Caller(c); s = 0; c++
    :: c == CALLERS -> break
    od;
    c = 0; s = 0
  }
}
