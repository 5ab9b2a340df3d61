/**
 * Administration: looking at locks from outside, taking one away, checking the servers, and the record by which a
 * session says who it is. Nothing here grants or renews a lock.
 *
 * In this folder: a file for each question of an operator, and the records of sessions. Only `locks.ts`, `index.ts`
 * and `primitives/once/` import from here, and only this file.
 */

export type { Role } from '../keys/derived.ts';
export { check, type Finding } from './check.ts';
export { type ForceReleaseOptions, forceRelease, REASON_LENGTH_MAX } from './force-release.ts';
export { inspect } from './inspect.ts';
export type { InspectedLine, InspectedWaiter, Inspection, InspectOptions } from './inspection.ts';
export { type JobsOptions, jobs } from './jobs.ts';
export { inspectLeader } from './leader.ts';
export { type ListOptions, list } from './list.ts';
export { AdminServers } from './servers.ts';
export { readSessionRecords, type SessionRecord, SessionRecordWriter } from './session-record.ts';
export { shownOwner } from './shown-owner.ts';
