/**
 * A process whose event loop has run dry while it holds leases will never release them: nothing is left to run.
 * On `beforeExit` they are released at once instead of blocking the others until they run out. A process that is
 * killed, or calls `process.exit`, is not seen here; there the lease on the server does its work.
 */

interface Releasable {
  readonly holds: number;
  releaseAll(): Promise<void>;
}

/** Sessions that have held something. Weakly: what nobody uses any more can be collected. */
const sessions = new Set<WeakRef<Releasable>>();
let isHooked = false;

/** Once a session, not once a lease: this is on every caller's way. Returns how to leave again. */
export function releaseAtExit(session: Releasable): () => void {
  hook();
  for (const known of sessions) if (known.deref() === undefined) sessions.delete(known);
  const reference = new WeakRef(session);
  sessions.add(reference);
  return () => sessions.delete(reference);
}

/** One listener for the life of the process, whatever the number of sessions. */
function hook(): void {
  if (isHooked) return;
  isHooked = true;
  process.on('beforeExit', () => {
    for (const reference of sessions) {
      const session = reference.deref();
      if (session !== undefined && session.holds > 0) void session.releaseAll();
    }
  });
}
