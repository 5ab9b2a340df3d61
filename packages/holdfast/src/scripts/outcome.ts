/** Every answer that a script of ours can give. The numbers are on the wire: add, never renumber. */
export const OUTCOMES = {
  GRANTED: 1,
  HELD: 2,
  LATE: 3,
  CONFLICT: 4,
  RELEASED: 5,
  GONE: 6,
  RENEWED: 7,
  FAILED: 8,
  COUNTED: 9,
  ABSENT: 10,
  LOCK: 11,
  MUTEX: 12,
  OTHER: 13,
  FOUND: 14,
  RAISED: 15,
  LEFT: 16,
  FREE: 17,
  REVOKED: 18,
  // 20 to 29: once.
  STARTED: 20,
  DONE: 21,
  MISMATCH: 22,
  STORED: 23,
  FORGOTTEN: 24,
  RUNNING: 25,
  // 30 to 39: jobs.
  EARLY: 33,
  STALE: 34,
  PASSED: 35,
  RESTING: 36,
  ENDED: 37,
  JOB: 38,
} as const;

/** The first item of a reply within a bundle that stands for an error; its words follow. No outcome is negative. */
export const BUNDLE_FAILED = -1;

export type OutcomeName = keyof typeof OUTCOMES;
