/* The scripts, each one step: acquire.lua (ask), release.lua, renew.lua, and settle.lua, which they share. */

hidden mtype reply;
hidden byte replyFirst, replyLast;

/* A rule of the model: the checker prints its name when it does not hold. */
hidden byte exclusion, fences, order, served, nothingLeft, oneClaim, cleaned, windows;
inline require(rule, condition) { rule = (condition); assert(rule) }

/* Reserves `size` fences: all older fences are further below the counter now. */
inline moveFences(grant) {
  if
  :: grant.age > 0 -> grant.first = least(grant.first + size, FAR); grant.last = least(grant.last + size, FAR)
  :: else
  fi
}
inline reserve() {
  if
  :: BLOCKS > 0 ->
    used = least(used + size, FAR);
    for (p : 0 .. PROCESSES - 1) {
      moveFences(heard[p]);
      mine[p] = least(mine[p] + size, FAR);
      if
      :: call[p].is == GRANTED ->
        call[p].first = least(call[p].first + size, FAR); call[p].last = least(call[p].last + size, FAR)
      :: else
      fi
    }
    for (h : 0 .. HOLDERS - 1) { moveFences(sent[h]); moveFences(sent2[h]) }
  :: else
  fi
}

inline clearTicket(place) {
  line[place].holder = 0; line[place].echo = 0; line[place].hears = 0; line[place].told = 0;
  line[place].left = 0
}
inline removeTicket(place) {
  for (i : (place) .. tickets - 2) {
    line[i].holder = line[i + 1].holder; line[i].echo = line[i + 1].echo;
    line[i].hears = line[i + 1].hears; line[i].told = line[i + 1].told;
    line[i].left = line[i + 1].left
  }
  tickets--;
  clearTicket(tickets)
}
/* Sets `k` to the place of a holder's ticket, or to `tickets` if it has none. */
inline findTicket(wanted) {
  k = 0;
  do
  :: k < tickets && line[k].holder != (wanted) -> k++
  :: else -> break
  od
}

/* The server makes somebody the owner: nobody may believe to be it at this moment. */
inline makeOwner(who, ticks) {
  printf("the server makes %d the owner for %d ticks\n", (who) - 1, ticks);
  for (p : 0 .. PROCESSES - 1) { require(exclusion, OUTSIDE || !believes(p)) }
  require(windows, open == 0 || (who) == GUEST);
  owner = (who); expires = (ticks); orphan = 0
}

/* A ticket is not overtaken by one behind it once it was stated that it hears, if its process waits and hears. */
inline checkOrder(place) {
  for (i : 0 .. (place) - 1) {
    h = line[i].holder;
    require(order, !(line[i].told && isWaiting(h) && subscription[processOf(h)] == HEARING))
  }
}

/* Publishes a grant. A process has two on their way at most: beyond that the older one is lost. */
inline publish(id, old) {
  if
  :: !isWaiting(id)     /* will be ignored */
  :: isWaiting(id) && (sent[id].age == 0 || MESSAGES == 1) ->
    sent[id].age = (old) + 1; sent[id].first = (BLOCKS > 0 -> size - 1 : 0); sent[id].last = 0
  :: else ->
    sent2[id].age = (old) + 1; sent2[id].first = (BLOCKS > 0 -> size - 1 : 0); sent2[id].last = 0
  fi
}

#define isDead(place) (healed && line[place].left == 0 && DROPS_DEAD)
#define isHearing(place) (line[place].hears && subscription[processOf(line[place].holder)] == HEARING)

/* Gives a free key to the first in line who hears. `found`: the asker comes first, and needs no message. */
inline settle(asker) {
  found = 0; k = 0; seen = 0;
  do
  :: owner != 0 || found || k >= tickets || seen >= WALK || (open > 0 && !IGNORES_WINDOW) -> break
  :: else ->
    seen++;
    if
    :: line[k].holder == (asker) -> found = 1
    :: line[k].holder != (asker) && isDead(k) -> removeTicket(k)
    :: line[k].holder != (asker) && !isDead(k) && isHearing(k) ->
      checkOrder(k);
      reserve();
      publish(line[k].holder, ECHO(line[k].echo));
      makeOwner(line[k].holder + 1, GRANT_TICKS);
      byLine = 1;
      removeTicket(k)
    :: line[k].holder != (asker) && !isDead(k) && line[k].hears && !isHearing(k) && SENDS_UNCOUNTED ->
      reserve();
      publish(line[k].holder, ECHO(line[k].echo));
      k++
    :: else -> k++
    fi
  od
}

/* An ask has won the key: the full lease, and the fences are in the answer. */
inline grantAsk(id) {
  findTicket(id);
  checkOrder(k);
  if
  :: k < tickets -> removeTicket(k)
  :: else
  fi;
  reserve();
  makeOwner((id) + 1, LEASE);
  byLine = 0;
  reply = GRANTED; replyFirst = (BLOCKS > 0 -> size - 1 : 0); replyLast = 0
}

/* An ask carries the latest time of the server at which it may be granted, which means something while no clock jumps. */
#define isLate(old) ((old) > LIMIT && (healed || !STEPS))

inline serveAsk(id, old, hearing, joins) {
  reply = HELD; replyFirst = 0; replyLast = 0;
  if
  :: isLate(old) -> reply = LATE
  :: !isLate(old) && owner == (id) + 1 ->
    /* "Yours": only the last fence is certainly one of the block. */
    expires = LEASE; byLine = 0;
    reply = GRANTED; replyFirst = YOURS_FIRST; replyLast = 0
  :: !isLate(old) && owner == 0 && ((tickets == 0 && open == 0) || OVERTAKES) -> grantAsk(id)
  :: else ->
    if
    :: joins ->
      findTicket(id);
      if
      :: k == tickets -> tickets++
      :: else
      fi;
      printf("the ask of %d, %d ticks old, states ticket %d\n", id, old, k);
      line[k].holder = id; line[k].echo = least(old, CLAIM); line[k].hears = (hearing || (line[k].hears && KEEPS_MODE));
      line[k].left = (healed -> TICKET : 0);
      line[k].told = line[k].told || hearing
    :: else
    fi;
    if
    :: owner == 0 && ASKS_SETTLE ->
      settle(id);
      if
      :: found || (owner == 0 && !(joins) && open == 0) -> grantAsk(id)
      :: else
      fi
    :: else
    fi
  fi
}

/* `leaves`: whether this release leaves the key to guests for a while. */
inline serveRelease(id, leaves) {
  printf("the release of %d arrives\n", id);
  found = (owner == (id) + 1);
  if
  :: found -> owner = 0; expires = 0; byLine = 0; orphan = 0
  :: else
  fi;
  findTicket(id);
  if
  :: k < tickets && RELEASES_TICKET -> removeTicket(k)
  :: else
  fi;
  if
  :: found && leaves -> open = OPEN
  :: owner == 0 && !(found && leaves) && (RELEASES_SETTLE || found) -> settle(NOBODY)
  :: else
  fi
}

inline serveRenewal(id) {
  if
  :: owner == (id) + 1 -> expires = LEASE; byLine = 0; reply = KEPT
  :: else -> reply = GONE
  fi
}
