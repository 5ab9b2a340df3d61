/* The network. Until the faults are over everything may take any time, be lost, and messages may arrive twice. */

inline chooseBlock() {
  if
  :: size = 1
  :: BLOCKS > 1 -> size = BLOCKS
  fi
}
inline answer(who) {
  call[who].is = reply; call[who].first = replyFirst; call[who].last = replyLast;
  if
#ifdef BUG_LAST_ANSWERED
  :: false
#else
  :: reply != GRANTED && reply != KEPT -> call[who].age = 0      /* not looked at: the same state */
#endif
  :: else
  fi
}

/* The connection of a process: its call reaches the server. That an answer is lost is a call given up by its process. */
proctype Calls(byte me) {
end:
  do
  :: atomic { call[me].is == ASK -> chooseBlock();
      d_step {
        serveAsk(current(me), call[me].age, call[me].hears, !(TRIES && me == PROCESSES - 1));
        answer(me)
      } }
  :: d_step { call[me].is == RENEW -> serveRenewal(current(me)); answer(me) }
  od
}

/* What is on its way for one holder: unanswered calls, grants, and the release that ends it. */
proctype Holder(byte me) provided (!PROMPT || !isCalling) {
end:
  do
  :: atomic { unanswered[me].is == ASK -> chooseBlock();
      d_step {
        serveAsk(me, unanswered[me].age, unanswered[me].hears, !(TRIES && processOf(me) == PROCESSES - 1));
        clearUnanswered(me)
      } }
  :: d_step { unanswered[me].is == RENEW -> serveRenewal(me); clearUnanswered(me) }
  :: d_step { unanswered[me].is != NONE && !healed -> clearUnanswered(me) }

  :: d_step { sent[me].age > 0 -> hear(processOf(me), sent[me]); clearGrant(sent[me]) }
  :: d_step { sent[me].age > 0 && !healed -> hear(processOf(me), sent[me]) }     /* and once more later */
  :: d_step { sent[me].age > 0 && !healed -> clearGrant(sent[me]) }
  :: d_step { MESSAGES > 1 && sent2[me].age > 0 -> hear(processOf(me), sent2[me]); clearGrant(sent2[me]) }
  :: d_step { MESSAGES > 1 && sent2[me].age > 0 && !healed -> clearGrant(sent2[me]) }

  :: atomic { (ending[me] == FIRST || ending[me] == LAST) -> chooseBlock();
      if
      :: d_step { serveRelease(me, 0); ending[me] = (ending[me] == LAST -> NOTHING : PATIENT) }
      :: guests > 0 -> d_step { serveRelease(me, 1); ending[me] = (ending[me] == LAST -> NOTHING : PATIENT) }
      fi }
  :: d_step { ending[me] == PATIENT && late[me] == 0 -> ending[me] = LAST }
  od
}
