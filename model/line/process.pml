/* One process of ours: the wait loop, the owner, and what is left to do for holders that it has given up. */

inline clearCall(who) { call[who].is = NONE; call[who].age = 0; call[who].hears = 0; call[who].first = 0; call[who].last = 0 }
inline clearGrant(grant) { grant.age = 0; grant.first = 0; grant.last = 0 }
inline clearUnanswered(holder) { unanswered[holder].is = NONE; unanswered[holder].age = 0; unanswered[holder].hears = 0 }

inline sendAsk(who) {
  printf("process %d asks\n", who);
  call[who].is = ASK; call[who].age = 0; call[who].hears = (subscription[who] != DEAF)
}

/* A call had no answer: it may be lost, or arrive at any time. */
inline giveUpCall(who) {
  printf("process %d has no answer to its call\n", who);
  if
  :: call[who].is == ASK || call[who].is == RENEW ->
    if
    :: UNANSWERED && unanswered[current(who)].is == NONE ->
      unanswered[current(who)].is = call[who].is; unanswered[current(who)].age = call[who].age;
      unanswered[current(who)].hears = call[who].hears
    :: else
    fi
  :: else
  fi;
  if
  :: state[who] == WAITING ->
    late[current(who)] = (UNANSWERED -> LIMIT + 1 : 0); pause[who] = (RESYNCS -> 0 : NEVER)
  :: else
  fi;
  clearCall(who)
}

/* Grants are for a holder that waits: whatever else is on its way will be ignored. */
inline dropGrants(who) {
  clearGrant(heard[who]); clearGrant(sent[current(who)]); clearGrant(sent2[current(who)])
}

/* The process believes from now on, for `ticks`, that it owns the lock, with fences from `one` to `other`. */
inline serve(who, ticks, one, other) {
  printf("process %d owns the lock for %d ticks\n", who, ticks);
  if
  :: !OUTSIDE ->
    for (p : 0 .. PROCESSES - 1) { require(exclusion, p == who || !believes(p)) }
    require(exclusion, owner == current(who) + 1);
    require(fences, BLOCKS == 0 || (one) < used)
  :: else -> /* two owners: then their fences must differ */
    for (p : 0 .. PROCESSES - 1) {
      require(fences, p == who || !believes(p) || mine[p] < (other) || mine[p] > (one) || mine[p] == FAR)
    }
    mine[who] = (other)
  fi;
  used = (BLOCKS > 0 -> (other) : used);
  state[who] = OWNER; valid[who] = (ticks);
  dropGrants(who);
  pause[who] = 0
}

/* A grant by message, when no ask is under way: young evidence is enough, otherwise the holder asks again. */
inline takeGrant(who, echo, one, other) {
  if
  :: EVIDENCE(who, echo) + HALF <= CLAIM -> serve(who, CLAIM - EVIDENCE(who, echo), one, other)
  :: else -> clearGrant(heard[who]); sendAsk(who)
  fi
}

/* The wait or the hold is over: forget the holder first, then release it. */
inline leave(who) {
  printf("process %d leaves\n", who);
  if
  :: call[who].is != NONE -> giveUpCall(who)
  :: else
  fi;
  ending[current(who)] = (late[current(who)] == 0 || !CLEANS_UP -> LAST : FIRST);
  forget(who)
}
inline forget(who) {
  mine[who] = FAR;
  dropGrants(who);
  state[who] = IDLE; turn[who]++; valid[who] = 0; pause[who] = 0
}

/* The answer to an ask of a process that waits. */
inline takeAnswer(who) {
  printf("process %d has its answer: %e\n", who, call[who].is);
  if
  :: call[who].is == GRANTED && call[who].age < LEASE ->
    /* The message told the block of this very grant: all of it can be used. */
    if
    :: heard[who].age > 0 && heard[who].last == call[who].last -> replyFirst = heard[who].first
    :: else -> replyFirst = call[who].first
    fi;
    replyLast = call[who].last; seen = call[who].age;
    clearCall(who);
    serve(who, LEASE - seen, replyFirst, replyLast)
  :: call[who].is == GRANTED && call[who].age >= LEASE -> clearCall(who); leave(who)
  :: call[who].is == HELD || call[who].is == LATE ->
#ifdef BUG_LAST_ANSWERED
    answered[who] = call[who].age;
#endif
    pause[who] = (!healed || (call[who].hears == 0 && subscription[who] == HEARING) || call[who].is == LATE -> 0 : PAUSE);
    clearCall(who);
    if
    :: heard[who].age > 0 -> takeGrant(who, heard[who].age - 1, heard[who].first, heard[who].last)
    :: heard[who].age == 0 && TRIES && who == PROCESSES - 1 -> forget(who)
    :: else
    fi
  fi
}

/* A grant has arrived, for a process that waits. */
inline hear(who, grant) {
  printf("process %d hears a grant that echoes an ask of %d ticks ago\n", who, grant.age - 1);
  if
  :: call[who].is == NONE -> takeGrant(who, grant.age - 1, grant.first, grant.last)
  :: else ->
    /* It crosses an ask that is under way: kept until the answer. The younger of two is worth more. */
    if
    :: heard[who].age == 0 || grant.age <= heard[who].age ->
      heard[who].age = grant.age; heard[who].first = grant.first; heard[who].last = grant.last
    :: else
    fi
  fi
}

proctype Process(byte me) provided (!PROMPT || call[me].is != NONE || !isCalling) {
end:
  do
  :: d_step { state[me] == IDLE && turn[me] < WAITS && !healed -> state[me] = WAITING; sendAsk(me) }
  :: d_step { state[me] == WAITING && call[me].is == NONE && pause[me] == 0 -> sendAsk(me) }
  :: d_step { state[me] == WAITING && (call[me].is == GRANTED || call[me].is == HELD || call[me].is == LATE)
      -> takeAnswer(me) }
  :: d_step { state[me] == WAITING && !healed && call[me].is != NONE ->
      giveUpCall(me);
      if
      :: heard[me].age > 0 -> takeGrant(me, heard[me].age - 1, heard[me].first, heard[me].last)
      :: else
      fi }

  :: d_step { believes(me) && call[me].is == NONE && !healed && RENEWS -> call[me].is = RENEW; call[me].age = 0 }
  :: d_step { state[me] == OWNER && call[me].is == KEPT ->
      valid[me] = (valid[me] == 0 -> 0 : most(valid[me], LEASE - call[me].age)); clearCall(me) }
  :: d_step { state[me] == OWNER && call[me].is == GONE -> clearCall(me); leave(me) }
  :: d_step { state[me] == OWNER && !healed && call[me].is != NONE -> giveUpCall(me) }

  /* A release, an expiry that is noticed, an abort, a timeout. */
  :: d_step { (state[me] == OWNER || (state[me] == WAITING && !healed)) -> leave(me) }

  /* The first subscription, or one that is back: what was missed meanwhile is asked for. */
  :: d_step { state[me] != DEAD && subscription[me] != HEARING -> subscription[me] = HEARING; pause[me] = 0 }
  od
}
