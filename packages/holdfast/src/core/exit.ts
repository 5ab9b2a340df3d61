/**
 * A process whose event loop has run dry while it holds leases will never release them: nothing is left to run.
 * On `beforeExit` they are released at once instead of blocking the others until they run out. A process that is
 * killed, or calls `process.exit`, is not seen here; there the lease on the server does its work.
 */

interface Releasable {
  releaseAll(): Promise<void>;
}

/** Sessions that hold something now. A session without leases can be collected. */
const holding = new Set<Releasable>();
let isHooked = false;

export function releaseAtExit(session: Releasable): void {
  holding.add(session);
  if (isHooked) return;
  isHooked = true;
  // One listener for the life of the process, whatever the number of sessions.
  process.on('beforeExit', () => {
    for (const session of holding) void session.releaseAll();
  });
}

export function forgetAtExit(session: Releasable): void {
  holding.delete(session);
}
