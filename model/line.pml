/*
 * The line of waiters, the claim, the grant that echoes an ask, and the fences: docs/design/011-the-line.md.
 * docs/concepts/model.md says how to read and change this model.
 */
#include "line/scope.pml"
#include "line/bugs.pml"
#include "line/state.pml"
#include "line/server.pml"
#include "line/process.pml"
#include "line/network.pml"
#include "line/clock.pml"

init {
  atomic {
    byte n = 0;
    run World();    /* first: SPIN tries the others before it, so that traces have few ticks */
    do
    :: n < PROCESSES -> subscription[n] = (HEARS -> HEARING : DEAF); run Process(n); run Calls(n); n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < HOLDERS -> run Holder(n); n++
    :: else -> break
    od;
    n = 0
  }
}
