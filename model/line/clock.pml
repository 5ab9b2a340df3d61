/* Time, the faults, and the rules that are about time. */

inline older(old, stop) { old = least(old + 1, stop) }
inline olderGrant(grant) {
  if
  :: grant.age > 0 -> older(grant.age, CLAIM + 1)
  :: else
  fi
}
inline less(ticks) { ticks = (ticks > 0 -> ticks - 1 : 0) }

#ifdef BUG_LAST_ANSWERED
#define hasAge(process) 1
#else
#define hasAge(process) (call[process].is != HELD && call[process].is != LATE && call[process].is != GONE)
#endif

/* After the faults time stands still while anything is left to do: then nothing takes longer than it must. */
inline findQuiet() {
  found = 1;
  for (p : 0 .. PROCESSES - 1) {
    found = found && call[p].is == NONE && state[p] != OWNER && !(state[p] == WAITING && (pause[p] == 0 || subscription[p] != HEARING))
  }
  for (h : 0 .. HOLDERS - 1) {
    found = found && sent[h].age == 0 && sent2[h].age == 0 && unanswered[h].is == NONE &&
      (ending[h] == NOTHING || (ending[h] == PATIENT && late[h] > 0))
  }
}

/* A holder that has left, and whose process lives, is nowhere on the server once its late asks are refused. */
inline checkCleaned() {
  if
  :: since > LIMIT + 1 && !STEPS ->
    require(cleaned, owner == 0 || owner == GUEST || wants(owner - 1) || state[processOf(owner - 1)] == DEAD);
    if
    :: tickets > 0 -> for (k : 0 .. tickets - 1) {
        require(cleaned, wants(line[k].holder) || state[processOf(line[k].holder)] == DEAD)
      }
    :: else
    fi
  :: else
  fi
}

inline checkServed() {
  for (p : 0 .. PROCESSES - 1) { require(served, state[p] != WAITING) }
  for (k : 0 .. tickets - 1) { require(nothingLeft, false) }
  require(nothingLeft, owner == 0 || owner == GUEST)
}

/* The whole line expires a little after its last ticket. */
inline expireLine() {
  found = healed && LINE_EXPIRES;
  for (i : 0 .. HOLDERS - 1) { found = found && line[i].left == 0 }
  if
  :: found -> for (i : 0 .. HOLDERS - 1) { clearTicket(i) } tickets = 0
  :: else
  fi
}

inline passTick() {
  printf("-- a tick\n");
  for (p : 0 .. PROCESSES - 1) {
    less(valid[p]);
    if
    :: healed && pause[p] != NEVER -> less(pause[p])
    :: else
    fi;
#ifdef BUG_LAST_ANSWERED
    older(answered[p], CLAIM);
#endif
    if
    :: call[p].is != NONE && hasAge(p) -> older(call[p].age, OLD)
    :: else
    fi;
    olderGrant(heard[p])
  }
  for (h : 0 .. HOLDERS - 1) {
    less(late[h]); olderGrant(sent[h]); olderGrant(sent2[h]);
    if
    :: unanswered[h].is != NONE -> older(unanswered[h].age, OLD)
    :: else
    fi
  }
  if
  :: tickets > 0 -> for (k : 0 .. tickets - 1) { older(line[k].echo, CLAIM); less(line[k].left) }
  :: else
  fi;
  less(open);
  if
  :: byLine && owner != 0 && !wants(owner - 1) -> orphan++; require(oneClaim, orphan <= CLAIM)
  :: else
  fi;
  less(expires);
  if
  :: expires == 0 -> owner = 0; byLine = 0; orphan = 0
  :: else
  fi;
  expireLine()
}

/* The faults end. A waiter may be anywhere in its pause; a ticket may have all of its life before it. */
inline heal() {
  printf("== the faults are over\n");
  healed = 1; crashes = 0; cuts = 0;
  if
  :: tickets > 0 -> for (k : 0 .. tickets - 1) { line[k].left = TICKET }
  :: else
  fi
}

inline crash(who) {
  printf("process %d crashes\n", who);
  if
  :: call[who].is != NONE -> giveUpCall(who)
  :: else
  fi;
  state[who] = DEAD; valid[who] = 0; mine[who] = FAR; pause[who] = 0; clearGrant(heard[who]);
  for (h : 0 .. HOLDERS - 1) {
    if
    :: processOf(h) == who ->
      clearGrant(sent[h]); clearGrant(sent2[h]); late[h] = 0;
      ending[h] = (ending[h] == FIRST || ending[h] == LAST -> LAST : NOTHING)
    :: else
    fi
  }
  crashes--
}

proctype World() provided (!PROMPT || !isCalling) {
  byte who;
end:
  do
  :: d_step { !healed -> passTick() }
  :: d_step { healed && since < SERVED -> findQuiet();
      if
      :: found -> checkCleaned(); passTick(); since++;
        if
        :: since == SERVED -> checkServed()
        :: else
        fi
      :: else
      fi }

  :: atomic { LIVENESS && !healed -> d_step { heal() };
      who = 0;
      do
      :: who < PROCESSES && state[who] == WAITING && call[who].is == NONE && pause[who] == 0 && subscription[who] == HEARING -> pause[who] = PAUSE
      :: who < PROCESSES -> who++
      :: who == PROCESSES -> break
      od;
      who = 0 }

  /* The server's clock jumps: the deadline of any ticket may have passed. */
  :: atomic { STEPS && !healed && tickets > 0 -> who = 0;
      do
      :: who + 1 < tickets -> who++
      :: break
      od;
      d_step { printf("the clock jumps: ticket %d is dropped\n", who); removeTicket(who); who = 0 } }
  :: d_step { OUTSIDE && !healed && owner != 0 ->
      printf("the clock jumps: the key expires\n"); owner = 0; expires = 0; byLine = 0; orphan = 0 }
#ifdef BUG_SERVER_TIME
  :: d_step { !healed -> stepped = 1 }
#endif

  /* Dead, and the server knows, or believes that its connection still stands. */
  :: atomic { crashes > 0 && !healed -> who = 0;
      do
      :: who + 1 < PROCESSES -> who++
      :: break
      od;
      if
      :: state[who] != DEAD ->
        d_step { crash(who) };
        if
        :: subscription[who] = CUT
        :: skip
        fi
      :: else
      fi;
      who = 0 }
  :: atomic { cuts > 0 && !healed -> who = 0;
      do
      :: who + 1 < PROCESSES -> who++
      :: break
      od;
      if
      :: subscription[who] == HEARING -> printf("the subscription of process %d breaks\n", who); subscription[who] = CUT; cuts--
      :: else
      fi;
      who = 0 }

  :: d_step { guests > 0 && owner == 0 -> printf("a guest: "); makeOwner(GUEST, LEASE); byLine = 0; guests-- }
  :: d_step { owner == GUEST -> owner = 0; expires = 0 }
  od
}
