/** How long things may take on a machine that does much else. None of these is about what is promised to callers. */

/** Several processes start at a time, and each loads its client before it says its first word. */
export const START_LIMIT_MS = 180_000;

/** For one call to Redis, so that a stall of the machine is not taken for an outage of the server. */
export const CALL_TIMEOUT_MS = 5_000;

/** For one call where a server goes away for good, and another takes its place. */
export const FAILOVER_CALL_TIMEOUT_MS = 1_500;
